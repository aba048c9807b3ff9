"""Whom questions are asked: simulated people who know where objects are."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import closerthan as ct

Rows = NDArray[np.int64]
TEST = 5_000


@dataclass(frozen=True)
class World:
    """Objects whose places are known, and how often people are right about them."""

    title: str
    n_objects: int
    n_dims: int  # of the maps that are fitted
    points: Callable[[np.random.Generator], NDArray[np.float64]]
    right: Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]  # of near and far distances

    def people(self, seed: int) -> "Simulated":
        return Simulated(self, seed)


class Simulated:
    """People who can be asked anything; the test has no noise."""

    def __init__(self, world: World, seed: int) -> None:
        self._rng = np.random.default_rng([seed, 17])
        self._world, self.n_objects = world, world.n_objects
        self.points = world.points(self._rng)
        rows = ct.choose_questions(None, 3 * TEST, n_objects=max(world.n_objects, 60), seed=seed)
        rows = rows[(rows < world.n_objects).all(axis=1)][:TEST]
        self.test = self._comparisons(self._ordered(rows))

    def ask(self, rows: Rows) -> Rows:
        ordered = self._ordered(rows)
        near, far = (np.linalg.norm(self.points[ordered[:, 0]] - self.points[ordered[:, c]], axis=1) for c in (1, 2))
        wrong = self._rng.random(len(rows)) >= self._world.right(near, far)
        ordered[wrong] = ordered[wrong][:, [0, 2, 1]]
        return ordered

    def answers(self, rows: Rows) -> ct.Comparisons:
        return self._comparisons(rows)

    def _ordered(self, rows: Rows) -> Rows:
        one, other = (np.linalg.norm(self.points[rows[:, 0]] - self.points[rows[:, c]], axis=1) for c in (1, 2))
        return np.where((one <= other)[:, np.newaxis], rows, rows[:, [0, 2, 1]])

    def _comparisons(self, rows: Rows) -> ct.Comparisons:
        return ct.Comparisons.from_triplets(rows, n_objects=self.n_objects, unmentioned="ignore")


def eggs() -> World:
    """The people of the alien-egg study, as its authors published them: 90 objects on a line."""

    def right(near: NDArray[np.float64], far: NDArray[np.float64]) -> NDArray[np.float64]:
        share = far / (near + far)
        return 0.5 + (1 - 2 * 0.0707) * (1 / (1 + np.exp(-17.55 * (share - 0.5))) - 0.5)

    return World("90 on a line, alien eggs", 90, 2, lambda _: np.linspace(0, 1, 90)[:, np.newaxis], right)


def cloud(n_objects: int, n_dims: int, lapses: float) -> World:
    """Normally distributed objects; people are surer the more the distances differ, and lapse now and then."""

    def right(near: NDArray[np.float64], far: NDArray[np.float64]) -> NDArray[np.float64]:
        # A lapse is a coin toss.
        sure = 1 / (1 + np.exp(-3 * (far - near))) if lapses else np.ones(len(near))
        return (1 - lapses) * sure + lapses / 2

    noise = f"{100 * lapses:g} % lapses" if lapses else "never wrong"
    return World(
        f"{n_objects} in {n_dims}-D, {noise}",
        n_objects,
        n_dims,
        lambda rng: rng.standard_normal((n_objects, n_dims)),
        right,
    )
