"""The thread pool: each piece of work is done once, results are in order, and nothing continues afterwards."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from closerthan.compiled.threads import Worker, WorkerPool, spin_wait


@pytest.mark.parametrize("n_workers", [0, 1, 3])
@pytest.mark.parametrize("n_pieces", [0, 1, 2, 50])
def test_each_piece_is_done_once_and_results_are_in_order(n_workers, n_pieces):
    finished = []

    def work(piece):
        finished.append(piece)
        return -piece

    with WorkerPool(n_workers) as pool:
        assert len(pool) == n_workers + 1
        for _ in range(20):
            finished.clear()
            assert pool.map(work, range(n_pieces)) == [-piece for piece in range(n_pieces)]
            assert sorted(finished) == list(range(n_pieces))


@pytest.mark.parametrize("n_rows", [0, 1, 2, 10])
def test_rows_are_divided_among_the_threads(n_rows):
    numbers = np.zeros(n_rows)

    def work(rows):
        numbers[rows] += 1

    with WorkerPool(2) as pool:
        pool.map_rows(work, n_rows)
    assert (numbers == 1).all()


def test_threads_work_at_the_same_time():
    meeting = threading.Barrier(2, timeout=10)
    with WorkerPool(1) as pool:
        for _ in range(3):
            pool.map(lambda _: meeting.wait(), range(2))  # would time out if one thread did both


@pytest.mark.parametrize("spins", [0, 1, 10**6])
def test_a_worker_receives_work_whether_it_spins_or_sleeps(spins):
    meeting = threading.Barrier(2, timeout=10)
    with WorkerPool(1, spins) as pool:
        for _ in range(20):
            pool.map(lambda _: meeting.wait(), range(2))


@pytest.mark.parametrize("culprit", ["caller", "worker"])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_in_any_thread_is_raised_and_later_work_is_done_by_the_caller(culprit, error):
    caller = threading.get_ident()
    meeting = threading.Barrier(2, timeout=10)

    def work(_):
        meeting.wait()
        if (threading.get_ident() == caller) == (culprit == "caller"):
            raise error("no")

    with WorkerPool(1) as pool:
        with pytest.raises(error, match="no"):
            pool.map(work, range(2))
        assert len(pool) == 1
        assert set(pool.map(lambda _: threading.get_ident(), range(9))) == {caller}


def test_a_second_caller_does_its_work_itself_while_the_pool_is_busy():
    """The starts of one fit share an objective, and therefore a pool, in several threads."""
    with WorkerPool(2) as pool, ThreadPoolExecutor(4) as callers:

        def call(number):
            return [pool.map(lambda piece: (number, piece), range(5)) for _ in range(300)]

        for number, answers in enumerate(callers.map(call, range(8))):
            assert answers == [[(number, piece) for piece in range(5)]] * 300


def test_no_piece_is_started_after_an_error():
    started, workers = [], []
    worker_is_busy, error_is_raised = threading.Event(), threading.Event()

    def work(piece):
        started.append(piece)
        if threading.current_thread() is threading.main_thread():
            worker_is_busy.wait(timeout=10)
            raise ValueError("no")
        workers.append(threading.current_thread())
        worker_is_busy.set()
        error_is_raised.wait(timeout=10)

    with WorkerPool(1) as pool, pytest.raises(ValueError, match="no"):
        pool.map(work, range(1_000))
    error_is_raised.set()
    workers[0].join(timeout=10)
    assert not workers[0].is_alive()
    assert sorted(started) == [0, 1]


def test_a_task_that_has_not_started_is_withdrawn_instead_of_waited_for():
    """A worker may be held up for long by the operating system, while others have done all the work."""
    worker = Worker()
    worker.start()
    busy, released = threading.Event(), threading.Event()
    worker.begin(lambda: busy.set() or released.wait(timeout=10))
    busy.wait(timeout=10)
    worker.begin(lambda: pytest.fail("the task was withdrawn"))
    worker.end()
    assert not released.is_set()
    released.set()
    worker.end()
    worker.begin(None)
    worker.join()


def test_workers_end_when_the_pool_does():
    before = set(threading.enumerate())
    pool = WorkerPool(3)
    workers = set(threading.enumerate()) - before
    assert len(workers) == 3
    pool.map(lambda piece: piece, range(9))
    del pool  # without closing it
    for worker in workers:
        worker.join(timeout=10)
        assert not worker.is_alive()


def test_spinning_ends_when_the_counter_changes_or_after_a_number_of_reads():
    counter = np.zeros(1, np.int64)
    spin_wait(counter, 0, 1_000)  # unchanged: returns after 1,000 reads
    spin_wait(counter, 1, 2**62)  # already different: returns at once
    writer = threading.Thread(target=counter.__setitem__, args=(0, 7))
    writer.start()
    spin_wait(counter, 0, 2**62)  # returns when the other thread changes it
    assert counter[0] == 7
    writer.join()
