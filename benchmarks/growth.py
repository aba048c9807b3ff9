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
                for n_objects, solver, threads in product((1_000, 10_000), ("polyak", "svrg-sbb"), (1, n_cores())):
                    axis = f"threads at n = {n_objects:,}, {solver}"
                    _epoch(options, results, axis, n_rows, n_objects, n_rows, 10, threads, solver, true=True)


def _epoch(
    options: Options,
    results: Results,
    axis: str,
    at: int,
    n_objects: int,
    n_rows: int,
    n_dims: int,
    threads: int,
    solver: str = "svrg-sbb",
    true: bool = False,
) -> None:
    key = {"part": "growth", "axis": axis, "size": at, "threads": threads}
    found = results.where(**key)
    answer = found[-1] if found else results.add(**key, **_timed(n_objects, n_rows, n_dims, threads, solver, true))
    options.say(f"growth in {axis}: {at:,} ({threads} threads): {answer['seconds'] * 1e3:.2f} ms an epoch")


def _timed(n_objects: int, n_rows: int, n_dims: int, threads: int, solver: str, true: bool) -> dict[str, Any]:
    synthetic = ct.datasets.synthetic(n_objects, n_dims, n_rows, 1, seed=0).train if true else None
    comparisons = random_rows(n_objects, n_rows) if synthetic is None else synthetic
    options: dict[str, Any] = {"seed": 0, "tolerance": None, "n_threads": threads, "solver": solver}
    epochs = 1 if n_rows > 10_000_000 else 3 if n_rows > 1_000_000 else 9
    seconds = ct.embed(comparisons, n_dims, epochs=epochs, **options).history.seconds
    each = [float(later - earlier) for earlier, later in pairwise(seconds)]
    return {"seconds": median(each), "lowest": min(each), "highest": max(each)}
