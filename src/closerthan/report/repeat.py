"""How to make the fit again: as Python, and as a command line."""

import inspect
import re
import shlex
from collections.abc import Mapping
from typing import Any

import closerthan
from closerthan.fit.embedding import embed
from closerthan.losses import LOSSES
from closerthan.solvers import SOLVERS

__all__ = ["command_line", "python_code", "repeatable"]

OPTIONS = {
    "n_dims": "--dims",
    "loss": "--loss",
    "solver": "--solver",
    "seed": "--seed",
    "epochs": "--epochs",
    "tolerance": "--tolerance",
    "validation": "--validation",
    "time_limit": "--time-limit",
    "n_starts": "--starts",
}
_ALWAYS = ("n_dims", "loss", "solver", "seed")
_BY_CHANCE = ("time_limit", "interrupted", "callback")


def python_code(settings: Mapping[str, Any]) -> str:
    """The call of :func:`closerthan.embed` that these settings stand for.

    Examples
    --------
    >>> print(python_code({"n_dims": 3, "loss": "SOE(margin=2.0)", "solver": "Batch(step=Constant())", "seed": 7}))
    import closerthan as ct
    <BLANKLINE>
    result = ct.embed(
        comparisons,
        n_dims=3,
        loss=ct.SOE(margin=2.0),
        solver=ct.Batch(step=ct.Constant()),
        seed=7,
    )
    """
    arguments = ["comparisons"]
    for name, value in _told(settings).items():
        if name in ("loss", "solver"):
            known = _registered(name, settings)
            arguments.append(f'{name}="{known}"' if known else f"{name}={_qualified(value)}")
        elif name == "validation" and value is True:
            arguments.append("validation=held_out")
        else:
            arguments.append(f"{name}={value!r}")
    lines = "".join(f"    {argument},\n" for argument in arguments)
    return f"import closerthan as ct\n\nresult = ct.embed(\n{lines})"


def command_line(settings: Mapping[str, Any], file: str = "FILE") -> str | None:
    """The command that these settings stand for; None if a loss, a solver or a held-out set has no name to call it by.

    Examples
    --------
    >>> command_line({"n_dims": 2, "loss": "STE()", "seed": 0, "epochs": 50}, "my answers.csv")
    "closerthan fit 'my answers.csv' --dims 2 --loss ste --seed 0 --epochs 50"
    """
    words = ["closerthan", "fit", file]
    for name, value in _told(settings).items():
        if name in ("loss", "solver"):
            value = _registered(name, settings)
            if value is None:
                return None
        if value is True:
            return None
        words += [OPTIONS[name], "none" if value is None else str(value)]
    return shlex.join(words)


def repeatable(settings: Mapping[str, Any], stopped_by: str) -> str | None:
    """Why a repeat may end elsewhere; None if it ends in the same place."""
    if settings.get("seed") is None:
        return "No seed was set, so a repeat starts elsewhere and may end with another map; set one to repeat it."
    if stopped_by in _BY_CHANCE:
        return (
            "The fit was ended from outside (by the clock, a person or a callback); a repeat may end at another epoch."
        )
    return None


def _told(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings worth saying: what the reader looks for, and whatever is not as it would be anyway."""
    usual = {name: parameter.default for name, parameter in inspect.signature(embed).parameters.items()}
    usual["n_starts"] = 1  # what None stands for, as the settings name a loss
    return {
        name: settings[name]
        for name in OPTIONS
        if name in settings
        and not (name == "seed" and settings[name] is None)
        and not (name == "validation" and settings[name] is False)
        and (name in _ALWAYS or settings[name] != usual[name])
    }


def _registered(kind: str, settings: Mapping[str, Any]) -> str | None:
    shown = settings[kind]
    if kind == "solver":
        return next((name for name, make in SOLVERS.items() if repr(make()) == shown), None)
    n_dims = settings.get("n_dims", 2)
    return next((name for name, make in LOSSES.items() if shown in (repr(make()), repr(make().in_dims(n_dims)))), None)


def _qualified(shown: str) -> str:
    """A ``repr`` with ``ct.`` before the names that live there; a user's own classes stay as they are."""
    return re.sub(r"\b([A-Z]\w*)\(", lambda found: ("ct." if found[1] in closerthan.__all__ else "") + found[0], shown)
