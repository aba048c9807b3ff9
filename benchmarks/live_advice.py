"""The advice "are there enough answers?" in simulated adaptive studies whose truth is known.

    python -m benchmarks.live_advice [--quick]     writes docs/measured/live-advice.md, unless quick

Three worlds (objects on a line, on a ring, and in a cloud), each with careful people, with people who guess a quarter
of their answers, and with people who guess all of them. Questions are chosen as the server chooses them, 15 % of them
at random; each time that the number of answers has grown by a fifth, the advice of the researcher's page is computed.
"Enough" is premature if all answers are guesses; if the error on new answers falls by a percentage point or more from
then until the number of answers has doubled; or if the error on noise-free answers is then at least 1.6 times that at
the end of the study and a percentage point higher.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

import closerthan as ct
from benchmarks.measured import measured_on, write_measured
from benchmarks.tables import table
from closerthan.collect.choosing.belief import FEWEST, Criterion, fit_belief, fit_maps, next_criterion
from closerthan.collect.choosing.information import RANDOM_FRACTION, Questions, choose
from closerthan.collect.choosing.judging import EARLY, live_curve
from closerthan.comparisons import reversed_rows
from closerthan.metrics import margins
from closerthan.uncertainty.learning_curve import MATTERS, ExpectedDecrease

COMMAND = "python -m benchmarks.live_advice"
Rows = NDArray[np.int64]
Points = NDArray[np.float64]
GROWTH = 1.2  # factor between the numbers of answers at two looks
PER_OBJECT = 100  # answers at the end of a study
TEST = 20_000  # questions
LAPSES = {"careful": 0.0, "a quarter guessed": 0.25, "all guessed": 1.0}
STUDIES = {"careful": 4, "a quarter guessed": 3, "all guessed": 3}  # per world: 30 in all
RATIO = 1.6


def line(rng: np.random.Generator) -> Points:
    return np.sort(rng.random((40, 1)), axis=0) * 3.5


def ring(rng: np.random.Generator) -> Points:
    angle = 2 * np.pi * rng.random(40)
    return 1.5 * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def cloud(rng: np.random.Generator) -> Points:
    return rng.standard_normal((30, 2))


WORLDS: dict[str, Callable[[np.random.Generator], Points]] = {"line": line, "ring": ring, "cloud": cloud}


@dataclass(frozen=True)
class Look:
    """One look at the researcher's page: the advice, and the true errors of the map on new and noise-free answers."""

    n_answers: int
    verdict: str
    gain: ExpectedDecrease
    error: float
    noise_free: float


@dataclass(frozen=True)
class SimulatedStudy:
    """All looks at one study."""

    world: str
    people: str
    looks: tuple[Look, ...]

    @property
    def first_enough(self) -> Look | None:
        """The first look at which the answers were called enough."""
        return next((look for look in self.looks if look.verdict == "enough"), None)

    @property
    def taken_back(self) -> bool:
        """True if the answers were called enough at one look but not at a later one."""
        verdicts = [look.verdict == "enough" for look in self.looks]
        return any(before and not after for before, after in pairwise(verdicts))

    @property
    def premature(self) -> bool:
        """True if the first "enough" was premature, as the docstring of this module defines it."""
        first = self.first_enough
        if first is None:
            return False
        later = [look for look in self.looks if first.n_answers < look.n_answers <= 2.1 * first.n_answers]
        falls = any(look.error <= first.error - MATTERS for look in later)
        end = self.looks[-1].noise_free
        worse = first.noise_free >= RATIO * end and first.noise_free >= end + MATTERS
        return LAPSES[self.people] == 1 or falls or worse


