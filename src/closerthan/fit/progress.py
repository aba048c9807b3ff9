"""Progress bars; no other module draws them."""

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
def compile_notice(visible: bool | str, after: float = 1.0) -> Iterator[None]:
    """Print that code is being compiled, if it takes longer than ``after`` seconds."""
    if not visible:
        yield
        return
    from rich.console import Console

    timer = threading.Timer(after, Console(stderr=True).print, ["compiling (once only); this takes a few seconds"])
    timer.daemon = True
    try:
        timer.start()
        yield
    finally:
        timer.cancel()


@contextlib.contextmanager
def phases(visible: bool) -> Iterator[Callable[[str], None]]:
    """Show the current phase of a command; yields a function that is called with the name of each phase."""
    if not visible:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status("") as status:
        yield lambda phase: status.update(Text(phase))  # not as markup, since it may contain a name


@contextlib.contextmanager
def progress_bar(
    visible: bool | str, total: int, completed: int = 0, deadline: float = math.inf
) -> Iterator[Watcher | None]:
    """Show a progress bar over the epochs of all starts; yields a function that is called with each record.

    Parameters
    ----------
    visible
        Whether to show the bar; text is the name of the fit.
    total
        Maximum number of epochs.
    completed
        Number of epochs that an earlier run completed.
    deadline
        When the fit ends at the latest, on the clock of :func:`time.perf_counter`.
    """
    if not visible:
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
        task = bar.add_task(visible if isinstance(visible, str) else FIT, total=total, completed=completed, error="")

        def watch(record: Record, embedding: Any) -> None:
            held_out = not math.isnan(record.validation_error)
            error = record.validation_error if held_out else record.train_error
            label = "held-out error" if held_out else "training error"
            bar.update(task, advance=1 if record.epoch else 0, error=f"{label} {error:.3f}")

        yield watch


def time_left(seconds: float, deadline: float) -> str:
    """Format the remaining seconds, or those until the deadline if it is sooner.

    Examples
    --------
    >>> time_left(61.5, math.inf), time_left(61.5, time.perf_counter()), time_left(math.inf, math.inf)
    ('0:01:02', '0:00:00', '-:--:--')
    """
    remaining = max(0.0, min(seconds, deadline - time.perf_counter()))
    return str(datetime.timedelta(seconds=math.ceil(remaining))) if math.isfinite(remaining) else "-:--:--"


@contextlib.contextmanager
def trials_bar(visible: bool, label: str, n_trials: int, n_done: int) -> Iterator[Callable[[], None]]:
    """Show a progress bar over trials, ``n_done`` of which are done; yields a function to call after each new one."""
    if not visible:
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
