"""Individual weights of people: recovery, false claims, and two studies of real people.

    python -m benchmarks.individuals            half an hour of CPU time; writes docs/measured/individuals*.md
    python -m benchmarks.individuals --only simulated|real
    python -m benchmarks.individuals --quick    a small version; writes nothing

Simulated people answer odd-one-out questions by Luce's choice rule on a map that each of them stretches by weights of
their own, in some worlds together with a consistency of their own. Measured are the correlation of estimated and true
log weights, the coverage of the 95 % intervals, and how often ``ct.embed_people`` claims a difference. The real studies
are in the folder that CLOSERTHAN_DATA names. There, whole answers are held out, and the people's names are also
shuffled among the answers.
"""

import argparse
import itertools
import os
import resource
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np

import closerthan as ct
from benchmarks.measured import measured_on, write_measured
from benchmarks.tables import table
from closerthan.people.maps import PeopleMaps
from closerthan.wording import percent

PAIRS = ((0, 1, 2), (0, 2, 1), (1, 2, 0))  # each pair of three objects, and the odd one that it leaves


class World(NamedTuple):
    """A kind of study; spreads are standard deviations of log weights between people."""

    spread: float
    consistency: float = 0.0
    n_dims: int = 2
    n_people: int = 20
    each: int = 300  # answers per person
    n_objects: int = 25
    loss: str = "ste"
    careless: int = 0  # number of people who answer at random

    def answers(self, seed: int) -> tuple[ct.Comparisons, np.ndarray]:
        """Return odd-one-out answers and the weights of the people."""
        rng = np.random.default_rng(seed)
        x = 2.2 / np.sqrt(self.n_dims) * rng.standard_normal((self.n_objects, self.n_dims))
        logs = self.spread * rng.standard_normal((self.n_people, self.n_dims))
        logs += self.consistency * rng.standard_normal((self.n_people, 1))
        weights = np.exp(logs) / np.exp(logs).mean(axis=0)
        maps = x * np.sqrt(weights)[:, None]
        person = np.repeat(np.arange(self.n_people), self.each)
        trio = np.array([rng.choice(self.n_objects, 3, replace=False) for _ in person])
        logs = np.stack(
            [-np.sum((maps[person, trio[:, i]] - maps[person, trio[:, j]]) ** 2, axis=1) for i, j, _ in PAIRS], axis=1
        )
        logs[person < self.careless] = 0.0
        chosen = np.argmax(logs + rng.gumbel(size=logs.shape), axis=1)
        i, j, odd = trio[np.arange(len(person))[:, None], np.array(PAIRS)[chosen]].T
        rows = np.stack([i, j, odd, j, i, odd], axis=1).reshape(-1, 3)
        number = np.repeat(np.arange(len(person)), 2)
        answers = ct.Comparisons.from_triplets(rows, answers=number, people=person[number], n_objects=self.n_objects)
        return answers, weights

    def __str__(self) -> str:
        if self.spread:
            who = f"weights that differ by {self.spread:g}"
        else:
            who = f"only consistencies differ, by {self.consistency:g}" if self.consistency else "no differences"
        if self.careless:
            who = f"{self.careless} of them answer at random, the others do not differ"
        loss = "" if self.loss == "ste" else f", fitted with {self.loss}"
        return f"{self.n_people} people, {self.each} answers each, {self.n_dims} dimensions, {who}{loss}"


WORLDS = (
    World(0.0),
    World(0.0, each=60),
    World(0.0, n_dims=4),
    World(0.0, consistency=0.5),
    World(0.0, consistency=0.5, loss="tste"),
    World(0.0, careless=6),
    World(0.3),
    World(0.6),
    World(0.6, n_dims=4),
    World(0.6, consistency=0.4, n_dims=3),
    World(0.6, each=60),
)


