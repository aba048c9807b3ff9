"""Threads that share work: all of it is done once, in order, and nothing goes on afterwards."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from closerthan.compiled import threads
from closerthan.compiled.threads import WorkerPool, spin_wait


@pytest.mark.parametrize("n_workers", [0, 1, 3])
@pytest.mark.parametrize("n_pieces", [0, 1, 2, 50])
def test_each_piece_is_done_once_and_results_are_in_order(n_workers, n_pieces):
    done = []

    def work(piece):
        done.append(piece)
        return -piece

    with WorkerPool(n_workers) as pool:
        assert len(pool) == n_workers + 1
        for _ in range(20):
            done.clear()
            assert pool.map(work, range(n_pieces)) == [-piece for piece in range(n_pieces)]
            assert sorted(done) == list(range(n_pieces))


@pytest.mark.parametrize("n_rows", [0, 1, 2, 10])
def test_rows_are_shared_out(n_rows):
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
def test_asleep_or_awake_a_worker_hears_of_work(spins, monkeypatch):
    monkeypatch.setattr(threads, "SPINS", spins)
    meeting = threading.Barrier(2, timeout=10)
    with WorkerPool(1) as pool:
        for pause in (0.0, 0.01, 0.0):
            time.sleep(pause)
            pool.map(lambda _: meeting.wait(), range(2))


@pytest.mark.parametrize("culprit", ["caller", "worker"])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_in_any_thread_is_raised_and_the_rest_is_done_alone(culprit, error):
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


def test_a_second_caller_meanwhile_works_alone():
    """Starts of one fit share an objective, and so a pool, in several threads."""
    with WorkerPool(2) as pool, ThreadPoolExecutor(4) as callers:

        def call(number):
            return [pool.map(lambda piece: (number, piece), range(5)) for _ in range(300)]

        for number, answers in enumerate(callers.map(call, range(8))):
            assert answers == [[(number, piece) for piece in range(5)]] * 300


def test_after_an_error_no_piece_is_begun_any_more():
    begun = []

    def work(piece):
        begun.append(piece)
        if threading.current_thread() is threading.main_thread():
            raise ValueError("no")
        time.sleep(0.05)

    with WorkerPool(1) as pool, pytest.raises(ValueError, match="no"):
        pool.map(work, range(1_000))
    time.sleep(0.2)
    assert len(begun) < 10


def test_a_worker_that_has_not_begun_is_not_waited_for():
    """It may be busy for long: here it is held up on its way to the first piece."""
    with WorkerPool(1) as pool:
        (worker,) = pool._workers
        busy, held = threading.Event(), threading.Event()
        worker.begin(lambda: busy.set() or held.wait())
        busy.wait(timeout=10)
        assert pool.map(lambda piece: piece, range(3)) == [0, 1, 2]
        held.set()
        worker.end()
        assert pool.map(lambda piece: piece, range(3)) == [0, 1, 2]


def test_workers_end_when_the_pool_does():
    before = set(threading.enumerate())
    pool = WorkerPool(3)
    workers = set(threading.enumerate()) - before
    assert len(workers) == 3
    pool.map(lambda piece: piece, range(9))
    del pool  # never closed: forgotten
    for worker in workers:
        worker.join(timeout=10)
        assert not worker.is_alive()


def test_spinning_ends_at_news_or_after_a_while():
    board = np.zeros(1, np.int64)
    spin_wait(board, 0, 1_000)  # nothing new: comes back all the same
    spin_wait(board, 1, 2**62)  # something else than what is known: at once
    later = threading.Timer(0.05, lambda: board.__setitem__(0, 7))
    later.start()
    spin_wait(board, 0, 2**62)  # or as soon as it is there
    assert board[0] == 7
