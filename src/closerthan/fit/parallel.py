"""Several jobs at once, ended together by Ctrl-C."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Any


def run_together(
    jobs: Sequence[Callable[[], Any]], n_threads: int, cancelled: threading.Event
) -> tuple[list[Any], bool]:
    """What the jobs return (None for those that never began), and whether Ctrl-C was pressed meanwhile.

    A job looks at ``cancelled`` now and then, and ends early once it is set. With one thread, this one, jobs run one
    after another, and Ctrl-C raises KeyboardInterrupt in the one that runs.

    Examples
    --------
    >>> run_together([lambda: 1, lambda: 2], 2, threading.Event())
    ([1, 2], False)
    """
    if min(n_threads, len(jobs)) == 1:
        return _one_after_another(jobs, cancelled)
    interrupted = False
    with ThreadPoolExecutor(min(n_threads, len(jobs))) as pool:
        everyone = threading.Event()  # jobs begin together: an interruption finds all of them handed over
        futures = [pool.submit(_after, everyone, job) for job in jobs]
        try:
            everyone.set()
            # In slices: Ctrl-C cannot interrupt a wait on every system.
            while (state := wait(futures, timeout=0.1, return_when=FIRST_EXCEPTION)).not_done:
                if any(future.exception() for future in state.done):
                    break
        except KeyboardInterrupt:
            interrupted = True
            for future in futures:
                future.cancel()
        finally:
            cancelled.set()  # whatever else happens, a second Ctrl-C included, nobody goes on in the background
        return [None if future.cancelled() else future.result() for future in futures], interrupted


def _one_after_another(jobs: Sequence[Callable[[], Any]], cancelled: threading.Event) -> tuple[list[Any], bool]:
    results: list[Any] = [None] * len(jobs)
    try:
        for number, job in enumerate(jobs):
            results[number] = job()
    except KeyboardInterrupt:
        return results, True
    finally:
        cancelled.set()
    return results, False


def _after(event: threading.Event, job: Callable[[], Any]) -> Any:
    event.wait()
    return job()
