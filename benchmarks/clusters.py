"""Comparison-based trees beside cblearn's ComparisonHC: the same groups, and how much sooner.

    python -m benchmarks.clusters

Two sets: one like that with which cblearn tests its clustering (2 x 10 points), where the partitions into 2 to 6 groups
are compared; and 200 points in four clouds with 4,000 triplets, for the seconds. cblearn runs in an
environment of its own, and is stopped when its patience is spent: its seconds are a lower bound then.

cblearn 0.4.0 keeps "i is closer to j than to k" as the pair (i, j) alone and not as (j, i): it counts for two clusters
only if the anchor is in the first of them. So its groups are compared twice: as it is, and with each pair entered
both ways, which is what the formula of Ghoshdastidar et al. (2019) says.
"""

import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

import closerthan as ct
from benchmarks.environments import interpreter
from benchmarks.measured_on import measured_on
from closerthan.objects.comparison_tree import comparison_tree, cut

PAGE = Path(__file__).parents[1] / "docs" / "measured" / "clusters.md"
PATIENCE = 60  # CPU seconds after which cblearn makes no more merges
GROUPS = range(2, 7)

# What cblearn is asked to do; it counts merges and stops when its time is up.
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
    found = closest(*args, **options)
    merges += 1
    if time.process_time() - start > patience: raise Enough
    return found
_comparison_hc.closest_clusters = timed
if sys.argv[4] == "both":
    one_way = ComparisonHC._triplets_to_quadruplets
    def both_ways(self, *args, **options):
        found = one_way(self, *args, **options)
        others = [found.transpose(order) for order in ((1, 0, 2, 3), (0, 1, 3, 2), (1, 0, 3, 2))]
        return np.sign(sum(others) + found)
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
    """What cblearn finds, and how long it takes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        np.save(path, rows)
        command = [str(interpreter("cblearn")), "-c", PEER, str(path), str(PATIENCE), json.dumps(groups), ways]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def example() -> ct.Comparisons:
    """The set that cblearn tests its clustering with, drawn by us."""
    centres = np.array([[1.0, 0.0], [-1.0, 0.0]])
    points, _ = make_blobs([10, 10], centers=centres, cluster_std=0.2, shuffle=False, random_state=2)
    return ct.datasets.simulated(points, 5000, seed=2)


def large() -> ct.Comparisons:
    """200 points in four clouds."""
    points, _ = make_blobs(200, centers=4, cluster_std=1.0, random_state=0)
    return ct.datasets.simulated(points, 4000, seed=0)


def main() -> None:
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
    lines = [
        "| | closerthan | cblearn 0.4.0 |",
        "| --- | --- | --- |",
        f"| {small.n_objects} objects: partitions into 2 to 6 groups that agree, each pair entered both ways | "
        f"| {same['both']} of {len(GROUPS)} |",
        f"| the same, pairs entered one way, as cblearn does | | {same['one']} of {len(GROUPS)} |",
        f"| {big.n_objects} objects, {len(big):,} triplets: CPU seconds | {ours:.2f} (the whole tree) "
        f"| {'' if finished else 'more than '}{slow['seconds']:.0f} ({whole} merges) |",
        f"| | | {'' if finished else 'more than '}{slow['seconds'] / ours:,.0f} times as long |",
        "",
        measured_on("python -m benchmarks.clusters"),
        "",
    ]
    text = "\n".join(lines)
    print(text)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
