"""The paper's theory, checked: bounds on the step, Theorem 2 and Lemma 1 at work, and Algorithm 2 on a PL function."""

import functools
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from closerthan.datasets import Synthetic, synthetic
from closerthan.experiments.bench import Bench
from closerthan.experiments.drawing import Axes, Line, draw_lines
from closerthan.experiments.finite_sums import ShiftedSines
from closerthan.experiments.methods import DEFAULTS, LOSS_NAMES, PAPER, Setting
from closerthan.experiments.page import Block, Claim, Picture, Section, Table, Text, verdict
from closerthan.experiments.trials import Job, Row
from closerthan.losses import LOSSES, STE
from closerthan.monitor import Limits, Monitor
from closerthan.objective import Array, Objective
from closerthan.solvers import SVRG
from closerthan.steps import StabilizedBB
from closerthan.theory import (
    gradient_bound,
    inner_loop,
    largest_batch,
    largest_step,
    pl_constant,
    pl_rate,
    proven_batch,
    smoothness,
    step_bounds,
)

N_DIMS = 10
DATA_SEED = 2019
ROUNDING = 1e-9  # how far outside a bound counts as inside
DIAMETER = 2.0  # of the maps on which the 1/T run is to stay
MODULE_EPOCHS = 2
MODULES = 20
START = 3.0
STRAIGHT = 0.95  # the share of variance that a line must explain to be called straight
SINES = ShiftedSines(tuple(np.linspace(-0.5, 0.5, 51).tolist()))
SINES_SMOOTHNESS = 8.0  # the second derivative 2 + 6 cos(2 x) lies between -4 and 8
SINES_EPSILON = 8.0


def run(bench: Bench) -> Section:
    """Run all three checks."""
    n_objects, n_answers, epochs = (40, 3_000, 12) if bench.quick else (100, 10_000, 40)
    n_trials = bench.count(50, quick=3)
    data = synthetic(n_objects, N_DIMS, n_answers, 100, seed=DATA_SEED)
    sizes = {"n_objects": n_objects, "n_answers": n_answers}
    steps = bench.trials.run(
        "theory: steps",
        [
            Job(
                {"check": "steps", **sizes, "epochs": epochs, "setting": setting.name, "loss": loss, "trial": trial},
                functools.partial(_steps, data, setting, loss, epochs, trial),
            )
            for trial in range(n_trials)
            for setting in (PAPER, DEFAULTS)
            for loss in LOSS_NAMES
        ],
    )
    lengths = (1, 2, 4, 8) if bench.quick else (1, 2, 4, 8, 16, 32, 64)
    sublinear = bench.trials.run(
        "theory: 1/T",
        [
            Job(
                {"check": "1/T", **sizes, "diameter": DIAMETER, "epochs": length, "trial": trial},
                functools.partial(_sublinear, data, length, trial),
            )
            for trial in range(n_trials)
            for length in lengths
        ],
    )
    linear = bench.trials.run(
        "theory: PL",
        [
            Job({"check": "PL", "modules": MODULES, "starts": START, "trial": trial}, functools.partial(_linear, trial))
            for trial in range(n_trials)
        ],
    )
    bench.trials.write_csv([*steps, *sublinear, *linear])
    return _section(bench.trials.folder, n_trials, steps, sublinear, linear)


# ---- the step's bounds -----------------------------------------------------------------------------------------------


