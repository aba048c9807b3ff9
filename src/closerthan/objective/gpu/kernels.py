"""Triton kernels: sums of losses and gradients, and Polyak steps, for many comparisons at once.

Rows of a map have STRIDE coordinates, which a kernel loads as WIDTH, the next power of two. Comparisons are rows of
three (i, j, k) or four (i, j, l, k) objects. Distances have the precision of the map, losses always double precision:
they take little time, and a loss may rely on the range of double precision.

The functions ``value`` and ``slopes`` of a loss and their parameters are constants, so each loss has its own kernels.
Only the weight of the penalty is an argument: it depends on the number of comparisons and differs in every fit.

The comparison at position q of an order is computed in the kernel (``places``) or read from an array.
"""

import triton
import triton.language as tl

__all__ = ["THREADS", "choice_sums", "gradient", "loss_sums", "polyak_steps"]

THREADS = tl.constexpr(128)  # threads of a program: Triton's default, four warps


@triton.jit
def places(base, ahead, order, runs, n_runs, length, neighbours, n_in_runs, IN_RUNS: tl.constexpr):
    """Return the comparisons at the positions ``base + ahead`` of an order (see objective/visits.py).

    Divisions of 64-bit numbers are slow, so they are done only for ``base``.
    """
    if IN_RUNS:
        size = 64 * length  # number of positions in 64 interleaved runs
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
    else:  # noqa: RET505 - Triton chooses the branch when it compiles
        return tl.load(order + base + ahead)


@triton.jit
def rows_of(rows, q, COLUMNS: tl.constexpr):
    """Return the four objects of each comparison; in a triplet, i and l are the same."""
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
    """Return the coordinates of these objects."""
    column = tl.arange(0, WIDTH)
    mask = inside[:, None] & (column < STRIDE)[None, :]
    return tl.load(x + objects[:, None] * STRIDE + column[None, :], mask=mask, other=0.0)


@triton.jit
def differences(x, objects, inside, COLUMNS: tl.constexpr, STRIDE: tl.constexpr, WIDTH: tl.constexpr):
    """Return the coordinate differences of the near and the far pair, and their squared lengths."""
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
    """Return the same numbers, each in a single thread if there are enough of them.

    A sum along rows is stored in all threads of a row, each of which would otherwise evaluate the loss.
    """
    if numbers.shape[0] >= THREADS:
        numbers = tl.gather(numbers, tl.arange(0, numbers.shape[0]), 0)
    return numbers


@triton.jit
def add_row(x, objects, inside, moves, STRIDE: tl.constexpr, WIDTH: tl.constexpr):
    """Add to the coordinates of these objects atomically."""
    column = tl.arange(0, WIDTH)
    mask = inside[:, None] & (column < STRIDE)[None, :]
    tl.atomic_add(x + objects[:, None] * STRIDE + column[None, :], moves, mask=mask, sem="relaxed")


@triton.jit
def add_pairs(x, objects, inside, near, far, COLUMNS: tl.constexpr, STRIDE: tl.constexpr, WIDTH: tl.constexpr):
    """Add the moves of the near and the far pair to the coordinates of their objects."""
    i, j, l, k = objects  # noqa: E741
    if COLUMNS == 3:
        add_row(x, i, inside, near + far, STRIDE, WIDTH)
    else:
        add_row(x, i, inside, near, STRIDE, WIDTH)
        add_row(x, l, inside, far, STRIDE, WIDTH)
    add_row(x, j, inside, -near, STRIDE, WIDTH)
    add_row(x, k, inside, -far, STRIDE, WIDTH)


@triton.jit
def penalized_value(value: tl.constexpr, penalty_weight, near, far):
    """Return the loss with its penalty, as :class:`closerthan.losses.Penalized` does."""
    return value(near, far) + penalty_weight * (near + far)


@triton.jit
def penalized_slopes(slopes: tl.constexpr, penalty_weight, near, far):
    """Return the slopes of the loss with its penalty."""
    slope_near, slope_far = slopes(near, far)
    # Constant slopes, such as those of a hinge, have single precision; adding a number to them would keep it.
    weight = tl.zeros_like(near) + penalty_weight
    return slope_near + weight, slope_far + weight


