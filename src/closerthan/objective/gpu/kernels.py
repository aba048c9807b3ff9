"""Triton kernels: sums of losses and gradients, and Polyak steps, many comparisons at once.

A map has ``stride`` numbers a row, of which a kernel handles ``width``, the next power of two. Comparisons are rows of
three (i, j, k) or four (i, j, l, k) objects. Distances are of the map's precision, losses always of double precision:
they are a small part of the time, and a loss may rely on its range.

Which comparison is number q of an order is worked out in the kernel (``places``), or read from an array.
"""

import triton
import triton.language as tl

__all__ = ["THREADS", "gradient", "loss_sums", "polyak_steps"]

THREADS = tl.constexpr(128)  # of a program: Triton's default, four warps


@triton.jit
def places(base, ahead, order, runs, n_runs, length, neighbours, n_in_runs, IN_RUNS: tl.constexpr):
    """The comparisons at the places ``base + ahead`` of an order (see objective/visits.py).

    Divisions of 64-bit numbers take long, so only the first place has them.
    """
    if IN_RUNS:
        size = 64 * length  # of the places of 64 runs side by side
        group = base // size
        rest = (base - group * size).to(tl.int32) + ahead
        further = rest // size.to(tl.int32)
        begin = (group.to(tl.int32) + further) * 64
        rest -= further * size.to(tl.int32)
        width = tl.maximum(tl.minimum(n_runs.to(tl.int32) - begin, 64), 1)
        offset = rest // width
        run = rest - offset * width
        leaps = offset // neighbours.to(tl.int32)
        near = offset - leaps * neighbours.to(tl.int32)
        first = tl.load(runs + tl.minimum(begin + run, n_runs.to(tl.int32) - 1))
        inside = first + leaps * (neighbours * n_runs) + near
        inside = tl.where(inside >= n_in_runs, inside - n_in_runs, inside)
        beyond = base + ahead - n_in_runs
        tail = tl.load(order + tl.maximum(beyond, 0), mask=beyond >= 0, other=0)
        return tl.where(beyond >= 0, tail, inside)
    else:  # noqa: RET505 - a choice of the compiler's
        return tl.load(order + base + ahead)


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
    """The rows of these objects."""
    column = tl.arange(0, WIDTH)
    mask = inside[:, None] & (column < STRIDE)[None, :]
    return tl.load(x + objects[:, None] * STRIDE + column[None, :], mask=mask, other=0.0)


@triton.jit
def differences(x, objects, inside, COLUMNS: tl.constexpr, STRIDE: tl.constexpr, WIDTH: tl.constexpr):
    """Of the near pair and of the far one, and their squared lengths."""
    i, j, l, k = objects  # noqa: E741
    x_i = row(x, i, inside, STRIDE, WIDTH)
    x_l = x_i
    if COLUMNS == 4:
        x_l = row(x, l, inside, STRIDE, WIDTH)
    near = x_i - row(x, j, inside, STRIDE, WIDTH)
    far = x_l - row(x, k, inside, STRIDE, WIDTH)
    return near, far, tl.sum(near * near, axis=1).to(tl.float64), tl.sum(far * far, axis=1).to(tl.float64)


@triton.jit
def one_per_thread(numbers):
    """The same numbers, each in one thread if there are enough.

    A sum along rows is in all threads of a row, and each of them would evaluate the loss.
    """
    if numbers.shape[0] >= THREADS:
        numbers = tl.gather(numbers, tl.arange(0, numbers.shape[0]), 0)
    return numbers


@triton.jit
def add_row(x, objects, inside, moves, STRIDE: tl.constexpr, WIDTH: tl.constexpr):
    """Add to the rows of these objects, whoever else does at the same time."""
    column = tl.arange(0, WIDTH)
    mask = inside[:, None] & (column < STRIDE)[None, :]
    tl.atomic_add(x + objects[:, None] * STRIDE + column[None, :], moves, mask=mask, sem="relaxed")


@triton.jit
def add_pairs(x, objects, inside, near, far, COLUMNS: tl.constexpr, STRIDE: tl.constexpr, WIDTH: tl.constexpr):
    """Add what moves the near pair and the far pair to the rows of their objects."""
    i, j, l, k = objects  # noqa: E741
    if COLUMNS == 3:
        add_row(x, i, inside, near + far, STRIDE, WIDTH)
    else:
        add_row(x, i, inside, near, STRIDE, WIDTH)
        add_row(x, l, inside, far, STRIDE, WIDTH)
    add_row(x, j, inside, -near, STRIDE, WIDTH)
    add_row(x, k, inside, -far, STRIDE, WIDTH)


