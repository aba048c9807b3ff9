"""Kernels: nanoseconds per inner step and per term of a full gradient, beside the machine's memory bandwidth."""

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

from benchmarks.machine import n_cores
from benchmarks.options import Options
from benchmarks.results import Results
from closerthan import Comparisons
from closerthan.losses import loss_named
from closerthan.objective import Objective
from closerthan.sampling import SAMPLINGS

LOSSES = ("ste", "gnmds", "tste")
SIZES = (100, 1_000, 10_000, 100_000)
N_DIMS = 10


def measure(options: Options, results: Results) -> None:
    repeats = 3 if options.quick else 7
    n_rows = 100_000 if options.quick else 400_000
    stream = results.once(lambda: _stream(repeats), part="kernels", kernel="stream")
    options.say(f"memory bandwidth {stream['gb_per_second']:.1f} GB/s (one thread)")
    for n_objects in SIZES:
        rows = random_rows(n_objects, n_rows)
        for loss in LOSSES:
            key = {"part": "kernels", "loss": loss, "n_objects": n_objects, "n_dims": N_DIMS}
            step = results.once(lambda: _inner_step(rows, loss, repeats), kernel="inner step", **key)  # noqa: B023
            full = results.once(lambda: _full(rows, loss, 1, repeats), kernel="gradient", threads=1, **key)  # noqa: B023
            single = results.once(lambda: _polyak_step(rows, loss, repeats), kernel="Polyak step", **key)  # noqa: B023
            options.say(
                f"n = {n_objects} {loss}: step {step['ns']:.1f} ns, gradient {full['ns']:.1f} ns, "
                f"Polyak step {single['ns']:.1f} ns"
            )
            for other in ("uniform", "permuted", "in sequence") if loss == "ste" else ():
                name = f"inner step, {other}"
                step = results.once(lambda: _inner_step(rows, loss, repeats, other), kernel=name, **key)  # noqa: B023
                options.say(f"    in another order: {other}: {step['ns']:.1f} ns")
            if n_cores() > 1:
                cores = n_cores()
                both = results.once(
                    lambda: _full(rows, loss, cores, repeats),  # noqa: B023
                    kernel="gradient",
                    threads=cores,
                    **key,
                )
                options.say(f"    {cores} threads: {both['ns']:.1f} ns per triplet and thread")


def random_rows(n_objects: int, n_rows: int) -> Comparisons:
    """Triplets of distinct objects, at random; of objects that nobody placed, which is all the same to a kernel."""
    rng = np.random.default_rng(0)
    anchor = rng.integers(n_objects, size=n_rows)
    near = (anchor + rng.integers(1, n_objects, size=n_rows)) % n_objects
    far = (anchor + rng.integers(1, n_objects, size=n_rows)) % n_objects
    far = np.where(far == near, (far + 1 + (far + 1 == anchor)) % n_objects, far)
    far = np.where(far == anchor, (far + 1) % n_objects, far)
    return Comparisons.from_triplets(
        np.column_stack([anchor, near, far]).astype(np.int32), n_objects=n_objects, unmentioned="ignore"
    )


def _inner_step(rows: Comparisons, loss: str, repeats: int, sampling: str = "shuffled") -> dict[str, Any]:
    x = 0.3 * np.random.default_rng(1).standard_normal((rows.n_objects, N_DIMS))
    with Objective(rows, loss_named(loss).in_dims(N_DIMS)) as objective:
        snapshot = objective.at(x)
        rng = np.random.default_rng(2)
        if sampling in SAMPLINGS:
            orders = list(SAMPLINGS[sampling](rng, len(rows), len(rows), 1, max(2048, x.size)))
        else:
            orders = [rng.permutation(len(rows)) if sampling == "permuted" else np.arange(len(rows))]

        def walk() -> float:
            walking = objective.walk(snapshot, 1)
            begin = time.perf_counter()
            for order in orders:
                walking.take(order, 1e-7)
            return time.perf_counter() - begin

        return _per(walk, len(rows), repeats) | {"bytes": 3 * (3 * N_DIMS * 8 + N_DIMS * 8) + 12 + 8}


def _polyak_step(rows: Comparisons, loss: str, repeats: int) -> dict[str, Any]:
    x = 0.3 * np.random.default_rng(1).standard_normal((rows.n_objects, N_DIMS))
    with Objective(rows, loss_named(loss).in_dims(N_DIMS)) as objective:
        orders = list(SAMPLINGS["shuffled"](np.random.default_rng(2), len(rows), len(rows), 1, 16_384))

        def walk() -> float:
            begin = time.perf_counter()
            for order in orders:
                objective.descend_by_polyak(order, x, 1e-4)  # shorter moves would be left out
            return time.perf_counter() - begin

        return _per(walk, len(rows), repeats) | {"bytes": 3 * 2 * N_DIMS * 8 + 12 + 8}


def _full(rows: Comparisons, loss: str, n_threads: int, repeats: int) -> dict[str, Any]:
    x = 0.3 * np.random.default_rng(1).standard_normal((rows.n_objects, N_DIMS))
    with Objective(rows, loss_named(loss).in_dims(N_DIMS), n_threads) as objective:

        def gradient() -> float:
            begin = time.perf_counter()
            objective.at(x)
            return time.perf_counter() - begin

        return _per(gradient, len(rows) / n_threads, repeats) | {"bytes": 3 * 3 * N_DIMS * 8 + 12}


def _per(timed: Callable[[], float], number: float, repeats: int) -> dict[str, Any]:
    timed()  # compiles
    times = [timed() / number * 1e9 for _ in range(repeats)]
    return {"ns": median(times), "lowest": min(times), "highest": max(times)}


def _stream(repeats: int) -> dict[str, Any]:
    """``c = a + b`` over arrays far larger than any cache: two read, one written."""
    a, b, c = (np.ones(1 << 24) for _ in range(3))

    def add() -> float:
        begin = time.perf_counter()
        np.add(a, b, out=c)
        return time.perf_counter() - begin

    add()
    times = [add() for _ in range(repeats)]
    return {"gb_per_second": 3 * a.nbytes / median(times) / 1e9}
