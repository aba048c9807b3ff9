"""The folder of a fit: everything that is known about it, written whole or not at all."""

import contextlib
import dataclasses
import json
import secrets
import signal
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from closerthan.cli.folder import TakenError, whole_folder

if TYPE_CHECKING:
    from closerthan.comparisons import Comparisons
    from closerthan.evaluate.facts import Fact
    from closerthan.files import Summary
    from closerthan.result import Result

WHAT = {
    "map.csv": "the map: names and coordinates",
    "map.parquet": "the map: names and coordinates",
    "map.npz": "the map: names and coordinates",
    "map.png": "the map as a figure",
    "report.html": "a page to explore it: open it in a browser",
    "history.csv": "errors, objective and steps, epoch by epoch",
    "settings.json": "how it was made",
    "result.npz": "all of it, for closerthan.Result.load",
}


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
    title: str
    labels: Mapping[str, Sequence[str] | Sequence[float]] | None = None
    thumbnails: Mapping[str, Path] | None = None

    @property
    def about(self) -> dict[str, Any]:
        """For settings.json."""
        from closerthan import __version__

        return {
            "closerthan": __version__,
            "file": self.file,
            "command": self.command,
            "settings": dict(self.result.settings),
            "stopped_by": self.result.stopped_by,
            "best_epoch": self.result.best_epoch,
            "best_start": self.result.best_start,
            "starts": [start._asdict() for start in self.result.starts],
            "facts": {fact.name: fact.value for fact in self.facts},
            "reading": None if self.summary is None else dataclasses.asdict(self.summary),
        }


def write_folder(folder: Path, fitted: Fitted, *, force: bool, map_format: str, report: bool) -> list[tuple[Path, str]]:
    """Write the folder; returns the files in it and what they are.

    If the folder cannot be written after all, the result is saved where temporary files go, and the error says so.
    """
    try:
        with whole_folder(folder, force) as draft:
            _write(draft, fitted, map_format, report)
    except TakenError:
        raise
    except Exception as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise ValueError(f"{folder} could not be written ({reason}){_rescued(fitted.result)}") from error
    return [(folder / name, what) for name, what in WHAT.items() if (folder / name).exists()]


def _write(folder: Path, fitted: Fitted, map_format: str, report: bool) -> None:
    from closerthan.files import write_map
    from closerthan.plotting import map_figure

    result = fitted.result
    write_map(result.embedding, result.names, folder / f"map.{map_format}")
    result.save(folder / "result.npz")
    result.history.to_csv(folder / "history.csv")
    text = json.dumps(fitted.about, indent=2, ensure_ascii=False, default=str)
    (folder / "settings.json").write_text(f"{text}\n", encoding="utf-8")
    names = result.names or tuple(str(number) for number in range(len(result.embedding)))
    colours = None if not fitted.labels else next(iter(fitted.labels.values()))
    figure = map_figure(result.embedding, names, labels=colours, thumbnails=fitted.thumbnails, title=fitted.title)
    figure.savefig(folder / "map.png")
    if report:
        _write_report(folder / "report.html", fitted)


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