def aligned(true: np.ndarray, maps: PeopleMaps) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the estimated weights and their limits with the axes in the order that agrees best with the true ones."""
    n_dims = true.shape[1]
    table = np.corrcoef(np.log(true).T, np.log(maps.weights).T)[:n_dims, n_dims:]
    orders = itertools.permutations(range(n_dims))
    best = list(max(orders, key=lambda order: sum(table[k, order[k]] for k in range(n_dims))))
    return maps.weights[:, best], maps.low[:, best], maps.high[:, best]


def simulated(world: World, n_studies: int) -> list[str]:
    """Return a row of the table of simulated studies."""
    correlations, covered, weights_claimed, claimed = [], [], 0, 0
    for seed in range(n_studies):
        answers, true = world.answers(seed)
        maps = ct.embed_people(answers, world.n_dims, loss=world.loss, seed=seed, n_threads=1)
        weights_claimed += maps.weights_differ
        claimed += maps.weights_differ or maps.consistencies_differ
        if world.spread and maps.spread.weights:
            found, low, high = aligned(true, maps)
            pairs = zip(np.log(true).T, np.log(found).T, strict=True)
            correlations.append(np.mean([np.corrcoef(*pair)[0, 1] for pair in pairs]))
            covered.append(np.mean((low < true) & (true < high)))
    cells = [str(world), f"{weights_claimed} of {n_studies}", f"{claimed} of {n_studies}", "", ""]
    if correlations:
        cells[3:] = f"{np.mean(correlations):.2f} ({min(correlations):.2f})", percent(float(np.mean(covered)), 0)
    return cells


class Study(NamedTuple):
    """A file of real answers, and how to read it."""

    name: str
    file: str
    loss: str
    dims: tuple[int, ...]
    options: dict[str, object]


STUDIES = (
    Study("faces, 39 people", "cfd36_people.csv", "ste", (2, 3), {}),
    Study(
        "THINGS, 264 people", "things_people.txt", "tste-1", (20, 10, 25),
        {"kind": "odd-one-out", "columns": {"participant": 3}},
    ),
)  # fmt: skip


def real(study: Study, n_dims: int) -> list[str]:
    """Return a row of the table of real studies."""
    answers = ct.read_comparisons(Path(os.environ["CLOSERTHAN_DATA"]) / study.file, **study.options)
    begin, cpu = time.perf_counter(), time.process_time()
    result = ct.embed(answers, n_dims, loss=study.loss, seed=0)
    shared = time.process_time() - cpu, time.perf_counter() - begin
    begin, cpu = time.perf_counter(), time.process_time()
    maps = ct.embed_people(answers, result=result)
    seconds = time.process_time() - cpu, time.perf_counter() - begin
    begin, cpu = time.perf_counter(), time.process_time()
    ct.embed_people(answers, result=result, spread=maps.spread.weights or 0.1)
    fit = time.process_time() - cpu, time.perf_counter() - begin
    evidence = maps.evidence
    assert evidence is not None
    print(study.name, n_dims, result, evidence, shared, seconds, fit, maps.reliability, flush=True)
    models = (evidence.one_map, evidence.consistency, evidence.weights, evidence.permuted)
    reliability = maps.reliability[np.isfinite(maps.reliability)]
    return [
        study.name, str(n_dims), result.loss_name, f"{maps.spread.weights:g}",
        *(f"{percent(one.accuracy)}, {one.bits:.3f}" for one in models),
        f"{evidence.gain_of_weights.mean:+.4f}",
        f"{np.median(reliability):.2f}" if len(reliability) else "",
        f"{fit[0]:.0f} s ({fit[1]:.0f} s)", f"{seconds[0]:.0f} s ({seconds[1]:.0f} s)",
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GB",
    ]  # fmt: skip


def measure_simulated(quick: bool) -> None:
    worlds = WORLDS[5:7] if quick else WORLDS
    numbers = [2 if quick else 5 if world.spread else 20 for world in worlds]
    with ProcessPoolExecutor(min(os.cpu_count() or 1, len(worlds))) as pool:
        rows = list(pool.map(simulated, worlds, numbers))
    for row in rows:
        print(*row, sep=" | ")
    titles = [
        "simulated people",
        "said to weigh dimensions differently",
        "said to differ at all",
        "correlation with the true log weights: mean (lowest study)",
        "95 % intervals that hold",
    ]
    note = (
        "25 objects, odd-one-out answers. Correlations and intervals are those of studies in which held-out answers "
        "chose different weights."
    )
    if not quick:
        command = measured_on("python -m benchmarks.individuals --only simulated")
        write_measured("individuals", "\n\n".join([table(titles, rows), note, command]))


def measure_real(quick: bool) -> None:
    titles = [
        "answers",
        "dimensions",
        "loss",
        "spread",
        "one map",
        "own consistency",
        "own weights",
        "own weights, people shuffled",
        "gain of weights over consistency, bits",
        "reliability of weights (median)",
        "CPU time of a fit (wall time)",
        "with held-out trials",
        "memory",
    ]
    note = (
        "Accuracy of held-out whole answers, and bits per answer. A fit starts at the map of all people, whose time is "
        "not included. Wall times depend on what else the machine runs; memory is the largest so far of the process."
    )
    rows = []
    for study in STUDIES[:1] if quick else STUDIES[::-1]:
        for n_dims in study.dims[:1] if quick else study.dims:
            rows.append(real(study, n_dims))
            print(*rows[-1], sep=" | ", flush=True)
            if not quick:  # after each row, since a run takes long
                command = measured_on("python -m benchmarks.individuals --only real")
                write_measured("individuals-real", "\n\n".join([table(titles, rows), note, command]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=("simulated", "real"))
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", ".*occur in no comparison")
    if arguments.only in (None, "real"):
        measure_real(arguments.quick)
    if arguments.only in (None, "simulated"):
        measure_simulated(arguments.quick)


if __name__ == "__main__":
    main()
