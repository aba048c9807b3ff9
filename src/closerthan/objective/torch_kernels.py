"""Triton kernels: sums of losses and gradients, and Polyak steps, many comparisons at once.

A map has ``stride`` numbers a row, of which a kernel handles ``width``, the next power of two. Comparisons are rows of
three (i, j, k) or four (i, j, l, k) objects. Distances are of the map's precision, losses always of double precision:
they are a small part of the time, and a loss may rely on its range.

Which comparison is number q of an order is worked out in the kernel (``places``), or read from an array.
"""

import triton
import triton.language as tl

__all__ = ["gradient", "loss_sums", "polyak_steps"]


@triton.jit
def places(number, order, runs, n_runs, length, neighbours, n_in_runs, IN_RUNS: tl.constexpr):
    """The comparison at a place of the order; see :class:`closerthan.objective.visits.ShuffledPass`."""
    if IN_RUNS:
        begin = number // (64 * length) * 64
        lanes = tl.minimum(n_runs - begin, 64)
        rest = number - begin * length
        offset = rest // lanes
        lane = rest - offset * lanes
        leaps = offset // neighbours
        ahead = offset - leaps * neighbours
        first = tl.load(runs + tl.minimum(begin + lane, n_runs - 1))
        inside = (first + leaps * (neighbours * n_runs) + ahead) % n_in_runs
        tail = tl.load(order + tl.maximum(number - n_in_runs, 0), mask=number >= n_in_runs, other=0)
        return tl.where(number >= n_in_runs, tail, inside)
    return tl.load(order + number)


@triton.jit
def rows_of(rows, q, COLUMNS: tl.constexpr):
    """The four objects of each comparison; of a triplet, the first and the third are one."""
    i = tl.load(rows + q * COLUMNS).to(tl.int64)
    j = tl.load(rows + q * COLUMNS + 1).to(tl.int64)
    if COLUMNS == 3:
        l = i  # noqa: E741
        k = tl.load(rows + q * COLUMNS + 2).to(tl.int64)
    else:
        l = tl.load(rows + q * COLUMNS + 2).to(tl.int64)  # noqa: E741
        k = tl.load(rows + q * COLUMNS + 3).to(tl.int64)
    return i, j, l, k


@triton.jit
def row(x, objects, inside, STRIDE: tl.constexpr, WIDTH: tl.constexpr):
    """Where the rows of these objects are, and their numbers."""
    column = tl.arange(0, WIDTH)
    places = x + objects[:, None] * STRIDE + column[None, :]
    mask = inside[:, None] & (column < STRIDE)[None, :]
    return tl.load(places, mask=mask, other=0.0)


@triton.jit
def add_row(x, objects, inside, moves, STRIDE: tl.constexpr, WIDTH: tl.constexpr):
    """Add to the rows of these objects, whoever else does at the same time."""
    column = tl.arange(0, WIDTH)
    mask = inside[:, None] & (column < STRIDE)[None, :]
    tl.atomic_add(x + objects[:, None] * STRIDE + column[None, :], moves, mask=mask, sem="relaxed")


@triton.jit
def loss_sums(
    rows, weights, x, n_terms, scale, totals, rights,
    value: tl.constexpr, COLUMNS: tl.constexpr, STRIDE: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr,
    WEIGHTED: tl.constexpr, ROUNDS: tl.constexpr,
):  # fmt: skip
    """Sums of the losses and of the weights that are right, one of each for a program."""
    program = tl.program_id(0).to(tl.int64)
    total = tl.zeros((BLOCK,), tl.float64)
    right = tl.zeros((BLOCK,), tl.float64)
    for turn in range(ROUNDS):
        q = (program * ROUNDS + turn) * BLOCK + tl.arange(0, BLOCK)
        inside = q < n_terms
        q = tl.minimum(q, n_terms - 1)
        i, j, l, k = rows_of(rows, q, COLUMNS)  # noqa: E741
        x_i = row(x, i, inside, STRIDE, WIDTH)
        x_l = x_i
        if COLUMNS == 4:
            x_l = row(x, l, inside, STRIDE, WIDTH)
        difference = x_i - row(x, j, inside, STRIDE, WIDTH)
        other = x_l - row(x, k, inside, STRIDE, WIDTH)
        near = tl.sum(difference * difference, axis=1).to(tl.float64) * (scale * scale)
        far = tl.sum(other * other, axis=1).to(tl.float64) * (scale * scale)
        weight = inside.to(tl.float64)
        if WEIGHTED:
            weight = tl.load(weights + q, mask=inside, other=0.0)
        total += tl.where(weight != 0.0, weight * value(near, far), 0.0)
        right += tl.where(near < far, weight, 0.0)
    tl.store(totals + program, tl.sum(total, axis=0))
    tl.store(rights + program, tl.sum(right, axis=0))


