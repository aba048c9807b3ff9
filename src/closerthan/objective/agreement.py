"""How well a map agrees with comparisons that were checked before."""

import numpy as np

from closerthan.arrays import Array
from closerthan.comparisons import Comparisons
from closerthan.compiled import agreement
from closerthan.compiled.rows import rows_of

__all__ = ["margins", "wrong_share"]


def wrong_share(answers: Comparisons, x: Array) -> float:
    """The share (by weight) of comparisons that the map gets wrong."""
    return float(agreement.wrong_weight(rows_of(answers), answers.weights, x) / answers.total_weight)


def margins(answers: Comparisons, x: Array) -> Array:
    """Squared distance of the far pair minus that of the near pair."""
    out = np.empty(len(answers))
    agreement.margins(rows_of(answers), x, out)
    return out