@triton.jit(do_not_specialize=["n_terms"])
def loss_sums(
    rows, weights, x, n_terms: tl.int64, scale: tl.float64, penalty_weight: tl.float64, totals, rights,
    value: tl.constexpr, COLUMNS: tl.constexpr, STRIDE: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr,
    WEIGHTED: tl.constexpr, ROUNDS: tl.constexpr,
):  # fmt: skip
    """Sum, in each program, the losses and the weights of comparisons that the map agrees with."""
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
        total += tl.where(weight != 0.0, weight * penalized_value(value, penalty_weight, near, far), 0.0)
        right += tl.where(near < far, weight, 0.0)
    tl.store(totals + program, tl.sum(total, axis=0))
    tl.store(rights + program, tl.sum(right, axis=0))


@triton.jit(do_not_specialize=["n_terms"])
def gradient(
    rows, weights, x, n_terms: tl.int64, order, factor: tl.float64, penalty_weight: tl.float64, out, totals, rights,
    value: tl.constexpr, slopes: tl.constexpr, COLUMNS: tl.constexpr, STRIDE: tl.constexpr, WIDTH: tl.constexpr,
    BLOCK: tl.constexpr, WEIGHTED: tl.constexpr, ORDERED: tl.constexpr,
):  # fmt: skip
    """Add ``factor`` times the gradient to ``out``, and compute the sums of :func:`loss_sums`."""
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
    slope_near, slope_far = penalized_slopes(slopes, penalty_weight, near, far)
    counts = weight != 0.0
    near_move = tl.where(counts, 2.0 * factor * weight * slope_near, 0.0)
    far_move = tl.where(counts, 2.0 * factor * weight * slope_far, 0.0)
    near_part = near_move[:, None].to(near_difference.dtype) * near_difference
    far_part = far_move[:, None].to(far_difference.dtype) * far_difference
    add_pairs(out, objects, inside, near_part, far_part, COLUMNS, STRIDE, WIDTH)
    loss = penalized_value(value, penalty_weight, near, far)
    tl.store(totals + program, tl.sum(tl.where(counts, weight * loss, 0.0), axis=0))
    tl.store(rights + program, tl.sum(tl.where(near < far, weight, 0.0), axis=0))


@triton.jit
def scores_of_pairs(
    pairs, x, begin, sizes, signs, first, scale,
    log_similarity: tl.constexpr, STRIDE: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr, PAIRS: tl.constexpr,
):  # fmt: skip
    """Evaluate PAIRS pairs of each choice, beginning with pair number ``first``.

    Return their scores ``s log g`` (minus infinity beyond the last pair) and squared distances, (BLOCK, PAIRS) each;
    and their objects, coordinate differences and whether there is such a pair, one row per pair.
    """
    number = first + tl.arange(0, PAIRS)[None, :]
    exists = number < sizes[:, None]
    place = tl.reshape(tl.where(exists, begin[:, None] + number, 0), (BLOCK * PAIRS,))
    inside = tl.reshape(exists, (BLOCK * PAIRS,))
    one = tl.load(pairs + 2 * place, mask=inside, other=0).to(tl.int64)
    other = tl.load(pairs + 2 * place + 1, mask=inside, other=0).to(tl.int64)
    difference = row(x, one, inside, STRIDE, WIDTH) - row(x, other, inside, STRIDE, WIDTH)
    distances = tl.sum(difference * difference, axis=1).to(tl.float64) * (scale * scale)
    distances = tl.reshape(distances, (BLOCK, PAIRS))
    scores = tl.where(exists, signs[:, None] * log_similarity(distances), float("-inf"))
    return scores, distances, one, other, difference, inside


