"""Growth: the time of an epoch of SVRG-SBB against the number of objects, comparisons and dimensions."""

import time
from itertools import pairwise, product
from statistics import median
from typing import Any, NamedTuple

import numpy as np

import closerthan as ct
from benchmarks.kernels import random_rows
from benchmarks.machine import n_cores
from benchmarks.options import Options
from benchmarks.results import Results
from closerthan.compiled.threads import WorkerPool, spin_wait

OBJECTS = (100, 1_000, 10_000, 100_000, 1_000_000)
COMPARISONS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
DIMENSIONS = (1, 2, 4, 8, 10, 16, 32, 64)
AT_COMPARISONS = 200_000  # while the number of objects or dimensions grows
TURNS, MOST_TURNS = 9, 24  # of one thread and all threads, for comparing them
FREE = 0.95  # fraction of the ideal speed-up above which the cores count as otherwise idle
SPEEDUP_AT = (1_000_000, 10_000_000)  # the second with --full


def measure(options: Options, results: Results) -> None:
    for n_objects in OBJECTS:
        _epoch(options, results, "n", n_objects, AT_COMPARISONS, 10)
    for n_rows in COMPARISONS[:-2] if options.quick else COMPARISONS:
        _epoch(options, results, "Q", 1_000, n_rows, 10)
    for n_dims in DIMENSIONS:
        _epoch(options, results, "p", 1_000, AT_COMPARISONS, n_dims)
    if n_cores() > 1:
        for n_rows in SPEEDUP_AT:
            if n_rows == SPEEDUP_AT[0] or options.full:
                _threads(options, results, n_rows)


def _threads(options: Options, results: Results, n_rows: int) -> None:
    """Measure each case in turn, repeatedly, on one thread and on all.

    Other processes may use the cores of this machine. Before and after each turn, a plain loop measures how many cores
    are free; turns in which they were not are repeated, a limited number of times.
    """
    cases = list(product((1_000, 10_000), ("polyak", "svrg-sbb")))
    axes = {case: f"threads at n = {case[0]:,}, {case[1]}" for case in cases}
    if not all(results.where(part="growth", axis=axis, size=n_rows) for axis in axes.values()):
        answers = {n: ct.datasets.synthetic(n, 10, n_rows, 1, seed=0).train for n, _ in cases}
        turns: dict[tuple[int, str], list[_Turn]] = {case: [] for case in cases}
        for _ in range(MOST_TURNS):
            for case in cases:
                if sum(turn.free for turn in turns[case]) < TURNS:
                    turns[case].append(_turn(answers[case[0]], case[1]))
        for case, axis in axes.items():
            free = [turn for turn in turns[case] if turn.free]
            selected = free if len(free) >= TURNS // 2 else turns[case]
            for threads in (1, n_cores()):
                key = {"part": "growth", "axis": axis, "size": n_rows, "threads": threads}
                each = [seconds for turn in selected for seconds in turn.epochs[threads]]
                alone = median(turn.alone for turn in selected)
                results.add(**key, **_summary(each), turns=len(turns[case]), free=len(free), alone=alone)
    for axis in axes.values():
        for record in results.where(part="growth", axis=axis, size=n_rows):
            options.say(f"growth in {axis}: {n_rows:,} ({record['threads']} threads): {record['seconds'] * 1e3:.2f} ms")


class _Turn(NamedTuple):
    """Times of epochs on one thread and on all, and the speed-up of a plain loop on all threads."""

    epochs: dict[int, list[float]]
    alone: float

    @property
    def free(self) -> bool:
        return self.alone >= FREE * n_cores()


def _turn(comparisons: ct.Comparisons, solver: str) -> _Turn:
    before = _alone()
    epochs = {threads: _epochs(comparisons, 10, threads, solver, 5) for threads in (1, n_cores())}
    return _Turn(epochs, min(before, _alone()))


def _alone() -> float:
    """Return the speed-up of all cores over one for a few hundredths of a second of work: 2 on two idle cores."""
    counters = [np.zeros(1, np.int64) for _ in range(n_cores())]
    seconds = []
    for n_workers in (0, n_cores() - 1):
        with WorkerPool(n_workers) as pool:
            pool.map(lambda counter: spin_wait(counter, 0, 1_000), counters)  # wakes all threads
            begin = time.perf_counter()
            pool.map(lambda counter: spin_wait(counter, 0, 1_000_000), counters)
            seconds.append(time.perf_counter() - begin)
    return seconds[0] / seconds[1]


def _epoch(options: Options, results: Results, axis: str, n_objects: int, n_rows: int, n_dims: int) -> None:
    """Measure an epoch on one thread, where the number that ``axis`` stands for grows."""
    size = {"n": n_objects, "Q": n_rows, "p": n_dims}[axis]
    answer = results.once(lambda: _timed(n_objects, n_rows, n_dims), part="growth", axis=axis, size=size, threads=1)
    options.say(f"growth in {axis}: {size:,} (1 thread): {answer['seconds'] * 1e3:.2f} ms per epoch")


def _timed(n_objects: int, n_rows: int, n_dims: int) -> dict[str, Any]:
    epochs = 1 if n_rows > 10_000_000 else 3 if n_rows > 1_000_000 else 9
    return _summary(_epochs(random_rows(n_objects, n_rows), n_dims, 1, "svrg-sbb", epochs))


def _epochs(comparisons: ct.Comparisons, n_dims: int, threads: int, solver: str, epochs: int) -> list[float]:
    options: dict[str, Any] = {
        "loss": "ste",
        "penalty": 0,
        "seed": 0,
        "tolerance": None,
        "n_threads": threads,
        "solver": solver,
    }
    seconds = ct.embed(comparisons, n_dims, epochs=epochs, **options).history.seconds
    return [float(later - earlier) for earlier, later in pairwise(seconds)]


def _summary(each: list[float]) -> dict[str, Any]:
    return {"seconds": median(each), "lowest": min(each), "highest": max(each)}
