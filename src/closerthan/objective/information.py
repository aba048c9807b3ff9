"""Expected information of questions about a map whose uncertainty is represented by replicates."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array
from closerthan.compiled import compiling, information
from closerthan.losses import Loss

__all__ = ["KINDS", "expected_information", "uncertainty"]

KINDS = {"closer": information.closer_entropies, "odd": information.odd_entropies}
"""Entropies by kind of question: "which of the two is closer to the first?" or "which of the three is the odd one?"."""


def expected_information(kind: str, questions: NDArray[Any], maps: Array, loss: Loss) -> Array:
    """Return the mutual information, in nats, between the answer to each question and the choice among the maps.

    A question is a row of three objects. The information is the entropy of the mean probability minus the mean entropy
    over the maps, which are taken as equally likely.

    Examples
    --------
    >>> from closerthan.losses import STE
    >>> maps = np.array([[[0.0], [1.0], [2.0]], [[0.0], [2.0], [1.0]]])
    >>> expected_information("closer", np.array([[0, 1, 2], [1, 0, 2]]), maps, STE()).round(2)
    array([0.5 , 0.14])
    """
    entropy_of_mean, mean_entropy = _entropies(kind, questions, maps, loss)
    return np.maximum(entropy_of_mean - mean_entropy, 0.0)


def uncertainty(kind: str, questions: NDArray[Any], maps: Array, loss: Loss) -> Array:
    """Return the entropy of the answer to each question, which is also high where all maps agree that it is a tie."""
    return _entropies(kind, questions, maps, loss)[0]


def _entropies(kind: str, questions: NDArray[Any], maps: Array, loss: Loss) -> tuple[Array, Array]:
    entropy_of_mean, mean_entropy = np.empty(len(questions)), np.empty(len(questions))
    rows = np.ascontiguousarray(questions, np.int64)
    KINDS[kind](compiling.argument(loss.in_kernels()), rows, np.ascontiguousarray(maps), entropy_of_mean, mean_entropy)
    return entropy_of_mean, mean_entropy
