"""What the answers to questions would tell about a map that is known but for the differences of its replicates."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array
from closerthan.compiled import compiling, information
from closerthan.losses import Loss

__all__ = ["KINDS", "expected_information", "uncertainty"]

KINDS = {"closer": information.closer_entropies, "odd": information.odd_entropies}
"""By kind of question: "which of the two is closer to the first?", and "which of the three is the odd one?"."""


def expected_information(kind: str, questions: NDArray[Any], maps: Array, loss: Loss) -> Array:
    """For each row of three objects, how many nats its answer tells about which of the maps is right.

    Examples
    --------
    >>> from closerthan.losses import STE
    >>> maps = np.array([[[0.0], [1.0], [2.0]], [[0.0], [2.0], [1.0]]])
    >>> expected_information("closer", np.array([[0, 1, 2], [1, 0, 2]]), maps, STE()).round(2)
    array([0.5 , 0.14])
    """
    of_mean, mean_of = _entropies(kind, questions, maps, loss)
    return np.maximum(of_mean - mean_of, 0.0)


def uncertainty(kind: str, questions: NDArray[Any], maps: Array, loss: Loss) -> Array:
    """For each row of three objects, the entropy of its answer: also high where maps agree that it is a toss-up."""
    return _entropies(kind, questions, maps, loss)[0]


def _entropies(kind: str, questions: NDArray[Any], maps: Array, loss: Loss) -> tuple[Array, Array]:
    of_mean, mean_of = np.empty(len(questions)), np.empty(len(questions))
    rows = np.ascontiguousarray(questions, np.int64)
    KINDS[kind](compiling.argument(loss.in_kernels()), rows, np.ascontiguousarray(maps), of_mean, mean_of)
    return of_mean, mean_of
