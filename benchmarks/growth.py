"""Growth: the time of an epoch of SVRG-SBB against the number of objects, of comparisons and of dimensions."""

from itertools import pairwise, product
from statistics import median
from typing import Any

import closerthan as ct
from benchmarks.kernels import random_rows
from benchmarks.machine import n_cores
from benchmarks.options import Options
from benchmarks.results import Results

OBJECTS = (100, 1_000, 10_000, 100_000, 1_000_000)
COMPARISONS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
DIMENSIONS = (1, 2, 4, 8, 10, 16, 32, 64)
AT_COMPARISONS = 200_000  # while the number of objects or of dimensions grows
TURNS = 9  # of one thread and all, where they are compared
SPEEDUP_AT = (1_000_000, 10_000_000)  # the second with --full


def measure(options: Options, results: Results) -> None:
    for n_objects in OBJECTS:
        _epoch(options, results, "n", n_objects, n_objects, AT_COMPARISONS, 10, 1)
    for n_rows in COMPARISONS[:-2] if options.quick else COMPARISONS:
        _epoch(options, results, "Q", n_rows, 1_000, n_rows, 10, 1)
    for n_dims in DIMENSIONS:
        _epoch(options, results, "p", n_dims, 1_000, AT_COMPARISONS, n_dims, 1)
    if n_cores() > 1:
        for n_rows in SPEEDUP_AT:
            if n_rows == SPEEDUP_AT[0] or options.full:
                _threads(options, results, n_rows)


def _threads(options: Options, results: Results, n_rows: int) -> None:
    """One thread and all, of each case in turn, again and again: a busy moment of the machine falls on all of them."""
    cases = list(product((1_000, 10_000), ("polyak", "svrg-sbb"), (1, n_cores())))
    keys = {
        case: {"part": "growth", "axis": f"threads at n = {case[0]:,}, {case[1]}", "size": n_rows, "threads": case[2]}
        for case in cases
    }
    if not all(results.where(**key) for key in keys.values()):
        answers = {
            n: ct.datasets.synthetic(n, 10, n_rows, 1, seed=0).train for n in dict.fromkeys(n for n, *_ in cases)
        }
        epochs: dict[tuple[int, str, int], list[float]] = {case: [] for case in cases}
        for _ in range(TURNS):
            for n_objects, solver, threads in cases:
                epochs[n_objects, solver, threads] += _epochs(answers[n_objects], 10, threads, solver, 5)
        for case in cases:
            results.add(**keys[case], **_summary(epochs[case]))
    for key in keys.values():
        seconds = results.where(**key)[-1]["seconds"]
        options.say(f"growth in {key['axis']}: {n_rows:,} ({key['threads']} threads): {seconds * 1e3:.2f} ms an epoch")


def _epoch(
    options: Options,
    results: Results,
    axis: str,
    at: int,
    n_objects: int,
    n_rows: int,
    n_dims: int,
    threads: int,
) -> None:
    key = {"part": "growth", "axis": axis, "size": at, "threads": threads}
    found = results.where(**key)
    answer = found[-1] if found else results.add(**key, **_timed(n_objects, n_rows, n_dims, threads))
    options.say(f"growth in {axis}: {at:,} ({threads} threads): {answer['seconds'] * 1e3:.2f} ms an epoch")


def _timed(n_objects: int, n_rows: int, n_dims: int, threads: int) -> dict[str, Any]:
    epochs = 1 if n_rows > 10_000_000 else 3 if n_rows > 1_000_000 else 9
    return _summary(_epochs(random_rows(n_objects, n_rows), n_dims, threads, "svrg-sbb", epochs))


def _epochs(comparisons: ct.Comparisons, n_dims: int, threads: int, solver: str, epochs: int) -> list[float]:
    options: dict[str, Any] = {"seed": 0, "tolerance": None, "n_threads": threads, "solver": solver}
    seconds = ct.embed(comparisons, n_dims, epochs=epochs, **options).history.seconds
    return [float(later - earlier) for earlier, later in pairwise(seconds)]


def _summary(each: list[float]) -> dict[str, Any]:
    return {"seconds": median(each), "lowest": min(each), "highest": max(each)}