@triton.jit
def gradient(
    rows, weights, x, n_terms, order, factor, out, totals, rights,
    value: tl.constexpr, slopes: tl.constexpr, COLUMNS: tl.constexpr, STRIDE: tl.constexpr, WIDTH: tl.constexpr,
    BLOCK: tl.constexpr, WEIGHTED: tl.constexpr, ORDERED: tl.constexpr,
):  # fmt: skip
    """Add ``factor`` times the gradient to ``out``; and the sums of :func:`loss_sums`."""
    program = tl.program_id(0).to(tl.int64)
    q = program * BLOCK + tl.arange(0, BLOCK)
    inside = q < n_terms
    q = tl.minimum(q, n_terms - 1)
    if ORDERED:
        q = tl.load(order + q)
    i, j, l, k = rows_of(rows, q, COLUMNS)  # noqa: E741
    x_i = row(x, i, inside, STRIDE, WIDTH)
    x_l = x_i
    if COLUMNS == 4:
        x_l = row(x, l, inside, STRIDE, WIDTH)
    difference = x_i - row(x, j, inside, STRIDE, WIDTH)
    other = x_l - row(x, k, inside, STRIDE, WIDTH)
    near = tl.sum(difference * difference, axis=1).to(tl.float64)
    far = tl.sum(other * other, axis=1).to(tl.float64)
    weight = inside.to(tl.float64)
    if WEIGHTED:
        weight = tl.load(weights + q, mask=inside, other=0.0)
    slope_near, slope_far = slopes(near, far)
    counts = weight != 0.0
    near_move = tl.where(counts, 2.0 * factor * weight * slope_near, 0.0)
    far_move = tl.where(counts, 2.0 * factor * weight * slope_far, 0.0)
    near_part = near_move[:, None].to(x_i.dtype) * difference
    far_part = far_move[:, None].to(x_i.dtype) * other
    if COLUMNS == 3:
        add_row(out, i, inside, near_part + far_part, STRIDE, WIDTH)
    else:
        add_row(out, i, inside, near_part, STRIDE, WIDTH)
        add_row(out, l, inside, far_part, STRIDE, WIDTH)
    add_row(out, j, inside, -near_part, STRIDE, WIDTH)
    add_row(out, k, inside, -far_part, STRIDE, WIDTH)
    tl.store(totals + program, tl.sum(tl.where(counts, weight * value(near, far), 0.0), axis=0))
    tl.store(rights + program, tl.sum(tl.where(near < far, weight, 0.0), axis=0))


@triton.jit
def polyak_steps(
    rows, x, first, n_terms, order, runs, n_runs, length, neighbours, n_in_runs, longest, met,
    value: tl.constexpr, slopes: tl.constexpr, COLUMNS: tl.constexpr, STRIDE: tl.constexpr, WIDTH: tl.constexpr,
    BLOCK: tl.constexpr, IN_RUNS: tl.constexpr, SUMS: tl.constexpr,
):  # fmt: skip
    """Polyak's steps of at most ``longest`` along these places of an order, without locks.

    Each step is that of :func:`closerthan.compiled.polyak.take_steps`. Steps that are taken at the same time read the
    map as it is then, and add to it (Recht et al. 2011, Hogwild).
    """
    program = tl.program_id(0).to(tl.int64)
    number = program * BLOCK + tl.arange(0, BLOCK)
    inside = number < n_terms
    number = first + tl.minimum(number, n_terms - 1)
    q = places(number, order, runs, n_runs, length, neighbours, n_in_runs, IN_RUNS)
    i, j, l, k = rows_of(rows, q, COLUMNS)  # noqa: E741
    x_i = row(x, i, inside, STRIDE, WIDTH)
    x_l = x_i
    if COLUMNS == 4:
        x_l = row(x, l, inside, STRIDE, WIDTH)
    difference = x_i - row(x, j, inside, STRIDE, WIDTH)
    other = x_l - row(x, k, inside, STRIDE, WIDTH)
    near = tl.sum(difference * difference, axis=1).to(tl.float64)
    far = tl.sum(other * other, axis=1).to(tl.float64)
    both = tl.sum(difference * other, axis=1).to(tl.float64)
    shared = (i == l).to(tl.float64) + (j == k).to(tl.float64) - (i == k).to(tl.float64) - (j == l).to(tl.float64)
    height = value(near, far)
    slope_near, slope_far = slopes(near, far)
    steepness = 8.0 * (slope_near * slope_near * near + slope_far * slope_far * far)
    steepness += 8.0 * slope_near * slope_far * shared * both
    steepest = tl.maximum(tl.maximum(tl.abs(slope_near), tl.abs(slope_far)), 1e-300)
    bound = tl.minimum(longest, 0.125 / steepest)
    step = tl.where((height >= 0.0) & (height < bound * steepness), height / steepness, bound)
    measurable = steepness < float("inf")  # slopes that are infinite or no numbers move nothing
    near_move = tl.where(measurable, -2.0 * step * slope_near, 0.0)
    far_move = tl.where(measurable, -2.0 * step * slope_far, 0.0)
    near_part = near_move[:, None].to(tl.float32) * difference
    far_part = far_move[:, None].to(tl.float32) * other
    if COLUMNS == 3:
        add_row(x, i, inside, near_part + far_part, STRIDE, WIDTH)
    else:
        add_row(x, i, inside, near_part, STRIDE, WIDTH)
        add_row(x, l, inside, far_part, STRIDE, WIDTH)
    add_row(x, j, inside, -near_part, STRIDE, WIDTH)
    add_row(x, k, inside, -far_part, STRIDE, WIDTH)
    distances = tl.where(inside, near + far, 0.0)
    tl.atomic_add(met + program % SUMS, tl.sum(distances, axis=0), sem="relaxed")
