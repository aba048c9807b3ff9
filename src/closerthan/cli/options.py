"""Options that several commands share, in groups: a group is a function whose parameters are the options."""

import copy
import functools
import inspect
import re
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from closerthan.cli.switches import COMMON
from closerthan.settings import Settings

if TYPE_CHECKING:
    from closerthan.comparisons import Comparisons

READING = "Reading the file"
FITTING = "The fit"
BELIEVING = "What can be believed"
WRITING = "What is written"
RUNNING = "While it runs"
SEED = 0  # a command is repeatable unless told otherwise


FigureFormat = Annotated[
    str, typer.Option("--format", metavar="png|pdf|svg", rich_help_panel=WRITING, help="Format of the figures.")
]


def with_options(
    common: Sequence[str] = (), **groups: Callable[..., Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of groups; it is called with what each group makes of them, under its name.

    The options whose parameters are in ``common`` come first in its help, in a panel of their own.
    """

    def extended(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command)
        own = [parameter for name, parameter in signature.parameters.items() if name not in groups]
        members = {name: inspect.signature(group).parameters for name, group in groups.items()}
        shared = [parameter for parameters in members.values() for parameter in parameters.values()]

        @functools.wraps(command)
        def run(**given: Any) -> None:
            for name, group in groups.items():
                given[name] = group(**{option: given.pop(option) for option in members[name]})
            command(**given)

        everything = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in (*own, *shared)]
        order = {name: place for place, name in enumerate(common)}
        everything = [_as_common(parameter) if parameter.name in order else parameter for parameter in everything]
        everything.sort(key=lambda parameter: order.get(parameter.name, len(order)))
        run.__signature__ = signature.replace(parameters=everything)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in everything}
        return run

    return extended


def _as_common(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return the parameter with its option in the panel of common options."""
    kind, about = typing.get_args(parameter.annotation)
    moved = copy.copy(about)
    moved.rich_help_panel = COMMON
    return parameter.replace(annotation=Annotated[kind, moved])


def with_shown_default(group: Callable[..., dict[str, Any]], name: str, text: str) -> Callable[..., dict[str, Any]]:
    """Return the group with another default in its help, for a command that chooses it when it knows the answers."""
    signature = inspect.signature(group)
    option = _parameter(name)
    kind, about = typing.get_args(signature.parameters[option].annotation)
    described = copy.copy(about)
    described.show_default = text
    parameters = {**signature.parameters}
    parameters[option] = parameters[option].replace(annotation=Annotated[kind, described])

    @functools.wraps(group)
    def same(**options: Any) -> dict[str, Any]:
        return group(**options)

    same.__signature__ = signature.replace(parameters=list(parameters.values()))  # type: ignore[attr-defined]
    return same


def reading(
    kind: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            rich_help_panel=READING,
            help="The question: triplet, quadruplet, odd-one-out, most-central, rank, nearest. Found out if not said.",
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROLE=COLUMN",
            rich_help_panel=READING,
            help="Which column is which, as in anchor=probe or near=1 (counted from 0); weight= for none. Repeatable.",
        ),
    ] = None,
    numbering: Annotated[
        str | None,
        typer.Option(metavar="NUMBERING", rich_help_panel=READING, help="Objects are 0-based, 1-based or names."),
    ] = None,
    names: Annotated[
        Path | None,
        typer.Option(metavar="FILE", rich_help_panel=READING, help="A text file with the objects' names, one a line."),
    ] = None,
    objects: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", min=3, rich_help_panel=READING, help="Number of objects, if some never occur."),
    ] = None,
    ties: Annotated[
        str, typer.Option(metavar="error|drop", rich_help_panel=READING, help="What to do with ties.")
    ] = "error",
    self_pairs: Annotated[
        str,
        typer.Option(metavar="error|drop", rich_help_panel=READING, help="Answers that compare an object with itself."),
    ] = "error",
    missing: Annotated[
        str, typer.Option(metavar="error|drop", rich_help_panel=READING, help="Answers with an empty cell.")
    ] = "error",
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONDITION",
            rich_help_panel=READING,
            help="Read only some rows: 'block=1,2' (one of these), 'worker!=w7', 'rt<5000' (or <=, >, >=). Repeatable.",
        ),
    ] = None,
    catch: Annotated[
        str,
        typer.Option(
            metavar="drop|keep", rich_help_panel=READING, help="Catch trials, where a column marks them: leave out?"
        ),
    ] = "drop",
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            rich_help_panel=READING,
            help="Whether the first line is a header.",
            show_default=False,
        ),
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option(metavar="TEXT", rich_help_panel=READING, help="What stands between columns.")
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(metavar="NAME", rich_help_panel=READING, help="Of a text file, as in latin-1.")
    ] = None,
    variable: Annotated[
        str | None,
        typer.Option(metavar="NAME", rich_help_panel=READING, help="The array of a .npz or .mat, the table of a .zip."),
    ] = None,
) -> dict[str, Any]:
    """How to read a file of answers: arguments of :func:`closerthan.files.read_answers`."""
    said = {
        "kind": kind,
        "columns": _columns(column or []),
        "numbering": numbering,
        "names": None if names is None else _lines(names),
        "n_objects": objects,
        "ties": ties,
        "self_pairs": self_pairs,
        "missing": missing,
        "where": _where(where or []),
        "catch": catch,
        "header": header,
        "delimiter": None if delimiter is None else delimiter.replace("\\t", "\t"),
        "encoding": encoding,
        "variable": variable,
    }
    return {name: value for name, value in said.items() if value is not None}


