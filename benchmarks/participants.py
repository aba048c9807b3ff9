"""The participants of benchmarks.questions: simulated people, and real people whose answers were recorded."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import closerthan as ct
from benchmarks.samplers import Sampler, SamplerState
from closerthan.collect.choosing.information import Questions
from closerthan.comparisons import reversed_rows

Rows = NDArray[np.int64]
TEST = 5_000


class People:
    """Participants who answer questions; ``test`` holds the answers that a map is tested on."""

    n_objects: int
    test: ct.Comparisons
    answers: ct.Comparisons | None = None

    @property
    def n_answers(self) -> int:
        return 0 if self.answers is None else self.answers.n_answers

    def ask(self, sampler: Sampler, state: SamplerState, count: int, rng: np.random.Generator) -> None:
        """Ask a round of about ``count`` questions."""
        raise NotImplementedError


@dataclass(frozen=True)
class World:
    """A kind of study: its participants and objects, the number of answers, and the dimensions of the maps."""

    title: str
    n_objects: int
    n_dims: int  # of the fitted maps
    people: Callable[[int], People]  # by seed
    per_object: tuple[int, ...] = (5, 7, 10, 14, 20, 28)  # numbers of answers after which the map is tested

    @property
    def most(self) -> int:
        """The number of answers at the end."""
        return self.per_object[-1] * self.n_objects


class Simulated(People):
    """Simulated people, who can be asked any question; the test answers have no noise."""

    def __init__(self, points: NDArray[np.float64], right: Callable[..., NDArray[np.float64]], seed: int) -> None:
        self._rng = np.random.default_rng([seed, 17])
        self._points, self._right, self.n_objects = points, right, len(points)
        rows = Questions("closer", self.n_objects).draw(self._rng.integers(self.n_objects, size=TEST), 1, self._rng)
        self.test = self._comparisons(self._ordered(rows[:, 0])[0])
        self._rows = np.zeros((0, 3), np.int64)

    def ask(self, sampler: Sampler, state: SamplerState, count: int, rng: np.random.Generator) -> None:
        rows, near, far = self._ordered(sampler.questions(state, count, rng))
        wrong = self._rng.random(len(rows)) >= self._right(near, far)
        rows[wrong] = reversed_rows(rows[wrong])
        self._rows = np.concatenate([self._rows, rows])
        self.answers = self._comparisons(self._rows)

    def _ordered(self, rows: Rows) -> tuple[Rows, NDArray[np.float64], NDArray[np.float64]]:
        """Return rows with the nearer option first, and both distances."""
        one, other = (np.linalg.norm(self._points[rows[:, 0]] - self._points[rows[:, c]], axis=1) for c in (1, 2))
        ordered = np.where((one <= other)[:, np.newaxis], rows, reversed_rows(rows))
        return ordered, np.minimum(one, other), np.maximum(one, other)

    def _comparisons(self, rows: Rows) -> ct.Comparisons:
        return ct.Comparisons.from_triplets(rows, n_objects=self.n_objects, unmentioned="ignore")


class Recorded(People):
    """Real people: a sampler can choose among the questions that they answered, a fifth of which are the test.

    A sampler considers some random questions per anchor and asks none twice, although some were answered repeatedly.
    """

    def __init__(self, answers: ct.Comparisons, seed: int) -> None:
        self._all, self.n_objects = answers, answers.n_objects
        groups = np.arange(len(answers)) if answers.answers is None else answers.answers
        _, first, self._group, n_rows = np.unique(groups, return_index=True, return_inverse=True, return_counts=True)
        self._questions = answers.rows[first].astype(np.int64)
        # In answers to "which is the most central?", each object could have been the anchor.
        self._n_anchors = 1 if n_rows.max() == 1 else 3
        kind = "closer" if self._n_anchors == 1 else "odd"
        self._same = np.unique(Questions(kind, self.n_objects).keys(self._questions), return_inverse=True)[1]
        in_test = np.random.default_rng([seed, 18]).random(len(first)) < 0.2
        self.test = answers.take(in_test[self._group])
        self._waiting = ~in_test
        self._asked = np.zeros(len(first), bool)

    def ask(self, sampler: Sampler, state: SamplerState, count: int, rng: np.random.Generator) -> None:
        waiting = np.flatnonzero(self._waiting)
        turned = np.concatenate([np.roll(self._questions[waiting], -turn, axis=1) for turn in range(self._n_anchors)])
        scores = np.zeros(len(turned)) if state.embedding is None else sampler.worth(state, turned, rng)
        scores = scores.reshape(self._n_anchors, -1).mean(axis=0)
        order = np.lexsort((rng.random(len(turned)), turned[:, 0]))
        begins = np.searchsorted(turned[order, 0], np.arange(self.n_objects + 1))
        turns = np.concatenate([rng.permutation(self.n_objects) for _ in range(-(-count // self.n_objects))])[:count]
        for anchor in turns.tolist():
            candidates, n_pairs = order[begins[anchor] : begins[anchor + 1]] % len(waiting), sampler.n_pairs
            if state.embedding is None or rng.random() < sampler.random_fraction:
                candidates, n_pairs = rng.permutation(len(waiting)), 1
            candidates = candidates[self._waiting[waiting[candidates]]][:n_pairs]
            if len(candidates):
                question = waiting[candidates[scores[candidates].argmax()]]
                self._asked[question] = True
                self._waiting &= self._same != self._same[question]
        self.answers = self._all.take(self._asked[self._group])


def eggs(**settings: Any) -> World:
    """Return simulated participants of the alien-egg study, with the published parameters: 90 objects on a line."""

    def right(near: NDArray[np.float64], far: NDArray[np.float64]) -> NDArray[np.float64]:
        share = far / (near + far)
        return 0.5 + (1 - 2 * 0.0707) * (1 / (1 + np.exp(-17.55 * (share - 0.5))) - 0.5)

    points = np.linspace(0, 1, 90)[:, np.newaxis]
    return World("90 on a line, alien eggs", 90, 2, lambda seed: Simulated(points, right, seed), **settings)


def cloud(n_objects: int, n_dims: int, lapses: float, **settings: Any) -> World:
    """Return people who judge normally distributed objects; large differences are judged well, apart from lapses."""

    def right(near: NDArray[np.float64], far: NDArray[np.float64]) -> NDArray[np.float64]:
        # A lapse is a random answer.
        sure = 1 / (1 + np.exp(-3 * (far - near))) if lapses else np.ones(len(near))
        return (1 - lapses) * sure + lapses / 2

    def people(seed: int) -> Simulated:
        points = np.random.default_rng([seed, 19]).standard_normal((n_objects, n_dims))
        return Simulated(points, right, seed)

    noise = f"{100 * lapses:g} % lapses" if lapses else "never wrong"
    return World(f"{n_objects:,} in {n_dims}-D, {noise}", n_objects, n_dims, people, **settings)


def recorded(title: str, n_objects: int, answers: Callable[[], ct.Comparisons], **settings: Any) -> World:
    """Return recorded answers of real people, which are read when they are needed."""
    return World(title, n_objects, 2, lambda seed: Recorded(answers(), seed), **settings)
