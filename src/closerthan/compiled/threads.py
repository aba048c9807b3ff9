"""A crew: threads that share work again and again, with little time lost in between.

A thread that waits falls asleep, and waking it may take longer than a piece of the work. So whoever waits here stays
awake for a moment first, without Python's lock: helpers for more to do, and the thread that called them for their end.
"""

import itertools
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from closerthan.compiled import kernels

LOOKS = 40_000  # before a thread falls asleep: about a millisecond


class Crew:
    """The calling thread and some helpers. To a second caller meanwhile they are not free: it works alone.

    Examples
    --------
    >>> with Crew(1) as crew:
    ...     crew.share(lambda a, b: a + b, [1, 2, 3], [10, 20, 30])
    [11, 22, 33]
    """

    def __init__(self, n_helpers: int) -> None:
        self._helpers: list[_Helper] = []
        self._busy = threading.Lock()
        for _ in range(n_helpers):
            self._helpers.append(_Helper())

    def __enter__(self) -> "Crew":
        return self

    def __exit__(self, *_: object) -> None:
        self.disband()

    def __del__(self) -> None:
        self.disband()

    def __len__(self) -> int:
        return 1 + len(self._helpers)

    def share(self, work: Callable[..., Any], *arguments: Sequence[Any]) -> list[Any]:
        """``map(work, *arguments)``: each thread takes the next piece when it is done with one."""
        pieces = list(zip(*arguments, strict=True))
        if len(pieces) <= 1 or not self._helpers or not self._busy.acquire(blocking=False):
            return [work(*piece) for piece in pieces]
        try:
            return self._share(work, pieces)
        except BaseException:  # Ctrl-C perhaps, while helpers are at work: they end the pieces that they have begun
            self.disband()
            raise
        finally:
            self._busy.release()

    def _share(self, work: Callable[..., Any], pieces: list[tuple[Any, ...]]) -> list[Any]:
        done: list[Any] = [None] * len(pieces)
        numbers = itertools.count()  # whose next() is one step for Python: no two threads get the same

        def take() -> None:
            while (number := next(numbers)) < len(pieces):
                done[number] = work(*pieces[number])

        called = self._helpers[: len(pieces) - 1]
        try:
            for helper in called:
                helper.begin(take)
            take()
            for helper in called:
                helper.end()
        finally:
            pieces.clear()  # after an error there is nothing more to take
        return done

    def share_rows(self, work: Callable[[slice], Any], n_rows: int) -> None:
        """``work`` on all rows, cut into as many parts as there are threads."""
        ends = [n_rows * part // len(self) for part in range(len(self) + 1)]
        self.share(work, [slice(*pair) for pair in itertools.pairwise(ends)])

    def disband(self) -> None:
        """Send all helpers away; the calling thread goes on alone."""
        for helper in self._helpers:
            helper.begin(None)
        self._helpers = []


class _Helper:
    """A thread that does what it is given, one task after another; ``None`` is the last one."""

    def __init__(self) -> None:
        self._tasks, self._ends = _Post(), _Post()
        threading.Thread(target=self._serve, daemon=True).start()

    def begin(self, task: Callable[[], None] | None) -> None:
        self._tasks.put(task)

    def end(self) -> None:
        """Wait for the end of the task, unless it has not begun: then it is taken back."""
        if not self._tasks.take_back():
            error = self._ends.get()
            if error is not None:
                raise error

    def _serve(self) -> None:
        while (task := self._tasks.get()) is not None:
            error = None
            try:
                task()
            except BaseException as raised:
                error = raised
            del task  # and what it refers to, while there is nothing to do
            self._ends.put(error)


class _Post:
    """A queue for which one can wait awake; what is on its board is only a hint."""

    def __init__(self) -> None:
        self._things: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._board = np.zeros(1, np.int64)  # how many things there have been
        self._known = 0

    def put(self, thing: Any) -> None:
        self._things.put(thing)
        self._board[0] += 1

    def get(self) -> Any:
        kernels.look_out(self._board, self._known, LOOKS)
        thing = self._things.get()
        self._known += 1
        return thing

    def take_back(self) -> bool:
        try:
            self._things.get_nowait()
        except queue.Empty:
            return False
        self._board[0] -= 1
        return True