@triton.jit(do_not_specialize=["n_choices"])
def choice_sums(
    pairs, starts, signs, weights, order, x, n_choices: tl.int64, scale: tl.float64, factor: tl.float64,
    penalty_weight: tl.float64, out, totals, rights, beatens,
    log_similarity: tl.constexpr, similarity_slope: tl.constexpr, STRIDE: tl.constexpr, WIDTH: tl.constexpr,
    BLOCK: tl.constexpr, PAIRS: tl.constexpr, WEIGHTED: tl.constexpr, ORDERED: tl.constexpr, GRADIENT: tl.constexpr,
):  # fmt: skip
    """Sum, in each program, the losses of choices and the weights of correct choices and comparisons.

    These are the sums of :func:`closerthan.compiled.kernels.choices.counting_gradient`. With GRADIENT, ``factor`` times
    the gradient is added to ``out``. A choice may have any number of pairs; a program visits PAIRS of them at a time,
    in several rounds. The logarithm of the sum of exponentials is updated in each round; the gradient, which needs
    the final sum, visits the pairs again.
    """
    program = tl.program_id(0).to(tl.int64)
    choice = program * BLOCK + tl.arange(0, BLOCK)
    is_choice = choice < n_choices
    choice = tl.minimum(choice, n_choices - 1)
    if ORDERED:
        choice = tl.load(order + choice)
    begin = tl.load(starts + choice)
    sizes = tl.where(is_choice, tl.load(starts + choice + 1) - begin, 0)
    sign = tl.load(signs + choice).to(tl.float64)
    weight = is_choice.to(tl.float64)
    if WEIGHTED:
        weight = tl.load(weights + choice, mask=is_choice, other=0.0)
    counts = weight != 0.0
    n_rounds = tl.cdiv(tl.max(sizes, axis=0), PAIRS).to(tl.int32)

    chosen = tl.zeros((BLOCK,), tl.float64)
    largest = tl.zeros((BLOCK,), tl.float64) + float("-inf")
    total = tl.zeros((BLOCK,), tl.float64)
    squares = tl.zeros((BLOCK,), tl.float64)
    n_beaten = tl.zeros((BLOCK,), tl.float64)
    for turn in range(n_rounds):
        scores, distances, _, _, _, _ = scores_of_pairs(
            pairs, x, begin, sizes, sign, turn * PAIRS, scale, log_similarity, STRIDE, WIDTH, BLOCK, PAIRS
        )
        number = turn * PAIRS + tl.arange(0, PAIRS)[None, :]
        exists = number < sizes[:, None]
        chosen += tl.sum(tl.where(exists & (number == 0), scores, 0.0), axis=1)
        n_beaten += tl.sum(tl.where(exists & (scores < chosen[:, None]), 1.0, 0.0), axis=1)
        squares += tl.sum(tl.where(exists, distances, 0.0), axis=1)
        before = largest
        largest = tl.maximum(largest, tl.max(scores, axis=1))
        total = tl.where(before == largest, total, total * tl.exp(before - largest))
        total += tl.sum(tl.where(exists, tl.exp(scores - largest[:, None]), 0.0), axis=1)

    n_pairs = tl.maximum(sizes, 1).to(tl.float64)
    loss = tl.log(total) - (chosen - largest) + 2.0 * penalty_weight * squares / n_pairs
    n_others = n_pairs - 1.0
    tl.store(totals + program, tl.sum(tl.where(counts, weight * loss, 0.0), axis=0))
    tl.store(rights + program, tl.sum(tl.where(counts & (n_beaten == n_others), weight, 0.0), axis=0))
    tl.store(beatens + program, tl.sum(tl.where(counts, weight * n_beaten, 0.0), axis=0))
    if GRADIENT:
        for turn in range(n_rounds):
            scores, distances, one, other, difference, inside = scores_of_pairs(
                pairs, x, begin, sizes, sign, turn * PAIRS, scale, log_similarity, STRIDE, WIDTH, BLOCK, PAIRS
            )
            number = turn * PAIRS + tl.arange(0, PAIRS)[None, :]
            share = tl.exp(scores - largest[:, None]) / total[:, None] - (number == 0).to(tl.float64)
            slope = sign[:, None] * share * similarity_slope(distances) + 2.0 * penalty_weight / n_pairs[:, None]
            exists = (number < sizes[:, None]) & counts[:, None]
            move = tl.where(exists, 2.0 * factor * weight[:, None] * slope, 0.0)
            part = tl.reshape(move, (BLOCK * PAIRS,))[:, None].to(difference.dtype) * difference
            add_row(out, one, inside, part, STRIDE, WIDTH)
            add_row(out, other, inside, -part, STRIDE, WIDTH)


