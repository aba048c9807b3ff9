"""Several views: how often answers are assigned to the view they came from, and how often their number is right.

    python -m benchmarks.views             three minutes on one core; writes docs/measured/views.md
    python -m benchmarks.views --sets 10   more sets of each kind
    python -m benchmarks.views --quick     one set of each kind; writes nothing

The answers come from independent random maps. An answer distinguishes the views if the map that it came from predicts
it and every other map predicts the opposite. The constants of the method were chosen on other seeds. The last kinds
have one map, which is fitted in too few dimensions: a missing dimension must not be mistaken for a second view.
"""

import argparse
import time
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

import closerthan as ct
from benchmarks.measured import measured_on, write_measured
from benchmarks.tables import table
from closerthan.wording import percent

SETS = 1
SEED = 27_182
GOAL = 0.9  # fraction of the answers assigned to the right view


class Kind(NamedTuple):
    """A kind of simulated data set."""

    name: str
    n_objects: int
    n_dims: int
    n_answers: tuple[int, ...]  # per view
    noise: str = "none"
    size: float = 3.0  # scale of the maps; with noise "ste", smaller maps have noisier answers
    missing: int = 0  # number of dimensions that the fit lacks


KINDS = (
    Kind("colour and shape, on a line each", 20, 1, (1_000, 1_000)),
    Kind("two views", 20, 2, (3_000, 3_000)),
    Kind("two views, more objects", 40, 2, (6_000, 6_000)),
    Kind("two views, 70 % and 30 %", 20, 2, (4_200, 1_800)),
    Kind("two views, 10 % of the answers flipped", 20, 2, (3_000, 3_000), "flip"),
    Kind("two views, noisy where distances are alike", 20, 2, (3_000, 3_000), "ste", 1.5),
    Kind("three views", 20, 2, (3_000, 3_000, 3_000)),
    Kind("one view", 20, 2, (3_000,)),
    Kind("one view, 10 % of the answers flipped", 20, 2, (3_000,), "flip"),
    Kind("one view, noisy where distances are alike", 20, 2, (3_000,), "ste", 1.5),
    Kind("one view of 2 dimensions, fitted in 1", 20, 2, (3_000,), "ste", 1.5, missing=1),
    Kind("the same without noise", 20, 2, (3_000,), missing=1),
    Kind("one view of 3 dimensions, fitted in 2", 20, 3, (4_000,), "ste", 1.5, missing=1),
)


class Outcome(NamedTuple):
    """The outcome for one data set."""

    share: float  # fraction of the distinguishing answers that were assigned to their view
    n_views: int  # the chosen number
    fit_seconds: float  # with a fixed number of views
    choice_seconds: float  # with the choice of their number


def outcome(kind: Kind, rng: np.random.Generator) -> Outcome:
    maps = kind.size * rng.standard_normal((len(kind.n_answers), kind.n_objects, kind.n_dims))
    parts = [ct.datasets.simulated(points, number, noise=kind.noise, seed=rng)
             for points, number in zip(maps, kind.n_answers, strict=True)]  # fmt: skip
    answers = ct.Comparisons.from_triplets(np.concatenate([part.rows for part in parts]), n_objects=kind.n_objects)
    truth = np.repeat(np.arange(len(maps)), kind.n_answers)
    right = np.stack([ct.metrics.margins(answers, points) > 0 for points in maps], axis=1)
    telling = right[np.arange(len(answers)), truth] & (right.sum(axis=1) == 1)
    began = time.process_time()
    n_dims = kind.n_dims - kind.missing
    fixed = ct.embed_views(answers, len(maps), n_dims)
    between = time.process_time()
    chosen = ct.embed_views(answers, n_dims=n_dims)
    ended = time.process_time()
    counts = np.zeros((len(maps), len(maps)))
    np.add.at(counts, (truth[telling], fixed.view[telling]), 1)
    share = counts[linear_sum_assignment(-counts)].sum() / telling.sum()
    return Outcome(float(share), chosen.n_views, between - began, ended - between)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true")
    options.add_argument("--sets", type=int, default=SETS)
    arguments = options.parse_args()
    quick, n_sets = arguments.quick, 1 if arguments.quick else arguments.sets
    rng = np.random.default_rng(0 if quick else SEED)
    rows, good, chosen, several, many = [], 0, 0, 0, 0
    for kind in KINDS:
        outcomes = [outcome(kind, rng) for _ in range(n_sets)]
        shares = np.array([each.share for each in outcomes])
        n_views = len(kind.n_answers)
        right = sum(each.n_views == n_views for each in outcomes)
        chosen, many = chosen + right, many + len(outcomes)
        if n_views > 1:
            good, several = good + int((shares > GOAL).sum()), several + len(outcomes)
        rows.append([
            kind.name,
            f"{kind.n_objects}",
            f"{kind.n_dims - kind.missing}",
            f"{sum(kind.n_answers):,}",
            f"{percent(shares.min())} / {percent(np.median(shares))}" if n_views > 1 else "",
            f"{right} of {len(outcomes)}",
            f"{np.median([each.fit_seconds for each in outcomes]):.1f} / "
            f"{np.median([each.choice_seconds for each in outcomes]):.1f}",
        ])  # fmt: skip
        print(*rows[-1], [each.n_views for each in outcomes], sep="  ", flush=True)
    titles = ["answers of", "objects", "dimensions", "answers", "assigned to their view, least / median",
              "number is right", "CPU seconds, number fixed / chosen"]  # fmt: skip
    lines = [
        f"More than {percent(GOAL, 0)} of the answers that distinguish the views are assigned to their view in "
        f"**{good} of {several}** sets; the number of views is right in **{chosen} of {many}**:",
        "",
        table(titles, rows),
        "",
        measured_on("python -m benchmarks.views"),
    ]
    text = "\n".join(lines) + "\n"
    print(text)
    if not quick:
        write_measured("views", text)


if __name__ == "__main__":
    main()
