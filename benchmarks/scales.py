"""Difference scaling: how often 95 % intervals contain the truth, and how often right models are rejected.

    python -m benchmarks.scales            two minutes on one core; writes docs/measured/scales.md
    python -m benchmarks.scales --quick    a small version; writes nothing

Simulated observers judge each triad (or quadruple) of levels a number of times.
"""

import argparse
import itertools
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

import closerthan as ct
from benchmarks.measured import measured_on, write_measured
from benchmarks.tables import table
from closerthan.wording import percent

REJECTED = 0.05


class Study(NamedTuple):
    """An observer and the questions: a power function of the level, noise, lapses, and repetitions of each question."""

    n_levels: int
    power: float
    sigma: float
    repeats: int
    size: int = 3
    lapse_rate: float = 0.0

    @property
    def psi(self) -> np.ndarray:
        return np.linspace(0, 1, self.n_levels) ** self.power

    def answers(self, seed: int) -> ct.Comparisons:
        rng = np.random.default_rng([self.n_levels, self.repeats, seed])
        screens = np.repeat(list(itertools.combinations(range(self.n_levels), self.size)), self.repeats, axis=0)
        lower, higher = screens[:, :2], screens[:, -2:]
        difference = np.diff(self.psi[higher])[:, 0] - np.diff(self.psi[lower])[:, 0]
        chance = self.lapse_rate / 2 + (1 - self.lapse_rate) * ndtr(difference / self.sigma)
        larger = rng.random(len(screens)) < chance
        pairs = np.where(larger[:, None], np.hstack([lower, higher]), np.hstack([higher, lower]))
        return ct.Comparisons.from_quadruplets(pairs, n_objects=self.n_levels)


STUDIES = (
    Study(11, 2.0, 0.16, 1),
    Study(11, 2.0, 0.16, 5),
    Study(6, 1.0, 0.3, 3),
    Study(6, 1.0, 0.15, 10),
    Study(8, 0.5, 0.2, 2, size=4),
    Study(8, 2.0, 0.15, 10, lapse_rate=0.05),
)


def measured(study: Study, n_sets: int, n_replicates: int) -> list[str]:
    """Return a row of the table."""
    inside, sigmas, deviance, runs = [], [], [], []
    for seed in range(n_sets):
        answers = study.answers(seed)
        try:
            result = ct.scale(answers, fit_lapses=study.lapse_rate > 0, n_replicates=n_replicates, seed=seed)
        except ValueError:  # no noise, or no rise, in a small study
            continue
        inside.append(((result.low <= study.psi) & (study.psi <= result.high))[1:-1])
        sigmas.append(result.sigma_interval[0] <= study.sigma <= result.sigma_interval[1])
        deviance.append(result.deviance_p <= REJECTED)
        runs.append(result.runs_p <= REJECTED)
    kind = "triads" if study.size == 3 else "quadruples"
    lapses = f", lapses {percent(study.lapse_rate, 0)}" if study.lapse_rate else ""
    return [
        f"{study.n_levels} levels, {len(study.answers(0)):,} {kind}, sigma {study.sigma}{lapses}",
        f"{len(inside)} of {n_sets}",
        percent(float(np.mean(inside))),
        percent(float(np.mean(inside, axis=0).min())),
        percent(float(np.mean(sigmas))),
        percent(float(np.mean(deviance))),
        percent(float(np.mean(runs))),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    rows = [measured(study, 5 if quick else 200, 50 if quick else 300) for study in STUDIES]
    titles = [
        "simulated study", "scales", "levels inside", "worst level", "sigma inside", "rejected by deviance",
        "rejected by runs",
    ]  # fmt: skip
    text = (
        f"{table(titles, rows)}\n\n"
        "Inside: 95 % intervals that contain the truth. Rejected: right models with p at most 5 %, which should be "
        "5 %.\n\n"
        f"{measured_on('python -m benchmarks.scales')}\n"
    )
    print(text)
    if not quick:
        write_measured("scales", text)


if __name__ == "__main__":
    main()
