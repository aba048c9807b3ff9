"""Kernels: nanoseconds per inner step and per term of a full gradient, and the machine's memory bandwidth."""

import time
from collections.abc import Callable, Iterator
from itertools import product
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.machine import n_cores
from benchmarks.options import Options
from benchmarks.results import Results
from closerthan import Comparisons
from closerthan.compiled.kernels.polyak import polyak_steps
from closerthan.compiled.simd import padded
from closerthan.losses import loss_named
from closerthan.objective.cpu.objective import CPUObjective
from closerthan.objective.visits import ShuffledPass, Visits
from closerthan.solvers.visiting_order import SAMPLINGS

LOSSES = ("ste", "gnmds", "tste")
SIZES = (100, 1_000, 10_000, 100_000)
N_DIMS = 10
REPEATS = 3  # per round


def measure(options: Options, results: Results) -> None:
    """Measure every kernel in every round, so that a disturbance of some seconds does not affect a single kernel."""
    rounds = 2 if options.quick else 5
    n_rows = 100_000 if options.quick else 400_000
    stream = results.once(lambda: _stream(3 * rounds), part="kernels", kernel="stream")
    options.say(f"memory bandwidth {stream['gb_per_second']:.1f} GB/s (one thread)")
    cases = [case for case in _cases() if not results.where(part="kernels", **case)]
    timings: list[list[dict[str, Any]]] = [[] for _ in cases]
    for number in range(rounds if cases else 0):
        options.say(f"kernels, round {number + 1} of {rounds}")
        for case, timing in zip(cases, timings, strict=True):
            timing.append(_timed(case, random_rows(case["n_objects"], n_rows)))
    for case, timing in zip(cases, timings, strict=True):
        times = [ns for one in timing for ns in one["times"]]
        per = {"ns": median(times), "lowest": min(times), "highest": max(times), "bytes": timing[0]["bytes"]}
        results.add(part="kernels", **case, **per)
        threads = f", {case['threads']} threads" if "threads" in case else ""
        options.say(f"n = {case['n_objects']} {case['loss']}, {case['kernel']}{threads}: {per['ns']:.1f} ns")


def _cases() -> Iterator[dict[str, Any]]:
    for n_objects, loss in product(SIZES, LOSSES):
        key = {"loss": loss, "n_objects": n_objects, "n_dims": N_DIMS}
        yield {"kernel": "inner step", **key}
        for threads in dict.fromkeys((1, n_cores())):
            yield {"kernel": "gradient", "threads": threads, **key}
        yield {"kernel": "Polyak step", **key}
        for order in ("uniform", "permuted", "in sequence") if loss == "ste" else ():
            yield {"kernel": f"inner step, {order}", **key}


def _timed(case: dict[str, Any], rows: Comparisons) -> dict[str, Any]:
    if case["kernel"] == "gradient":
        return _full(rows, case["loss"], case["threads"])
    if case["kernel"] == "Polyak step":
        return _polyak_step(rows, case["loss"])
    _, _, order = case["kernel"].partition(", ")
    return _inner_step(rows, case["loss"], order or "shuffled")


def random_rows(n_objects: int, n_rows: int) -> Comparisons:
    """Return random triplets of distinct objects; no map underlies them, which makes no difference to a kernel."""
    rng = np.random.default_rng(0)
    anchor = rng.integers(n_objects, size=n_rows)
    near = (anchor + rng.integers(1, n_objects, size=n_rows)) % n_objects
    far = (anchor + rng.integers(1, n_objects, size=n_rows)) % n_objects
    far = np.where(far == near, (far + 1 + (far + 1 == anchor)) % n_objects, far)
    far = np.where(far == anchor, (far + 1) % n_objects, far)
    return Comparisons.from_triplets(
        np.column_stack([anchor, near, far]).astype(np.int32), n_objects=n_objects, unmentioned="ignore"
    )


def in_order(order: NDArray[np.int64]) -> Visits:
    """Return visits that expand to exactly this order."""
    return Visits((ShuffledPass(order[:0], 1, 1, order, 0, len(order)),))


def _inner_step(rows: Comparisons, loss: str, sampling: str = "shuffled") -> dict[str, Any]:
    x = 0.3 * np.random.default_rng(1).standard_normal((rows.n_objects, N_DIMS))
    with CPUObjective(rows, loss_named(loss).in_dims(N_DIMS)) as objective:
        snapshot = objective.at(x)
        rng = np.random.default_rng(2)
        if sampling in SAMPLINGS:
            parts = list(SAMPLINGS[sampling](rng, len(rows), len(rows), 1, max(2048, x.size)))
        else:
            parts = [in_order(rng.permutation(len(rows)) if sampling == "permuted" else np.arange(len(rows)))]

        def walk() -> float:
            walking = objective.walk(snapshot, 1)
            begin = time.perf_counter()
            for part in parts:
                walking.take(part, 1e-7)
            return time.perf_counter() - begin

        return _per(walk, len(rows)) | {"bytes": 3 * (3 * N_DIMS * 8 + N_DIMS * 8) + 12 + 8}


def _polyak_step(rows: Comparisons, loss: str) -> dict[str, Any]:
    x = padded(0.3 * np.random.default_rng(1).standard_normal((rows.n_objects, N_DIMS)))
    objective = CPUObjective(rows, loss_named(loss).in_dims(N_DIMS))
    chunks = SAMPLINGS["shuffled"](np.random.default_rng(2), len(rows), len(rows), 1, 16_384)
    orders = [objective.expand(chunk) for chunk in chunks]

    def walk() -> float:
        begin = time.perf_counter()
        for order in orders:
            polyak_steps(objective.shared_argument, objective.rows, order, 16, 1e-4, x)
        return time.perf_counter() - begin

    return _per(walk, len(rows)) | {"bytes": 3 * 2 * x.shape[1] * 4 + 12 + 8}


def _full(rows: Comparisons, loss: str, n_threads: int) -> dict[str, Any]:
    x = 0.3 * np.random.default_rng(1).standard_normal((rows.n_objects, N_DIMS))
    with CPUObjective(rows, loss_named(loss).in_dims(N_DIMS), n_threads=n_threads) as objective:

        def gradient() -> float:
            begin = time.perf_counter()
            objective.at(x)
            return time.perf_counter() - begin

        return _per(gradient, len(rows) / n_threads) | {"bytes": 3 * 3 * N_DIMS * 8 + 12}


def _per(timed: Callable[[], float], number: float) -> dict[str, Any]:
    timed()  # compiles the kernel
    return {"times": [timed() / number * 1e9 for _ in range(REPEATS)]}


def _stream(repeats: int) -> dict[str, Any]:
    """Time ``c = a + b`` on arrays far larger than any cache: two are read, one is written."""
    a, b, c = (np.ones(1 << 24) for _ in range(3))

    def add() -> float:
        begin = time.perf_counter()
        np.add(a, b, out=c)
        return time.perf_counter() - begin

    add()
    times = [add() for _ in range(repeats)]
    return {"gb_per_second": 3 * a.nbytes / median(times) / 1e9}
