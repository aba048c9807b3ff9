"""InverseHessian: the estimate of the inverse Hessian in L-BFGS."""

import numpy as np

from closerthan.arrays import Array
from closerthan.compiled.kernels import quasi_newton

__all__ = ["InverseHessian"]


class InverseHessian:
    """An estimate of the inverse Hessian from the last moves and the changes of the gradient that they caused.

    Examples
    --------
    >>> estimate = InverseHessian((1, 2), memory=2)
    >>> move, slope = estimate.direction(np.array([[3.0, 4.0]]))
    >>> move, slope
    (array([[-3., -4.]]), -25.0)
    >>> estimate.update(move, 0.5, np.array([[3.0, 4.0]]), np.array([[0.0, 0.0]]))
    >>> estimate.direction(np.array([[1.0, 0.0]]))[0]
    array([[-0.5, -0. ]])
    """

    def __init__(self, shape: tuple[int, ...], memory: int) -> None:
        size = int(np.prod(shape))
        self.n_pairs = 0  # since the beginning or since :meth:`forget`; the last ``memory`` of them are used
        self._moves, self._changes = np.empty((memory, size)), np.empty((memory, size))
        self._curvatures, self._weights = np.empty(memory), np.empty(memory)

    @classmethod
    def prepare(cls) -> None:
        """Compile the kernels."""
        estimate, gradient = cls((1, 1), 1), np.ones((1, 1))
        move, _ = estimate.direction(gradient)
        estimate.update(move, 1.0, gradient, gradient)

    def direction(self, gradient: Array) -> tuple[Array, float]:
        """Return minus the estimate times the gradient, and the slope of the objective in that direction."""
        move = np.empty(gradient.shape)
        slope = quasi_newton.direction(
            gradient.ravel(),
            self._moves,
            self._changes,
            self._curvatures,
            self.n_pairs,
            self._weights,
            move.ravel(),
        )
        return move, slope

    def update(self, move: Array, step: float, gradient: Array, new_gradient: Array) -> None:
        """Learn from a step of length ``step`` along ``move``, unless the curvature along it is not positive."""
        self.n_pairs = quasi_newton.remember(
            move.ravel(),
            step,
            gradient.ravel(),
            new_gradient.ravel(),
            self._moves,
            self._changes,
            self._curvatures,
            self.n_pairs,
        )

    def forget(self) -> None:
        """Begin again with the identity."""
        self.n_pairs = 0
