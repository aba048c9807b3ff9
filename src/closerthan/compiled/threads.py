"""A thread pool whose threads spin before they sleep.

Waking a sleeping thread can take longer than a piece of the work. So a thread that waits spins for about a millisecond
first, without Python's lock: workers for the next task, and the caller for the end of theirs.
"""

import itertools
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from closerthan.compiled.compiling import atomic_load, kernel

SPINS = 40_000  # before a thread falls asleep: about a millisecond


@kernel
def spin_wait(board, known, spins):
    """Read ``board[0]`` until it is not what is known, at most so many times."""
    for _ in range(spins):
        if atomic_load(board) != known:
            break


class WorkerPool:
    """The calling thread and some workers. If the pool is busy, a second caller runs its work alone.

    Examples
    --------
    >>> with WorkerPool(1) as pool:
    ...     pool.map(lambda a, b: a + b, [1, 2, 3], [10, 20, 30])
    [11, 22, 33]
    """

    def __init__(self, n_workers: int) -> None:
        self._workers = [_Worker() for _ in range(n_workers)]
        self._busy = threading.Lock()
        try:
            for worker in self._workers:
                worker.start()
        except BaseException:  # Ctrl-C perhaps: those that have started end
            self._dismiss()
            raise

    def __enter__(self) -> "WorkerPool":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self._dismiss()

    def __len__(self) -> int:
        return 1 + len(self._workers)

    def map(self, work: Callable[..., Any], *arguments: Sequence[Any]) -> list[Any]:
        """``map(work, *arguments)``: each thread takes the next piece when it is done with one."""
        pieces = list(zip(*arguments, strict=True))
        if len(pieces) <= 1 or not self._workers or not self._busy.acquire(blocking=False):
            return [work(*piece) for piece in pieces]
        try:
            return self._run(work, pieces)
        except BaseException:  # Ctrl-C perhaps, while workers are at work: they end the pieces that they have begun
            self._dismiss()
            raise
        finally:
            self._busy.release()

    def _run(self, work: Callable[..., Any], pieces: list[tuple[Any, ...]]) -> list[Any]:
        done: list[Any] = [None] * len(pieces)
        numbers = itertools.count()  # whose next() is one step for Python: no two threads get the same

        def take() -> None:
            while (number := next(numbers)) < len(pieces):
                done[number] = work(*pieces[number])

        called = self._workers[: len(pieces) - 1]
        try:
            for worker in called:
                worker.begin(take)
            take()
            for worker in called:
                worker.end()
        finally:
            pieces.clear()  # after an error there is nothing more to take
        return done

    def map_rows(self, work: Callable[[slice], Any], n_rows: int) -> None:
        """``work`` on all rows, cut into as many parts as there are threads."""
        ends = [n_rows * part // len(self) for part in range(len(self) + 1)]
        self.map(work, [slice(*pair) for pair in itertools.pairwise(ends)])

    def close(self) -> None:
        """End all workers, and wait until they have; the calling thread goes on alone."""
        for worker in self._dismiss():
            worker.join()

    def _dismiss(self) -> "list[_Worker]":
        dismissed, self._workers = self._workers, []
        for worker in dismissed:
            worker.begin(None)
        return dismissed


class _Worker:
    """A thread that does what it is given, one task after another; ``None`` is the last one."""

    def __init__(self) -> None:
        self._tasks, self._ends = _Mailbox(), _Mailbox()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        if self._thread.ident is not None:
            self._thread.join()

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


class _Mailbox:
    """A queue for which one can wait awake; what is on its board is only a hint."""

    def __init__(self) -> None:
        self._things: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._board = np.zeros(1, np.int64)  # how many things there have been
        self._known = 0

    def put(self, thing: Any) -> None:
        self._things.put(thing)
        self._board[0] += 1

    def get(self) -> Any:
        spin_wait(self._board, self._known, SPINS)
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
