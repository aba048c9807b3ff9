"""The convex formulation: projected gradient descent on the Gram matrix."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from closerthan.arrays import Array
from closerthan.checks import positive
from closerthan.objective.protocol import Capability, WithGramGradient
from closerthan.solvers.base import Solver, SolverMonitor, State, StateKind

__all__ = ["Gram"]


@dataclass(frozen=True)
class Gram(Solver):
    """Projected gradient descent over positive semidefinite Gram matrices G (``near = g_ii - 2 g_ij + g_jj``).

    Each epoch takes a gradient step, centres the matrix and projects it onto the positive semidefinite cone by
    eigendecomposition. The step size is halved until the sufficient-decrease condition of the projected gradient
    method holds, and grows by half before the next epoch. The map consists of the leading eigenpairs. A step takes
    O(n^3) time and O(n^2) memory, so this solver is a baseline and not suited to many objects. The GNMDS and STE
    losses are convex in G; for the other losses the same algorithm runs without that guarantee.

    Examples
    --------
    >>> Gram(first_step=10.0).first_step
    10.0
    """

    needs: ClassVar[frozenset[Capability]] = frozenset({"Gram gradient"})
    state_kinds: ClassVar[Mapping[str, StateKind]] = {"gram": "Gram matrix", "step": "number", "epoch": "count"}

    first_step: float | None = None

    def __post_init__(self) -> None:
        positive(first_step=self.first_step)

    def run(  # type: ignore[override]  # requires a capability, see needs
        self,
        objective: WithGramGradient,
        start: Array,
        rng: np.random.Generator,
        monitor: SolverMonitor,
        state: State | None = None,
    ) -> None:
        n_objects, n_dims = start.shape
        first_step = 0.5 * n_objects if self.first_step is None else self.first_step
        if state is None:
            epoch, step = 0, first_step
            gram, _ = _projected(start @ start.T, n_dims)
        else:
            epoch, step, gram = int(state["epoch"]), float(state["step"]), state["gram"]
        value, gradient = objective.at_gram(gram)
        if monitor(start):
            return
        while True:
            evaluations = 0
            # At a kink of a hinge loss no step is short enough. The lower bound turns the method into a subgradient
            # method there.
            shortest = first_step / (100 * (1 + epoch))
            while True:
                proposed, x = _projected(gram - step * gradient, n_dims)
                proposed_value, proposed_gradient = objective.at_gram(proposed)
                evaluations += 1
                moved = proposed - gram
                bound = value + np.sum(gradient * moved) + np.sum(moved * moved) / (2 * step)
                if proposed_value <= bound or not np.isfinite(bound) or step <= shortest or monitor.must_end():
                    break
                step = max(step / 2, shortest)
            gram, value, gradient = proposed, proposed_value, proposed_gradient
            n_gradients, last_step = evaluations * objective.n_terms, step
            step *= 1.5
            epoch += 1
            state = {"gram": gram, "step": np.array(step), "epoch": np.array(epoch)}
            if monitor(x, step=last_step, gradients=n_gradients, state=state):
                return


def _projected(gram: Array, n_dims: int) -> tuple[Array, Array]:
    """Return the nearest centred positive semidefinite matrix, and the map from its leading eigenpairs."""
    centred = gram - gram.mean(axis=0)
    centred = centred - centred.mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh((centred + centred.T) / 2)
    values = np.maximum(values, 0.0)
    roots = vectors * np.sqrt(values)
    x = np.zeros((len(gram), n_dims))
    n_axes = min(n_dims, len(gram))
    x[:, :n_axes] = roots[:, ::-1][:, :n_axes]
    return roots @ roots.T, x
