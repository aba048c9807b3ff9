"""Options that several commands share, in groups: each group becomes one frozen object that a command receives."""

import copy
import csv
import functools
import inspect
import io
import re
import sys
import typing
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer

from closerthan.checks import ParameterError
from closerthan.cli.switches import COMMON
from closerthan.settings import GIVEN, Budget, FitOptions, Settings

if TYPE_CHECKING:
    from closerthan.comparisons import Comparisons
    from closerthan.files.meaning.answers import Answers
    from closerthan.files.meaning.reading import ColumnChoice

_reading_option = functools.partial(typer.Option, rich_help_panel="Reading the file")
_fitting_option = functools.partial(typer.Option, rich_help_panel="The fit")
_reliability_option = functools.partial(typer.Option, rich_help_panel="Reliability of the map")
_output_option = functools.partial(typer.Option, rich_help_panel="Output")
_running_option = functools.partial(typer.Option, rich_help_panel="Running")
SEED = 0  # the default of all commands, so that they give the same results each time

Group = Callable[..., Any]

AnswersFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="The answers: a file, or the folder of a study.", show_default=False)
]
MapFile = Annotated[Path, typer.Argument(metavar="MAP", help="A map, or the folder of a fit.", show_default=False)]
Seed = Annotated[int, typer.Option(metavar="NUMBER", min=0, help="The same seed gives the same result.")]
Threads = Annotated[
    int | None, typer.Option(metavar="NUMBER", min=1, help="Number of threads; by default one per core.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]
FigureFormat = Annotated[str, _output_option("--format", metavar="png|pdf|svg", help="Format of the figures.")]


def out_option(help: str) -> Any:
    """Return the option for the file to write."""
    return typer.Option("--out", "-o", metavar="FILE", help=help)


def with_options(common: Sequence[str] = (), **groups: Group) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds the options of groups to a command.

    A group is a function (or a dataclass) whose parameters are the options; the command receives its return value
    under the group's name, and the help lists its options in place of that parameter. The options whose parameters are
    in ``common`` come first in the help, in a separate panel.
    """

    def extended(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command)
        members = {name: inspect.signature(group).parameters for name, group in groups.items()}

        @functools.wraps(command)
        def run(**values: Any) -> None:
            for name, group in groups.items():
                values[name] = group(**{option: values.pop(option) for option in members[name]})
            command(**values)

        options = [
            parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for name, own in signature.parameters.items()
            for parameter in (members[name].values() if name in groups else [own])
        ]
        order = {name: place for place, name in enumerate(common)}
        options = [_as_common(parameter) if parameter.name in order else parameter for parameter in options]
        options.sort(key=lambda parameter: order.get(parameter.name, len(order)))
        run.__signature__ = signature.replace(parameters=options)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in options}
        return run

    return extended


def _as_common(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return the parameter with its option in the panel of common options."""
    kind, about = typing.get_args(parameter.annotation)
    moved = copy.copy(about)
    moved.rich_help_panel = COMMON
    return parameter.replace(annotation=Annotated[kind, moved])


# ---- how to read -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AnswersReader:
    """Options for reading a file of answers.

    Attributes
    ----------
    arguments
        Arguments of :func:`closerthan.files.read_answers`, without those that are None.
    """

    arguments: Mapping[str, Any]

    def read(self, path: Path, **defaults: Any) -> "Answers":
        """Read a file of answers; ``defaults`` are arguments that these options override."""
        from closerthan.files import read_answers

        return read_answers(path, **{**defaults, **self.arguments})

    def read_about(self, path: Path, n_objects: int, names: tuple[str, ...] | None) -> "Answers":
        """Read answers about the objects of a map, by the same names or numbers."""
        from closerthan.files.meaning.matching import read_about

        return read_about(path, n_objects, names, self.arguments)

    def without_split(self) -> Self:
        """Return options that ignore a column of training and test answers, unless they specify one."""
        return self.with_arguments(columns={"split": None, **self.arguments.get("columns", {})})

    def only(self, column: str | int, value: str) -> Self:
        """Return options that read only the rows with this value in a column."""
        return self.with_arguments(where={**self.arguments.get("where", {}), column: [value]})

    def with_arguments(self, **arguments: Any) -> Self:
        """Return options with some arguments added or changed."""
        return replace(self, arguments={**self.arguments, **arguments})


@dataclass(frozen=True)
class _ReadingOptions:
    """The options of :class:`AnswersReader` as text and paths."""

    kind: Annotated[
        str | None,
        _reading_option(
            metavar="KIND",
            help="The question: triplet, quadruplet, odd-one-out, most-central, rank, nearest. Detected by default.",
        ),
    ] = None
    column: Annotated[
        list[str] | None,
        _reading_option(
            metavar="ROLE=COLUMN",
            help="The role of a column, as in anchor=probe or near=1 (counted from 0); weight= means no such column. "
            "Repeatable.",
        ),
    ] = None
    numbering: Annotated[
        str | None,
        _reading_option(metavar="NUMBERING", help="How the file refers to objects: 0-based, 1-based or names."),
    ] = None
    names: Annotated[
        Path | None,
        _reading_option(
            metavar="FILE", help="Names of the objects: a text file, one per line, or a CSV file with a column name."
        ),
    ] = None
    objects: Annotated[
        int | None, _reading_option(metavar="NUMBER", min=3, help="Number of objects, if some never occur.")
    ] = None
    ties: Annotated[str, _reading_option(metavar="error|drop|keep", help="How to treat ties.")] = "error"
    self_pairs: Annotated[
        str, _reading_option(metavar="error|drop", help="How to treat answers that compare an object with itself.")
    ] = "error"
    missing: Annotated[str, _reading_option(metavar="error|drop", help="How to treat answers with an empty cell.")] = (
        "error"
    )
    where: Annotated[
        list[str] | None,
        _reading_option(
            metavar="CONDITION",
            help="Read only some rows: 'block=1,2' (one of these), 'worker!=w7', 'rt<5000' (or <=, >, >=). Repeatable.",
        ),
    ] = None
    catch: Annotated[
        str, _reading_option(metavar="drop|keep", help="Drop or keep catch trials, if a column marks them.")
    ] = "drop"
    header: Annotated[
        bool | None,
        _reading_option(
            "--header/--no-header", help="The first line is a header, or not; detected by default.", show_default=False
        ),
    ] = None
    delimiter: Annotated[str | None, _reading_option(metavar="TEXT", help="Separator of the columns.")] = None
    encoding: Annotated[str | None, _reading_option(metavar="NAME", help="Encoding of a text file, as in latin-1.")] = (
        None
    )
    variable: Annotated[
        str | None, _reading_option(metavar="NAME", help="Array to read from a .npz or .mat, or table from a .zip.")
    ] = None

    def parsed(self) -> AnswersReader:
        values = {
            **vars(self),
            "column": _columns(self.column or []),
            "names": None if self.names is None else _names_in(self.names),
            "where": _where(self.where or []),
            "delimiter": None if self.delimiter is None else self.delimiter.replace("\\t", "\t"),
        }
        argument_of = {"column": "columns", "objects": "n_objects"}
        return AnswersReader(
            {argument_of.get(name, name): value for name, value in values.items() if value is not None}
        )


def reading(**values: Any) -> AnswersReader:
    """Parse the command-line options for reading a file of answers."""
    return _ReadingOptions(**values).parsed()


reading.__signature__ = inspect.signature(_ReadingOptions)  # type: ignore[attr-defined]


@dataclass(frozen=True)
class OutputFolder:
    """The folder that a command writes its tables and figures to."""

    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FOLDER",
            help="Output folder; by default FILE's name and that of the command, as in answers-dims.",
        ),
    ] = None
    figure_format: FigureFormat = "png"
    force: Annotated[bool, typer.Option("--force", help="Replace an existing folder.")] = False

    def path(self, file: Path, command: str, contents: Collection[str]) -> Path:
        """Return the folder to write to; raise an error if it cannot be written, or holds other files."""
        from closerthan.cli.output import check_figure_format, check_target, stem

        check_figure_format(self.figure_format)
        folder = self.out or Path(f"{stem(file)}-{command}")
        check_target(folder, self.force, contents)
        return folder


