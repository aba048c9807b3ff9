"""Forked processes: the results of threads, and no process left, however the jobs end."""

import functools
import os
import signal
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import closerthan as ct
from closerthan.fit.ctrl_c import CancelFlag, CtrlC
from closerthan.fit.forked import processes_for, run_forked
from closerthan.fit.parallel import run_together
from closerthan.operating_system import can_fork

pytestmark = pytest.mark.skipif(not can_fork(), reason="processes are forked on Linux only")


def children():
    """Return the numbers of the processes that this one started and has not waited for."""
    return {number for task in Path("/proc/self/task").iterdir() for number in (task / "children").read_text().split()}


@pytest.fixture(autouse=True)
def no_child_is_left():
    others = children()  # such as Python's tracker of shared memory, which other tests may have started
    yield
    assert children() <= others


def square(number):
    return number * np.arange(3.0) ** 2


def wait_forever():
    threading.Event().wait()


def test_results_are_those_of_threads_in_the_same_order():
    jobs = [functools.partial(square, number) for number in range(50)]
    forked, interrupted = run_forked(jobs, 4, CancelFlag())
    threaded, _ = run_together(jobs, 2, CancelFlag())
    assert not interrupted
    assert np.array_equal(forked, threaded)


def test_jobs_run_in_at_most_as_many_other_processes_as_were_requested():
    results, _ = run_forked([os.getpid] * 40, 3, CancelFlag())
    assert os.getpid() not in results
    assert len(set(results)) <= 3


def test_each_result_is_reported_in_this_process():
    results = []
    run_forked([functools.partial(pow, 2, number) for number in range(10)], 4, CancelFlag(), results.append)
    assert sorted(results) == [2**number for number in range(10)]


def test_a_result_larger_than_a_pipe_arrives():
    (large, small), _ = run_forked([lambda: np.arange(10**6), lambda: 1], 2, CancelFlag())
    assert np.array_equal(large, np.arange(10**6))
    assert small == 1


@pytest.mark.parametrize(
    "error", [ValueError("not a map"), ct.ParameterError("n_dims", 0, "it must be positive"), SystemExit(3)]
)
def test_an_exception_is_raised_here_with_its_type_and_message(error):
    def fail():
        raise error

    with pytest.raises(type(error)) as raised:
        run_forked([fail, wait_forever], 2, CancelFlag())
    assert str(raised.value) == str(error)
    assert "in fail" in raised.value.__notes__[0]


def test_an_exception_that_cannot_be_pickled_is_described():
    class LocalError(Exception):
        pass

    def fail():
        raise LocalError("not a map")

    with pytest.raises(RuntimeError, match="LocalError: not a map"):
        run_forked([fail, wait_forever], 2, CancelFlag())


def test_a_result_that_cannot_be_pickled_is_an_error():
    with pytest.raises((AttributeError, TypeError), match="pickle"):
        run_forked([lambda: lambda: 1, wait_forever], 2, CancelFlag())


@pytest.mark.parametrize("at", [0, 5])
def test_a_process_that_is_killed_is_an_error(at):
    def job(number):
        if number == at:
            os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(RuntimeError, match=r"ended by signal 9, perhaps because memory .* pass n_threads=1"):
        run_forked([functools.partial(job, number) for number in range(8)], 2, CancelFlag())


def test_a_process_that_leaves_is_an_error():
    with pytest.raises(RuntimeError, match="ended unexpectedly"):
        run_forked([lambda: os._exit(0), wait_forever], 2, CancelFlag())


def test_ctrl_c_ends_the_processes_and_keeps_the_results_so_far():
    with CtrlC() as ctrl_c:
        results, interrupted = run_forked(
            [lambda: 1, wait_forever, wait_forever],
            3,
            CancelFlag(ctrl_c.pressed),
            lambda _: signal.raise_signal(signal.SIGINT),
        )
    assert (results, interrupted) == ([1, None, None], True)


def test_a_keyboard_interrupt_does_the_same():
    def interrupt(_):
        raise KeyboardInterrupt

    assert run_forked([lambda: 1, wait_forever], 2, CancelFlag(), interrupt) == ([1, None], True)


def test_ctrl_c_in_a_terminal_which_reaches_all_processes_leaves_it_to_this_one():
    def job():
        os.kill(os.getpid(), signal.SIGINT)
        return 1

    assert run_forked([job] * 4, 2, CancelFlag()) == ([1] * 4, False)


def test_nothing_begins_after_cancellation():
    cancelled = CancelFlag()
    cancelled.set()
    assert run_forked([wait_forever] * 2, 2, cancelled) == ([None, None], True)


@pytest.mark.parametrize("at", range(1, 150, 10))
def test_ctrl_c_at_any_point_leaves_no_process(at):
    source, lines = sys.modules[run_forked.__module__].__file__, 0

    def trace(frame, event, _):
        nonlocal lines
        if frame.f_code.co_filename != source:
            return None
        if event == "line":
            lines += 1
            if lines == at:
                signal.raise_signal(signal.SIGINT)
        return trace

    sys.settrace(trace)
    try:
        results, interrupted = run_forked([lambda: 1] * 4, 2, CancelFlag())
    except KeyboardInterrupt:
        assert lines < 10  # before the first process
    else:
        assert interrupted or results == [1] * 4
    finally:
        sys.settrace(None)


def test_children_do_not_flush_buffers_of_this_process(tmp_path):
    with open(tmp_path / "file", "w") as file:
        file.write("once")
        run_forked([lambda: 1, lambda: 2], 2, CancelFlag())
    assert (tmp_path / "file").read_text() == "once"


def test_threads_of_the_program_cause_no_warning():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ended = threading.Event()
        other = threading.Thread(target=ended.wait)
        other.start()
        try:
            run_forked([lambda: 1, lambda: 2], 2, CancelFlag())
        finally:
            ended.set()
            other.join()
    assert not caught


def test_blas_has_one_thread():
    from threadpoolctl import threadpool_info

    def n_blas_threads():
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

    assert run_forked([n_blas_threads] * 2, 2, CancelFlag())[0] == [{1}, {1}]


def test_processes_are_for_much_work_on_several_cores_in_the_main_thread():
    assert processes_for(200, 20_000, 16) == 16
    assert processes_for(6, 20_000, 16) == 6
    assert processes_for(200, 20_000, 3) == 0
    assert processes_for(10, 100, 16) == 0
    answers = []
    thread = threading.Thread(target=lambda: answers.append(processes_for(200, 20_000, 16)))
    thread.start()
    thread.join()
    assert answers == [0]
