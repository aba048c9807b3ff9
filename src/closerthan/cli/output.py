"""What a command writes: a file or the folder of a fit, whole or not at all, and never over another by accident."""

import contextlib
import dataclasses
import secrets
import signal
import tempfile
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from closerthan.saving import TakenError, beside, json_text, whole_folder

if TYPE_CHECKING:
    from closerthan.comparisons import Comparisons
    from closerthan.evaluate.facts import Fact
    from closerthan.files import Summary
    from closerthan.result import Result
    from closerthan.uncertainty.replicates import Replicates

WHAT = {
    "map.csv": "the map: names and coordinates",
    "map.parquet": "the map: names and coordinates",
    "map.npz": "the map: names and coordinates",
    "map.png": "the map as a figure",
    "ellipses.png": "where objects may lie",
    "ellipses.csv": "the same in numbers: half axes of the 95 % ellipses, and how settled each object is",
    "neighbours.png": "which neighbours are sure",
    "neighbours.csv": "the same in numbers: probabilities",
    "calibration.png": "said so probable, right how often",
    "report.html": "a page to explore it: open it in a browser",
    "history.csv": "errors, objective and steps, epoch by epoch",
    "settings.json": "how it was made",
    "result.npz": "all of it, for closerthan.Result.load",
    "replicates.npz": "all replicates, for closerthan.Replicates.load",
}
"""The files that the folder of a fit consists of."""


