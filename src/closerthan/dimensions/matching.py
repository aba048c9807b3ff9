"""Which dimensions reappear if they are estimated again?

Dimensions have no order, so those of a refit are matched one to one with those of the fit, such that the sum of the
correlations (over objects) is largest. A dimension reappears in a refit if it correlates above .8 with its partner.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from closerthan.arrays import Array
from closerthan.checks import checked
from closerthan.geometry import matrix_of

__all__ = ["SAME_DIMENSION", "correlations_with_matches", "match_dimensions"]

SAME_DIMENSION = 0.8
"""Correlation above which a dimension counts as found again, as in the literature on SPoSE."""


@checked
def match_dimensions(first: ArrayLike, second: ArrayLike) -> tuple[Array, Array]:
    """Match the columns of two tables one to one by their correlation.

    Returns
    -------
    The partner of each column of ``first`` (-1 if there is none) and their correlation (0 if there is none).

    Examples
    --------
    >>> x = np.random.default_rng(0).exponential(size=(50, 3))
    >>> partners, correlations = match_dimensions(x, x[:, [2, 0]])
    >>> partners.tolist(), correlations.round(3).tolist()
    ([1, -1, 0], [1.0, 0.0, 1.0])
    """
    from scipy.optimize import linear_sum_assignment

    one, other = (_standardised(matrix_of(name, x)) for name, x in (("first", first), ("second", second)))
    if one.shape[0] != other.shape[0]:
        raise ValueError(f"the tables have {one.shape[0]:,} and {other.shape[0]:,} rows; they must be the same objects")
    table = one.T @ other
    rows, columns = linear_sum_assignment(-table)
    partners, correlations = np.full(one.shape[1], -1), np.zeros(one.shape[1])
    partners[rows], correlations[rows] = columns, table[rows, columns]
    return partners, correlations


def correlations_with_matches(x: Array, refits: Sequence[Array]) -> Array:
    """Return the correlation of each dimension with its partner in each refit, (n_refits, n_dims).

    Examples
    --------
    >>> correlations_with_matches(np.eye(3), [np.eye(3)[:, :2]]).tolist()
    [[1.0, 1.0, 0.0]]
    """
    rows = [match_dimensions(x, refit)[1].round(12) for refit in refits]
    return np.array(rows).reshape(len(refits), x.shape[1])


def _standardised(x: Array) -> Array:
    """Return columns with mean 0 and length 1; constant ones become 0."""
    centred = x - x.mean(axis=0)
    length = np.sqrt((centred**2).sum(axis=0))
    return np.asarray(np.divide(centred, length, out=np.zeros_like(centred), where=length > 1e-12))
