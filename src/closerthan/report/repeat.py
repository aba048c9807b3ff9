"""How to make the fit again: as Python, and as a command line."""

import dataclasses
import math
import os
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from closerthan import losses, solvers
from closerthan.files.meaning.reading import Reading
from closerthan.registry import Own, is_ours, parameters
from closerthan.settings import GIVEN, Settings

__all__ = ["Code", "Source", "command_line", "python_code", "repeatable"]

_ALWAYS = ("n_dims", "loss", "solver", "seed")
_BY_CHANCE = ("time_limit", "interrupted", "callback")


@dataclasses.dataclass(frozen=True)
class Source:
    """A file of answers, and the options of :func:`closerthan.files.read_answers` with which it was read."""

    file: str = "FILE"
    reading: Mapping[str, Any] = dataclasses.field(default_factory=dict)


class Code(str):
    """Text that is code already."""


def python_code(
    settings: Settings,
    answers: Source | Code | None = None,
    held_out: Source | None = None,
    n_replicates: int = 0,
) -> str:
    """Return Python code that calls :func:`closerthan.embed` with these settings, imports and reading included.

    Parameters
    ----------
    settings
        Settings of the fit.
    answers, held_out
        Source of the answers (a file or Python code), and of the answers for early stopping, if they came from a file.
    n_replicates
        Number of replicates that were fitted after it; with 0 the code makes none.

    Examples
    --------
    >>> from closerthan.solvers import Batch
    >>> settings = Settings(n_dims=3, loss=losses.SOE(margin=2.0), solver=Batch(), seed=7, epochs=50)
    >>> print(python_code(settings, Source("answers.csv", {"kind": "odd-one-out"})))
    import closerthan as ct
    <BLANKLINE>
    comparisons = ct.files.read_answers("answers.csv", kind="odd-one-out").comparisons
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
    made = answers if isinstance(answers, Code) else _reading(answers or Source())
    read = [f"comparisons = {made}" + ("" if answers else "  # or however you made them")]
    for name in [name for name, value in said.items() if value == GIVEN]:
        held_out = held_out or Source(reading={"names": Code("comparisons.names")})
        read.append(f"held_out = {_reading(held_out)}")
        said[name] = Code("held_out")
    head = [*["import pathlib"] * any("pathlib." in line for line in read), "import closerthan as ct"]
    head += _imports(settings)
    call = [f"    {argument}," for argument in ("comparisons", *_arguments(said))]
    lines = [*head, "", *read, "result = ct.embed(", *call, ")"]
    if n_replicates:
        options = _arguments({"n_replicates": n_replicates, "seed": settings.seed})
        lines.append(f"replicates = ct.Replicates.of({', '.join(['result', 'comparisons', *options])})")
    return "\n".join(lines)


def _reading(source: Source) -> str:
    usual = {field.name: field.default for field in dataclasses.fields(Reading)}
    options = {name: value for name, value in source.reading.items() if value != usual.get(name)}
    return f"ct.files.read_answers({', '.join([_expression(source.file), *_arguments(options)])}).comparisons"


def _imports(settings: Settings) -> list[str]:
    """Where classes of the user's own come from, as far as that is known."""
    lines = []
    for thing in (*_with_parts(settings.loss), *_with_parts(settings.solver)):
        kind = type(thing)
        if isinstance(thing, Own) or kind.__module__ == "__main__":
            name = thing.name if isinstance(thing, Own) else kind.__name__
            lines.append(f"# {name} is a class of your own: define it first, or import it")
        elif not is_ours(kind):
            lines.append(f"from {kind.__module__} import {kind.__name__}")
    return list(dict.fromkeys(lines))


def _with_parts(thing: Any) -> Iterator[Any]:
    """An object and those among its parameters that are no plain values."""
    if thing is not None and not isinstance(thing, bool | int | float | str | list | tuple | Mapping):
        yield thing
        for part in parameters(thing).values():
            yield from _with_parts(part)


def command_line(settings: Settings, file: str = "FILE", n_replicates: int = 0) -> str | None:
    """Return the command for these settings; None if a loss, a solver or a held-out set cannot be named in one.

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
    if n_replicates:
        words += ["--replicates", str(n_replicates)]
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
    if not settings.is_auto and settings.held_out_share is None:  # nothing is held out
        said.pop("by", None)
    return said


def _arguments(given: dict[str, Any]) -> list[str]:
    return [f"{name}={_expression(value)}" for name, value in given.items()]


def _expression(value: Any) -> str:
    """Python code for a value: what is in ``ct.losses`` or ``ct.solvers`` by that name, a user's own class by its."""
    if isinstance(value, Code):
        return value
    if isinstance(value, str | os.PathLike):
        return _quoted(str(value))
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if value is None or isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_expression(key)}: {_expression(one)}' for key, one in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_expression, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(_expression, value))},)"
    name = value.name if isinstance(value, Own) else type(value).__name__
    module = next((module for module in (losses, solvers) if getattr(module, name, None) is type(value)), None)
    defaults = {field.name: field.default for field in dataclasses.fields(value)} if module else {}
    own = {key: one for key, one in parameters(value).items() if key not in defaults or one != defaults[key]}
    where = "" if module is None else f"ct.{module.__name__.rpartition('.')[2]}."
    return f"{where}{name}({', '.join(_arguments(own))})"


def _quoted(text: str) -> str:
    """A text in double quotes, as this project writes them, where that is as short as Python's own way."""
    return f'"{text}"' if text.isprintable() and not set(text) & set('"\\') else repr(text)
