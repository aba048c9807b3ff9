"""Figure 3: 21 European cities, from comparisons of their road distances."""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from closerthan.arrays import Array
from closerthan.comparisons import Comparisons
from closerthan.datasets import Distances, eurodist
from closerthan.fit.embedding import embed
from closerthan.metrics import procrustes, triplet_error
from closerthan.solvers import SVRG, Batch, Gram, Solver
from closerthan.solvers.steps import StabilizedBB
from reproduction.bench import Bench
from reproduction.drawing import draw_maps
from reproduction.methods import LOSS_NAMES
from reproduction.page import Block, Claim, Picture, Section, Table, Text
from reproduction.trial_log import Job, Row

N_TRAIN = 2_000
SEED = 3
SAME = 0.01  # held-out errors that differ by less count as equal

# Batch descent uses the same step rule, so that the methods differ only in being stochastic.
METHODS: dict[str, Solver] = {
    "SVRG-SBB_eps": SVRG(),
    "batch": Batch(step=StabilizedBB()),
    "convex": Gram(),
}


def run(bench: Bench) -> Section:
    """Fit every loss with every method to random subsets of the triplets."""
    n_trials = bench.count(50, quick=3)
    epochs = 60 if bench.quick else 300
    cities = eurodist()
    reference = classical_mds(cities.table, 2)
    jobs = [
        Job(
            {"loss": loss, "method": method, "solver": solver, "epochs": epochs, "trial": trial},
            functools.partial(_trial, cities, reference, loss, solver, epochs, trial),
        )
        for trial in range(n_trials)
        for loss in LOSS_NAMES
        for method, solver in METHODS.items()
    ]
    rows = bench.log.run("figure3", jobs)
    bench.log.write_csv(rows)
    return _section(bench, rows, cities, reference, n_trials)


def classical_mds(distances: Array, n_dims: int) -> Array:
    """Compute coordinates by classical (Torgerson) scaling.

    Examples
    --------
    >>> line = classical_mds(np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]]), 1)
    >>> [round(float(gap), 6) for gap in np.abs(np.diff(line[:, 0]))]
    [1.0, 2.0]
    """
    squared = distances**2
    centred = squared - squared.mean(axis=0) - squared.mean(axis=1, keepdims=True) + squared.mean()
    values, vectors = np.linalg.eigh(-centred / 2)
    largest = np.argsort(values)[::-1][:n_dims]
    coordinates: Array = vectors[:, largest] * np.sqrt(np.maximum(values[largest], 0))
    # North is up: the first city of the table (Athens) lies in the south-east, which determines both signs.
    return coordinates * np.where(coordinates[0] * np.array([1.0, -1.0])[:n_dims] < 0, -1.0, 1.0)


def _parts(cities: Distances, trial: int) -> tuple[Comparisons, Comparisons]:
    everything = cities.comparisons()
    return everything.split(1 - N_TRAIN / len(everything), np.random.default_rng([SEED, trial]), by="comparisons")


def _trial(
    cities: Distances, reference: Array, loss: str, solver: Solver, epochs: int, trial: int
) -> Mapping[str, Any]:
    train, test = _parts(cities, trial)
    result = embed(
        train, 2, loss=loss, penalty=0, solver=solver, seed=trial, epochs=epochs, tolerance=1e-6, n_threads=1
    )
    if result.stopped_by == "interrupted":
        raise KeyboardInterrupt  # an incomplete fit must not be logged as a trial
    aligned = procrustes(result.embedding, reference)
    return {
        "train_error": triplet_error(train, result.embedding),
        "test_error": triplet_error(test, result.embedding),
        "reference_error": triplet_error(test, reference),
        "procrustes": aligned.distance,
        "stopped_by": result.stopped_by,
        "map": np.round(aligned.aligned, 2).tolist(),
    }


def _section(bench: Bench, rows: list[Row], cities: Distances, reference: Array, n_trials: int) -> Section:
    first = {(row["loss"], row["method"]): row for row in rows if row["trial"] == 0}
    mds_error = first[LOSS_NAMES[0], "batch"]["reference_error"]
    maps = {f"classical MDS of all distances (held-out error {mds_error:.3f})": reference}
    for method in ("SVRG-SBB_eps", "convex"):
        for loss in LOSS_NAMES:
            row = first[loss, method]
            maps[f"{loss}, {method} (held-out error {row['test_error']:.3f})"] = np.array(row["map"])
    draw_maps(bench.log.folder, "figure3", maps, reference, cities.names)

    lines, cases, better, measured = [], {}, {}, []
    for loss in LOSS_NAMES:
        errors, shapes = {}, {}
        for method in METHODS:
            matching = [row for row in rows if (row["loss"], row["method"]) == (loss, method)]
            held_out = [row["test_error"] for row in matching]
            distances = [row["procrustes"] for row in matching]
            errors[method], shapes[method] = float(np.mean(held_out)), float(np.mean(distances))
            lines.append(
                [
                    loss,
                    method,
                    f"{np.mean([row['train_error'] for row in matching]):.3f}",
                    f"{np.mean(held_out):.3f}",
                    f"{np.std(held_out):.3f}",
                    f"{min(held_out):.3f}",
                    f"{np.mean(distances):.3f}",
                    f"{np.std(distances):.3f}",
                ]
            )
        cases[loss] = errors["SVRG-SBB_eps"] <= errors["batch"] + SAME
        better[loss] = errors["SVRG-SBB_eps"] < errors["convex"]
        measured.append(
            f"{loss}: {errors['SVRG-SBB_eps']:.3f} / {errors['batch']:.3f} / {errors['convex']:.3f} "
            f"({shapes['SVRG-SBB_eps']:.3f} / {shapes['batch']:.3f} / {shapes['convex']:.3f})"
        )
    means = "mean held-out error (Procrustes distance to classical MDS) of SVRG-SBB_eps / batch / convex. "
    mean_mds = float(np.mean([row["reference_error"] for row in rows]))
    blocks: list[Block] = [
        Text(
            f"All {len(cities.comparisons()):,} tie-free triplets of {len(cities.names)} cities: {N_TRAIN:,} random "
            f"ones for training and the rest for testing, with a new split in each of {n_trials} trials; p = 2; this "
            "package's start and step sizes. Batch descent uses the full gradient with the same stabilised "
            f"Barzilai-Borwein step. Classical MDS uses all distances; its held-out error is {mean_mds:.3f}."
        ),
        Picture(
            "figure3",
            "Figure 3: maps of the first trial, aligned with classical MDS (top left) by Procrustes analysis; a grey "
            "line connects each city with its position there. The titles give the held-out error.",
        ),
        Table(
            f"Summary of {n_trials} trials. Procrustes: the squared difference from classical MDS after alignment, "
            "relative to its spread (0 means the same shape).",
            [
                "loss",
                "method",
                "training error",
                "held-out error",
                "std",
                "least",
                "Procrustes",
                "std",
            ],
            lines,
        ),
    ]
    claims = [
        Claim(
            "stochastic training does not hurt the eurodist map",
            f"{means}{'; '.join(measured)}. Errors within {SAME} count as equal",
            cases,
        ),
        Claim("non-convex eurodist maps are better than convex ones", "the numbers of the previous claim", better),
    ]
    return Section("figure3", "Figure 3: a map of Europe", blocks, claims)
