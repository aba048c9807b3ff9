"""The only module that draws a progress bar."""

import contextlib
import datetime
import math
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from closerthan.history import Record

FIT = "fitting"

Watcher = Callable[[Record, Any], None]


@contextlib.contextmanager
def compile_notice(shown: bool | str, after: float = 1.0) -> Iterator[None]:
    """Say that something is being compiled, if it takes longer than so many seconds."""
    if not shown:
        yield
        return
    from rich.console import Console

    timer = threading.Timer(after, Console(stderr=True).print, ["compiling, once: this takes a few seconds"])
    timer.daemon = True
    try:
        timer.start()
        yield
    finally:
        timer.cancel()


@contextlib.contextmanager
def phases(shown: bool) -> Iterator[Callable[[str], None]]:
    """What a command is busy with where it cannot say how far it is; what it yields is called with each phase."""
    if not shown:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status("") as status:
        yield lambda phase: status.update(Text(phase))  # a name in it is data, not markup


@contextlib.contextmanager
def progress_bar(shown: bool | str, most: int, done: int = 0, deadline: float = math.inf) -> Iterator[Watcher | None]:
    """A bar over all epochs of all starts, some of them done before; what it yields is called with each record.

    ``shown`` may be what the fit is called; ``most`` epochs are run.
    ``deadline`` is on the clock of :func:`time.perf_counter`: the fit will not go on beyond it.
    """
    if not shown:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn

    class TimeLeft(ProgressColumn):
        max_refresh = 0.5

        def render(self, task: Task) -> str:
            return time_left(math.inf if task.time_remaining is None else task.time_remaining, deadline)

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("epochs  {task.fields[error]}"),
        TimeLeft(),
        TextColumn("left"),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(shown if isinstance(shown, str) else FIT, total=most, completed=done, error="")

        def watch(record: Record, embedding: Any) -> None:
            held_out = not math.isnan(record.validation_error)
            error = record.validation_error if held_out else record.train_error
            label = "held-out error" if held_out else "training error"
            bar.update(task, advance=1 if record.epoch else 0, error=f"{label} {error:.3f}")

        yield watch


def time_left(seconds: float, deadline: float) -> str:
    """The seconds that are left, or those until the deadline if that is sooner.

    Examples
    --------
    >>> time_left(61.5, math.inf), time_left(61.5, time.perf_counter()), time_left(math.inf, math.inf)
    ('0:01:02', '0:00:00', '-:--:--')
    """
    left = max(0.0, min(seconds, deadline - time.perf_counter()))
    return str(datetime.timedelta(seconds=math.ceil(left))) if math.isfinite(left) else "-:--:--"


@contextlib.contextmanager
def trials_bar(shown: bool, label: str, n_trials: int, n_done: int) -> Iterator[Callable[[], None]]:
    """A bar over trials, of which some are done already; what it yields is called after each further one."""
    if not shown:
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("trials "),
        TimeElapsedColumn(),
        TextColumn(", left:"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), speed_estimate_period=300) as bar:
        task = bar.add_task(label, total=n_trials, completed=n_done)
        yield lambda: bar.advance(task)