def _steps(data: Synthetic, setting: Setting, loss_name: str, epochs: int, trial: int) -> Mapping[str, Any]:
    rng = np.random.default_rng([DATA_SEED, 6, trial])
    loss = LOSSES[loss_name]().in_dims(N_DIMS)
    start = setting.start((data.train.n_objects, N_DIMS), rng)
    maps: list[Array] = []
    rule = setting.step(loss_name, stabilised=True)
    with Objective(data.train, loss) as objective:
        keep = (lambda _, x: maps.append(x.copy()),)
        monitor = Monitor(objective, Limits(epochs), ignorance=loss.value(0.0, 0.0), listeners=keep)
        SVRG(step=rule, batch_size=1, sampling=setting.sampling).run(objective, start, rng, monitor)
        gradients = [objective.at(x).gradient for x in maps]
    draws = objective.n_terms
    epsilon = 0.1 / data.train.n_objects if rule.epsilon is None else rule.epsilon
    diameter = max(_diameter(x) for x in maps)
    bound = smoothness(loss, diameter)
    quotients = draws * monitor.history.step[2:]  # the first epoch's step is not the rule's
    allowed = step_bounds(bound, epsilon)
    inside = (quotients >= allowed.low * (1 - ROUNDING)) & (quotients <= allowed.high * (1 + ROUNDING))
    secants = [
        float(np.linalg.norm(gradients[s + 1] - gradients[s]) / np.linalg.norm(maps[s + 1] - maps[s]))
        for s in range(len(maps) - 1)
    ]
    return {
        "epsilon": epsilon,
        "diameter": diameter,
        "smoothness": bound,
        "largest_secant": max(secants),
        "least": float(quotients.min()),
        "largest": float(quotients.max()),
        "outside": int(np.sum(~inside)),
        "n_steps": len(quotients),
        "largest_batch": largest_batch(draws, bound, epsilon),
        "proven_batch": proven_batch(draws, bound, epsilon),
        "lemma_limit": draws * largest_step(bound, draws),
        "lemma_holds": sum(inner_loop(quotient / draws, bound, draws).holds for quotient in quotients),
    }


def _diameter(x: Array) -> float:
    squared = np.sum(x**2, axis=1)
    return float(np.sqrt(max(np.max(squared[:, None] + squared - 2 * x @ x.T), 0.0)))


# ---- |grad f|^2 = O(1/T) ---------------------------------------------------------------------------------------------


def _admitted(data: Synthetic) -> tuple[float, float]:
    """The smoothness of ste on maps of some diameter, and the least eps for which Theorem 2 is proven for b = 1."""
    bound = smoothness(STE(), DIAMETER)
    low, high = 1e-6, bound
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if proven_batch(len(data.train), bound, middle) > 1 else (middle, high)
    return bound, high


def _sublinear(data: Synthetic, epochs: int, trial: int) -> Mapping[str, Any]:
    bound, epsilon = _admitted(data)
    rng = np.random.default_rng([DATA_SEED, 7, trial, epochs])
    start = DEFAULTS.start((data.train.n_objects, N_DIMS), rng)
    draws = len(data.train)
    rule = StabilizedBB(epsilon=epsilon, first=1 / (draws * epsilon))
    diameters: list[float] = []
    with Objective(data.train, STE()) as objective:
        watch = (lambda _, x: diameters.append(_diameter(x)),)
        monitor = Monitor(objective, Limits(epochs), ignorance=math.log(2), listeners=watch)
        solver = SVRG(step=rule, batch_size=1, sampling="uniform", output="random")
        picked = solver.run(objective, start, rng, monitor)
        assert picked is not None
        squared = float(np.sum(objective.at(picked).gradient ** 2))
    history = monitor.history
    # No loss is negative, so that f(start) is no less than f(start) - f*.
    promised = gradient_bound(history[0].objective, draws, epochs, 1, float(history.step[1:].min()))
    return {
        "squared_gradient": squared,
        "promised": promised,
        "iterations": draws * epochs,
        "diameter": max(diameters),
        "assumed_diameter": DIAMETER,
        "smoothness": bound,
        "epsilon": epsilon,
    }


# ---- Algorithm 2 on a PL function ------------------------------------------------------------------------------------


def _linear(trial: int) -> Mapping[str, Any]:
    rng = np.random.default_rng([8, trial])
    draws = 4 * SINES.n_terms
    rule = StabilizedBB(epsilon=SINES_EPSILON, first=1 / (draws * (SINES_SMOOTHNESS + SINES_EPSILON)))
    solver = SVRG(step=rule, batch_size=1, draws=draws, sampling="uniform", module_epochs=MODULE_EPOCHS, output="last")
    monitor = Monitor(SINES, Limits(MODULES * MODULE_EPOCHS), ignorance=math.inf)
    solver.run(SINES, rng.uniform(-START, START, size=(1, 1)), rng, monitor)
    history = monitor.history
    squared = history.gradient_norm[::MODULE_EPOCHS] ** 2
    return {
        "squared_gradients": squared.tolist(),
        "gaps": (history.objective[::MODULE_EPOCHS] - SINES.minimum).tolist(),
        "least_step": float(history.step[1:].min()),
        "draws": draws,
    }


