"""Clusters: how often their number is found, how often continua are divided, and trees compared with cblearn's.

    python -m benchmarks.clusters            writes docs/measured/clusters.md and docs/measured/group-numbers.md
    python -m benchmarks.clusters numbers    only the number of groups; four CPU minutes

Numbers: points with or without groups, and simulated people who answer as ste assumes. A map is fitted, and the number
of groups is determined on it and on maps of halves of the answers, as ``closerthan cluster`` does.

Trees: two data sets, one like the one that cblearn tests its clustering with (2 x 10 points), for comparing the
partitions into 2 to 6 groups, and one of 200 points in four clouds with 4,000 triplets, for the time. cblearn runs in
an environment of its own and is stopped after a time limit; its time is then a lower bound.

cblearn 0.4.0 stores "i is closer to j than to k" only as the pair (i, j) and not as (j, i), so that it counts for two
clusters only if the anchor is in the first of them. Its groups are therefore compared twice: as they are, and with
each pair entered both ways, as in the formula of Ghoshdastidar et al. (2019).
"""

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

import closerthan as ct
from benchmarks.environments import interpreter
from benchmarks.measured import measured_on, write_measured
from benchmarks.tables import table
from closerthan.objects.comparison_tree import comparison_tree, cut

SETS = 4
PATIENCE = 60  # CPU seconds after which cblearn makes no more merges
GROUPS = range(2, 7)

# The script that runs cblearn; it counts merges and stops when its time is up.
PEER = """
import json, sys, time
import numpy as np
from cblearn.cluster import ComparisonHC, _comparison_hc
rows, patience = np.load(sys.argv[1]), float(sys.argv[2])
merges = 0
closest = _comparison_hc.closest_clusters
class Enough(Exception): pass
ComparisonHC(2).fit_predict(np.array([[0, 1, 2], [1, 0, 2], [2, 1, 0], [3, 2, 0]]))  # compiles what it needs
def timed(*args, **options):
    global merges
    clusters = closest(*args, **options)
    merges += 1
    if time.process_time() - start > patience: raise Enough
    return clusters
_comparison_hc.closest_clusters = timed
if sys.argv[4] == "both":
    one_way = ComparisonHC._triplets_to_quadruplets
    def both_ways(self, *args, **options):
        quadruplets = one_way(self, *args, **options)
        others = [quadruplets.transpose(order) for order in ((1, 0, 2, 3), (0, 1, 3, 2), (1, 0, 3, 2))]
        return np.sign(sum(others) + quadruplets)
    ComparisonHC._triplets_to_quadruplets = both_ways
start, labels = time.process_time(), {}
try:
    for number in json.loads(sys.argv[3]):
        labels[number] = np.asarray(ComparisonHC(number).fit_predict(rows)).tolist()
except Enough:
    pass
print(json.dumps({"labels": labels, "seconds": time.process_time() - start, "merges": merges}))
"""


