"""Orders of visits, expanded from their descriptions."""

import numpy as np

from closerthan.compiled.compiling import kernel


@kernel
def fill_order(runs, length, neighbours, side_by_side, rest, first, order):
    """Fill ``order`` with the terms from place ``first`` of a pass on.

    A pass visits the runs (``length`` terms each, given by where they begin) ``side_by_side`` at a time: first the
    first terms of all of them, then the second ones, and so on; at its end come the terms in ``rest``. A run goes
    through so many ``neighbours``, then leaps on by as many for each run, beyond the end to the beginning.
    """
    leap = neighbours * runs.shape[0]
    n_in_runs = length * runs.shape[0]
    group = side_by_side * length
    begin = first // group * side_by_side  # the first run of the group that this place is in
    width = min(side_by_side, runs.shape[0] - begin) if first < runs.shape[0] * length else 0
    offset, run = divmod(first - begin * length, max(width, 1))
    t = 0
    while t < order.shape[0] and width > 0:
        count = min(width - run, order.shape[0] - t)
        ahead = offset // neighbours * leap + offset % neighbours
        for c in range(count):  # unsigned, as in ends()
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
    """Fill a guide table (Chen and Asau 1974): ``first_terms[q]`` is where the search for a place of q or more begins.

    ``last`` is the last term with a weight.
    """
    term = 0
    for q in range(first_terms.shape[0]):
        while term < last and cumulative_weights[term] <= q:
            term += 1
        first_terms[q] = term


@kernel
def fill_order_by_weight(cumulative_weights, last, first_terms, places, order):
    """Replace each term of an order by the one whose share of the weights holds its place: ``order + places``.

    A pass has one place within [q, q + 1) for each q, so that all its searches together are one walk along the weights.
    """
    for t in range(order.shape[0]):  # unsigned, as in ends()
        q = np.uint64(order[t])
        place = order[t] + places[t]
        term = first_terms[q]
        while term < last and cumulative_weights[np.uint64(term)] <= place:
            term += 1
        order[t] = term