def check_file(path: Path, force: bool) -> None:
    """Complain now if the file exists or has nowhere to be."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder; a file is expected")
    if path.exists() and not force:
        raise ValueError(f"{path} exists; pass --force to replace it, or choose another name")
    if not path.parent.is_dir():
        raise ValueError(f"there is no folder {path.parent}; make it first")


def stem(path: Path) -> str:
    """The name of a file without what says its format: what comes of it is called after it.

    Examples
    --------
    >>> stem(Path("data/cars.2024.csv.gz")), stem(Path("answers.npz"))
    ('cars.2024', 'answers')
    """
    return Path(path.name.removesuffix(".gz")).stem


def map_file(path: Path) -> Path:
    """The map itself, where the folder of a fit is given."""
    if path.is_dir():
        for name in ("map.csv", "map.parquet", "map.npz"):
            if (path / name).exists():
                return path / name
        raise ValueError(f"{path} is a folder without a map; expected map.csv, map.parquet or map.npz in it")
    return path


def check_target(folder: Path, force: bool, known: Collection[str] = tuple(WHAT)) -> None:
    """Complain now, not after hours, if the folder could not be written; it may hold known files alone.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     check_target(Path(place) / "map", force=False)
    ...     os.listdir(place)
    []
    """
    if folder.is_dir():
        others = sorted(entry.name for entry in folder.iterdir() if entry.name not in known)
        if others:
            raise ValueError(f"{folder} holds {others[0]}, which is no part of a result; choose another folder")
        if any(folder.iterdir()) and not force:
            raise ValueError(f"{folder} exists; pass --force to replace it, or choose another folder with --out")
    elif folder.exists() or folder.is_symlink():
        raise ValueError(f"{folder} is a file; choose another name for the folder")
    probe = beside(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        probe.mkdir()
        probe.rmdir()
    except OSError as error:
        raise ValueError(f"nothing can be written to {folder.parent.resolve()}: {error.strerror}") from None


@dataclasses.dataclass(frozen=True)
class Fitted:
    """A fit and what is worth knowing about it."""

    result: "Result"
    comparisons: "Comparisons"
    test: "Comparisons | None"
    facts: "Sequence[Fact]"
    summary: "Summary | None"
    file: str
    command: str | None
    python: str | None
    title: str
    labels: Mapping[str, Sequence[str] | Sequence[float]] | None = None
    thumbnails: Mapping[str, Path] | None = None
    replicates: "Replicates | None" = None

    @property
    def about(self) -> dict[str, Any]:
        """For settings.json."""
        from closerthan import __version__

        return {
            "closerthan": __version__,
            "file": self.file,
            "command": self.command,
            "settings": None if self.result.settings is None else self.result.settings.to_data(),
            "stopped_by": self.result.stopped_by,
            "best_epoch": self.result.best_epoch,
            "best_start": self.result.best_start,
            "starts": [start._asdict() for start in self.result.starts],
            "candidates": [candidate._asdict() for candidate in self.result.candidates],
            "facts": {fact.name: fact.value for fact in self.facts},
            "reading": None if self.summary is None else dataclasses.asdict(self.summary),
        }


def write_folder(
    folder: Path, fitted: Fitted, *, force: bool, map_format: str, report: bool, say: Callable[[str], None]
) -> list[tuple[Path, str]]:
    """Write the folder; returns the files in it and what they are. ``say`` is told of each phase.

    If the folder cannot be written after all, the result is saved where temporary files go, and the error says so.
    """
    try:
        with whole_folder(folder, replace=force) as draft:
            _write(draft, fitted, map_format, report, say)
    except TakenError:
        raise
    except Exception as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise ValueError(f"{folder} could not be written ({reason}){_rescued(fitted.result)}") from error
    return [(folder / name, what) for name, what in WHAT.items() if (folder / name).exists()]


def _write(folder: Path, fitted: Fitted, map_format: str, report: bool, say: Callable[[str], None]) -> None:
    from closerthan.files import write_map
    from closerthan.plotting import map_figure

    result = fitted.result
    say("writing the map")
    write_map(result.embedding, result.names, folder / f"map.{map_format}")
    result.save(folder / "result.npz")
    result.history.to_csv(folder / "history.csv")
    (folder / "settings.json").write_text(f"{json_text(fitted.about)}\n", encoding="utf-8")
    names = result.names or tuple(str(number) for number in range(len(result.embedding)))
    colours = None if not fitted.labels else next(iter(fitted.labels.values()))
    say("drawing the map")
    figure = map_figure(result.embedding, names, labels=colours, thumbnails=fitted.thumbnails, title=fitted.title)
    figure.savefig(folder / "map.png")
    if fitted.replicates is not None:
        _write_replicates(folder, fitted.replicates)
    if report:
        say("writing the report")
        _write_report(folder / "report.html", fitted)


def _write_replicates(folder: Path, replicates: "Replicates") -> None:
    """What replicates say, as tables and pictures."""
    from closerthan.uncertainty.findings import Findings

    findings = Findings(replicates)
    replicates.save(folder / "replicates.npz")
    half_axes = findings.ellipses(0.95).half_axes()
    titles = [f"half_axis_{axis + 1}" for axis in range(half_axes.shape[1])]
    lengths = zip(findings.names, half_axes.tolist(), replicates.decided_by_object.tolist(), strict=True)
    rows: list[Sequence[Any]] = [(name, *map(repr, axes), decided) for name, axes, decided in lengths]
    _write_table(folder / "ellipses.csv", ("name", *titles, "share_decided"), rows)
    pairs = [
        (findings.names[pair.object], findings.names[pair.neighbour], pair.nearest, pair.near)
        for pair in findings.neighbours()
    ]
    if pairs:
        _write_table(folder / "neighbours.csv", ("name", "neighbour", "nearest", f"among_{findings.k}"), pairs)
    for name, figure in findings.figures().items():
        figure.savefig(folder / name)


def _write_table(path: Path, titles: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    import csv

    with open(path, "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(titles)
        table.writerows(rows)


def _write_report(path: Path, fitted: Fitted) -> None:
    import typer

    from closerthan.report import write_report

    try:
        write_report(
            fitted.result,
            fitted.comparisons,
            path,
            test=fitted.test,
            labels=fitted.labels,
            thumbnails=fitted.thumbnails,
            title=fitted.title,
            command=fitted.command,
            python=fitted.python,
            facts=fitted.facts,
        )
    except ImportError as error:
        typer.echo(f"report.html was not written: {error}", err=True)


def _rescued(result: "Result") -> str:
    path = Path(tempfile.gettempdir()) / f"closerthan-{secrets.token_hex(4)}.npz"
    try:
        result.save(path)
    except OSError:
        return ""
    return f"; the result was saved as {path} instead"


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C is not heard: what is being written was worth waiting for."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
