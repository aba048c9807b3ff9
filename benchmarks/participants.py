"""Whom questions are asked: simulated people who know where objects are, and people whose answers are on record."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import closerthan as ct
from benchmarks.samplers import Known, Sampler
from benchmarks.workloads import data_folder
from closerthan.collect.choosing.information import Questions
from closerthan.comparisons import reversed_rows

Rows = NDArray[np.int64]
TEST = 5_000


class People:
    """Whoever can be asked; ``test`` is what a map is to be right about."""

    n_objects: int
    test: ct.Comparisons
    answers: ct.Comparisons | None = None

    @property
    def n_answers(self) -> int:
        return 0 if self.answers is None else self.answers.n_answers

    def ask(self, sampler: Sampler, known: Known, count: int, rng: np.random.Generator) -> None:
        """A round of about so many questions."""
        raise NotImplementedError


@dataclass(frozen=True)
class World:
    """Who is asked about what, how often, and with maps of how many dimensions."""

    title: str
    n_objects: int
    n_dims: int  # of the maps that are fitted
    people: Callable[[int], People]  # for a seed
    per_object: tuple[int, ...] = (5, 7, 10, 14, 20, 28)  # answers, after which the map is measured

    @property
    def most(self) -> int:
        """How many answers there are at the end."""
        return self.per_object[-1] * self.n_objects


class Simulated(People):
    """People who can be asked anything; the test has no noise."""

    def __init__(self, points: NDArray[np.float64], right: Callable[..., NDArray[np.float64]], seed: int) -> None:
        self._rng = np.random.default_rng([seed, 17])
        self._points, self._right, self.n_objects = points, right, len(points)
        rows = Questions("closer", self.n_objects).draw(self._rng.integers(self.n_objects, size=TEST), 1, self._rng)
        self.test = self._comparisons(self._ordered(rows[:, 0])[0])
        self._rows = np.zeros((0, 3), np.int64)

    def ask(self, sampler: Sampler, known: Known, count: int, rng: np.random.Generator) -> None:
        rows, near, far = self._ordered(sampler.questions(known, count, rng))
        wrong = self._rng.random(len(rows)) >= self._right(near, far)
        rows[wrong] = reversed_rows(rows[wrong])
        self._rows = np.concatenate([self._rows, rows])
        self.answers = self._comparisons(self._rows)

    def _ordered(self, rows: Rows) -> tuple[Rows, NDArray[np.float64], NDArray[np.float64]]:
        """Rows with the nearer option first, and both distances."""
        one, other = (np.linalg.norm(self._points[rows[:, 0]] - self._points[rows[:, c]], axis=1) for c in (1, 2))
        ordered = np.where((one <= other)[:, np.newaxis], rows, reversed_rows(rows))
        return ordered, np.minimum(one, other), np.maximum(one, other)

    def _comparisons(self, rows: Rows) -> ct.Comparisons:
        return ct.Comparisons.from_triplets(rows, n_objects=self.n_objects, unmentioned="ignore")


class Recorded(People):
    """People who were asked once: a sampler can choose among the questions that they answered. A fifth is the test.

    As elsewhere, it looks at some random questions of each anchor, and asks none twice, although several were asked so.
    """

    def __init__(self, answers: ct.Comparisons, seed: int) -> None:
        self._all, self.n_objects = answers, answers.n_objects
        groups = np.arange(len(answers)) if answers.answers is None else answers.answers
        _, first, self._group, n_rows = np.unique(groups, return_index=True, return_inverse=True, return_counts=True)
        self._questions = answers.rows[first].astype(np.int64)
        # Of "which is the most central?" each object could have been the anchor.
        self._n_anchors = 1 if n_rows.max() == 1 else 3
        kind = "closer" if self._n_anchors == 1 else "odd"
        self._same = np.unique(Questions(kind, self.n_objects).keys(self._questions), return_inverse=True)[1]
        in_test = np.random.default_rng([seed, 18]).random(len(first)) < 0.2
        self.test = answers.take(in_test[self._group])
        self._waiting = ~in_test
        self._asked = np.zeros(len(first), bool)

    def ask(self, sampler: Sampler, known: Known, count: int, rng: np.random.Generator) -> None:
        left = np.flatnonzero(self._waiting)
        turned = np.concatenate([np.roll(self._questions[left], -turn, axis=1) for turn in range(self._n_anchors)])
        scores = np.zeros(len(turned)) if known.embedding is None else sampler.worth(known, turned, rng)
        scores = scores.reshape(self._n_anchors, -1).mean(axis=0)
        order = np.lexsort((rng.random(len(turned)), turned[:, 0]))
        begins = np.searchsorted(turned[order, 0], np.arange(self.n_objects + 1))
        turns = np.concatenate([rng.permutation(self.n_objects) for _ in range(-(-count // self.n_objects))])[:count]
        for anchor in turns.tolist():
            mine, n_pairs = order[begins[anchor] : begins[anchor + 1]] % len(left), sampler.n_pairs
            if known.embedding is None or rng.random() < sampler.random_share:
                mine, n_pairs = rng.permutation(len(left)), 1
            mine = mine[self._waiting[left[mine]]][:n_pairs]
            if len(mine):
                one = left[mine[scores[mine].argmax()]]
                self._asked[one] = True
                self._waiting &= self._same != self._same[one]
        self.answers = self._all.take(self._asked[self._group])


def eggs(**settings: Any) -> World:
    """The people of the alien-egg study, as its authors published them: 90 objects on a line."""

    def right(near: NDArray[np.float64], far: NDArray[np.float64]) -> NDArray[np.float64]:
        share = far / (near + far)
        return 0.5 + (1 - 2 * 0.0707) * (1 / (1 + np.exp(-17.55 * (share - 0.5))) - 0.5)

    points = np.linspace(0, 1, 90)[:, np.newaxis]
    return World("90 on a line, alien eggs", 90, 2, lambda seed: Simulated(points, right, seed), **settings)


def cloud(n_objects: int, n_dims: int, lapses: float, **settings: Any) -> World:
    """Normally distributed objects; people are surer the more the distances differ, and lapse now and then."""

    def right(near: NDArray[np.float64], far: NDArray[np.float64]) -> NDArray[np.float64]:
        # A lapse is a coin toss.
        sure = 1 / (1 + np.exp(-3 * (far - near))) if lapses else np.ones(len(near))
        return (1 - lapses) * sure + lapses / 2

    def people(seed: int) -> Simulated:
        points = np.random.default_rng([seed, 19]).standard_normal((n_objects, n_dims))
        return Simulated(points, right, seed)

    noise = f"{100 * lapses:g} % lapses" if lapses else "never wrong"
    return World(f"{n_objects:,} in {n_dims}-D, {noise}", n_objects, n_dims, people, **settings)


def recorded(title: str, n_objects: int, answers: Callable[[], ct.Comparisons], **settings: Any) -> World:
    """People's answers, read when they are needed."""
    return World(title, n_objects, 2, lambda seed: Recorded(answers(), seed), **settings)


def faces() -> ct.Comparisons:
    """39 people about 36 faces."""
    columns = {"anchor": "head", "near": "winner", "far": "loser", "participant": "worker_id", "split": None}
    return ct.read_comparisons(data_folder() / "cfd36_people.csv", columns=columns, self_pairs="drop")
