"""Kernels for whole answers, each a choice among pairs of objects by Luce's choice rule.

If g is the similarity of a pair, s = 1 or -1 says whether the most or the least similar pair was to be chosen, and
pair 0 was chosen, the loss of a choice is

    -log P = log(sum_k exp(u_k)) - u_0,        u_k = s log g(pair k) + offset_k,

and its derivative with respect to u_k is ``p_k - [k = 0]``. A penalty ``weight * (near + far)`` of a comparison becomes
``weight`` times twice the mean squared distance of the pairs shown, which is the same if there are two pairs.

The rule is a compile-time argument (:func:`rule_argument`); the geometry is that of
:mod:`closerthan.compiled.kernels.pair_geometry`. Maps have double precision, or single precision with rows that are
:func:`~closerthan.compiled.simd.padded`; gradients have the precision of the map, sums always double precision.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba.core import types
from numba.extending import overload
from numpy.typing import NDArray

from closerthan.arrays import frozen
from closerthan.compiled import compiling
from closerthan.compiled.compiling import inlined, kernel, prefetch
from closerthan.compiled.kernels.pair_geometry import (
    add_measure_gradient,
    log_similarity_and_slope,
    measure,
    penalty_of,
)
from closerthan.compiled.kernels.rows import weight_of
from closerthan.compiled.vector_math import exp, log
from closerthan.losses import DotProduct, Loss

if TYPE_CHECKING:
    from closerthan.comparisons import Choices

PAIRS = 64  # pairs that are evaluated together; a choice among more pairs gets buffers of that size
AHEAD = 8  # rows are prefetched this number of pairs ahead


class ChoiceRows(NamedTuple):
    """Choices as the kernels read them.

    Attributes
    ----------
    pairs
        Objects of all pairs shown; the first pair of each choice was chosen.
    starts
        Position in ``pairs`` of the first pair of each choice, and the end of the last choice.
    signs
        1 if the most similar pair was to be chosen, -1 if the least similar one.
    offsets
        A number for each pair that is added to ``s log g``, such as a preference for its position; None for zeros.
    """

    pairs: NDArray[np.int32]
    starts: NDArray[np.int64]
    signs: NDArray[np.int8]
    offsets: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, choices: "Choices", offsets: NDArray[np.float64] | None = None) -> "ChoiceRows":
        """Return the choices, without copying them."""
        # Kernels would be compiled again for arrays that can be written to, so all are read-only.
        return cls(*map(frozen, (choices.pairs, choices.starts, choices.signs, offsets)))

    def part(self, first: int, last: int) -> "ChoiceRows":
        """Return the choices from ``first`` up to, but not including, ``last``, without copying them."""
        return self._replace(starts=self.starts[first : last + 1], signs=self.signs[first:last])

    def take(self, choices: NDArray[np.int64]) -> "ChoiceRows":
        """Return a copy of the choices with these numbers."""
        sizes = np.diff(self.starts)[choices]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        places = np.repeat(self.starts[choices] - starts[:-1], sizes) + np.arange(starts[-1])
        offsets = None if self.offsets is None else self.offsets[places]
        return ChoiceRows(*map(frozen, (self.pairs[places], starts, self.signs[choices], offsets)))


def rule_argument(rule: Loss | DotProduct) -> Any:
    """Return the argument to pass to the kernels for a loss with a similarity, or for the dot product."""
    return DotProduct(float(rule.scale)) if isinstance(rule, DotProduct) else compiling.argument(rule)


@kernel
def counting_gradient(rule, rows, order, weights, x, out):
    """Add the gradient of the losses to ``out``; return the sum of losses and two weights of correct predictions.

    These are the weight of correct choices, and that of correct comparisons of the chosen pair with each of the others.

    ``order`` lists the choices to visit; None stands for all. A choice is correct if the map prefers the chosen pair
    strictly. ``weights`` has an entry for each choice in ``rows``; None stands for equal weights.
    """
    scratch = _scratch(rows, order)
    places, _, coefficients, slopes = scratch
    penalty = 2.0 * penalty_of(rule)
    total, right, beaten, first = 0.0, 0.0, 0.0, 0
    while first < _number(rows, order):
        last = _measured(rule, rows, order, first, x, scratch)
        begin = 0
        for place in range(first, last):
            choice = _choice(order, place)
            size, weight = rows.starts[choice + 1] - rows.starts[choice], weight_of(weights, choice)
            loss, n_beaten = _loss(rows, choice, begin, size, scratch)
            spread = _sum_of_squares(rule, begin, size, scratch) / size
            total += weight * (loss + penalty * spread)
            right += weight * (n_beaten == size - 1)
            beaten += weight * n_beaten
            share = penalty / size
            for m in range(begin, begin + size):
                coefficients[m] = weight * (rows.signs[choice] * coefficients[m] * slopes[m] + share)
            begin += size
        for m in range(begin):
            if m + AHEAD < begin:
                prefetch(out, np.uint32(rows.pairs[places[m + AHEAD], 0]))
                prefetch(out, np.uint32(rows.pairs[places[m + AHEAD], 1]))
            add_measure_gradient(rule, x, _pair(rows, places[m]), out, coefficients[m])
        first = last
    return total, right, beaten


@kernel
def gradient(rule, rows, order, weights, x, out):
    """Do the same as :func:`counting_gradient`; return the sum of losses and the weight of correct choices."""
    total, right, _ = counting_gradient(rule, rows, order, weights, x, out)
    return total, right


@kernel
def sgd_steps(rule, rows, order, weights, batch_size, step, x, out):
    """Make stochastic gradient steps along ``order``, ``batch_size`` choices each; ``x`` is updated in place.

    ``out`` is an array of zeros like ``x``, in which the gradients of batches are summed; it is zero again at the end.
    """
    for first in range(0, order.shape[0] // batch_size * batch_size, batch_size):
        batch = order[first : first + batch_size]
        counting_gradient(rule, rows, batch, weights, x, out)
        for place in range(batch_size):
            for pair in range(rows.starts[batch[place]], rows.starts[batch[place] + 1]):
                for end in range(2):
                    row = rows.pairs[pair, end]
                    for c in range(x.shape[1]):
                        x[row, c] -= step / batch_size * out[row, c]
                        out[row, c] = 0.0


@kernel
def losses(rule, rows, order, x, out):
    """Set ``out`` to ``-log P`` of each choice in ``order``, without the penalty; None stands for all choices."""
    scratch = _scratch(rows, order)
    first = 0
    while first < _number(rows, order):
        last = _measured(rule, rows, order, first, x, scratch)
        begin = 0
        for place in range(first, last):
            choice = _choice(order, place)
            size = rows.starts[choice + 1] - rows.starts[choice]
            out[place], _ = _loss(rows, choice, begin, size, scratch)
            begin += size
        first = last


@kernel
def loss_sums(rule, rows, weights, x, scales, totals):
    """Store the sum of the losses of each map ``scale * x`` in ``totals``; return the weight of correct comparisons.

    The measure of a pair, its squared distance or dot product, is quadratic in the map.
    """
    scratch = _scratch(rows, None)
    _, measures, coefficients, slopes = scratch
    penalty = 2.0 * penalty_of(rule)
    totals[:] = 0.0
    beaten, first = 0.0, 0
    while first < _number(rows, None):
        last = _measured(rule, rows, None, first, x, scratch)
        origin, n_pairs = rows.starts[first], rows.starts[last] - rows.starts[first]
        for choice in range(first, last):
            begin, size = rows.starts[choice] - origin, rows.starts[choice + 1] - rows.starts[choice]
            _, n_beaten = _loss(rows, choice, begin, size, scratch)
            beaten += weight_of(weights, choice) * n_beaten
        for s in range(scales.shape[0]):
            squared_scale = scales[s] * scales[s]
            for m in range(n_pairs):
                coefficients[m], slopes[m] = log_similarity_and_slope(rule, squared_scale * measures[m])
            total = 0.0
            for choice in range(first, last):
                begin, size = rows.starts[choice] - origin, rows.starts[choice + 1] - rows.starts[choice]
                loss, _ = _loss(rows, choice, begin, size, scratch)
                spread = squared_scale * _sum_of_squares(rule, begin, size, scratch) / size
                total += weight_of(weights, choice) * (loss + penalty * spread)
            totals[s] += total
        first = last
    return beaten


@kernel
def log_similarities(rule, measures, logs, slopes):
    """Set ``logs`` to the log similarities of pairs with these measures, and ``slopes`` to their derivatives."""
    for pair in range(measures.shape[0]):
        logs[pair], slopes[pair] = log_similarity_and_slope(rule, measures[pair])


@inlined
def _number(rows, order):
    if order is None:
        return rows.starts.shape[0] - 1
    return order.shape[0]


@inlined
def _choice(order, place):
    if order is None:
        return place
    return order[place]


@inlined
def _pair(rows, place):
    return np.uint32(rows.pairs[place, 0]), np.uint32(rows.pairs[place, 1])


def _offset(offsets, place):
    """Return the offset of a pair; without offsets, the compiler replaces the call by 0."""
    raise NotImplementedError("only for compiled code")


@overload(_offset)
def _compiled_offset(offsets, place):
    if isinstance(offsets, types.NoneType):
        return lambda offsets, place: 0.0
    return lambda offsets, place: offsets[place]


@kernel
def _scratch(rows, order):
    """Return the buffers for the pairs of consecutive choices: places, measures, coefficients and slopes."""
    largest = PAIRS
    for place in range(_number(rows, order)):
        choice = _choice(order, place)
        largest = max(largest, rows.starts[choice + 1] - rows.starts[choice])
    return np.empty(largest, np.int64), np.empty(largest), np.empty(largest), np.empty(largest)


@kernel
def _measured(rule, rows, order, first, x, scratch):
    """Fill the buffers with the pairs of consecutive choices, as far as there is room; return the place after them."""
    places, measures, scores, slopes = scratch
    last, size = first, 0
    while last < _number(rows, order):
        choice = _choice(order, last)
        begin, end = rows.starts[choice], rows.starts[choice + 1]
        if size + end - begin > places.shape[0]:
            break
        for place in range(begin, end):
            places[size] = place
            size += 1
        last += 1
    for m in range(min(AHEAD, size)):
        prefetch(x, np.uint32(rows.pairs[places[m], 0]))
        prefetch(x, np.uint32(rows.pairs[places[m], 1]))
    for m in range(size):
        if m + AHEAD < size:
            prefetch(x, np.uint32(rows.pairs[places[m + AHEAD], 0]))
            prefetch(x, np.uint32(rows.pairs[places[m + AHEAD], 1]))
        measures[m] = measure(rule, x, _pair(rows, places[m]))
    for m in range(size):
        scores[m], slopes[m] = log_similarity_and_slope(rule, measures[m])
    return last


@kernel
def _loss(rows, choice, begin, size, scratch):
    """Return ``-log P`` of one choice, and the number of pairs to which its pair is strictly preferred.

    The log similarities in the buffer become the derivatives of the loss with respect to u.
    """
    places, _, scores, _ = scratch
    sign = float(rows.signs[choice])
    largest = -np.inf
    for m in range(begin, begin + size):
        scores[m] = sign * scores[m] + _offset(rows.offsets, places[m])
        largest = max(largest, scores[m])
    n_beaten = 0.0
    for m in range(begin + 1, begin + size):
        n_beaten += scores[m] < scores[begin]  # NaN counts as wrong
    chosen = scores[begin] - largest
    total = 0.0
    for m in range(begin, begin + size):
        scores[m] = exp(scores[m] - largest)
        total += scores[m]
    for m in range(begin, begin + size):
        scores[m] /= total
    scores[begin] -= 1.0
    return log(total) - chosen, n_beaten


@kernel
def _sum_of_squares(rule, begin, size, scratch):
    """Return the sum of the measures of one choice, which a penalty multiplies; 0 if there is no penalty."""
    _, measures, _, _ = scratch
    total = 0.0
    if penalty_of(rule) != 0.0:
        for m in range(begin, begin + size):
            total += measures[m]
    return total