# Integers are 64-bit and not specialised, so that values of 1 or multiples of 16 trigger no further compilation.
@triton.jit(do_not_specialize=["first", "n_terms", "n_runs", "length", "neighbours", "n_in_runs"])
def polyak_steps(
    rows, x, first: tl.int64, n_terms: tl.int64, order, runs, n_runs: tl.int64, length: tl.int64, neighbours: tl.int64,
    n_in_runs: tl.int64, longest: tl.float64, penalty_weight: tl.float64, squared_distances,
    value: tl.constexpr, slopes: tl.constexpr, COLUMNS: tl.constexpr, STRIDE: tl.constexpr, WIDTH: tl.constexpr,
    BLOCK: tl.constexpr, IN_RUNS: tl.constexpr, SUMS: tl.constexpr,
):  # fmt: skip
    """Take Polyak steps of at most ``longest`` along these positions of an order, without locks.

    Each step is that of :func:`closerthan.compiled.kernels.polyak.take_steps`. Simultaneous steps all read the current
    map and add their moves to it (Recht et al. 2011, Hogwild).
    """
    program = tl.program_id(0).to(tl.int64)
    begin = program * BLOCK // 1024 * 1024  # 64 interleaved runs times 16 neighbours
    remaining = tl.minimum(n_terms - begin, 1024).to(tl.int32)
    ahead = (program * BLOCK - begin).to(tl.int32) + tl.arange(0, BLOCK)
    if IN_RUNS:
        # One run after another, so that a program reads adjacent rows.
        ahead = tl.where(remaining == 1024, ahead % 16 * 64 + ahead // 16, ahead)
    inside = ahead < remaining
    ahead = tl.minimum(ahead, remaining - 1)
    q = places(first + begin, ahead, order, runs, n_runs, length, neighbours, n_in_runs, IN_RUNS)
    objects = rows_of(rows, q, COLUMNS)
    near_difference, far_difference, near, far = differences(x, objects, inside, COLUMNS, STRIDE, WIDTH)
    inner = one_per_thread(tl.sum(near_difference * far_difference, axis=1).to(tl.float64))
    near, far = one_per_thread(near), one_per_thread(far)
    i, j, l, k = objects  # noqa: E741
    shared = (i == l).to(tl.float64) + (j == k).to(tl.float64) - (i == k).to(tl.float64) - (j == l).to(tl.float64)
    loss = penalized_value(value, penalty_weight, near, far)
    slope_near, slope_far = penalized_slopes(slopes, penalty_weight, near, far)
    steepness = 8.0 * (slope_near * slope_near * near + slope_far * slope_far * far)
    steepness += 8.0 * slope_near * slope_far * shared * inner
    steepest = tl.maximum(tl.maximum(tl.abs(slope_near), tl.abs(slope_far)), 1e-300)
    bound = tl.minimum(longest, 0.125 / steepest)
    step = tl.where((loss >= 0.0) & (loss < bound * steepness), loss / steepness, bound)
    measurable = steepness < float("inf")  # infinite or NaN slopes move nothing
    near_move = tl.where(measurable, -2.0 * step * slope_near, 0.0)
    far_move = tl.where(measurable, -2.0 * step * slope_far, 0.0)
    near_part = near_move[:, None].to(tl.float32) * near_difference
    far_part = far_move[:, None].to(tl.float32) * far_difference
    add_pairs(x, objects, inside, near_part, far_part, COLUMNS, STRIDE, WIDTH)
    distances = tl.where(inside, near + far, 0.0)
    tl.atomic_add(squared_distances + program % SUMS, tl.sum(distances, axis=0), sem="relaxed")
