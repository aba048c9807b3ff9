"""Files and folders that commands write, completely or not at all, and never over others by accident."""

import contextlib
import dataclasses
import os
import secrets
import signal
import tempfile
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from closerthan.checks import ParameterError
from closerthan.registry import JsonObject
from closerthan.saving import TakenError, json_text, whole_csv, whole_folder, without_links, writable_beside

if TYPE_CHECKING:
    from closerthan.cli.options import Writing
    from closerthan.comparisons import Comparisons
    from closerthan.evaluate.dims import DimsChoice
    from closerthan.evaluate.facts import Fact
    from closerthan.files import Summary
    from closerthan.objects import Clustering
    from closerthan.report.findings import Findings
    from closerthan.result import Result
    from closerthan.uncertainty.replicates import Replicates

PEOPLE = {
    "people.csv": "the table of people, the most conspicuous first",
    "people.png": "their lapse rates",
    "people-matrix.csv": "held-out error of each person's map on the answers of each person",
    "people-matrix.png": "the same as a figure",
    "people-maps.png": "the map of each group of people",
}
"""The files of closerthan people."""

ENOUGH = {
    "learning-curve.csv": "held-out error against the number of answers",
    "learning-curve.png": "the same as a figure",
    "noise.csv": "agreement on repeated questions, and the least possible error",
}
"""The files of closerthan enough."""

DIMS = {
    "dims.csv": "held-out error against the number of dimensions, with tests",
    "dims.png": "the same as a figure",
}
"""The files of closerthan dims."""

COMPARE = {"compare.csv": "held-out error of each loss, with tests"}
"""The files of closerthan compare."""

WHAT = {
    "map.csv": "the map: names and coordinates",
    "map.parquet": "the map: names and coordinates",
    "map.npz": "the map: names and coordinates",
    "map.png": "the map as a figure",
    "ellipses.png": "95 % ellipses of the objects' positions",
    "ellipses.csv": "the same in numbers: semi-axes of the ellipses, and how well each object is determined",
    "neighbours.png": "the map with lines between probable neighbours",
    "neighbours.csv": "the same in numbers: probabilities",
    "calibration.png": "observed frequencies of held-out answers against predicted probabilities",
    "calibration.csv": "the same in numbers",
    "groups.csv": "the group of each object",
    "groups.png": "the tree of the groups",
    **PEOPLE,
    "people-weights.csv": "the weight of each dimension for each person",
    "people-effects.csv": "each person's preferences for positions, repetition and lapses",
    "people-weights.png": "the same as a figure, for the first two dimensions",
    **ENOUGH,
    **DIMS,
    "report.html": "an interactive report: open it in a browser",
    "history.csv": "errors, objective and steps, epoch by epoch",
    "settings.json": "the settings of the fit",
    "result.npz": "the complete result, for closerthan.Result.load",
    "replicates.npz": "all replicates, for closerthan.Replicates.load",
}
"""The files in the folder of a fit."""


FIGURE_FORMATS = ("png", "pdf", "svg")


def check_figure_format(figure_format: str) -> None:
    """Raise an error if figures cannot be written in a format."""
    if figure_format not in FIGURE_FORMATS:
        raise ParameterError("format", figure_format, f"it can be {', '.join(FIGURE_FORMATS)}")


def save_figures(folder: Path, figures: "Mapping[str, Any]", figure_format: str) -> None:
    """Write figures into a folder, in the format of the option ``--format``; the keys are the names of PNG files."""
    from closerthan.plotting.saving import save_figure

    for name, figure in figures.items():
        save_figure(figure, (folder / name).with_suffix(f".{figure_format}"))


def in_formats(name: str) -> list[str]:
    """Return the possible names of a file of a result: a figure has one for each format.

    Examples
    --------
    >>> in_formats("map.csv"), in_formats("map.png")
    (['map.csv'], ['map.png', 'map.pdf', 'map.svg'])
    """
    path = Path(name)
    return [f"{path.stem}.{ending}" for ending in FIGURE_FORMATS] if path.suffix == ".png" else [name]


def files_in(folder: Path, descriptions: Mapping[str, str]) -> list[tuple[Path, str]]:
    """Return the files of a result that exist in its folder, with their descriptions."""
    named = [(folder / one, text) for name, text in descriptions.items() for one in in_formats(name)]
    return [(path, text) for path, text in named if path.exists()]


