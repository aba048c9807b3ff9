"""How to make the fit again: as Python, and as a command line."""

import dataclasses
import shlex
from typing import Any

from closerthan import losses, solvers
from closerthan.fit.settings import GIVEN, Settings
from closerthan.registry import parameters

__all__ = ["command_line", "python_code", "repeatable"]

_ALWAYS = ("n_dims", "loss", "solver", "seed")
_BY_CHANCE = ("time_limit", "interrupted", "callback")


def python_code(settings: Settings) -> str:
    """The call of :func:`closerthan.embed` that these settings stand for.

    Examples
    --------
    >>> from closerthan.solvers import Batch
    >>> print(python_code(Settings(n_dims=3, loss=losses.SOE(margin=2.0), solver=Batch(), seed=7, epochs=50)))
    import closerthan as ct
    <BLANKLINE>
    result = ct.embed(
        comparisons,
        n_dims=3,
        loss=ct.losses.SOE(margin=2.0),
        solver="batch",
        seed=7,
        epochs=50,
    )
    """
    said = _told(settings)
    if said.get("validation") == GIVEN:
        said["validation"] = _Code("held_out")
    lines = "".join(f"    {argument},\n" for argument in ("comparisons", *_arguments(said)))
    return f"import closerthan as ct\n\nresult = ct.embed(\n{lines})"


def command_line(settings: Settings, file: str = "FILE") -> str | None:
    """The command that these settings stand for; None if a loss, a solver or a held-out set has no name to call it by.

    Examples
    --------
    >>> command_line(Settings(loss="ste", seed=0, epochs=50, solver="sgd"), "my answers.csv")
    "closerthan fit 'my answers.csv' --dims 2 --loss ste --solver sgd --seed 0 --epochs 50"
    """
    words = ["closerthan", "fit", file]
    for name, value in _told(settings).items():
        if value == GIVEN or (name in ("loss", "solver") and not isinstance(value, str)):
            return None
        words += [Settings.option(name).names[0], "none" if value is None else str(value)]
    return shlex.join(words)


def repeatable(settings: Settings, stopped_by: str) -> str | None:
    """Why a repeat may end elsewhere; None if it ends in the same place."""
    if settings.seed is None:
        return "No seed was set, so a repeat starts elsewhere and may end with another map; set one to repeat it."
    if stopped_by in _BY_CHANCE:
        return (
            "The fit was ended from outside (by the clock, a person or a callback); a repeat may end at another epoch."
        )
    return None


def _told(settings: Settings) -> dict[str, Any]:
    """The settings worth saying: what the reader looks for, and whatever is not as it would be anyway."""
    usual = Settings(loss=settings.loss, n_dims=settings.n_dims)
    names = (*_ALWAYS, *(field.name for field in dataclasses.fields(Settings) if field.name not in _ALWAYS))
    said = {name: getattr(settings, name) for name in names}
    said = {name: value for name, value in said.items() if name in _ALWAYS or value != getattr(usual, name)}
    said |= {"loss": settings.loss_name or settings.loss, "solver": settings.solver_name or settings.solver}
    if settings.seed is None:
        del said["seed"]
    if not (settings.is_auto or isinstance(settings.validation, float)):  # nothing is held out
        said.pop("by", None)
    return said


class _Code(str):
    """Text that is code already."""


def _arguments(given: dict[str, Any]) -> list[str]:
    return [f"{name}={_expression(value)}" for name, value in given.items()]


def _expression(value: Any) -> str:
    """Python code for a value: what is in ``ct.losses`` or ``ct.solvers`` by that name, a user's own class by its."""
    if isinstance(value, _Code):
        return value
    if isinstance(value, str):
        return '"{}"'.format(value.replace("\\", "\\\\").replace('"', '\\"'))
    if value is None or isinstance(value, int | float):
        return repr(value)
    if isinstance(value, tuple | list):
        return f"({', '.join(map(_expression, value))},)"
    name = getattr(value, "name", None) or type(value).__name__
    room = next((room for room in (losses, solvers) if getattr(room, name, None) is type(value)), None)
    defaults = {field.name: field.default for field in dataclasses.fields(value)} if room else {}
    own = {key: one for key, one in parameters(value).items() if key not in defaults or one != defaults[key]}
    where = "" if room is None else f"ct.{room.__name__.rpartition('.')[2]}."
    return f"{where}{name}({', '.join(_arguments(own))})"