# ---- what it says ----------------------------------------------------------------------------------------------------


def _section(folder: Path, n_trials: int, steps: list[Row], sublinear: list[Row], linear: list[Row]) -> Section:
    bounds_blocks, bounds_claims = _about_steps(n_trials, steps)
    sublinear_blocks, sublinear_claim = _about_sublinear(folder, n_trials, sublinear)
    linear_blocks, linear_claim = _about_linear(folder, n_trials, linear)
    return Section(
        "theory",
        "Theory",
        [*bounds_blocks, *sublinear_blocks, *linear_blocks],
        [*bounds_claims, sublinear_claim, linear_claim],
    )


def _about_steps(n_trials: int, rows: list[Row]) -> tuple[list[Block], list[Claim]]:
    lines, cases, admitted, measured = [], {}, {}, []
    for setting in (PAPER, DEFAULTS):
        for loss in LOSS_NAMES:
            mine = [row for row in rows if (row["setting"], row["loss"]) == (setting.name, loss)]
            name = f"{loss} ({setting.name})"
            outside, total = sum(row["outside"] for row in mine), sum(row["n_steps"] for row in mine)
            largest = max(row["largest_batch"] for row in mine)
            cases[name], admitted[name] = outside == 0, largest > 1
            measured.append(f"{name}: {outside} of {total} steps outside")
            m_needed = mine[0]["n_answers"] / max(largest, 1e-300)
            lines.append(
                [
                    name,
                    f"{mine[0]['epsilon']:g}",
                    f"{max(row['diameter'] for row in mine):.2f}",
                    f"{max(row['smoothness'] for row in mine):.2f}",
                    f"{max(row['largest_secant'] for row in mine):.3g}",
                    f"{1 / (max(row['smoothness'] for row in mine) + mine[0]['epsilon']):.3g}",
                    f"{min(row['least'] for row in mine):.3g}",
                    f"{max(row['largest'] for row in mine):.3g}",
                    f"{1 / mine[0]['epsilon']:.3g}",
                    f"{largest:.2g}",
                    f"{m_needed:.2g}",
                    f"{max(row['proven_batch'] for row in mine):.2g}",
                    f"{min(row['lemma_limit'] for row in mine):.2g}",
                    f"{sum(row['lemma_holds'] for row in mine)} of {total}",
                ]
            )
    n_answers = rows[0]["n_answers"]
    blocks: list[Block] = [
        Text(
            "**Steps, batches and Lemma 1.** Recorded runs of SVRG-SBB_eps on the synthetic set (m = |Q| = "
            f"{n_answers:,}, b = 1, {n_trials} trials). L is the largest curvature of a single term over maps of the "
            "largest diameter that the run visited; the secant column is the largest |change of grad f| / |move| "
            "between snapshots, which is the curvature that the rule sees. Terms touch three objects and f averages "
            "them, so that L is far above it: the lower bound on the step is safe and far away. For gnmds, L "
            "ignores the jump of the hinge's slope."
        ),
        Table(
            "Bounds on m eta; the largest b that Theorem 2 allows at this m, and the m from which it allows b = 1; "
            "the largest b for which its proof goes through (see below); the largest m eta for which Lemma 1's "
            "condition holds with b = 1, and how many of the steps taken meet it.",
            [
                "loss (setting)",
                "eps",
                "diameter",
                "L",
                "secant",
                "1/(L + eps)",
                "least m eta",
                "largest m eta",
                "1/eps",
                "Theorem 2: b <",
                "m for b = 1",
                "proven: b <",
                "Lemma 1: m eta <",
                "steps that meet it",
            ],
            lines,
        ),
    ]
    claims = [
        Claim("1/(L + eps) <= m eta <= 1/eps", "; ".join(measured), verdict(cases)),
        Claim(
            "Theorem 2 covers the experiments (b below its bound)",
            "largest admissible b at m = |Q|: "
            + "; ".join(f"{line[0]}: {line[9]} (b = 1 needs m = {line[10]})" for line in lines),
            verdict(admitted),
        ),
    ]
    proof_text, proof_claim = _about_proof(n_answers)
    return [*blocks, proof_text], [*claims, proof_claim]


