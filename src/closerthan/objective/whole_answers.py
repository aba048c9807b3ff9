"""The likelihood of whole answers: an objective whose terms are choices among pairs, by Luce's choice rule.

An answer such as "c is the odd one of a, b and c" is one choice among three pairs. Summing the loss over the
comparisons that follow from it counts the chosen pair twice, as if they were independent; the likelihood of the choice
does not.

:class:`WholeAnswers` wraps the objective of the comparisons. Values and gradients are those of the choices. Solvers
still draw comparisons: a solver with gradient steps then visits the choice that a comparison belongs to, weighted so
that the mean over comparisons is the mean over choices. Polyak steps remain those of the comparisons, which lead close
to a minimum of the likelihood, and L-BFGS finishes the fit.
"""

import functools
import math
import time
from typing import Any

import numpy as np

from closerthan.arrays import Array, inner
from closerthan.comparisons import Choices
from closerthan.losses import Loss, penalty_weight
from closerthan.objective.cpu.walks import DenseWalk
from closerthan.objective.inverse_hessian import InverseHessian
from closerthan.objective.protocol import (
    UNKNOWN,
    Capability,
    Objective,
    Point,
    PolyakWalk,
    State,
    StepSchedule,
    StepsOfChoices,
    SumsOfChoices,
    VarianceReducedWalk,
)
from closerthan.objective.scales import SIZE_SAMPLE, best_scale
from closerthan.objective.visits import Order, Visits

__all__ = ["WholeAnswers"]

_ONE_SCALE = np.ones(1)
_ALONG_COMPARISONS: frozenset[Capability] = frozenset({"Polyak walk", "lock-free walk"})


