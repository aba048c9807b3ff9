"""Agreement of a map with comparisons; the arguments are not checked again."""

import numpy as np

from closerthan.arrays import Array
from closerthan.comparisons import Comparisons
from closerthan.compiled import compiling
from closerthan.compiled.kernels import agreement
from closerthan.compiled.kernels.rows import rows_of
from closerthan.losses import Loss

__all__ = ["log_odds", "margins", "wrong_fraction"]


def wrong_fraction(answers: Comparisons, x: Array) -> float:
    """Return the fraction (by weight) of comparisons that the map contradicts."""
    return float(agreement.wrong_weight(rows_of(answers), answers.weights, x) / answers.total_weight)


def margins(answers: Comparisons, x: Array) -> Array:
    """Return the squared distance of the far pair minus that of the near pair, for each comparison."""
    out = np.empty(len(answers))
    agreement.margins(rows_of(answers), x, out)
    return out


def log_odds(answers: Comparisons, x: Array, loss: Loss) -> Array:
    """Return how much larger the loss of each comparison would be if its answer were reversed."""
    out = np.empty(len(answers))
    agreement.log_odds(compiling.argument(loss.in_kernels()), rows_of(answers), x, out)
    return out