def peer(rows: np.ndarray, groups: list[int], ways: str = "one") -> dict[str, object]:
    """Return the groups that cblearn finds, and the time it takes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        np.save(path, rows)
        command = [str(interpreter("cblearn")), "-c", PEER, str(path), str(PATIENCE), json.dumps(groups), ways]
        process = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(process.stdout.splitlines()[-1])


def example() -> ct.Comparisons:
    """Return a data set like the one that cblearn tests its clustering with."""
    centres = np.array([[1.0, 0.0], [-1.0, 0.0]])
    points, _ = make_blobs([10, 10], centers=centres, cluster_std=0.2, shuffle=False, random_state=2)
    return ct.datasets.simulated(points, 5000, seed=2)


def large() -> ct.Comparisons:
    """Return answers about 200 points in four clouds."""
    points, _ = make_blobs(200, centers=4, cluster_std=1.0, random_state=0)
    return ct.datasets.simulated(points, 4000, seed=0)


# ---- the number of groups --------------------------------------------------------------------------------------------

SIZE = 1.6  # root mean square distance of the points from their centre: the larger, the less noisy the answers
SHAPES = ((12, 60), (24, 20), (24, 80), (50, 60))  # objects, answers per object


def separate(number: int, apart: float, *, unequal: bool = False) -> Callable[[int, np.random.Generator], np.ndarray]:
    """Return a generator of points in normal groups in the plane.

    The two nearest centres are ``apart`` standard deviations apart. If ``unequal``, half of the objects are in the
    first group.
    """

    def points(n_objects: int, rng: np.random.Generator) -> np.ndarray:
        while True:
            centres = rng.uniform(-1, 1, (number, 2))
            nearest = min(np.linalg.norm(a - b) for at, a in enumerate(centres) for b in centres[:at])
            if number == 2 or nearest > 0.5:
                break
        groups = np.arange(n_objects) % number
        if unequal:
            groups[: n_objects // 2] = 0
        return (centres / nearest * apart)[groups] + rng.standard_normal((n_objects, 2))

    return points


def ring(n_objects: int, rng: np.random.Generator) -> np.ndarray:
    angle = rng.uniform(0, 2 * np.pi, n_objects)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.07 * rng.standard_normal((n_objects, 2))


def arc(n_objects: int, rng: np.random.Generator) -> np.ndarray:
    t = rng.uniform(-1, 1, n_objects)
    return np.stack([2 * t, 1.5 * t**2], axis=1) + 0.05 * rng.standard_normal((n_objects, 2))


WORLDS: dict[str, tuple[int, Callable[[int, np.random.Generator], np.ndarray]]] = {
    **{f"{number} groups, 9 apart": (number, separate(number, 9)) for number in range(2, 7)},
    **{f"{number} groups, 6 apart": (number, separate(number, 6)) for number in (2, 3, 4)},
    "3 unequal groups, 9 apart": (3, separate(3, 9, unequal=True)),
    "4 unequal groups, 9 apart": (4, separate(4, 9, unequal=True)),
    "uniform, 1 dimension": (0, lambda n, rng: rng.uniform(size=(n, 1))),
    "normal, 1 dimension": (0, lambda n, rng: rng.standard_normal((n, 1))),
    "uniform, 2 dimensions": (0, lambda n, rng: rng.uniform(size=(n, 2))),
    "normal, 2 dimensions": (0, lambda n, rng: rng.standard_normal((n, 2))),
    "normal, 3 dimensions": (0, lambda n, rng: rng.standard_normal((n, 3))),
    "heavy tails (t with 2.5 degrees of freedom)": (0, lambda n, rng: rng.standard_t(2.5, size=(n, 2))),
    "ring": (0, ring),
    "arc": (0, arc),
}


def numbers(n_sets: int) -> str:
    """Measure how often groups are called clear, and how often their number is right."""
    rows, right, n_stable, false, continua = [], 0, 0, 0, 0
    for name, (number, world) in WORLDS.items():
        cells = []
        for n_objects, per_object in SHAPES:
            rng, clusterings = np.random.default_rng([n_objects, per_object]), []
            for seed in range(n_sets):
                points = world(n_objects, rng)
                points *= SIZE / np.sqrt(points.var(axis=0).sum())
                answers = ct.datasets.simulated(points, per_object * n_objects, noise="ste", seed=seed)
                # Without groups only the map is needed, which takes a tenth of the time.
                data = answers if number else ct.embed(answers, points.shape[1], loss="ste", seed=seed)
                clusterings.append(ct.cluster(data, seed=seed))
            clear = [clustering for clustering in clusterings if clustering.is_clear]
            stable = [clustering for clustering in clear if clustering.number_is_stable]
            if number:
                same, n_right = (
                    sum(clustering.n_clusters == number for clustering in some) for some in (stable, clusterings)
                )
                cells.append(f"{n_right} / {len(clear)} / {same} of {len(stable)}")
                right, n_stable = right + same, n_stable + len(stable)
            else:
                cells.append(f"{len(clear)}")
                false, continua = false + len(clear), continua + len(clusterings)
        rows.append((name, *cells))
        print(*rows[-1], sep=" | ", flush=True)
    header = ("points", *(f"{n} objects, {per} answers each" for n, per in SHAPES))
    return "\n\n".join(
        [
            f"Of {continua} continua, **{false}** are said to have clear groups. If groups are called clear and "
            f"their number stable, the number is right in **{right} of {n_stable}** cases:",
            table(header, rows),
            f"Of {n_sets} sets: number of groups right / groups called clear / number right among those in which it is "
            "also called stable. For continua: groups called clear. Distances between the nearest centres are in "
            "standard deviations of a group; one of the unequal groups has half of the objects.",
        ]
    )


def trees() -> str:
    """Compare comparison-based trees with cblearn's."""
    small = example()
    tree, same = comparison_tree(small), {}
    for ways in ("one", "both"):
        theirs = peer(small.rows, list(GROUPS), ways)["labels"]
        same[ways] = sum(adjusted_rand_score(cut(tree, one), theirs[str(one)]) == 1.0 for one in GROUPS)
    big = large()
    comparison_tree(big)
    seconds = []
    for _ in range(5):
        began = time.process_time()
        comparison_tree(big)
        seconds.append(time.process_time() - began)
    ours = float(np.median(seconds))
    slow = peer(big.rows, [4])
    finished = bool(slow["labels"])
    n_merges = big.n_objects - 4
    whole = "all" if finished else f"{slow['merges']} of {n_merges}"
    more = "" if finished else "more than "
    agree = f"{small.n_objects} objects: partitions into 2 to 6 groups that agree, each pair entered both ways"
    cpu_seconds = f"{big.n_objects} objects, {len(big):,} triplets: CPU seconds"
    rows = [
        [agree, "", f"{same['both']} of {len(GROUPS)}"],
        ["the same, pairs entered one way, as cblearn does", "", f"{same['one']} of {len(GROUPS)}"],
        [cpu_seconds, f"{ours:.2f} (the whole tree)", f"{more}{slow['seconds']:.0f} ({whole} merges)"],
        ["", "", f"{more}{slow['seconds'] / ours:,.0f} times as long"],
    ]
    return table(["", "closerthan", "cblearn 0.4.0"], rows)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("parts", nargs="*", choices=[[], "numbers", "trees"])
    options.add_argument("--sets", type=int, default=SETS)
    arguments = options.parse_args()
    pages = {"numbers": ("group-numbers", lambda: numbers(arguments.sets)), "trees": ("clusters", trees)}
    for part in arguments.parts or pages:
        page, measure = pages[part]
        text = f"{measure()}\n\n{measured_on('python -m benchmarks.clusters')}\n"
        print(text)
        write_measured(page, text)


if __name__ == "__main__":
    main()
