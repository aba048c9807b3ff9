"""Ctrl-C at any point of a fit never causes a hang, loses the map or leaves a thread running."""

import signal
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import closerthan as ct
from closerthan.compiled.threads import WorkerPool
from closerthan.fit.ctrl_c import CancelFlag, CtrlC
from closerthan.fit.parallel import WORTH_THREADS, run_together
from closerthan.objective.cpu.objective import CPU

SOURCES = str(Path(ct.__file__).parent)
SETTINGS = {
    **{solver: {"solver": solver} for solver in ct.solvers.SOLVERS},
    "several starts": {"n_starts": 3, "n_threads": 2},
    "several starts, one thread": {"n_starts": 2, "n_threads": 1},
    "threads in sums": {"device": CPU(n_threads=2, least_part=50)},
    "answers in blocks": {"device": CPU(n_threads=1, stream_from=1, block_bytes=1000)},
    "auto": {"loss": "auto"},
    "auto in threads": {"loss": "auto", "n_threads": 2, "wide": True},
}
POINTS = 6  # where Ctrl-C strikes in each of them; a sweep of 200 was run when this was written


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    path = tmp_path_factory.mktemp("answers") / "a.npy"
    np.save(path, ct.datasets.synthetic(12, 2, 300, 10, seed=0).train.rows)
    return ct.Comparisons(np.load(path, mmap_mode="r"), 12)


class Struck:
    """A fit that receives a signal at one of the lines of our sources that the main thread runs after the start."""

    def __init__(self, answers, settings, at, kind=signal.SIGINT):
        self.lines, self.epochs, self.result, self.raised = 0, 0, None, False
        before = set(threading.enumerate())

        def trace(frame, event, argument):
            if not frame.f_code.co_filename.startswith(SOURCES):
                return None
            if event == "line":
                self.lines += 1
                if self.lines == at:
                    signal.raise_signal(kind)
            return trace

        def callback(record, x):
            self.epochs = max(self.epochs, record.epoch)

        asked = {
            "loss": "ste",
            "penalty": 0,
            "seed": 0,
            "epochs": 2,
            "tolerance": None,
            "callback": callback,
            **settings,
        }
        sys.settrace(trace)
        try:
            self.result = ct.embed(answers, **asked)
        except KeyboardInterrupt:
            self.raised = True
        finally:
            sys.settrace(None)
        self.left = set(threading.enumerate()) - before


@pytest.mark.parametrize("name", SETTINGS)
def test_ctrl_c_at_any_line_keeps_the_map_and_leaves_no_thread(name, answers):
    settings = dict(SETTINGS[name])
    if settings.pop("wide", False):
        answers = ct.datasets.synthetic(12, 2, 2 * WORTH_THREADS, 10, seed=0).train
    n_lines = [Struck(answers, settings, at=0).lines for _ in range(2)][-1]  # the first one may compile
    for at in np.linspace(1, n_lines, POINTS).astype(int):
        struck = Struck(answers, settings, at)
        assert not struck.left, (at, struck.left)
        assert struck.raised == (struck.result is None)
        if struck.raised:
            assert struck.epochs == 0, f"the map was lost at line {at}"
        else:
            assert np.isfinite(struck.result.embedding).all()
        if at < 0.95 * n_lines:
            assert struck.raised or struck.result.stopped_by == "interrupted", at
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("name", ["polyak", "lbfgs", "several starts"])
def test_a_keyboard_interrupt_raised_by_the_program_keeps_the_map(name, answers):
    """This does not apply to the last lines, after the map has been made."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        n_lines = [Struck(answers, SETTINGS[name], at=0).lines for _ in range(2)][-1]
        for at in np.linspace(1, 0.7 * n_lines, POINTS).astype(int):
            struck = Struck(answers, SETTINGS[name], at, signal.SIGTERM)
            assert not struck.left, (at, struck.left)
            assert struck.result is not None or struck.epochs == 0, f"the map was lost at line {at}"
    finally:
        signal.signal(signal.SIGTERM, before)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # it may have struck where that is put back


def test_a_second_ctrl_c_raises_keyboard_interrupt():
    with CtrlC() as ctrl_c:
        signal.raise_signal(signal.SIGINT)
        assert ctrl_c.pressed.is_set()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_while_a_map_is_written_it_is_only_remembered():
    with CtrlC(insistent=False) as outer:
        with CtrlC() as inner:
            signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
    assert outer.pressed.is_set()
    assert inner.pressed.is_set()


def test_it_is_raised_at_once_while_there_is_nothing_to_lose():
    with CtrlC() as ctrl_c, pytest.raises(KeyboardInterrupt), ctrl_c.raised_at_once():
        signal.raise_signal(signal.SIGINT)
    with CtrlC() as ctrl_c:
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt), ctrl_c.raised_at_once():
            pass


def test_the_handler_of_a_program_is_kept():
    heard = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append(1))
    try:
        with CtrlC() as ctrl_c:
            signal.raise_signal(signal.SIGINT)
        assert (heard, ctrl_c.pressed.is_set()) == ([1], False)
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_interruption_while_jobs_are_handed_over_ends_those_that_have_begun(monkeypatch):
    from concurrent.futures import ThreadPoolExecutor

    plain, begun = ThreadPoolExecutor.submit, []

    def submit(self, *arguments):
        if begun:
            raise KeyboardInterrupt
        begun.append(1)
        return plain(self, *arguments)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", submit)
    cancelled, ended = CancelFlag(), threading.Event()

    def job():
        while not cancelled.is_set():
            pass
        ended.set()

    assert run_together([job, job], 2, cancelled) == ([None, None], True)
    assert ended.is_set() or not begun


def test_workers_that_have_started_end_when_the_next_one_cannot(monkeypatch):
    before, plain = set(threading.enumerate()), threading.Thread.start

    def start(self):
        if set(threading.enumerate()) - before:
            raise KeyboardInterrupt
        plain(self)

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(KeyboardInterrupt):
        WorkerPool(2)
    for worker in set(threading.enumerate()) - before:
        worker.join(timeout=10)
        assert not worker.is_alive()
