"""Kernels that expand the description of an order of visits into indices of terms."""

import numpy as np

from closerthan.compiled.compiling import inlined, kernel
from closerthan.compiled.pcg64 import advanced, generator, next_state, uniform


@inlined
def fill_pass(runs, length, neighbours, side_by_side, rest, first, order):
    """Fill ``order`` with the terms of a pass, starting at its position ``first``.

    A pass visits the runs, which have ``length`` terms each and are given by their first terms, in groups of
    ``side_by_side``: the first terms of all runs of a group, then their second terms, and so on. The terms in ``rest``
    come last. A run consists of groups of ``neighbours`` consecutive terms that are ``neighbours * n_runs`` apart, and
    wraps around at the end of the data.
    """
    leap = neighbours * runs.shape[0]
    n_in_runs = length * runs.shape[0]
    group = side_by_side * length
    begin = first // group * side_by_side  # the first run of the group that contains this position
    width = min(side_by_side, runs.shape[0] - begin) if first < runs.shape[0] * length else 0
    offset, run = divmod(first - begin * length, max(width, 1))
    t = 0
    while t < order.shape[0] and width > 0:
        count = min(width - run, order.shape[0] - t)
        ahead = offset // neighbours * leap + offset % neighbours
        for c in range(count):  # unsigned indices, as in ends()
            term = runs[np.uint64(begin + run + c)] + ahead
            order[np.uint64(t + c)] = term - n_in_runs if term >= n_in_runs else term
        t += count
        run = 0
        offset += 1
        if offset == length:
            offset = 0
            begin += side_by_side
            width = min(side_by_side, runs.shape[0] - begin)
    for place in range(t, order.shape[0]):
        order[place] = rest[first + place - runs.shape[0] * length]


@kernel
def fill_first_terms(cumulative_weights, last, first_terms):
    """Fill a guide table (Chen and Asau 1974): a search for cumulative weight q or more starts at ``first_terms[q]``.

    ``last`` is the last term with a positive weight.
    """
    term = 0
    for q in range(first_terms.shape[0]):
        while term < last and cumulative_weights[term] <= q:
            term += 1
        first_terms[q] = term


@inlined
def fill_by_weight(cumulative_weights, last, first_terms, state, increment, order):
    """Replace each term q of an order by the one whose interval of cumulative weight contains a point in [q, q + 1).

    The points are random. A pass has one of them for each q, so all its searches together cost one scan of the weights.
    Returns the next state of the random generator.
    """
    for t in range(order.shape[0]):  # unsigned indices, as in ends()
        q = np.uint64(order[t])
        state = next_state(state, increment)
        place = order[t] + uniform(state)
        term = first_terms[q]
        while term < last and cumulative_weights[np.uint64(term)] <= place:
            term += 1
        order[t] = term
    return state


# The same functions for callers in Python. Inside another kernel, inlined functions compile faster than kernels.


@kernel
def fill_order(runs, length, neighbours, side_by_side, rest, first, order):
    """See :func:`fill_pass`."""
    fill_pass(runs, length, neighbours, side_by_side, rest, first, order)


@kernel
def fill_order_by_weight(cumulative_weights, last, first_terms, seed, first, order):
    """See :func:`fill_by_weight`; the points are the numbers of a seed's random stream from ``first`` on."""
    state, increment = generator(np.uint64(seed))
    state = advanced(state, increment, np.uint64(first))
    fill_by_weight(cumulative_weights, last, first_terms, state, increment, order)