# ---- how to fit ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fitting:
    """Options of a fit.

    Attributes
    ----------
    settings
        The settings of the fit; its validation is ``GIVEN`` if ``validation_file`` is not None.
    n_threads
        Number of threads; None means one per core.
    validation_file
        A file with the answers for early stopping.
    dims_are_auto
        Whether the number of dimensions is to be chosen by cross-validation.
    validation_set
        The answers in ``validation_file``, once they have been read.
    """

    settings: Settings
    n_threads: int | None = None
    validation_file: Path | None = None
    dims_are_auto: bool = False
    validation_set: "Comparisons | None" = None

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some settings changed."""
        return replace(self, settings=self.settings.replace(**changes))

    def within(self, budget: Budget) -> Self:
        """Return a copy whose time limit is the remaining time of a budget."""
        return replace(self, settings=self.settings.within(budget))

    def for_parts(self, budget: Budget) -> Self:
        """Return a copy for fits to subsets of the answers: no early stopping, within a budget."""
        return replace(self, settings=self.settings.for_parts(budget), validation_file=None, validation_set=None)

    def with_validation_set(self, read: "Callable[[Path], Comparisons]") -> Self:
        """Return a copy with the answers for early stopping, if they are in a file."""
        return self if self.validation_file is None else replace(self, validation_set=read(self.validation_file))

    def refuse_file(self) -> None:
        """Raise an error if early stopping uses a file: each of several fits must hold out its own answers."""
        if self.validation_file is not None:
            raise ParameterError("validation", str(self.validation_file), "here it must be a fraction, as in 0.1")

    def run_options(self, progress: bool | str = False) -> FitOptions:
        """Return the keyword arguments of a fit that go with ``settings=``."""
        options: FitOptions = {"n_threads": self.n_threads, "progress": progress}
        if self.validation_set is not None:
            options["validation"] = self.validation_set
        return options


def fitting_options(*, omit: str = "", by_default: str = "", dims_may_be_auto: bool = False) -> Callable[..., Fitting]:
    """Return the group of options of a fit, as :class:`Settings` describes them.

    Parameters
    ----------
    omit
        A setting without an option, for a command that tries all its values.
    by_default
        The default of ``--by`` in the help, for a command that chooses it from the answers.
    dims_may_be_auto
        Whether ``--dims`` may also be "auto".
    """
    names = {field.name: _parameter(field.name) for field in fields(Settings) if field.name != omit}

    def fitting(**values: Any) -> Fitting:
        settings = {name: _parsed(name, values[parameter]) for name, parameter in names.items()}
        is_auto = dims_may_be_auto and settings["n_dims"] == AUTO
        if dims_may_be_auto:
            settings["n_dims"] = Settings.n_dims if is_auto else _number_of_dims(settings["n_dims"])
        file = settings["validation"] if isinstance(settings["validation"], Path) else None
        if file is not None:
            settings["validation"] = GIVEN
        return Fitting(Settings(**settings), values["threads"], file, is_auto)

    parameters = []
    for parameter in _fitting_parameters():
        if parameter.name not in (*names.values(), "threads"):
            continue
        kind, about = typing.get_args(parameter.annotation)
        if dims_may_be_auto and parameter.name == names["n_dims"]:
            parameter = inspect.Parameter(parameter.name, parameter.kind, default=str(parameter.default))
            kind, about = str, _AUTO_DIMS
        elif by_default and parameter.name == names["by"]:
            about = copy.copy(about)
            about.show_default = by_default
        parameters.append(parameter.replace(annotation=Annotated[kind, about]))
    fitting.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return fitting


AUTO = "auto"
_AUTO_DIMS = _fitting_option(
    "--dims",
    "-d",
    metavar="NUMBER|auto",
    help="Dimensions of the map; auto: as many as the answers support, by the rule of closerthan dims.",
)


def _number_of_dims(dims: str) -> int:
    if not (dims.isdecimal() and int(dims) >= 1):
        raise ParameterError("n_dims", dims, "it must be a whole number of at least 1, or auto")
    return int(dims)


def _parsed(name: str, value: Any) -> Any:
    parse = Settings.option(name).parse
    if value is None or parse is None:
        return value
    try:
        return parse(value)
    except ValueError:
        other = Settings.option(name).metavar.partition("|")[2]  # "none" or "auto"
        raise ParameterError(name, value, f"it can be a number or {other}") from None


def _parameter(name: str) -> str:
    return Settings.option(name).names[0].removeprefix("--").replace("-", "_")


def _fitting_parameters() -> Iterator[inspect.Parameter]:
    """Yield the options of a fit, followed by ``--threads``, which does not change the map."""
    for field in fields(Settings):
        option = Settings.option(field.name)
        default = field.default
        kind: Any = option.kind if default is not None else option.kind | None
        about = _fitting_option(*option.names, metavar=option.metavar, min=option.least, help=option.help)
        text = str(default) if option.parse is not None and default is not None else default
        yield inspect.Parameter(
            _parameter(field.name), inspect.Parameter.KEYWORD_ONLY, default=text, annotation=Annotated[kind, about]
        )
    threads = _fitting_option(metavar="NUMBER", min=1, help="Number of threads; by default one per core.")
    yield inspect.Parameter(
        "threads", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[int | None, threads]
    )


# ---- what to judge, what to write, how to run ------------------------------------------------------------------------


@dataclass(frozen=True)
class Judging:
    """The measurements that ``closerthan fit`` makes in addition to the map."""

    held_out: Annotated[
        float,
        _reliability_option(
            metavar="FRACTION",
            min=0,
            max=0.5,
            help="Measure the error on new answers with a second fit that omits this fraction; 0: none.",
        ),
    ] = 0.1
    test: Annotated[
        Path | None,
        _reliability_option(metavar="FILE", help="Answers to measure the held-out error on, instead of a second fit."),
    ] = None
    replicates: Annotated[
        int,
        typer.Option(
            metavar="NUMBER",
            min=0,
            help="Number of maps to fit to resampled people (or answers), as in 100, to see how reliable the map is.",
        ),
    ] = 0
    people: Annotated[
        str | None,
        _reliability_option(
            metavar="weigh|skip",
            help="weigh: answers of people who look careless count less; skip: do not assess people with replicates.",
        ),
    ] = None
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER|auto",
            help="Find groups of objects on the map and show their tree; auto: the number that fits the map best.",
        ),
    ] = None
    enough: Annotated[
        bool,
        _reliability_option(
            "--enough/--no-enough",
            help="With replicates: also measure what more answers would gain, if that takes less than a minute.",
        ),
    ] = True

    def __post_init__(self) -> None:
        if self.people not in (None, "weigh", "skip"):
            raise ParameterError("people", self.people, "it can be weigh or skip")
        if self.groups not in (None, AUTO) and not (self.groups.isdecimal() and int(self.groups) >= 2):
            raise ParameterError("groups", self.groups, "it must be a whole number of at least 2, or auto")

    @property
    def n_groups(self) -> int | None:
        """Number of groups of objects; None if it is to be chosen, or if no groups are requested."""
        return None if self.groups in (None, AUTO) else int(self.groups)


MAP_FORMATS = ("csv", "parquet", "npz", "spreadsheet")


@dataclass(frozen=True)
class Writing:
    """The output of ``closerthan fit``."""

    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FOLDER", help="Output folder; by default FILE's name with -map."),
    ] = None
    force: Annotated[bool, typer.Option("--force", help="Replace an existing result.")] = False
    map_format: Annotated[
        str,
        _output_option(
            metavar="csv|parquet|npz|spreadsheet",
            help="The map's format; spreadsheet: csv in which no name can be mistaken for a formula.",
        ),
    ] = "csv"
    figure_format: FigureFormat = "png"
    title: Annotated[str | None, _output_option(metavar="TEXT", help="Title of the figure and the report.")] = None
    labels: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A CSV file to colour by: names, and one or more columns of labels."),
    ] = None
    thumbnails: Annotated[
        Path | None, _output_option(metavar="FOLDER", help="A folder with images named after the objects.")
    ] = None
    report: Annotated[bool, _output_option("--report/--no-report", help="Write report.html, or not.")] = True

    def __post_init__(self) -> None:
        from closerthan.cli.output import check_figure_format

        if self.map_format not in MAP_FORMATS:
            raise ParameterError("map_format", self.map_format, f"it can be {', '.join(MAP_FORMATS)}")
        check_figure_format(self.figure_format)


@dataclass(frozen=True)
class Running:
    """Options of ``closerthan fit`` that do not change the map."""

    checkpoint: Annotated[
        Path | None,
        _running_option(
            metavar="FILE",
            help="Save the state of the fit to this file every few seconds, so that a killed fit can be resumed.",
        ),
    ] = None
    resume: Annotated[bool, _running_option("--resume", help="Resume from the checkpoint, if it exists.")] = False
    progress: Annotated[
        bool | None,
        _running_option(
            "--progress/--no-progress", help="Show progress bars; by default on a terminal only.", show_default=False
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.resume and self.checkpoint is None:
            raise ValueError("--resume needs a checkpoint: pass --checkpoint FILE")

    @property
    def shows_progress(self) -> bool:
        """True if progress bars are shown: by default, on a terminal."""
        return sys.stderr.isatty() if self.progress is None else self.progress


def _columns(pairs: list[str]) -> "dict[str, ColumnChoice] | None":
    by_role: dict[str, list[Any]] = {}
    for pair in pairs:
        role, sign, name = pair.partition("=")
        if not sign or not role:
            raise ParameterError("column", pair, "expected ROLE=COLUMN, as in anchor=probe")
        by_role.setdefault(role, []).append(int(name) if name.isdecimal() else name or None)
    return {role: names if len(names) > 1 else names[0] for role, names in by_role.items()} or None


def _where(conditions: list[str]) -> dict[str | int, Any] | None:
    """Return conditions such as "block=1,2" and "rt<5000" as :func:`closerthan.files.read_answers` takes them.

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
        has_operator = any(value.startswith(("=", "<", ">", "!", "~")) for value in values)
        if not column or has_operator or (sign not in ("=", "!=") and not text):
            raise ParameterError(
                "where",
                condition,
                "expected COLUMN=VALUE, as in condition=faces, or one of !=, <, <=, >, >= in place of =",
            )
        if sign == "=" and column in equal:
            raise ValueError(f"--where has two values for {column}; write {column}=a,b for one of several values")
        equal |= {column} if sign == "=" else set()
        key = int(column) if column.isdecimal() else column
        where[key] = [*where.get(key, ()), *(value if sign == "=" else f"{sign}{value}" for value in values)]
    return where or None


def _names_in(path: Path) -> list[str]:
    """Return the lines of a file, or the column called name if it is a table such as objects.csv of a study."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} cannot be read as names, one per line: {error}") from None
    table = csv.DictReader(io.StringIO(text))
    is_table = path.suffix == ".csv" and "name" in (table.fieldnames or ())
    names = [row["name"] or "" for row in table] if is_table else text.splitlines()
    return [name for name in names if name]
