"""Checks of the paper's theory: bounds on the step size, Theorem 2 and Lemma 1, and Algorithm 2 on a PL function."""

import functools

from closerthan.datasets import synthetic
from reproduction.bench import Bench
from reproduction.methods import DEFAULTS, LOSS_NAMES, PAPER
from reproduction.page import Section
from reproduction.rate_checks import (
    AUTHORS,
    DIAMETER,
    MODULE_OUTPUTS,
    MODULES,
    PROVEN,
    START,
    about_linear,
    about_sublinear,
    linear_trial,
    sublinear_trial,
)
from reproduction.step_checks import about_steps, steps_trial
from reproduction.trial_log import Job

DATA_SEED = 2019
N_DIMS = 10


def run(bench: Bench) -> Section:
    """Run all three checks."""
    n_objects, n_answers, epochs = (40, 3_000, 12) if bench.quick else (100, 10_000, 40)
    lengths = (1, 2, 4, 8) if bench.quick else (1, 2, 4, 8, 16, 32, 64)
    n_trials = bench.count(50, quick=3)
    data = synthetic(n_objects, N_DIMS, n_answers, 100, seed=DATA_SEED)
    sizes = {"n_objects": n_objects, "n_answers": n_answers}
    step_jobs = [
        Job(
            {"check": "steps", **sizes, "epochs": epochs, "setting": setting.name, "loss": loss, "trial": trial},
            functools.partial(steps_trial, data, setting, loss, epochs, trial),
        )
        for trial in range(n_trials)
        for setting in (PAPER, DEFAULTS)
        for loss in LOSS_NAMES
    ]
    sublinear_jobs = [
        Job(
            {"check": "1/T", **sizes, "assumed": DIAMETER, "which": which, "epochs": length, "trial": trial},
            functools.partial(sublinear_trial, data, which, length, trial),
        )
        for trial in range(n_trials)
        for which in (PROVEN, AUTHORS)
        for length in lengths
    ]
    linear_jobs = [
        Job(
            {"check": "PL", "modules": MODULES, "starts": START, "output": output, "trial": trial},
            functools.partial(linear_trial, output, trial),
        )
        for trial in range(n_trials)
        for output in MODULE_OUTPUTS
    ]
    steps = bench.log.run("theory: steps", step_jobs)
    sublinear = bench.log.run("theory: 1/T", sublinear_jobs)
    linear = bench.log.run("theory: PL", linear_jobs)
    bench.log.write_csv([*steps, *sublinear, *linear])

    step_blocks, step_claims = about_steps(n_trials, steps)
    sublinear_blocks, sublinear_claim = about_sublinear(bench.log.folder, n_trials, sublinear)
    linear_blocks, linear_claims = about_linear(bench.log.folder, n_trials, linear)
    return Section(
        "theory",
        "Theory",
        [*step_blocks, *sublinear_blocks, *linear_blocks],
        [*step_claims, sublinear_claim, *linear_claims],
    )