class WholeAnswers(Objective[Any]):
    """The mean of ``-log P`` over the choices of whole answers, as a function of the map.

    Parameters
    ----------
    comparisons
        The objective of the comparisons that follow from the answers.
    choices
        The answers.
    loss
        The loss with its penalty, whose weight is that for a mean over choices.

    Examples
    --------
    >>> from closerthan.comparisons import Comparisons
    >>> from closerthan.losses import STE
    >>> from closerthan.objective.cpu.objective import CPUObjective
    >>> answers = Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]], answers=[0, 0])
    >>> objective = WholeAnswers(CPUObjective(answers, STE()), Choices.of(answers), STE())
    >>> point = objective.at(np.array([[0.0], [1.0], [2.0]]))
    >>> round(point.value, 4), point.error, round(objective.collapsed_objective, 4)
    (0.7177, 0.5, 1.0986)
    """

    has_surrogate_walk = True

    def __init__(self, comparisons: Objective[Any], choices: Choices, loss: Loss) -> None:
        own: Any = comparisons  # has the capability "whole answers"
        self._comparisons = own
        self._sums: SumsOfChoices = own.choice_sums(choices, loss)
        self._choices = choices
        self.capabilities = own.capabilities & _ALONG_COMPARISONS | self._sums.capabilities
        self.device = f"{self._comparisons.device} (for the likelihood of whole answers)"
        self.weighted = comparisons.weighted
        self.penalized = penalty_weight(loss) > 0.0
        self.longest_stretch = comparisons.longest_stretch
        self._totals = self._sums.totals
        self.collapsed_objective = self._totals.log_sizes / self._totals.weight

    def __enter__(self) -> "WholeAnswers":
        self._comparisons.__enter__()
        return self

    def __exit__(self, *problem: object) -> None:
        self._comparisons.__exit__(*problem)

    @property
    def n_terms(self) -> int:
        return int(self._comparisons.n_terms)

    def at(self, x: Array) -> Point:
        """Return the mean loss, its gradient, and the fraction of comparisons that the map contradicts."""
        began, x = time.monotonic(), np.asarray(x)
        total, gradient, right = self._sums.counted_comparisons(x)
        gradient /= self._totals.weight
        self.evaluation_seconds = time.monotonic() - began
        return self._point(x, total, gradient, right)

    def value(self, x: Any) -> Point[Any]:
        """Return the same as :meth:`at` without the gradient, in half the time."""
        began = time.monotonic()
        totals, right = self._sums.sums(x, _ONE_SCALE)
        self.evaluation_seconds = time.monotonic() - began
        return self._point(x, float(totals[0]), UNKNOWN, right)

    def _point(self, x: Any, total: float, gradient: Array, right: float) -> Point[Any]:
        array = np.asarray(x)
        measurable = math.isfinite(4.0 * inner(array, array))
        value = total / self._totals.weight if measurable else math.nan
        return Point(x, value, gradient, 1.0 - right / self._totals.comparisons)

    def held_out_error(self, x: Any) -> float:
        return float(self._comparisons.held_out_error(x))

    # ---- Polyak steps along comparisons ------------------------------------------------------------------------------

    def polyak_walk(self, x: Array, schedule: StepSchedule, length: int, state: State | None = None) -> PolyakWalk[Any]:
        walk: PolyakWalk[Any] = self._comparisons.polyak_walk(x, schedule, length, state)
        return walk

    def lock_free_walk(
        self, x: Array, schedule: StepSchedule, length: int, state: State | None = None
    ) -> PolyakWalk[Any]:
        walk: PolyakWalk[Any] = self._comparisons.lock_free_walk(x, schedule, length, state)
        return walk

    def padded_width(self, n_dims: int) -> int:
        return int(self._comparisons.padded_width(n_dims))

    def best_scale(self, x: Any, scales: Array, trust: float) -> float:
        losses = self._sample.sums(x, scales)[0] / self._sample.totals.weight
        return best_scale(losses, scales, self.collapsed_objective, trust)

    @functools.cached_property
    def _sample(self) -> SumsOfChoices:
        return self._sums.sample(SIZE_SAMPLE)

    # ---- gradient steps along choices --------------------------------------------------------------------------------

    @functools.cached_property
    def _steps(self) -> StepsOfChoices:
        """The sums over choices, weighted so that a mean over comparisons equals the mean over choices."""
        others = self._choices.sizes - 1
        weights = others.sum() / (self._choices.n_choices * others)
        if self._choices.choice_weights is not None:
            weights = weights * self._choices.choice_weights
        sums: Any = self._sums  # has the capabilities of StepsOfChoices
        steps: StepsOfChoices = sums.reweighted(weights)
        return steps

    @functools.cached_property
    def _choice_of_term(self) -> Order:
        """The choice that each term stands for; identical comparisons of one answer are counted once."""
        choices = np.repeat(np.arange(self._choices.n_choices), self._choices.sizes - 1)
        return np.resize(choices, self.n_terms)

    def expand(self, visits: Visits) -> Order:
        """Return the choices that visits stand for; weights are factors of their gradients."""
        order: Order = self._choice_of_term[self._comparisons.unweighted(visits)]
        return order

    def descend(self, visits: Visits, x: Array, batch_size: int, step: float) -> None:
        self._steps.descend(self.expand(visits), x, batch_size, step)

    def walk(self, snapshot: Point, batch_size: int) -> VarianceReducedWalk:
        return DenseWalk(self.gradient_changes, snapshot, batch_size, self.expand)

    def gradient_changes(self, order: Order, x: Array, anchor: Array) -> tuple[Array, ...]:
        """Return arrays whose sum is the gradient at ``x`` minus that at ``anchor``, over these choices."""
        here, there = (np.asarray(self._steps.gradient(point, order)[1], np.float64) for point in (x, anchor))
        return here, -there

    # ---- compiling ahead of the clock --------------------------------------------------------------------------------

    def prepare(self, needs: frozenset[Capability], n_dims: int) -> None:
        if needs & _ALONG_COMPARISONS:
            self._comparisons.prepare(needs & _ALONG_COMPARISONS, n_dims)
        InverseHessian.prepare()
        sums, one = self._sums.sample(1), np.zeros(1, np.int64)
        for width in (self.padded_width(n_dims + 1), n_dims):  # the solver adds dimensions to random starts
            x = np.zeros((self._comparisons.n_objects, width))
            sums.sums(x, _ONE_SCALE)
        sums.counted_comparisons(x)
        if "gradient steps" in needs:
            self._steps.descend(one, x, 1, 0.0)
        if "variance-reduced walk" in needs:
            self.gradient_changes(one, x, x)
