"""A quasi-Newton method that remembers little: the last stretch of the default."""

from dataclasses import dataclass

import numpy as np

from closerthan.objective import Array, FiniteSum, Point, inner
from closerthan.solvers.base import Monitor, Solver, State, whole
from closerthan.steps import positive

__all__ = ["QuasiNewton"]

Pair = tuple[Array, Array, float]  # a move, how it changed the gradient, and the inner product of the two

SUFFICIENT = 1e-4  # of the fall that the slope promises (Armijo's rule)
SHORTEST = 1e-3  # share of a move that is worth another look
LONGEST = 1.0  # move straight down, as a share of the map's size
CURVED = 1e-9  # cosine between a move and its change of gradient from which on the pair is remembered


@dataclass(frozen=True)
class QuasiNewton(Solver):
    """Limited-memory BFGS: moves along full gradients, bent by the curvature that the last moves have met.

    The same method as :class:`LBFGS`, which is SciPy's, for going on from a good map: it remembers few moves, calls no
    BLAS (whose threads would take the fit's cores), and goes on from a checkpoint.

    Parameters
    ----------
    memory
        How many moves it remembers.
    moves
        In an epoch; with two it costs about what an epoch of the stochastic solvers does.
    first
        The length of the first move, as a share of the map's size; where the objective bends down, the next are longer.

    Examples
    --------
    >>> QuasiNewton(memory=5).memory
    5
    """

    memory: int = 3
    moves: int = 2
    first: float = 0.03

    def __post_init__(self) -> None:
        whole("memory", self.memory)
        whole("moves", self.moves)
        positive(first=self.first)

    def run(
        self, objective: FiniteSum, start: Array, rng: np.random.Generator, monitor: Monitor, state: State | None = None
    ) -> None:
        state = state or {"x": start, "reach": np.array(self.first), "lowest": np.array(0)}
        now, reach, lowest = objective.at(state["x"]), float(state["reach"]), bool(state["lowest"])
        kept = [(state[f"move {k}"], state[f"change {k}"]) for k in range(self.memory) if f"move {k}" in state]
        pairs = [(move, change, inner(move, change)) for move, change in kept]
        stop = monitor(now)
        while not (stop or lowest):
            looks = 0
            for _ in range(self.moves):
                direction = _newton(now, pairs) if pairs else _downhill(now, reach)
                after, length, tried = _lower(objective, now, direction)
                looks += tried
                if after is None:
                    if not pairs and reach == self.first:
                        lowest = True  # not even a short way straight down
                        break
                    pairs, reach = [], self.first  # they mislead: begin anew
                    continue
                move, change = after.x - now.x, after.gradient - now.gradient
                bend = inner(move, change)
                if bend > CURVED * np.sqrt(inner(move, move) * inner(change, change)):
                    pairs, reach = [*pairs, (move, change, bend)][-self.memory :], self.first
                else:
                    pairs, reach = [], min(4.0 * reach, LONGEST)
                now = after
            state = {"x": now.x, "reach": np.array(reach), "lowest": np.array(int(lowest))}
            for k, (move, change, _) in enumerate(pairs):
                state |= {f"move {k}": move, f"change {k}": change}
            stop = monitor(now, step=length, gradients=looks * objective.n_terms, state=state)
            state = None  # not to keep pairs that are forgotten


def _downhill(now: Point, reach: float) -> Array:
    centred = now.x - now.x.mean(axis=0)  # where the map lies does not matter
    size, steepness = np.sqrt(inner(centred, centred)) or 1.0, np.sqrt(inner(now.gradient, now.gradient))
    return -now.gradient * (reach * size / steepness if steepness > 0 else 1.0)


def _newton(now: Point, pairs: list[Pair]) -> Array:
    """Minus the gradient divided by the curvature that the pairs imply (the two-loop recursion)."""
    direction = -now.gradient
    shares = []
    for move, change, bend in reversed(pairs):
        share = inner(move, direction) / bend
        direction -= share * change
        shares.append(share)
    _, change, bend = pairs[-1]
    direction *= bend / inner(change, change)
    for (move, change, bend), share in zip(pairs, reversed(shares), strict=True):
        direction += (share - inner(change, direction) / bend) * move
    return direction


def _lower(objective: FiniteSum, now: Point, direction: Array) -> tuple[Point | None, float, int]:
    """A point that is lower by what its distance promises, if there is one; how far it is, and how many were tried."""
    slope = inner(now.gradient, direction)
    length, looks = 1.0, 0
    while length > SHORTEST and slope < 0:
        after = objective.at(now.x + length * direction)
        looks += 1
        if after.value <= now.value + SUFFICIENT * length * slope:
            return after, length, looks
        # Where the parabola through both values and the slope is lowest, but neither too near nor too far.
        bend = after.value - now.value - length * slope
        lowest = -slope * length / (2.0 * bend) if bend > 0 else 0.1
        length *= min(max(lowest, 0.1), 0.5)
    return None, length, looks
