"""A thread pool whose threads spin before they sleep.

Waking a sleeping thread can take longer than a piece of work. A waiting thread therefore spins for about a millisecond
first, without holding Python's global interpreter lock: a worker until the next task, the caller until its workers are
done.
"""

import itertools
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from closerthan.compiled.compiling import atomic_load, kernel

SPINS = 40_000  # reads before a thread goes to sleep: about a millisecond


@kernel
def spin_wait(counter, value, spins):
    """Read ``counter[0]`` until it differs from ``value``, at most ``spins`` times."""
    for _ in range(spins):
        if atomic_load(counter) != value:
            break


class WorkerPool:
    """A pool of the calling thread and its workers. If the pool is busy, a second caller works in its own thread.

    Examples
    --------
    >>> with WorkerPool(1) as pool:
    ...     pool.map(lambda a, b: a + b, [1, 2, 3], [10, 20, 30])
    [11, 22, 33]
    """

    def __init__(self, n_workers: int, spins: int = SPINS) -> None:
        self._workers = [Worker(spins) for _ in range(n_workers)]
        self._busy = threading.Lock()
        try:
            for worker in self._workers:
                worker.start()
        except BaseException:  # for instance Ctrl-C: end the workers that have started
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
        """Return ``list(map(work, *arguments))``; each thread takes the next piece when it has finished one."""
        pieces = list(zip(*arguments, strict=True))
        if len(pieces) <= 1 or not self._workers or not self._busy.acquire(blocking=False):
            return [work(*piece) for piece in pieces]
        try:
            return self._run(work, pieces)
        except BaseException:  # for instance Ctrl-C: the workers finish the pieces that they have started
            self._dismiss()
            raise
        finally:
            self._busy.release()

    def _run(self, work: Callable[..., Any], pieces: list[tuple[Any, ...]]) -> list[Any]:
        results: list[Any] = [None] * len(pieces)
        numbers = itertools.count()  # next() is atomic, so no two threads get the same number

        def take() -> None:
            while (number := next(numbers)) < len(pieces):
                results[number] = work(*pieces[number])

        called = self._workers[: len(pieces) - 1]
        try:
            for worker in called:
                worker.begin(take)
            take()
            for worker in called:
                worker.end()
        finally:
            pieces.clear()  # so that no thread takes another piece after an error
        return results

    def map_rows(self, work: Callable[[slice], Any], n_rows: int) -> None:
        """Call ``work`` on slices that cover all rows, one slice per thread."""
        ends = [n_rows * part // len(self) for part in range(len(self) + 1)]
        self.map(work, [slice(*pair) for pair in itertools.pairwise(ends)])

    def close(self) -> None:
        """End all workers and wait for them; the calling thread then does all work itself."""
        for worker in self._dismiss():
            worker.join()

    def _dismiss(self) -> "list[Worker]":
        dismissed, self._workers = self._workers, []
        for worker in dismissed:
            worker.begin(None)
        return dismissed


class Worker:
    """A thread that runs one task after another; the task ``None`` ends it."""

    def __init__(self, spins: int = SPINS) -> None:
        self._tasks, self._ends = _Mailbox(spins), _Mailbox(spins)
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        if self._thread.ident is not None:
            self._thread.join()

    def begin(self, task: Callable[[], None] | None) -> None:
        self._tasks.put(task)

    def end(self) -> None:
        """Wait until the task has finished; if it has not started yet, withdraw it instead."""
        if not self._tasks.withdraw():
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
            del task  # an idle worker must not keep the data of its last task alive
            self._ends.put(error)


class _Mailbox:
    """A queue whose reader spins before it blocks. Its counter of items is only a hint to stop spinning."""

    def __init__(self, spins: int) -> None:
        self._spins = spins
        self._items: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._counter = np.zeros(1, np.int64)  # items put so far
        self._received = 0

    def put(self, item: Any) -> None:
        self._items.put(item)
        self._counter[0] += 1

    def get(self) -> Any:
        spin_wait(self._counter, self._received, self._spins)
        item = self._items.get()
        self._received += 1
        return item

    def withdraw(self) -> bool:
        """Remove an item that has not been received; return false if there is none."""
        try:
            self._items.get_nowait()
        except queue.Empty:
            return False
        self._counter[0] -= 1
        return True
