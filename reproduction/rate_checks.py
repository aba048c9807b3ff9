"""Convergence rates compared with the theory: Theorem 2 with STE, and Algorithm 2 on a Polyak-Lojasiewicz function."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from closerthan.arrays import Array
from closerthan.datasets import Synthetic
from closerthan.fit.monitor import Monitor
from closerthan.fit.stopping import Limits
from closerthan.losses import STE
from closerthan.objective.cpu.objective import CPUObjective
from closerthan.solvers import SVRG
from closerthan.solvers.steps import StabilizedBB
from closerthan.theory import gradient_bound, pl_constant, pl_rate, proven_batch, smoothness
from closerthan.wording import percent
from reproduction.drawing import Axes, Line, draw_lines
from reproduction.finite_sums import ShiftedSines
from reproduction.methods import AUTHORS_STEPS, DEFAULTS
from reproduction.page import Block, Claim, Picture, Text
from reproduction.step_checks import diameter
from reproduction.trial_log import Row

DIAMETER = 2.0  # assumed bound on the diameter of the maps in the 1/T runs
MODULE_EPOCHS = 2
MODULES = 60
# The iterate of a module that the next module of Algorithm 2 starts from.
MODULE_OUTPUTS: dict[Literal["random", "last"], str] = {
    "random": "random iterate (as printed)",
    "last": "last iterate (default)",
}
START = 3.0
SINES = ShiftedSines(tuple(np.linspace(-0.5, 0.5, 51).tolist()))
SINES_SMOOTHNESS = 8.0  # the second derivative 2 + 6 cos(2 x) lies between -4 and 8
SINES_EPSILON = 8.0
PROVEN, AUTHORS = "proven eps", "the authors' eps"
SUBLINEAR_SEED, LINEAR_SEED = 7, 8


def _admitted(data: Synthetic) -> tuple[float, float]:
    """Return the smoothness of STE for maps of the assumed diameter, and the least eps with a proof for b = 1."""
    bound = smoothness(STE(), DIAMETER)
    low, high = 1e-6, bound
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if proven_batch(len(data.train), bound, middle) > 1 else (middle, high)
    return bound, high


def sublinear_trial(data: Synthetic, which: str, epochs: int, trial: int) -> Mapping[str, Any]:
    """Return |grad f|^2 at a random iterate of a run, and the bound of Theorem 2."""
    bound, proven = _admitted(data)
    epsilon = proven if which == PROVEN else AUTHORS_STEPS["ste"][0]
    rng = np.random.default_rng([SUBLINEAR_SEED, trial, epochs])
    start = DEFAULTS.start(data.points.shape, rng)
    draws = len(data.train)
    rule = StabilizedBB(epsilon=epsilon, first=1 / (draws * epsilon))
    diameters: list[float] = []
    with CPUObjective(data.train, STE()) as objective:
        listeners = (lambda _, x: diameters.append(diameter(x)),)
        monitor = Monitor(objective, Limits(epochs), listeners=listeners)
        solver = SVRG(step=rule, batch_size=1, sampling="uniform", output="random")
        picked = solver.run(objective, start, rng, monitor)
        assert picked is not None
        squared = float(np.sum(objective.at(picked).gradient ** 2))
    history = monitor.history
    # The loss is never negative, so f(start) is an upper bound on f(start) - f*.
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


def linear_trial(output: Literal["last", "random"], trial: int) -> Mapping[str, Any]:
    """Return |grad f|^2 at the output of each module of Algorithm 2 on the shifted sines."""
    rng = np.random.default_rng([LINEAR_SEED, trial])
    draws = 4 * SINES.n_terms
    rule = StabilizedBB(epsilon=SINES_EPSILON, first=1 / (draws * (SINES_SMOOTHNESS + SINES_EPSILON)))
    solver = SVRG(step=rule, batch_size=1, draws=draws, sampling="uniform", module_epochs=MODULE_EPOCHS, output=output)
    monitor = Monitor(SINES, Limits(MODULES * MODULE_EPOCHS))
    solver.run(SINES, rng.uniform(-START, START, size=(1, 1)), rng, monitor)
    history = monitor.history
    squared = history.gradient_norm[::MODULE_EPOCHS] ** 2
    return {
        "squared_gradients": squared.tolist(),
        "gaps": (history.objective[::MODULE_EPOCHS] - SINES.minimum).tolist(),
        "least_step": float(history.step[1:].min()),
        "draws": draws,
    }


def about_sublinear(folder: Path, n_trials: int, rows: list[Row]) -> tuple[list[Block], Claim]:
    """Compare |grad f|^2 after runs of several lengths with Theorem 2."""
    iterations = sorted({row["iterations"] for row in rows})

    def mean(which: str, what: str) -> list[float]:
        matching = [row for row in rows if row["which"] == which]
        return [float(np.mean([row[what] for row in matching if row["iterations"] == length])) for length in iterations]

    def slope(values: list[float]) -> float:
        return float(np.polyfit(np.log(iterations), np.log(values), 1)[0])

    observed, promised, with_authors_eps = (
        mean(PROVEN, "squared_gradient"),
        mean(PROVEN, "promised"),
        mean(AUTHORS, "squared_gradient"),
    )
    proven = [row for row in rows if row["which"] == PROVEN]
    epsilon = {row["which"]: row["epsilon"] for row in rows}
    largest_diameter, assumed = max(row["diameter"] for row in proven), proven[0]["assumed_diameter"]
    lines = {
        f"mean |grad f|^2, eps = {epsilon[PROVEN]:.3g}": Line(iterations, observed),
        f"Theorem 2's bound for eps = {epsilon[PROVEN]:.3g}": Line(iterations, promised),
        f"mean |grad f|^2, eps = {epsilon[AUTHORS]:.3g}": Line(iterations, with_authors_eps),
    }
    axes = Axes("T = m S", "|grad f|^2", x_log=True, y_log=True)
    draw_lines(folder, "sublinear", {"ste": lines}, axes, marks="o")
    margin = min(bound / value for value, bound in zip(observed, promised, strict=True))
    tight_length = promised[-1] * iterations[-1] / observed[0]
    blocks: list[Block] = [
        Text(
            f"**|grad f|^2 against T.** STE with eps = {epsilon[PROVEN]:.3g}, the smallest value for which Theorem 2 "
            f"is proven for b = 1 on maps of diameter {assumed:g} (L = {proven[0]['smoothness']:.2f}); the largest "
            f"diameter in these runs is {largest_diameter:.2f}. The output is a random iterate, as in the theorem. "
            f"Such small steps hardly move the map: the bound would fall to the value observed in the shortest runs "
            f"only at T = {tight_length:.2g}. With the authors' eps = {epsilon[AUTHORS]:g}, which the theorem does not "
            f"cover, the slope on these axes is {slope(with_authors_eps):.2f}."
        ),
        Picture(
            "sublinear",
            f"Mean of |grad f|^2 over {n_trials} trials for several run lengths, and the bound 4 f(start)/(T b "
            f"eta_min). On these axes the bound has slope -1; the points below it have slope {slope(observed):.2f}.",
        ),
    ]
    below = all(value <= bound for value, bound in zip(observed, promised, strict=True))
    return blocks, Claim(
        "the mean of |grad f|^2 is below 4 (f(start) - f*)/(T b eta_min)",
        f"{len(iterations)} run lengths with eps = {epsilon[PROVEN]:.3g}: the bound is at least {margin:.3g} times "
        "the observed mean",
        {"ste": below and largest_diameter <= assumed},
    )


class _LinearRate(NamedTuple):
    """A straight line fitted to the logarithm of |grad f|^2 against the number of modules."""

    squared: Array  # the mean over trials, after each module
    line: list[float]
    factor: float  # per module
    explained: float  # fraction of the logarithm's variance
    n_modules: int  # until |grad f|^2 is dominated by rounding errors


def _linear_rate(rows: list[Row]) -> _LinearRate:
    squared = np.mean([row["squared_gradients"] for row in rows], axis=0)
    modules = np.arange(len(squared))
    above = squared > 1e-24  # smaller values are rounding errors
    slope, level = np.polyfit(modules[above], np.log(squared[above]), 1)
    residual = np.log(squared[above]) - (level + slope * modules[above])
    explained = 1 - float(np.var(residual) / np.var(np.log(squared[above])))
    line = [float(np.exp(level + slope * k)) for k in modules[above]]
    return _LinearRate(squared, line, float(np.exp(slope)), explained, int(above.sum()))


def about_linear(folder: Path, n_trials: int, rows: list[Row]) -> tuple[list[Block], list[Claim]]:
    """Determine how fast |grad f|^2 decreases with the modules of Algorithm 2, for each output of a module."""
    rates = {output: _linear_rate([row for row in rows if row["output"] == output]) for output in MODULE_OUTPUTS}
    points = np.linspace(-10, 10, 20_001)
    amplitude = 3 * float(np.mean(np.cos(2 * np.array(SINES.shifts))))
    constant = pl_constant(
        lambda x: x**2 + amplitude * np.sin(x) ** 2, lambda x: 2 * x + amplitude * np.sin(2 * x), points, 0.0
    )
    least_step, draws = min(row["least_step"] for row in rows), rows[0]["draws"]
    promised = pl_rate(constant, draws, MODULE_EPOCHS, 1, least_step)
    needed = math.ceil(2 / (constant * draws * least_step)) + 1
    lines = {}
    for output, rate in rates.items():
        lines[f"mean |grad f|^2, {MODULE_OUTPUTS[output]}"] = Line(range(len(rate.squared)), rate.squared.tolist())
        lines[f"straight line, {MODULE_OUTPUTS[output]}"] = Line(range(len(rate.line)), rate.line)
    axes = Axes("modules k", "|grad f|^2", y_log=True)
    draw_lines(folder, "linear", {"x^2 + 3 sin(x)^2, shifted": lines}, axes, marks=".")
    factors = " and ".join(
        f"{rate.factor:.3g} per module with the {MODULE_OUTPUTS[output]}, where the line explains "
        f"{percent(rate.explained)} of the variance"
        for output, rate in rates.items()
    )
    blocks: list[Block] = [
        Text(
            f"**Algorithm 2 on a PL function.** The mean of {SINES.n_terms} copies of x^2 + 3 sin(x)^2, shifted by "
            f"up to half a unit, is x^2 + {amplitude:.2f} sin(x)^2 plus a constant: not convex, but PL with lambda = "
            f"{constant:.3f} on [-10, 10] (the unshifted function: 1/32). SVRG-SBB_eps minimises this sum instead of "
            f"an embedding objective; m = {draws}, b = 1, modules of {MODULE_EPOCHS} epochs, eps = "
            f"{SINES_EPSILON:g}, starts in [-{START:g}, {START:g}]. In the printed algorithm, which the theorem "
            "covers, each module starts from a random iterate of the previous one; by default, the package starts it "
            "from the last iterate. With the smallest step size that occurred, the theorem guarantees rho = "
            f"{promised:.3g} per module (no rate at all if that is not below 1); for a rate below 1 it needs modules "
            f"of {needed} epochs."
        ),
        Picture(
            "linear",
            f"Mean of |grad f|^2 over {n_trials} trials against modules of Algorithm 2 on a logarithmic axis, with "
            f"least-squares lines: a factor of {factors}.",
        ),
    ]
    return blocks, [
        Claim(
            "Algorithm 2 converges linearly on a PL function",
            f"|grad f|^2 changes by a factor of {rate.factor:.3g} per module over {rate.n_modules - 1} modules; a "
            f"straight line explains {percent(rate.explained)} of the variance of its logarithm",
            {"shifted sines": rate.factor < 1 and rate.explained > 0.9},
            MODULE_OUTPUTS[output],
        )
        for output, rate in rates.items()
    ]
