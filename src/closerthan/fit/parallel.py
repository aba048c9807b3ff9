"""Run several jobs in parallel; Ctrl-C stops all of them."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import Any

from closerthan.fit.ctrl_c import CancelFlag

WORTH_THREADS = 16_000  # comparisons from which several threads are faster than one


def threads_for(n_comparisons: int, n_threads: int) -> int:
    """Return the number of fits to run in parallel: short fits to few answers mostly wait for Python's lock.

    Examples
    --------
    >>> threads_for(1_000, 8), threads_for(100_000, 8)
    (1, 8)
    """
    return n_threads if n_comparisons >= WORTH_THREADS else 1


def run_together(jobs: Sequence[Callable[[], Any]], n_threads: int, cancelled: CancelFlag) -> tuple[list[Any], bool]:
    """Run jobs; return their results (None for jobs that never started) and whether they were interrupted.

    A job checks ``cancelled`` regularly and stops early once it is set; jobs that have not started by then are skipped.
    With one thread, jobs run one after another in this thread, and a KeyboardInterrupt is raised in the running one.

    Examples
    --------
    >>> run_together([lambda: 1, lambda: 2], 2, CancelFlag())
    ([1, 2], False)
    """
    results: list[Any] = [None] * len(jobs)
    interrupted = False
    if min(n_threads, len(jobs)) == 1:
        try:
            for number, job in enumerate(jobs):
                if not cancelled.is_set():
                    results[number] = job()
        except KeyboardInterrupt:
            interrupted = True
        interrupted |= cancelled.is_set()
        cancelled.set()
        return results, interrupted

    def begin(job: Callable[[], Any]) -> Any:
        return None if cancelled.is_set() else job()

    futures: list[Future[Any]] = []
    # Leaving the pool waits for its threads, so the flag must be set by then in any case.
    with ThreadPoolExecutor(min(n_threads, len(jobs))) as pool:
        try:
            for job in jobs:
                futures.append(pool.submit(begin, job))  # noqa: PERF401 - futures before an interruption are kept
            # Wait in short intervals, since Ctrl-C does not interrupt a wait on every system.
            while (state := wait(futures, timeout=0.1, return_when=FIRST_EXCEPTION)).not_done:
                if any(future.exception() for future in state.done):
                    break
            interrupted = cancelled.is_set()
        except KeyboardInterrupt:
            interrupted = True
        finally:
            cancelled.set()
    for number, future in enumerate(futures):
        results[number] = future.result()
    return results, interrupted
