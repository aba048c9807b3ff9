"""Sample size planning, by simulating a study with artificial participants and objects at random positions."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array
from closerthan.checks import number
from closerthan.collect.choosing.belief import FEWEST, Criterion, fit_belief, fit_maps, next_criterion
from closerthan.collect.choosing.information import Questions, choose
from closerthan.collect.study.description import Study
from closerthan.comparisons import Comparisons
from closerthan.comparisons.screen import Screen
from closerthan.metrics import triplet_error

__all__ = ["RUNS", "SimulatedPeople", "Step", "simulate", "simulate_runs"]

RUNS = 5  # simulations of the same study with different participants and objects
GROWTH = 1.25  # factor between the numbers of participants in two steps
TEST = 4000  # number of test questions


@dataclass(frozen=True)
class SimulatedPeople:
    """Participants who perceive the true distances with noise.

    Parameters
    ----------
    level
        The standard deviation of the normal noise on each distance, as a fraction of the typical distance.
    lapses
        The fraction of questions that are answered at random.
    """

    level: float = 0.2
    lapses: float = 0.1

    def __post_init__(self) -> None:
        number("level", self.level, lambda level: level >= 0, "not be negative")
        number("lapses", self.lapses, lambda fraction: 0 <= fraction <= 1, "lie between 0 and 1")

    def answers(
        self, screen: Screen, points: Array, questions: NDArray[np.int64], rng: np.random.Generator
    ) -> list[list[tuple[int, int, int]]]:
        """Simulate the answers to questions; each answer is a list of triplets (anchor, near, far)."""
        typical = float(np.sqrt(2 * points.var(axis=0).sum()))
        # For odd-one-out questions, pair c leaves out option c, which is the odd one if the pair is the closest.
        pairs = (
            [(0, 1 + option) for option in range(screen.n_options)] if screen.has_anchor else [(1, 2), (0, 2), (0, 1)]
        )
        distances = np.stack(
            [np.linalg.norm(points[questions[:, a]] - points[questions[:, b]], axis=1) for a, b in pairs], axis=1
        )
        perceived = distances + self.level * typical * rng.normal(size=distances.shape)
        lapsed = rng.random(len(perceived)) < self.lapses
        perceived[lapsed] = rng.random((int(lapsed.sum()), len(pairs)))
        picks = np.argsort(perceived, axis=1)[:, : screen.n_picks]
        return [screen.comparisons(row, picked) for row, picked in zip(questions.tolist(), picks.tolist(), strict=True)]


@dataclass(frozen=True)
class Step:
    """The number of participants, the number of simulated answers, and the accuracy of the map on test questions."""

    people: int
    answers: int
    accuracy: float


def simulate(study: Study, people: SimulatedPeople, most: int, rng: np.random.Generator) -> Iterator[Step]:
    """Simulate the study with a growing number of participants, up to ``most``.

    Each participant gets the study's chosen and random questions, and those of the researcher's own list. Repeats,
    shared questions and checks carry little information about the map and are left out.
    """
    n_objects, screen = len(study.objects), study.screen
    points = rng.normal(size=(n_objects, study.dimensions))
    questions = Questions(study.kind, n_objects, n_options=study.shown, n_picks=study.picks)
    exact = SimulatedPeople(0.0, 0.0)
    test_questions = questions.draw(rng.integers(n_objects, size=TEST), 1, rng)[:, 0]
    test = _comparisons(exact.answers(screen, points, test_questions, rng), n_objects)
    number_of = {stimulus.name: number for number, stimulus in enumerate(study.objects)}
    own = np.array([[number_of[name] for name in names] for names in study.own_questions], np.int64)
    n_chosen = study.count_of("chosen") + study.count_of("random")
    each = n_chosen + study.count_of("own")
    if not each:
        raise ValueError("all questions are shared, repeated or checks; lower these shares in study.toml")
    random_fraction = study.count_of("random") / max(n_chosen, 1)
    answers: list[list[tuple[int, int, int]]] = []
    excluded = np.zeros((0, screen.n_objects), np.int64)
    comparisons, belief, n_people, total, criterion = None, None, 0, 1, Criterion()
    while n_people < most:
        total = min(max(total, round(total * GROWTH), n_people + 1), most)
        while len(answers) < total * each:
            # Like the server, choose new questions after about one answer per object.
            count = min(max(n_objects, len(answers) // 10), total * each - len(answers), questions.number)
            n_own = count - round(count * n_chosen / each)
            rows = choose(questions, comparisons, count - n_own, rng, excluded, belief, random_fraction).rows
            if n_own:
                rows = np.concatenate([rows, own[rng.integers(len(own), size=n_own)]])
            answers += people.answers(screen, points, rows, rng)
            comparisons = _comparisons(answers, n_objects)
            if len(answers) >= FEWEST * n_objects * study.dimensions:
                criterion = next_criterion(comparisons, study.dimensions, criterion)
                maps = fit_maps(comparisons, study.dimensions, rng, criterion.loss, criterion.penalty)
                belief = fit_belief(comparisons, maps, rng)
        assert comparisons is not None
        best = fit_maps(comparisons, study.dimensions, rng, criterion.loss, criterion.penalty)[0]
        embedding, n_people = best.embedding, total
        yield Step(n_people, len(answers), 1 - triplet_error(test, embedding))


def simulate_runs(
    study: Study, people: SimulatedPeople, most: int, seed: int, n_runs: int = RUNS
) -> Iterator[list[Step]]:
    """Run ``n_runs`` independent simulations in lockstep, and yield the list of results after each step."""
    children = np.random.default_rng(seed).spawn(n_runs)
    return (list(runs) for runs in zip(*(simulate(study, people, most, rng) for rng in children), strict=True))


def _comparisons(answers: list[list[tuple[int, int, int]]], n_objects: int) -> Comparisons:
    rows = np.array([row for answer in answers for row in answer])
    numbers = np.repeat(np.arange(len(answers)), [len(answer) for answer in answers])
    return Comparisons.from_triplets(rows, n_objects=n_objects, answers=numbers, unmentioned="ignore")
