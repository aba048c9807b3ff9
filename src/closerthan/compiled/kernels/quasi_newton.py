"""Kernels of L-BFGS: its direction, and the pair of differences that it remembers after a step."""

from closerthan.compiled.compiling import kernel


@kernel
def direction(gradient, moves, changes, curvatures, n_pairs, weights, out):
    """Store minus the inverse Hessian times the gradient in ``out``; return its inner product with the gradient.

    The two-loop recursion of Nocedal (1980). ``moves``, ``changes`` and ``curvatures`` (their inner products) are ring
    buffers, to which ``n_pairs`` pairs have been written; ``weights`` is scratch space for one number per pair.
    """
    memory, size = moves.shape
    for c in range(size):  # an assignment of arrays would compile the message of its error too, for two seconds
        out[c] = gradient[c]
    oldest = max(n_pairs - memory, 0)
    for pair in range(n_pairs - 1, oldest - 1, -1):
        place = pair % memory
        total = 0.0
        for c in range(size):
            total += moves[place, c] * out[c]
        weight = total / curvatures[place]
        weights[place] = weight
        for c in range(size):
            out[c] -= weight * changes[place, c]
    if n_pairs > 0:
        last = (n_pairs - 1) % memory
        square = 0.0
        for c in range(size):
            square += changes[last, c] * changes[last, c]
        scale = curvatures[last] / square
        for c in range(size):
            out[c] *= scale
    for pair in range(oldest, n_pairs):
        place = pair % memory
        total = 0.0
        for c in range(size):
            total += changes[place, c] * out[c]
        weight = weights[place] - total / curvatures[place]
        for c in range(size):
            out[c] += weight * moves[place, c]
    slope = 0.0
    for c in range(size):
        out[c] = -out[c]
        slope += out[c] * gradient[c]
    return slope


@kernel
def remember(move, step, gradient, new_gradient, moves, changes, curvatures, n_pairs):
    """Write a pair of differences to the ring buffers; return the number of pairs, unchanged if the pair is useless."""
    place = n_pairs % moves.shape[0]
    curvature, square = 0.0, 0.0
    for c in range(move.shape[0]):
        moves[place, c] = step * move[c]
        changes[place, c] = new_gradient[c] - gradient[c]
        curvature += moves[place, c] * changes[place, c]
        square += changes[place, c] * changes[place, c]
    curvatures[place] = curvature
    return n_pairs + 1 if curvature > 1e-10 * square else n_pairs
