"""The gain of mini-batches: as measured, and if every inner step changed all n rows, as in the authors' code."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from reproduction.drawing import Axes, Line, draw_lines
from reproduction.methods import DEFAULTS, LOSS_NAMES, PAPER
from reproduction.page import Block, Claim, Picture, Table, Text
from reproduction.printed import TABLE1
from reproduction.target import TARGET, TimesByMethod

LEAST_GAIN = 1.1  # smaller speed-ups are within the noise of the measurement
PUBLISHED = (1, 5, 10, 20, 50, 100, 200)  # batch sizes in the paper's Table 1


class DenseUpdate(NamedTuple):
    """The time to change every coordinate once, as the authors' inner step does."""

    n_objects: int
    n_dims: int
    seconds: float

    @classmethod
    def measured(cls, n_objects: int, n_dims: int) -> Self:
        """Return the minimum of many measurements, with everything in cache."""
        repeats = 64
        x, change = np.ones((2, repeats * n_objects, n_dims))
        times = []
        for _ in range(200):
            began = time.perf_counter()
            np.subtract(x, change, out=x)
            times.append(time.perf_counter() - began)
        return cls(n_objects, n_dims, min(times) / repeats)


def batch_sizes(sizes: Sequence[int], times: TimesByMethod, setting: str, loss: str) -> list[int]:
    """Return the batch sizes with which SVRG-SBB_eps reached the target in every trial."""
    return [b for b in sizes if times[setting, loss, f"SVRG-SBB_eps-{b}"].all]


def _batch_costs(
    sizes: Sequence[int], times: TimesByMethod, dense: DenseUpdate, setting: str, loss: str
) -> dict[int, tuple[float, float, float]]:
    """Return mean passes, mean seconds and mean seconds with dense updates, for each b that always hit the target."""
    costs = {}
    for b in batch_sizes(sizes, times, setting, loss):
        reached = times[setting, loss, f"SVRG-SBB_eps-{b}"]
        seconds = float(np.mean(reached.seconds))
        costs[b] = (
            float(np.mean(reached.passes)),
            seconds,
            seconds + dense.seconds * float(np.mean(reached.inner_steps)),
        )
    return costs


def about_batches(folder: Path, sizes: Sequence[int], times: TimesByMethod, dense: DenseUpdate) -> list[Block]:
    """Draw and tabulate the time to the target against the batch size, in both cost models."""
    panels: dict[str, dict[str, Line]] = {}
    lines = []
    for setting in (PAPER, DEFAULTS):
        for loss in LOSS_NAMES:
            costs = _batch_costs(sizes, times, dense, setting.name, loss)
            if 1 not in costs:
                continue
            _, first, first_dense = costs[1]
            panel = {
                "measured: O(p) step": Line(list(costs), [cost[1] / first for cost in costs.values()]),
                "with a dense O(n p) update per step": Line(
                    list(costs), [cost[2] / first_dense for cost in costs.values()]
                ),
            }
            published = {b: TABLE1[loss].get(f"SVRG-SBB_eps-{b}") for b in PUBLISHED}
            means = {b: spread.mean for b, spread in published.items() if spread is not None}
            panel["the paper"] = Line(list(means), [mean / means[1] for mean in means.values()])
            panels[f"{loss}, {setting.name}"] = panel
            for b, (passes, seconds, with_dense) in costs.items():
                lines.append(
                    [
                        f"{loss}, {setting.name}",
                        f"{b}",
                        f"{passes:.1f}",
                        f"{1e3 * seconds:.2f}",
                        f"{1e3 * with_dense:.2f}",
                    ]
                )
    if not panels:
        return [Text("**Mini-batches.** No setting reached the target with b = 1, so there is nothing to compare.")]
    draw_lines(
        folder,
        "batch-sizes",
        panels,
        Axes("batch size b", "time until 0.15, relative to b = 1", x_log=True, y_limits=(0.0, 1.5)),
        columns=3,
        marks="o",
    )
    return [
        Text(
            "**Mini-batches.** The authors' inner step changes all n rows, at a cost of O(n p), which a batch of b "
            "comparisons pays once instead of b times. Ours touches only the rows of its comparisons, at a cost of "
            "O(b p), and updates the other rows when they are next read. A dense update of "
            f"{dense.n_objects} x {dense.n_dims} numbers takes {1e9 * dense.seconds:.0f} ns here (measured separately, "
            "from cache). The last column adds this time to each inner step of a run."
        ),
        Table(
            "SVRG-SBB_eps: cost of reaching the target by batch size, means over trials.",
            ["", "b", "passes", "ms, measured", "ms, with dense updates"],
            lines,
        ),
        Picture("batch-sizes", "Time to the target against the batch size, each line relative to its own b = 1."),
        _gains(panels),
    ]


def _gains(panels: Mapping[str, Mapping[str, Line]]) -> Text:
    """State the gain of the best b over b = 1 in each cost model, and which model is closer to the paper."""
    gains = {
        name: float(np.exp(np.mean([-np.log(min(panel[name].y)) for panel in panels.values()])))
        for name in next(iter(panels.values()))
    }
    measured, with_dense, published = gains.values()
    closer = abs(np.log(with_dense / published)) < abs(np.log(measured / published))
    return Text(
        f"In these {len(panels)} cases, the best b is faster than b = 1 by a factor (geometric mean) of "
        f"{measured:.2f} as measured, {with_dense:.2f} including the dense update, and {published:.2f} in the paper. "
        + (
            "Including the dense update brings our gain closer to the paper's: batches save that update, which our "
            "step does not make."
            if closer
            else "Including the dense update does not bring our gain closer to the paper's."
        )
    )


def batches_claim(sizes: Sequence[int], times: TimesByMethod, dense: DenseUpdate) -> Claim:
    """Check whether a batch size between the smallest and the largest is the fastest."""
    measured, cases = [], {}
    for loss in LOSS_NAMES:
        costs = _batch_costs(sizes, times, dense, PAPER.name, loss)
        if 1 not in costs:
            continue
        best = min(costs, key=lambda b: costs[b][1])
        best_dense = min(costs, key=lambda b: costs[b][2])
        gain, gain_dense = costs[1][1] / costs[best][1], costs[1][2] / costs[best_dense][2]
        measured.append(
            f"{loss}: best b = {best}, {gain:.1f} times faster than b = 1 (with dense updates: b = {best_dense}, "
            f"{gain_dense:.1f} times)"
        )
        cases[loss] = 1 < best < max(sizes) and gain >= LEAST_GAIN
    return Claim(
        "mini-batches help up to a point",
        f"{PAPER.name} setting, seconds to an error of {TARGET}; speed-ups below {LEAST_GAIN:g} do not count. "
        + "; ".join(measured),
        cases,
    )