def check_file(path: Path, force: bool) -> None:
    """Raise an error if the file exists, or if its folder does not."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder; a file is expected")
    if path.exists() and not force:
        raise ValueError(f"{path} exists; pass --force to replace it, or choose another name")
    if not path.parent.is_dir():
        raise ValueError(f"there is no folder {path.parent}; create it first")


def stem(path: Path) -> str:
    """Return the name of a file without the endings of its format, for the names of files made from it.

    Examples
    --------
    >>> stem(Path("data/cars.2024.csv.gz")), stem(Path("answers.npz"))
    ('cars.2024', 'answers')
    """
    return Path((path.name or path.resolve().name).removesuffix(".gz")).stem


MAP_FILES = ("map.csv", "map.parquet", "map.npz", "weights.csv", "pruned_params.npz", "parameters.npz")


def map_file(path: Path) -> Path:
    """Return the file of a map in the folder of a fit, of sparse dimensions or of VICE."""
    if path.is_dir():
        for name in MAP_FILES:
            if (path / name).exists():
                return path / name
        raise ValueError(f"{path} is a folder without a map; expected map.csv, map.parquet or map.npz in it")
    return path


@contextlib.contextmanager
def written_folder(folder: Path, *, replace: bool) -> Iterator[Path]:
    """Yield a new folder as :func:`~closerthan.saving.whole_folder` does; the first Ctrl-C does not end the writing.

    The computation is complete by then, and would be lost.
    """
    from closerthan.fit.ctrl_c import CtrlC

    with CtrlC(), whole_folder(folder, replace=replace) as draft:
        yield draft


def check_target(folder: Path, force: bool, parts: Collection[str] = tuple(WHAT)) -> None:
    """Raise an error before the work starts if the folder cannot be written, or contains files other than ``parts``.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     check_target(Path(place) / "map", force=False)
    ...     os.listdir(place)
    []
    """
    from closerthan.plotting.canvas import check_backend

    check_backend()
    if folder.is_dir():
        names = {one for name in parts for one in in_formats(name)}
        others = sorted(entry.name for entry in folder.iterdir() if entry.name not in names)
        if others:
            raise ValueError(
                f"{folder} holds {others[0]}, which is not part of this result; delete it, or choose another folder"
            )
        if any(folder.iterdir()) and not force:
            raise ValueError(f"{folder} exists; pass --force to replace it, or choose another folder with --out")
    elif folder.exists():
        raise ValueError(f"{folder} is a file; choose another name for the folder")
    try:
        place = without_links(folder)
        if Path.cwd().is_relative_to(place):
            raise ValueError(f"{folder} is the current folder or contains it; choose the name of a folder inside it")
        if place.is_mount():
            raise ValueError(f"{folder} is a mount point; choose the name of a folder inside it")
        writable_beside(folder)
    except OSError as error:
        raise ValueError(f"nothing can be written to {folder.parent.absolute()}: {error.strerror or error}") from None


def check_text(what: str, texts: Iterable[str]) -> None:
    """Raise an error before the work starts if text cannot be written to a file.

    Examples
    --------
    >>> check_text("the name", ["ant", "b\\ud800"])
    Traceback (most recent call last):
    ...
    ValueError: the name 'b\\ud800' contains an incomplete character, which cannot be written; correct it
    """
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ValueError(
                f"{what} {text!a} contains an incomplete character, which cannot be written; correct it"
            ) from None


def readable(name: object) -> str:
    """Return the name of a file as text, with escape sequences for bytes that are not text.

    Examples
    --------
    >>> readable(Path(os.fsdecode(b"caf\\xe9.csv")))
    'caf\\\\xe9.csv'
    """
    return os.fsencode(str(name)).decode("utf-8", "backslashreplace")


@dataclasses.dataclass(frozen=True)
class Origin:
    """The source of the answers of a fit, and how its result is presented.

    Attributes
    ----------
    file
        The file of the answers.
    title
        Title of the figure and the report.
    command
        The command that repeats the fit.
    summary
        Summary of the file.
    test
        Answers on which the held-out error is measured.
    labels, thumbnails
        Labels of the objects by column, and pictures of the objects by name.
    dims
        The choice of the number of dimensions, if there was one.
    """

    file: str
    title: str
    command: str
    summary: "Summary | None" = None
    test: "Comparisons | None" = None
    labels: Mapping[str, Sequence[str] | Sequence[float]] | None = None
    thumbnails: Mapping[str, Path] | None = None
    dims: "DimsChoice | None" = None


@dataclasses.dataclass(frozen=True)
class FitOutput:
    """A fit and everything that is written about it.

    Attributes
    ----------
    result, comparisons
        The fit, and the comparisons that it was made from.
    origin
        Where the answers come from.
    facts
        The facts that are printed.
    python
        Python code that repeats the fit; None or empty if there is none.
    findings, groups
        The reliability of the map, and groups of objects; None if they were not requested.
    """

    result: "Result"
    comparisons: "Comparisons"
    origin: Origin
    facts: "Sequence[Fact]"
    python: str | None = None
    findings: "Findings | None" = None
    groups: "Clustering | None" = None

    def to_data(self) -> JsonObject:
        """Return the content of settings.json."""
        from closerthan import __version__

        dims, summary = self.origin.dims, self.origin.summary
        return {
            "closerthan": __version__,
            "file": self.origin.file,
            "command": self.origin.command,
            "settings": None if self.result.settings is None else self.result.settings.to_data(),
            "replicates": None if self.findings is None else self.findings.n_replicates,
            "dims": None if dims is None else dims.to_data(),
            "stopped_by": self.result.stopped_by,
            "best_epoch": self.result.best_epoch,
            "best_start": self.result.best_start,
            "starts": [start._asdict() for start in self.result.starts],
            "candidates": [candidate._asdict() for candidate in self.result.candidates],
            "facts": {fact.name: fact.value for fact in self.facts},
            "reading": None if summary is None else dataclasses.asdict(summary),
        }


def write_folder(folder: Path, fitted: FitOutput, writing: "Writing", say: Callable[[str], None]) -> "WrittenFiles":
    """Write the folder of a fit; ``say`` is called with the name of each phase.

    If the folder cannot be written after all, the result is saved to the folder of temporary files, and the error says
    so.
    """
    try:
        with whole_folder(folder, replace=writing.force) as draft:
            left_out = _write(draft, fitted, writing, say)
    except TakenError:
        raise
    except Exception as error:
        reason: object = error
        if isinstance(error, OSError) and error.strerror:
            part = Path(error.filename or folder).name
            reason = error.strerror if part == folder.name else f"{part}: {error.strerror}"
        raise ValueError(f"{folder} could not be written ({reason}){_save_rescued(fitted.result)}") from error
    return WrittenFiles(files_in(folder, WHAT), left_out)


class WrittenFiles(NamedTuple):
    """The files of a fit with a description of each, and the names of the figures that Ctrl-C left out."""

    files: list[tuple[Path, str]]
    left_out: list[str]


def _write(folder: Path, fitted: FitOutput, writing: "Writing", say: Callable[[str], None]) -> list[str]:
    """Write all files; return the names of those that were left out because of Ctrl-C."""
    from closerthan.files import write_map

    result, origin, figure_format = fitted.result, fitted.origin, writing.figure_format
    say("writing the map")
    safe = writing.map_format == "spreadsheet"
    path = folder / f"map.{'csv' if safe else writing.map_format}"
    write_map(result.embedding, result.names, path, spreadsheet_safe=safe)
    result.save(folder / "result.npz")
    result.history.to_csv(folder / "history.csv")
    # The name of a file may contain bytes that are not text; they are written as escape sequences.
    text = f"{json_text(fitted.to_data())}\n".encode(errors="backslashreplace")
    (folder / "settings.json").write_bytes(text)
    if writing.report and len(fitted.comparisons):
        say("writing the report")
        _write_report(folder / "report.html", fitted)
    say("drawing the map")
    left_out: list[str] = []
    with _unless_interrupted(f"map.{figure_format}", left_out):
        save_figures(folder, {"map.png": _map_figure(fitted)}, figure_format)
    if origin.dims is not None:
        origin.dims.to_csv(folder / "dims.csv")
        with _unless_interrupted(f"dims.{figure_format}", left_out):
            save_figures(folder, {"dims.png": origin.dims.plot()}, figure_format)
    if fitted.groups is not None:
        say("writing the groups")
        _write_groups(folder, fitted.groups, origin.thumbnails, left_out, figure_format)
    if fitted.findings is not None:
        say("writing the findings")
        _write_findings(folder, fitted.findings, figure_format)
    return left_out


def _map_figure(fitted: FitOutput) -> Any:
    from closerthan.plotting import map_figure

    result = fitted.result
    names = result.names or tuple(str(number) for number in range(len(result.embedding)))
    colours: Any = None if not fitted.origin.labels else next(iter(fitted.origin.labels.values()))
    if fitted.groups is not None:
        from closerthan.report.groups import group_names

        colours = group_names(fitted.groups, result.embedding, names)
    return map_figure(result, names, labels=colours, thumbnails=fitted.origin.thumbnails, title=fitted.origin.title)


@contextlib.contextmanager
def _unless_interrupted(name: str, left_out: list[str]) -> Iterator[None]:
    """Let Ctrl-C skip a figure, which can be drawn later; its name is added to ``left_out``."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    import typer

    pressed: list[int] = []

    def once(*_: Any) -> None:  # a second Ctrl-C must not interrupt the handling of the first
        if not pressed:
            pressed.append(signal.SIGINT)
            raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    try:
        signal.signal(signal.SIGINT, once)
        yield
        signal.signal(signal.SIGINT, before)
    except KeyboardInterrupt:
        left_out.append(name)
        typer.echo(f"{name} was left out; closerthan plot draws it", err=True)
    finally:
        signal.signal(signal.SIGINT, before)


