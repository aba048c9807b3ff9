"""How many people a study needs: it is run with simulated people, about objects whose places are known."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array
from closerthan.checks import number
from closerthan.collect.choosing.belief import FEWEST, LOSS, believed, fitted_map
from closerthan.collect.choosing.information import Questions, choose
from closerthan.collect.store.answers import triplets
from closerthan.collect.study.description import Study
from closerthan.comparisons import Comparisons
from closerthan.losses import loss_named
from closerthan.metrics import triplet_error

__all__ = ["RUNS", "SimulatedPeople", "Step", "several", "steps"]

RUNS = 5  # of the same study with other people and other objects
GROWTH = 1.25  # so many times the people between two steps
TEST = 4000  # questions about which a map is to be right


@dataclass(frozen=True)
class SimulatedPeople:
    """People who know where the objects are, and err.

    Parameters
    ----------
    level
        They see each distance with a normal error, whose standard deviation is this share of the typical distance.
    lapses
        The share of questions that they answer by chance.
    """

    level: float = 0.2
    lapses: float = 0.1

    def __post_init__(self) -> None:
        number("level", self.level, lambda it: it >= 0, "not be negative")
        number("lapses", self.lapses, lambda it: 0 <= it <= 1, "lie between 0 and 1")

    def answers(
        self, kind: str, points: Array, questions: NDArray[np.int64], rng: np.random.Generator
    ) -> list[list[tuple[int, int, int]]]:
        """What they say to each question: rows (anchor, near, far)."""
        typical = float(np.sqrt(2 * points.var(axis=0).sum()))
        pairs = [(0, 1), (0, 2)] if kind == "closer" else [(1, 2), (0, 2), (0, 1)]  # the odd one is in none of these
        seen = np.stack(
            [np.linalg.norm(points[questions[:, a]] - points[questions[:, b]], axis=1) for a, b in pairs], axis=1
        )
        choice = (seen + self.level * typical * rng.normal(size=seen.shape)).argmin(axis=1)
        lapsed = rng.random(len(choice)) < self.lapses
        choice[lapsed] = rng.integers(len(pairs), size=int(lapsed.sum()))
        return [
            triplets(kind, tuple(row), int(one)) for row, one in zip(questions.tolist(), choice.tolist(), strict=True)
        ]


@dataclass(frozen=True)
class Step:
    """So many people, their answers that count, and how often the map of them is right about other questions."""

    people: int
    answers: int
    right: float


def steps(study: Study, people: SimulatedPeople, most: int, rng: np.random.Generator) -> Iterator[Step]:
    """Run the study with more and more people, each of whom gets the study's chosen and random questions.

    What was asked before (repeats, shared questions) and checks tell little about the map and are left out.
    """
    n_objects, kind = len(study.objects), study.kind
    points = rng.normal(size=(n_objects, study.dimensions))
    questions, loss = Questions(kind, n_objects), loss_named(LOSS).in_dims(study.dimensions)
    exact = SimulatedPeople(0.0, 0.0)
    anywhere = questions.draw(rng.integers(n_objects, size=TEST), 1, rng)[:, 0]
    test = _comparisons(exact.answers(kind, points, anywhere, rng), n_objects)
    each = study.count_of("chosen") + study.count_of("random")
    if not each:
        raise ValueError("all questions are shared, repeats or checks: lower these shares in study.toml")
    share = study.count_of("random") / each
    said: list[list[tuple[int, int, int]]] = []
    nothing = np.zeros(0, np.int64)
    known, embedding, belief, n_people, total = None, None, None, 0, 1
    while n_people < most:
        total = min(max(total, round(total * GROWTH), n_people + 1), most)
        while len(said) < total * each:
            # As the server does: a round of new questions after about one answer per object.
            count = min(max(n_objects, len(said) // 10), total * each - len(said), questions.number)
            asked = choose(questions, known, count, rng, nothing, belief, share).rows
            said += people.answers(kind, points, asked, rng)
            known = _comparisons(said, n_objects)
            if len(said) >= FEWEST * n_objects * study.dimensions:
                embedding = fitted_map(known, study.dimensions, loss, rng, [embedding])
                belief = believed(known, embedding, loss, rng)
        assert known is not None
        starts = [None] if embedding is None else [None, embedding]
        embedding, n_people = fitted_map(known, study.dimensions, loss, rng, starts), total
        yield Step(n_people, len(said), 1 - triplet_error(test, embedding))


def several(study: Study, people: SimulatedPeople, most: int, seed: int) -> Iterator[list[Step]]:
    """The steps of :data:`RUNS` runs side by side: places and people are others in each."""
    children = np.random.default_rng(seed).spawn(RUNS)
    return (list(some) for some in zip(*(steps(study, people, most, rng) for rng in children), strict=True))


def _comparisons(said: list[list[tuple[int, int, int]]], n_objects: int) -> Comparisons:
    rows = np.array([row for answer in said for row in answer])
    numbers = np.repeat(np.arange(len(said)), [len(answer) for answer in said])
    return Comparisons.from_triplets(rows, n_objects=n_objects, answers=numbers, unmentioned="ignore")
