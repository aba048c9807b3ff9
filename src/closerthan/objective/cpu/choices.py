"""The likelihood of whole answers on the CPU: the mean loss of choices among pairs, summed by several threads."""

import copy
import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array, Singles
from closerthan.checks import ParameterError
from closerthan.compiled.kernels import choices as kernels
from closerthan.compiled.kernels.choices import ChoiceRows, rule_argument
from closerthan.compiled.simd import padded_length
from closerthan.compiled.threads import WorkerPool
from closerthan.losses import DotProduct, Loss
from closerthan.objective.cpu.parts import LEAST_PART, MOST_PARTS, cut, summed
from closerthan.objective.protocol import STEPS_ALONG_CHOICES, ChoiceTotals
from closerthan.objective.scales import sample_places

__all__ = ["ChoiceRows", "ChoiceSums"]


class ChoiceSums:
    """The losses of choices at a map: their sum and gradient, with the same bits for any number of threads.

    Parameters
    ----------
    rows
        The choices, see :meth:`ChoiceRows.of <closerthan.compiled.kernels.choices.ChoiceRows.of>`.
    rule
        A loss with a similarity, or the dot product of two rows of the map.
    weights
        Weight of each choice; None if all are equal.
    n_threads
        Number of threads.
    least_part
        Number of choices that are worth handing to another thread. Results depend on it.
    pool
        Threads to use instead of new ones.

    Examples
    --------
    >>> from closerthan.comparisons import Choices, Comparisons
    >>> from closerthan.losses import STE
    >>> odd_one_out = Choices.of(Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]], answers=[0, 0]))
    >>> with ChoiceSums(ChoiceRows.of(odd_one_out), STE()) as sums:
    ...     total, gradient, right = sums.gradient(np.array([[0.0], [1.0], [2.0]]))
    >>> round(total, 3), gradient.round(2).tolist(), right
    (0.718, [[-0.93], [2.0], [-1.07]], 0.0)
    """

    capabilities = STEPS_ALONG_CHOICES

    def __init__(
        self,
        rows: ChoiceRows,
        rule: Loss | DotProduct,
        weights: Array | None = None,
        *,
        n_threads: int = 1,
        least_part: int = LEAST_PART,
        pool: WorkerPool | None = None,
    ) -> None:
        if isinstance(rule, Loss) and not rule.is_choice_rule:
            raise ParameterError(
                "loss", rule, "whole answers need a loss with a similarity: ste, tste, ckl, or one that defines "
                "log_similarity and similarity_slope",
            )  # fmt: skip
        self.rows = rows
        self.rule = rule_argument(rule)
        self.weights = weights
        self._least_part = least_part
        self._last_object = int(rows.pairs.max(initial=-1))
        self.pool = pool or WorkerPool(min(n_threads, MOST_PARTS) - 1 if len(self) >= 2 * least_part else 0)

    def __len__(self) -> int:
        return len(self.rows.signs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.pool.close()

    def gradient(
        self, x: Array | Singles, order: NDArray[np.int64] | None = None
    ) -> tuple[float, "Array | Singles", float]:
        """Return the sum of the losses, its gradient, and the weight of the choices that the map makes as well.

        Parameters
        ----------
        x
            The map; in single precision, rows are padded (:func:`closerthan.compiled.simd.padded`).
        order
            Choices to visit; by default all.
        """
        total, right, _, gradient = self._counted(self._checked(x), order)
        return total, gradient, right

    def counted_comparisons(self, x: Array) -> tuple[float, "Array", float]:
        """Return the sum of the losses, its gradient, and the weight of the comparisons that agree with the map."""
        total, _, beaten, gradient = self._counted(self._checked(x))
        return total, gradient, beaten

    def _counted(self, x: Any, order: NDArray[np.int64] | None = None) -> tuple[float, float, float, Any]:
        def piece(part: tuple[int, int], out: Any) -> tuple[float, ...]:
            if order is None:
                weights = None if self.weights is None else self.weights[slice(*part)]
                counts = kernels.counting_gradient(self.rule, self.rows.part(*part), None, weights, x, out)
            else:
                visited = order[slice(*part)]
                counts = kernels.counting_gradient(self.rule, self.rows, visited, self.weights, x, out)
            return tuple(map(float, counts))

        parts = cut(len(self) if order is None else len(order), max(self._least_part, len(x)))
        counts, (gradient, *rest) = summed(self.pool, piece, parts, x.shape, x.dtype.type)
        for other in rest:
            gradient += other
        total, right, beaten = (math.fsum(column) for column in zip(*counts, strict=True))
        return total, right, beaten, gradient

    def sums(self, x: Array, scales: Array) -> tuple[Array, float]:
        """Return the sum of the losses of each map ``scale * x``, and the weight of the comparisons that x agrees with.

        It takes half the time of :meth:`counted_comparisons` for a single scale.
        """
        x = self._checked(x)

        def piece(first: int, last: int) -> tuple[Array, float]:
            totals, weights = np.empty(len(scales)), None if self.weights is None else self.weights[first:last]
            beaten = kernels.loss_sums(self.rule, self.rows.part(first, last), weights, x, scales, totals)
            return totals, float(beaten)

        totals, beaten = zip(*self.pool.map(piece, *zip(*cut(len(self), self._least_part), strict=True)), strict=True)
        return np.sum(totals, axis=0), math.fsum(beaten)

    def descend(self, order: NDArray[np.int64], x: Array, batch_size: int, step: float) -> None:
        """Take stochastic gradient steps along batches of choices; ``x`` is modified in place."""
        assert x.dtype == np.float64
        assert x.flags.c_contiguous
        kernels.sgd_steps(self.rule, self.rows, order, self.weights, batch_size, step, x, np.zeros_like(x))

    def reweighted(self, weights: Array) -> "ChoiceSums":
        """Return the same sums with other weights of the choices."""
        other = copy.copy(self)
        other.weights = weights
        return other

    def sample(self, n_choices: int) -> "ChoiceSums":
        """Return the sums over this number of choices, evenly spread; all of them if there are fewer."""
        if len(self) <= n_choices:
            return self
        places = sample_places(len(self), n_choices)
        other = copy.copy(self)
        other.rows = self.rows.take(places)
        other.weights = None if self.weights is None else self.weights[places]
        return other

    @property
    def totals(self) -> ChoiceTotals:
        return ChoiceTotals.of(np.diff(self.rows.starts), self.weights)

    def losses(self, x: Array | Singles) -> Array:
        """Return ``-log P`` of each choice."""
        x, out = self._checked(x), np.empty(len(self))

        def piece(first: int, last: int) -> None:
            kernels.losses(self.rule, self.rows.part(first, last), None, x, out[first:last])

        self.pool.map(piece, *zip(*cut(len(self), self._least_part), strict=True))
        return out

    def _checked(self, x: Any) -> Any:
        """Return the map as the kernels read it: they do not check whether rows exist."""
        x = np.ascontiguousarray(x, x.dtype if x.dtype == np.float32 else np.float64)
        if x.ndim != 2 or len(x) <= self._last_object:
            raise ValueError(f"the map has shape {x.shape}; the answers mention object {self._last_object}")
        if x.dtype == np.float32 and x.shape[1] != padded_length(x.shape[1]):
            raise ValueError(f"rows in single precision must be padded; these have {x.shape[1]} numbers")
        return x