def _write_groups(
    folder: Path,
    groups: "Clustering",
    thumbnails: Mapping[str, Path] | None,
    left_out: list[str],
    figure_format: str,
) -> None:
    groups.to_csv(folder / "groups.csv")
    if groups.tree is not None:
        with _unless_interrupted(f"groups.{figure_format}", left_out):
            save_figures(folder, {"groups.png": groups.plot(thumbnails=thumbnails)}, figure_format)


def _write_findings(folder: Path, findings: "Findings", figure_format: str) -> None:
    """Write the findings as tables and figures."""
    if findings.replicates is not None:
        _write_replicates(folder, findings, findings.replicates)
    if findings.people is not None:
        findings.people.to_csv(folder / "people.csv", findings.groups)
    if findings.groups is not None:
        findings.groups.to_csv(folder / "people-matrix.csv")
    if findings.individuals is not None:
        findings.individuals.to_csv(folder / "people-weights.csv")
    if findings.effects is not None and findings.effects.terms:
        findings.effects.to_csv(folder / "people-effects.csv")
    if findings.curve is not None:
        findings.curve.to_csv(folder / "learning-curve.csv")
    save_figures(folder, findings.figures(), figure_format)


def _write_replicates(folder: Path, findings: "Findings", replicates: "Replicates") -> None:
    replicates.save(folder / "replicates.npz")
    half_axes = findings.ellipses(0.95).half_axes()
    titles = [f"half_axis_{axis + 1}" for axis in range(half_axes.shape[1])]
    lengths = zip(findings.names, half_axes.tolist(), replicates.decided_by_object.tolist(), strict=True)
    rows: list[Sequence[Any]] = [(name, *map(repr, axes), decided) for name, axes, decided in lengths]
    whole_csv(folder / "ellipses.csv", ("name", *titles, "share_decided"), rows)
    pairs = [
        (findings.names[pair.object], findings.names[pair.neighbour], pair.nearest, pair.near)
        for pair in findings.neighbours
    ]
    if pairs:
        whole_csv(folder / "neighbours.csv", ("name", "neighbour", "nearest", f"among_{findings.k}"), pairs)
    if replicates.calibration is not None:
        columns = ("said", "right", "comparisons", "independent")
        whole_csv(folder / "calibration.csv", columns, replicates.calibration.tenths)


def _write_report(path: Path, fitted: FitOutput) -> None:
    from closerthan.report import write_report

    write_report(
        fitted.comparisons,
        fitted.result,
        path,
        test=fitted.origin.test,
        labels=fitted.origin.labels,
        thumbnails=fitted.origin.thumbnails,
        title=fitted.origin.title,
        command=fitted.origin.command,
        python=fitted.python,
        facts=fitted.facts,
        findings=fitted.findings,
        groups=fitted.groups,
    )


def _save_rescued(result: "Result") -> str:
    path = Path(tempfile.gettempdir()) / f"closerthan-{secrets.token_hex(4)}.npz"
    try:
        result.save(path)
    except OSError:
        return ""
    return f"; the result was saved as {path} instead"
