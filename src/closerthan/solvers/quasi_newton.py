"""A quasi-Newton method that remembers little: the last stretch of the default."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from closerthan.objective.cpu import Array, FiniteSum, Point, inner
from closerthan.solvers.base import Monitor, Solver, State, whole
from closerthan.solvers.curvature import Curvature
from closerthan.solvers.steps import positive

__all__ = ["QuasiNewton"]

_PREPARED: set[Any] = set()  # kinds of objectives for which everything is compiled

Pair = tuple[Array, Array, float]  # a move, how it changed the gradient, and the inner product of the two

SUFFICIENT = 1e-4  # of the fall that the slope promises (Armijo's rule)
SHORTEST = 1e-3  # share of a move that is worth another look
LONGEST = 1.0  # move of which no pair has told the length, as a share of the map's size
CURVED = 1e-9  # cosine between a move and its change of gradient from which on the pair is remembered


@dataclass(frozen=True)
class QuasiNewton(Solver):
    """Limited-memory BFGS: moves along full gradients, bent by the curvature that the last moves have met.

    The method of :class:`LBFGS`, which is SciPy's, for going on from a good map: it remembers few moves, leaves nothing
    to BLAS's threads (which would take the fit's cores), and goes on from a checkpoint. Where there are plenty of
    answers it begins with what they tell of the curvature (:class:`~closerthan.solvers.curvature.Curvature`), and is
    there in a few moves.

    Parameters
    ----------
    memory
        How many moves it remembers.
    moves
        In an epoch; with two it costs about what an epoch of the stochastic solvers does. Where the curvature is known
        beforehand an epoch is one move, which brings more (but for hinges, which bend nowhere).
    first
        The length of the first move, as a share of the map's size, unless the curvature is known; where the objective
        bends down, the next are longer.

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

    def prepare(self, objective: Any, start: Array) -> None:
        told = hasattr(objective, "may_tell_curvature") and objective.may_tell_curvature(start)
        if told and objective.kind not in _PREPARED:
            objective.compile_curvature()
            _PREPARED.add(objective.kind)

    def run(
        self, objective: FiniteSum, start: Array, rng: np.random.Generator, monitor: Monitor, state: State | None = None
    ) -> None:
        state = state or {"x": start, "start": start, "reach": np.array(self.first), "lowest": np.array(0)}
        now, reach, lowest = objective.at(state["x"]), float(state["reach"]), bool(state["lowest"])
        kept = [(state[f"move {k}"], state[f"change {k}"]) for k in range(self.memory) if f"move {k}" in state]
        pairs = [(move, change, inner(move, change)) for move, change in kept]
        stop = monitor(now)
        known, looked_at = None, 0
        if "start" in state and not stop:
            start = state["start"]
            known = Curvature.at(objective, now if start is state["x"] else objective.at(start))
            looked_at = known.looked_at if known and start is state["x"] else 0
        while not (stop or lowest):
            moves_left = 1 if known and known.is_smooth else self.moves
            while moves_left and not lowest:
                direction = _direction(now, pairs, known, reach)
                after, length, looks = _lower(objective, now, direction)
                looked_at += looks * objective.n_terms
                if after is None:  # what was known, or learned, misleads: begin anew, at last with nothing
                    lowest = not pairs and known is None and reach == self.first
                    known = known if pairs else None
                    pairs, reach = [], self.first
                    continue
                move, change = after.x - now.x, after.gradient - now.gradient
                bend = inner(move, change)
                if bend > CURVED * np.sqrt(inner(move, move) * inner(change, change)):
                    pairs, reach = [*pairs, (move, change, bend)][-self.memory :], self.first
                else:
                    pairs, reach = [], min(4.0 * reach, LONGEST)
                now = after
                moves_left -= 1
            state = {"x": now.x, "reach": np.array(reach), "lowest": np.array(int(lowest))}
            state |= {"start": start} if known else {}
            for k, (move, change, _) in enumerate(pairs):
                state |= {f"move {k}": move, f"change {k}": change}
            stop = monitor(now, step=length, gradients=looked_at, state=state)
            state, looked_at = None, 0  # pairs that are forgotten are not to be kept there


def _direction(now: Point, pairs: list[Pair], known: Curvature | None, reach: float) -> Array:
    """Minus the gradient divided by the curvature that the pairs imply (the two-loop recursion)."""
    direction = -now.gradient
    shares = []
    for move, change, bend in reversed(pairs):
        share = inner(move, direction) / bend
        direction -= share * change
        shares.append(share)
    direction = _guess(now, direction, pairs, known, reach)
    for (move, change, bend), share in zip(pairs, reversed(shares), strict=True):
        direction += (share - inner(change, direction) / bend) * move
    return direction


def _guess(now: Point, vector: Array, pairs: list[Pair], known: Curvature | None, reach: float) -> Array:
    """A vector divided by what is known of the curvature; as to objects by themselves, the last pair has the say."""
    own = known.own(vector) if known else vector
    if pairs:
        _, change, bend = pairs[-1]
        scale = bend / inner(change, known.own(change) if known else change)
    else:
        length = np.sqrt(inner(own, own)) or 1.0
        scale = min(1.0, LONGEST * _size(now.x) / length) if known else reach * _size(now.x) / length
    return scale * own + (known.in_size(vector) if known else 0.0)


def _size(x: Array) -> float:
    centred = x - x.mean(axis=0)  # where the map lies does not matter
    return float(np.sqrt(inner(centred, centred))) or 1.0


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