def fitting(**given: Any) -> dict[str, Any]:
    """How to fit: arguments of :func:`closerthan.embed`; ``validation`` may still be the name of a file."""
    from closerthan.settings import GIVEN

    arguments = {field.name: _parsed(field.name, given[_parameter(field.name)]) for field in fields(Settings)}
    # A slip of the pen is better known before a large file is read than after it.
    checked: Any = {name: GIVEN if isinstance(value, Path) else value for name, value in arguments.items()}
    Settings(**checked)
    return {**arguments, "n_threads": given["threads"]}


def usual_fitting(**others: Any) -> dict[str, Any]:
    """What :func:`fitting` makes of no options at all, but for some settings."""
    given = {name: parameter.default for name, parameter in inspect.signature(fitting).parameters.items()}
    return {**fitting(**given), **others}


def _parsed(name: str, value: Any) -> Any:
    parse = Settings.option(name).parse
    if value is None or parse is None:
        return value
    try:
        return parse(value)
    except ValueError:
        raise ValueError(f"{name} is {value!r}; it can be a number or none") from None


def _parameter(name: str) -> str:
    return Settings.option(name).names[0].removeprefix("--").replace("-", "_")


def _fitting_parameters() -> Iterator[inspect.Parameter]:
    """The options of a fit, as :class:`Settings` describes them, and one that makes no difference to the map."""
    panel: dict[str, Any] = {"rich_help_panel": FITTING}
    for field in fields(Settings):
        option = Settings.option(field.name)
        default = SEED if field.name == "seed" else field.default
        kind: Any = option.kind if default is not None else option.kind | None
        about = typer.Option(*option.names, metavar=option.metavar, min=option.least, help=option.help, **panel)
        shown = str(default) if option.parse is not None and default is not None else default
        yield inspect.Parameter(
            _parameter(field.name), inspect.Parameter.KEYWORD_ONLY, default=shown, annotation=Annotated[kind, about]
        )
    threads = typer.Option(metavar="NUMBER", min=1, help="Threads to use; by default one a core.", **panel)
    yield inspect.Parameter(
        "threads", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[int | None, threads]
    )


fitting.__signature__ = inspect.Signature(list(_fitting_parameters()))  # type: ignore[attr-defined]


def without(group: Callable[..., dict[str, Any]], name: str) -> Callable[..., dict[str, Any]]:
    """A group less one of its settings, for a command that goes through all its values."""
    signature = inspect.signature(group)
    option = _parameter(name)

    @functools.wraps(group)
    def smaller(**given: Any) -> dict[str, Any]:
        full = group(**given, **{option: signature.parameters[option].default})
        return {key: value for key, value in full.items() if key != name}

    kept = [parameter for key, parameter in signature.parameters.items() if key != option]
    smaller.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
    return smaller


def held_out_file(fitting: Mapping[str, Any]) -> Path | None:
    """The file with the answers to stop by, if there is to be one."""
    given = fitting["validation"]
    return given if isinstance(given, Path) else None


def with_held_out(fitting: dict[str, Any], read: Callable[[Path], "Comparisons"]) -> tuple[dict[str, Any], Path | None]:
    """The same with the answers to stop by in place of their file; and that file."""
    file = held_out_file(fitting)
    return fitting if file is None else {**fitting, "validation": read(file)}, file


def without_files(fitting: dict[str, Any]) -> None:
    """Early stopping by answers from a file would look at the same ones in each fold; a share is what is meant."""
    file = held_out_file(fitting)
    if file is not None:
        raise ValueError(f"--validation is {str(file)!r}; here it must be a share, as in 0.1")


def _columns(pairs: list[str]) -> dict[str, Any] | None:
    if not pairs:
        return None
    columns: dict[str, Any] = {}
    for pair in pairs:
        role, sign, name = pair.partition("=")
        if not sign or not role:
            raise ValueError(f"--column is {pair!r}; expected ROLE=COLUMN, as in anchor=probe")
        found: Any = int(name) if name.isdecimal() else name or None
        before = columns.get(role)
        columns[role] = found if role not in columns else [*(before if isinstance(before, list) else [before]), found]
    return columns


def _where(conditions: list[str]) -> dict[str | int, Any] | None:
    """Conditions such as "block=1,2" and "rt<5000", as :func:`closerthan.files.read_answers` takes them.

    Examples
    --------
    >>> _where(["block=1,2", "rt>=300", "rt<5000", "participant!=p7"])
    {'block': ['1', '2'], 'rt': ['>=300', '<5000'], 'participant': ['!=p7']}
    """
    where: dict[str | int, Any] = {}
    equal: set[str] = set()
    for condition in conditions:
        parts = re.fullmatch(r"([^=<>!~]+)(!=|<=|>=|<|>|=)(.*)", condition, re.DOTALL)
        column, sign, text = (part.strip() for part in parts.groups()) if parts else ("", "", "")
        values = text.split(",") if sign in ("=", "!=") else [text]
        strange = any(value.startswith(("=", "<", ">", "!", "~")) for value in values)
        if not column or strange or (sign not in ("=", "!=") and not text):
            raise ValueError(
                f"--where is {condition!r}; expected COLUMN=VALUE, as in condition=faces, or one of !=, <, <=, >, >= "
                "in place of ="
            )
        if sign == "=" and column in equal:
            raise ValueError(f"--where is said twice of {column}; write {column}=a,b for one of several values")
        equal |= {column} if sign == "=" else set()
        key = int(column) if column.isdecimal() else column
        where[key] = [*where.get(key, ()), *(value if sign == "=" else f"{sign}{value}" for value in values)]
    return where or None


def _lines(path: Path) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} cannot be read as names, one a line: {error}") from None
    return [line for line in lines if line]