def _about_proof(draws: int) -> tuple[Text, Claim]:
    """Whether batches that Theorem 2 admits meet Lemma 1's condition, from which the theorem is derived."""
    ratios = np.geomspace(1, 1_000, 40)  # L / eps
    admitted = [ratio for ratio in ratios if largest_batch(draws, ratio, 1.0) > 1]
    broken = [
        ratio
        for ratio in admitted
        if not inner_loop(1 / draws, ratio, draws, max(math.ceil(largest_batch(draws, ratio, 1.0)) - 1, 1)).holds
    ]
    fewer = [
        ratio
        for ratio in broken
        for b in [max(math.ceil(largest_batch(draws, ratio, 1.0)) - 1, 1)]
        if not inner_loop(1 / draws, ratio, draws // b, b).holds
    ]
    kept = [ratio for ratio in ratios if proven_batch(draws, ratio, 1.0) >= 1]
    met = [
        ratio
        for ratio in kept
        if inner_loop(1 / draws, ratio, draws, math.floor(proven_batch(draws, ratio, 1.0))).holds
    ]
    text = Text(
        "**Theorem 2's condition on b.** Its proof shows that the condition implies Lemma 1's, for steps up to 1/(m "
        "eps). On the way it bounds 4 m b^2 eta^3 L^3 by (1/m) 4 (L/eps)^3 (b/m)^2; with eta = 1/(m eps) the left "
        "side is 4 (L/eps)^3 (b/m)^2, without the 1/m. With that put right the condition becomes 4 (L/eps)^3 b^2 + "
        f"2 (L/eps)^2 b <= m beside the second one. Lemma 1's constants say the same: of {len(admitted)} ratios "
        f"L/eps between 1 and 1,000 for which the printed condition admits some b at m = {draws:,}, the largest such "
        f"b breaks Lemma 1's condition at eta = 1/(m eps) for {len(broken)} (for {len(fewer)} with m/b inner steps, "
        f"as in the experiments, in place of the listing's m); of {len(kept)} for which the corrected one admits "
        f"some b, the largest meets it for {len(met)}."
    )
    claim = Claim(
        "Theorem 2's condition on b implies Lemma 1's",
        f"at m = {draws:,} the largest b that it admits breaks Lemma 1's condition for {len(broken)} of "
        f"{len(admitted)} ratios L/eps, and for {len(fewer)} with m/b inner steps in place of m (the proof has a "
        "factor 1/m too many)",
        verdict({"all ratios": not broken}),
    )
    return text, claim


def _about_sublinear(folder: Path, n_trials: int, rows: list[Row]) -> tuple[list[Block], Claim]:
    iterations = sorted({row["iterations"] for row in rows})
    by_length = {length: [row for row in rows if row["iterations"] == length] for length in iterations}
    observed = [float(np.mean([row["squared_gradient"] for row in by_length[length]])) for length in iterations]
    promised = [float(np.mean([row["promised"] for row in by_length[length]])) for length in iterations]
    visited, assumed = max(row["diameter"] for row in rows), rows[0]["assumed_diameter"]
    lines = {
        "mean |grad f|^2 at the random output": Line(iterations, observed),
        "Theorem 2's bound": Line(iterations, promised),
    }
    axes = Axes("T = m S", "|grad f|^2", x_log=True, y_log=True)
    draw_lines(folder, "sublinear", {"ste": lines}, axes, marks="o")
    slope = float(np.polyfit(np.log(iterations), np.log(observed), 1)[0])
    blocks: list[Block] = [
        Text(
            f"**|grad f|^2 against T.** ste with eps = {rows[0]['epsilon']:.3g}, the least for which Theorem 2 is "
            f"proven for b = 1 on maps of diameter {assumed:g} (L = {rows[0]['smoothness']:.2f}); the runs stayed "
            f"below a diameter of {visited:.2f}. The output is one of all iterates at random, as in the theorem."
        ),
        Picture(
            "sublinear",
            f"Mean of |grad f|^2 over {n_trials} trials for several run lengths, and the bound 4 f(start)/(T b "
            f"eta_min). On these axes the bound has slope -1; the measured points have slope {slope:.2f}.",
        ),
    ]
    below = all(seen <= limit for seen, limit in zip(observed, promised, strict=True))
    margin = min(limit / seen for seen, limit in zip(observed, promised, strict=True))
    return blocks, Claim(
        "the mean of |grad f|^2 is below 4 (f(start) - f*)/(T b eta_min)",
        f"{len(iterations)} run lengths: the bound is at least {margin:.3g} times what we see; slope {slope:.2f} on "
        "logarithmic axes",
        verdict({"ste": below and visited <= assumed}),
    )


def _about_linear(folder: Path, n_trials: int, rows: list[Row]) -> tuple[list[Block], Claim]:
    squared = np.mean([row["squared_gradients"] for row in rows], axis=0)
    modules = np.arange(len(squared))
    above = squared > 1e-24  # below it is rounding
    slope, level = np.polyfit(modules[above], np.log(squared[above]), 1)
    residual = np.log(squared[above]) - (level + slope * modules[above])
    explained = 1 - float(np.var(residual) / np.var(np.log(squared[above])))
    points = np.linspace(-10, 10, 20_001)
    amplitude = 3 * float(np.mean(np.cos(2 * np.array(SINES.shifts))))
    constant = pl_constant(
        lambda x: x**2 + amplitude * np.sin(x) ** 2, lambda x: 2 * x + amplitude * np.sin(2 * x), points, 0.0
    )
    least_step, draws = min(row["least_step"] for row in rows), rows[0]["draws"]
    promised = pl_rate(constant, draws, MODULE_EPOCHS, 1, least_step)
    needed = math.ceil(2 / (constant * draws * least_step)) + 1
    fitted = [float(np.exp(level + slope * k)) for k in modules]
    draw_lines(
        folder,
        "linear",
        {
            "x^2 + 3 sin(x)^2, shifted": {
                "mean |grad f|^2 after k modules": Line(modules.tolist(), squared.tolist()),
                "straight line": Line(modules.tolist(), fitted),
            }
        },
        Axes("modules k", "|grad f|^2", y_log=True),
        marks=".",
    )
    rate = float(np.exp(slope))
    blocks: list[Block] = [
        Text(
            f"**Algorithm 2 on a PL function.** The mean of {SINES.n_terms} copies of x^2 + 3 sin(x)^2, shifted by "
            f"up to half a unit, is x^2 + {amplitude:.2f} sin(x)^2 plus a constant: not convex, and PL with lambda = "
            f"{constant:.3f} on [-10, 10] (the unshifted function: 1/32). SVRG-SBB_eps as it is, on this sum in "
            f"place of an embedding; m = {draws}, b = 1, modules of {MODULE_EPOCHS} epochs, eps = {SINES_EPSILON:g}, "
            f"starts in [-{START:g}, {START:g}]. With the smallest step taken, the theorem promises rho = "
            f"{promised:.3g} a module (nothing, if that is not below 1); it would need modules of {needed} epochs to "
            "promise anything."
        ),
        Picture(
            "linear",
            f"Mean of |grad f|^2 over {n_trials} trials against modules, logarithmic axis, with the least-squares "
            f"line: a factor of {rate:.3g} a module; the line explains {explained:.1%} of the variance.",
        ),
    ]
    return blocks, Claim(
        "Algorithm 2 converges linearly on a PL function",
        f"|grad f|^2 falls by a factor of {rate:.3g} a module over {int(above.sum())} modules; a straight line "
        f"explains {explained:.1%} of its logarithm's variance",
        verdict({"shifted sines": rate < 1 and explained > 0.9}),
    )