@triton.jit(do_not_specialize=["n_terms"])
def loss_sums(
    rows, weights, x, n_terms: tl.int64, scale: tl.float64, totals, rights,
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
        objects = rows_of(rows, q, COLUMNS)
        _, _, near, far = differences(x, objects, inside, COLUMNS, STRIDE, WIDTH)
        near, far = one_per_thread(near) * (scale * scale), one_per_thread(far) * (scale * scale)
        weight = inside.to(tl.float64)
        if WEIGHTED:
            weight = tl.load(weights + q, mask=inside, other=0.0)
        total += tl.where(weight != 0.0, weight * value(near, far), 0.0)
        right += tl.where(near < far, weight, 0.0)
    tl.store(totals + program, tl.sum(total, axis=0))
    tl.store(rights + program, tl.sum(right, axis=0))


@triton.jit(do_not_specialize=["n_terms"])
def gradient(
    rows, weights, x, n_terms: tl.int64, order, factor: tl.float64, out, totals, rights,
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
    objects = rows_of(rows, q, COLUMNS)
    near_difference, far_difference, near, far = differences(x, objects, inside, COLUMNS, STRIDE, WIDTH)
    weight = inside.to(tl.float64)
    if WEIGHTED:
        weight = tl.load(weights + q, mask=inside, other=0.0)
    slope_near, slope_far = slopes(near, far)
    counts = weight != 0.0
    near_move = tl.where(counts, 2.0 * factor * weight * slope_near, 0.0)
    far_move = tl.where(counts, 2.0 * factor * weight * slope_far, 0.0)
    near_part = near_move[:, None].to(near_difference.dtype) * near_difference
    far_part = far_move[:, None].to(far_difference.dtype) * far_difference
    add_pairs(out, objects, inside, near_part, far_part, COLUMNS, STRIDE, WIDTH)
    tl.store(totals + program, tl.sum(tl.where(counts, weight * value(near, far), 0.0), axis=0))
    tl.store(rights + program, tl.sum(tl.where(near < far, weight, 0.0), axis=0))


# As 64-bit numbers, and never compiled again for one that happens to be 1 or a multiple of 16.
@triton.jit(do_not_specialize=["first", "n_terms", "n_runs", "length", "neighbours", "n_in_runs"])
def polyak_steps(
    rows, x, first: tl.int64, n_terms: tl.int64, order, runs, n_runs: tl.int64, length: tl.int64, neighbours: tl.int64,
    n_in_runs: tl.int64, longest: tl.float64, met,
    value: tl.constexpr, slopes: tl.constexpr, COLUMNS: tl.constexpr, STRIDE: tl.constexpr, WIDTH: tl.constexpr,
    BLOCK: tl.constexpr, IN_RUNS: tl.constexpr, SUMS: tl.constexpr,
):  # fmt: skip
    """Polyak's steps of at most ``longest`` along these places of an order, without locks.

    Each step is that of :func:`closerthan.compiled.polyak.take_steps`. Steps that are taken at the same time read the
    map as it is then, and add to it (Recht et al. 2011, Hogwild).
    """
    program = tl.program_id(0).to(tl.int64)
    begin = program * BLOCK // 1024 * 1024  # places of 64 runs times 16 neighbours
    left = tl.minimum(n_terms - begin, 1024).to(tl.int32)
    ahead = (program * BLOCK - begin).to(tl.int32) + tl.arange(0, BLOCK)
    if IN_RUNS:
        # One run's neighbours after the other's: answers that lie side by side are then read by one program.
        ahead = tl.where(left == 1024, ahead % 16 * 64 + ahead // 16, ahead)
    inside = ahead < left
    ahead = tl.minimum(ahead, left - 1)
    q = places(first + begin, ahead, order, runs, n_runs, length, neighbours, n_in_runs, IN_RUNS)
    objects = rows_of(rows, q, COLUMNS)
    near_difference, far_difference, near, far = differences(x, objects, inside, COLUMNS, STRIDE, WIDTH)
    both = one_per_thread(tl.sum(near_difference * far_difference, axis=1).to(tl.float64))
    near, far = one_per_thread(near), one_per_thread(far)
    i, j, l, k = objects  # noqa: E741
    shared = (i == l).to(tl.float64) + (j == k).to(tl.float64) - (i == k).to(tl.float64) - (j == l).to(tl.float64)
    loss = value(near, far)
    slope_near, slope_far = slopes(near, far)
    steepness = 8.0 * (slope_near * slope_near * near + slope_far * slope_far * far)
    steepness += 8.0 * slope_near * slope_far * shared * both
    steepest = tl.maximum(tl.maximum(tl.abs(slope_near), tl.abs(slope_far)), 1e-300)
    bound = tl.minimum(longest, 0.125 / steepest)
    step = tl.where((loss >= 0.0) & (loss < bound * steepness), loss / steepness, bound)
    measurable = steepness < float("inf")  # slopes that are infinite or no numbers move nothing
    near_move = tl.where(measurable, -2.0 * step * slope_near, 0.0)
    far_move = tl.where(measurable, -2.0 * step * slope_far, 0.0)
    near_part = near_move[:, None].to(tl.float32) * near_difference
    far_part = far_move[:, None].to(tl.float32) * far_difference
    add_pairs(x, objects, inside, near_part, far_part, COLUMNS, STRIDE, WIDTH)
    distances = tl.where(inside, near + far, 0.0)
    tl.atomic_add(met + program % SUMS, tl.sum(distances, axis=0), sem="relaxed")