class World:
    """Objects at known positions, and people who judge them."""

    def __init__(self, points: Points, lapses: float, rng: np.random.Generator) -> None:
        self._points, self._lapses, self._rng = points, lapses, rng
        self.n_objects = len(points)
        self._test, self._right = self._ordered(self._random_rows(TEST))

    def _random_rows(self, number: int) -> Rows:
        anchors = self._rng.integers(self.n_objects, size=number)
        return Questions("closer", self.n_objects).draw(anchors, 1, self._rng)[:, 0]

    def _ordered(self, rows: Rows) -> tuple[Rows, Points]:
        """Return rows with the nearer option first, and the probability that people choose it."""
        one, other = (np.linalg.norm(self._points[rows[:, 0]] - self._points[rows[:, c]], axis=1) for c in (1, 2))
        ordered = np.where((one <= other)[:, np.newaxis], rows, reversed_rows(rows))
        sure = 1 / (1 + np.exp(-4 * np.abs(one - other)))
        return ordered, (1 - self._lapses) * sure + self._lapses / 2

    def answers_to(self, rows: Rows) -> Rows:
        """Return the rows as people answer them, with the chosen option first."""
        ordered, right = self._ordered(rows)
        wrong = self._rng.random(len(rows)) >= right
        return np.where(wrong[:, np.newaxis], reversed_rows(ordered), ordered)

    def errors(self, embedding: Points) -> tuple[float, float]:
        """Return the errors of a map on new answers, and on answers without noise."""
        test = ct.Comparisons.from_triplets(self._test, n_objects=self.n_objects, unmentioned="ignore")
        agrees = margins(test, embedding) > 0
        return float(np.mean(np.where(agrees, 1 - self._right, self._right))), float(1 - agrees.mean())

    def ask(self, answers: ct.Comparisons | None, count: int, maps: list[ct.Result]) -> ct.Comparisons:
        """Return the answers together with those to ``count`` new questions."""
        n_random = round(RANDOM_FRACTION * count)
        belief = fit_belief(answers, maps, self._rng) if answers is not None and maps else None
        nothing = np.zeros((0, 3), np.int64)
        chosen = choose(Questions("closer", self.n_objects), answers, count - n_random, self._rng, nothing, belief).rows
        rows = self.answers_to(np.concatenate([chosen, self._random_rows(n_random)]))
        random = np.arange(count) >= count - n_random
        if answers is not None:
            rows = np.concatenate([answers.rows, rows])
            random = np.concatenate([answers.random, random])
        trials = ct.Trials(random=random)
        return ct.Comparisons.from_triplets(rows, n_objects=self.n_objects, trials=trials, unmentioned="ignore")


def looks(world: World, per_object: int) -> Iterator[Look]:
    """Yield the looks at a study, from five answers per object on."""
    answers: ct.Comparisons | None = None
    maps: list[ct.Result] = []
    criterion = Criterion()
    total = world.n_objects
    while total <= per_object * world.n_objects:
        answers = world.ask(answers, total - (0 if answers is None else answers.n_answers), maps)
        if total >= FEWEST * 2 * world.n_objects:
            maps = fit_maps(answers, 2, np.random.default_rng(0), criterion.loss, criterion.penalty)
            criterion = next_criterion(answers, 2, criterion)
        if total >= EARLY * world.n_objects:
            curve = live_curve(answers, maps[0])
            yield Look(total, curve.verdict, curve.gain, *world.errors(maps[0].embedding))
        total = max(total + world.n_objects, round(GROWTH * total))


def simulate(name: str, people: str, seed: int, per_object: int = PER_OBJECT) -> SimulatedStudy:
    """Simulate one study."""
    rng = np.random.default_rng([seed, list(WORLDS).index(name), list(LAPSES).index(people)])
    return SimulatedStudy(name, people, tuple(looks(World(WORLDS[name](rng), LAPSES[people], rng), per_object)))


def row_of(study: SimulatedStudy) -> list[str]:
    """Return a row of the table."""
    first, last = study.first_enough, study.looks[-1]
    cells = ["–", "", ""]
    if first is not None:
        cells = [f"{first.n_answers:,}", f"{100 * first.error:.1f}", f"{100 * first.noise_free:.1f}"]
    verdict = "premature" if study.premature else "taken back later" if study.taken_back else ""
    return [
        study.world,
        study.people,
        *cells,
        f"{100 * last.error:.1f}",
        f"{100 * last.noise_free:.1f}",
        last.verdict,
        verdict,
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one short study; nothing is written")
    quick = parser.parse_args().quick
    jobs = [(name, people, seed) for people, number in STUDIES.items() for seed in range(number) for name in WORLDS]
    studies = []
    for job in jobs[:1] if quick else jobs:
        studies.append(simulate(*job, *([12] if quick else [])))
        print(*row_of(studies[-1]), sep=" | ", flush=True)
    header = ["world", "people", "“enough” at", "error then, %", "without noise, %"]
    header += ["error at the end, %", "without noise, %", "verdict at the end", ""]
    n_premature = sum(study.premature for study in studies)
    n_enough = sum(study.first_enough is not None for study in studies)
    sentence = f"**{n_premature} of {len(studies)}** studies got a premature “enough”; {n_enough} got one at all."
    print(sentence)
    if not quick:
        parts = [sentence, table(header, [row_of(study) for study in studies]), measured_on(COMMAND)]
        write_measured("live-advice", "\n\n".join(parts))


if __name__ == "__main__":
    main()
