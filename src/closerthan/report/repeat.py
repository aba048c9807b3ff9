"""Reproduction of a fit: the Python code and the command line that give the same map."""

import dataclasses
import math
import os
import shlex
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from closerthan import losses, solvers
from closerthan.files.meaning.reading import Reading
from closerthan.registry import UserDefined, is_library_class, parameters
from closerthan.settings import GIVEN, Settings

if TYPE_CHECKING:
    from closerthan.uncertainty.replicates import Replicates

__all__ = ["Code", "FileSource", "command_line", "python_code", "reproducibility_warning"]

_ALWAYS = ("n_dims", "loss", "solver", "seed")
_IRREPRODUCIBLE_STOPS = ("time_limit", "interrupted", "callback")


@dataclasses.dataclass(frozen=True)
class FileSource:
    """A file of answers, and the options with which :func:`closerthan.files.read_answers` read it."""

    file: str = "FILE"
    reading: Mapping[str, Any] = dataclasses.field(default_factory=dict)


class Code(str):
    """A string that is Python code, to be written without quotes."""


def python_code(
    settings: Settings,
    answers: FileSource | Code | None = None,
    held_out: FileSource | None = None,
    replicates: "Replicates | None" = None,
) -> str:
    """Return Python code that reads the answers and calls :func:`closerthan.embed` with these settings.

    Parameters
    ----------
    settings
        Settings of the fit.
    answers, held_out
        Source of the answers (a file or Python code), and of the validation set, if it came from a file.
    replicates
        Replicates that were fitted to the same answers, if there are any.

    Examples
    --------
    >>> from closerthan.solvers import Batch
    >>> settings = Settings(n_dims=3, loss=losses.SOE(margin=2.0), solver=Batch(), seed=7, epochs=50)
    >>> print(python_code(settings, FileSource("answers.csv", {"kind": "odd-one-out"})))
    import closerthan as ct
    <BLANKLINE>
    comparisons = ct.files.read_answers("answers.csv", kind="odd-one-out").comparisons
    result = ct.embed(
        comparisons,
        n_dims=3,
        loss="soe-2",
        solver="batch",
        seed=7,
        epochs=50,
    )
    """
    arguments = _notable(settings)
    source = answers if isinstance(answers, Code) else _reading(answers or FileSource())
    reading = [f"comparisons = {source}" + ("" if answers else "  # or however you obtained them")]
    for name in [name for name, value in arguments.items() if value == GIVEN]:
        held_out = held_out or FileSource(reading={"names": Code("comparisons.names")})
        reading.append(f"held_out = {_reading(held_out)}")
        arguments[name] = Code("held_out")
    imports = [*["import pathlib"] * any("pathlib." in line for line in reading), "import closerthan as ct"]
    imports += _imports(settings)
    call = [f"    {argument}," for argument in ("comparisons", *_arguments(arguments))]
    lines = [*imports, "", *reading, "result = ct.embed(", *call, ")"]
    if replicates is not None:
        seed = settings.seed if replicates.seed is None else replicates.seed
        options = _arguments({"n_replicates": replicates.n_requested or len(replicates), "seed": seed})
        lines.append(f"replicates = ct.replicate({', '.join(['comparisons', 'result=result', *options])})")
    return "\n".join(lines)


def _reading(source: FileSource) -> str:
    usual = {field.name: field.default for field in dataclasses.fields(Reading)}
    options = {name: value for name, value in source.reading.items() if value != usual.get(name)}
    return f"ct.files.read_answers({', '.join([_expression(source.file), *_arguments(options)])}).comparisons"


def _imports(settings: Settings) -> list[str]:
    """Return import statements for classes that users defined, or a comment if their module is unknown."""
    lines = []
    for component in (*_with_parts(settings.loss), *_with_parts(settings.solver)):
        kind = type(component)
        if isinstance(component, UserDefined) or kind.__module__ == "__main__":
            name = component.name if isinstance(component, UserDefined) else kind.__name__
            lines.append(f"# {name} is your own class: define or import it first")
        elif not is_library_class(kind):
            lines.append(f"from {kind.__module__} import {kind.__name__}")
    return list(dict.fromkeys(lines))


def _with_parts(component: Any) -> Iterator[Any]:
    """Yield a loss or a solver, and all of its parameters that are objects rather than plain values."""
    if component is not None and not isinstance(component, bool | int | float | str | list | tuple | Mapping):
        yield component
        for part in parameters(component).values():
            yield from _with_parts(part)


def command_line(settings: Settings, file: str = "FILE", n_replicates: int = 0) -> str | None:
    """Return the command for these settings, or None if the loss, the solver or the validation set has no name.

    Examples
    --------
    >>> command_line(Settings(loss="ste", seed=0, epochs=50, solver="sgd"), "my answers.csv")
    "closerthan fit 'my answers.csv' --dims 2 --loss ste --solver sgd --seed 0 --epochs 50"
    """
    words = ["closerthan", "fit", file]
    for name, value in _notable(settings).items():
        if value == GIVEN or (name in ("loss", "solver") and not isinstance(value, str)):
            return None
        words += [Settings.option(name).names[0], "none" if value is None else str(value)]
    if n_replicates:
        words += ["--replicates", str(n_replicates)]
    return shlex.join(words)


def reproducibility_warning(settings: Settings, stopped_by: str) -> str | None:
    """Return the reason why a repetition may give a different map, or None if it gives the same one."""
    if settings.seed is None:
        return (
            "No seed was set, so a repetition starts from a different map and may give a different result. Set a "
            "seed to make the fit reproducible."
        )
    if stopped_by in _IRREPRODUCIBLE_STOPS:
        return "The fit was stopped by a time limit, Ctrl-C or a callback, so a repetition may stop earlier or later."
    if isinstance(settings.solver, solvers.Hogwild):
        return "The threads of the solver hogwild are not synchronised, so a repetition gives a slightly different map."
    return None


def _notable(settings: Settings) -> dict[str, Any]:
    """Return the settings to print: the most important ones, and any that differ from their defaults."""
    defaults = Settings(loss=settings.loss, n_dims=settings.n_dims)
    names = (*_ALWAYS, *(field.name for field in dataclasses.fields(Settings) if field.name not in _ALWAYS))
    values = {name: getattr(settings, name) for name in names}
    values = {name: value for name, value in values.items() if name in _ALWAYS or value != getattr(defaults, name)}
    values |= {"loss": settings.loss_name or settings.loss, "solver": settings.solver_name or settings.solver}
    if settings.seed is None:
        del values["seed"]
    if not settings.must_choose and settings.validation_fraction is None:  # nothing is held out
        values.pop("by", None)
    return values


def _arguments(values: Mapping[str, Any]) -> list[str]:
    return [f"{name}={_expression(value)}" for name, value in values.items()]


def _expression(value: Any) -> str:
    """Return Python code for a value; our losses and solvers are members of ``ct.losses`` and ``ct.solvers``."""
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
    name = value.name if isinstance(value, UserDefined) else type(value).__name__
    module = next((module for module in (losses, solvers) if getattr(module, name, None) is type(value)), None)
    defaults = {field.name: field.default for field in dataclasses.fields(value)} if module else {}
    own = {key: one for key, one in parameters(value).items() if key not in defaults or one != defaults[key]}
    where = "" if module is None else f"ct.{module.__name__.rpartition('.')[2]}."
    return f"{where}{name}({', '.join(_arguments(own))})"


def _quoted(text: str) -> str:
    """Return a string literal with double quotes, or as Python writes it if it contains special characters."""
    return f'"{text}"' if text.isprintable() and not set(text) & set('"\\') else repr(text)
