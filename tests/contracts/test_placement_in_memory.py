"""The bits of a sum do not depend on where the arrays of a kernel lie in memory.

The compiler guards vector code against overlapping arrays by comparing their addresses. Arrays that merely lie close
together fall back to scalar code, which adds up in another order unless the sum is held in a local variable.
"""

import itertools

import numpy as np
import pytest
from conftest import random_comparisons

from closerthan.compiled.kernels import agreement, polyak, sgd, sums, svrg
from closerthan.compiled.kernels.rows import rows_of
from closerthan.compiled.simd import padded
from closerthan.losses import LOSSES
from closerthan.objective.cpu.objective import CPUObjective
from closerthan.objective.protocol import StepSchedule

SCHEDULE = StepSchedule(0.1, 1.0, 4.0)
TWO_SCALES = np.array([0.5, 2.0])


def placements(arrays, gaps=range(0, 40, 3)):
    """Copies of the arrays in one buffer, in several orders and at many distances from each other."""
    orders = list(itertools.permutations(range(len(arrays))))
    for order, gap in itertools.product(orders[:: max(len(orders) // 6, 1)], gaps):
        buffer = np.zeros(sum(array.nbytes + 8 * gap + 8 for array in arrays) + 64, np.uint8)
        begin, copies = -buffer.ctypes.data % 64, {}
        for number in order:
            array = arrays[number]
            copies[number] = buffer[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)
            copies[number][...] = array
            begin += -(-array.nbytes // 8) * 8 + 8 * gap
        yield [copies[number] for number in range(len(arrays))]


def outcomes(kernel, arrays):
    """The different results of a kernel over all placements: what it returns, and what it leaves in its arrays."""
    results = set()
    for copies in placements(arrays):
        returned = kernel(*copies)
        results.add((repr(returned), *(copy.tobytes() for copy in copies)))
    return results


def test_the_bits_of_a_weighted_sum_do_not_depend_on_the_address_of_its_total(loss, rng):
    answers = random_comparisons("triplets", rng, n_rows=61, weighted=True)
    objective = CPUObjective(answers, loss)
    x, one_scale = rng.standard_normal((12, 3)), np.ones(1)
    results = set()
    for distance in (*range(-70, 0), *range(61, 131)):  # in numbers, from the first weight
        buffer = np.zeros(201)
        weights, total = buffer[70:131], buffer[70 + distance : 71 + distance]
        weights[:] = answers.weights
        sums.loss_sums(objective.shared_argument, rows_of(answers), weights, x, one_scale, total)
        results.add(float(total[0]))
    assert len(results) == 1


CASES = {
    "loss_sums": lambda c: (
        lambda rows, weights, x, totals: sums.loss_sums(
            c.shared_argument, c.rows(rows), weights, x, TWO_SCALES, totals
        ),
        (c.table, c.weights, c.x, np.zeros(2)),
    ),
    "gradient": lambda c: (
        lambda rows, weights, x, out: sums.gradient(c.loss, c.rows(rows), weights, x, out),
        (c.table, c.weights, c.x, np.zeros_like(c.x)),
    ),
    "wrong_weight": lambda c: (
        lambda rows, weights, x: agreement.wrong_weight(c.rows(rows), weights, x),
        (c.table, c.weights, c.x),
    ),
    "gram_gradient": lambda c: (
        lambda rows, weights, matrix, out: sums.gram_gradient(c.loss, c.rows(rows), weights, matrix, out),
        (c.table, c.weights, c.x @ c.x.T, np.zeros((12, 12))),
    ),
    "gradient_change": lambda c: (
        lambda rows, order, x, anchor, out: svrg.gradient_change(c.loss, c.rows(rows), order, x, anchor, out),
        (c.table, c.order, c.x, c.y, np.zeros_like(c.x)),
    ),
    "dense_step": lambda c: (
        lambda x, change, other, full: svrg.dense_step(x, 0.1, (change, other), 0.3, full),
        (c.x, c.y, 2 * c.y, c.x + c.y),
    ),
    "sgd_steps": lambda c: (
        lambda rows, order, x: sgd.sgd_steps(c.loss, c.rows(rows), order, 5, 0.01, x),
        (c.table, c.order, c.x),
    ),
    "add_walks": lambda c: (
        lambda x, here, there, mean: polyak.add_walks(x, here, there, mean, SCHEDULE, 5),
        (padded(c.x), padded(c.y), padded(c.x + c.y), c.x),
    ),
    "polyak_stretches": lambda c: (
        lambda rows, runs, cumulative_weights, first_terms, seeds, x, mean: polyak.polyak_stretches(
            c.shared_argument,
            c.rows(rows),
            polyak.PassPart(runs, 1, 1, 64, runs[:0], 0, 61),
            polyak.Weighting(cumulative_weights, 60, first_terms, seeds, 40),
            20,
            3,
            SCHEDULE,
            (0.0, 0, 1.0, 0.0),
            x,
            mean,
        ),
        (
            c.table,
            np.arange(61),
            np.cumsum(c.weights),
            np.arange(61) // 2,
            np.arange(2, dtype=np.uint64),
            padded(c.x),
            c.x,
        ),
    ),
}


class Case:
    """The arguments that kernels share."""

    def __init__(self, rng):
        answers = random_comparisons("triplets", rng, n_rows=61, weighted=True)
        objective = CPUObjective(answers, LOSSES["ste"]())
        self.loss, self.shared_argument = objective.loss_argument, objective.shared_argument
        self.rows = type(rows_of(answers))
        self.table, self.weights = np.array(answers.rows), np.array(answers.weights)
        self.order = rng.integers(61, size=61)
        self.x, self.y = rng.standard_normal((2, 12, 7))


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_bits_of_a_kernel_do_not_depend_on_the_addresses_of_its_arrays(name, rng):
    assert len(outcomes(*CASES[name](Case(rng)))) == 1
