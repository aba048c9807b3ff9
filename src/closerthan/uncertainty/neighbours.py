"""Neighbours: probabilities that one object is among the nearest neighbours of another."""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from closerthan.arrays import Array, one_blas_thread
from closerthan.checks import whole

__all__ = ["NeighbourCalibration", "neighbour_probability"]

MOST_CELLS = 10**8  # size limit of a table, 800 MB
MOST_CALIBRATED = 300  # objects whose neighbours are compared with those of the simulated truth
PRIOR = 1.0  # precision of the prior, whose mean is the identity; it counts as much as a few pairs; set by judgement


def neighbour_probability(maps: Array, k: int = 1, of: Sequence[int] | None = None) -> Array:
    """Return the fraction of the maps in which object j is among the k nearest neighbours of i: row i, column j.

    Distances are compared within each map, so the maps need not be aligned.

    Parameters
    ----------
    maps
        (n_maps, n_objects, n_dims).
    k
        Number of nearest neighbours.
    of
        Objects whose rows are returned; None for all of them.

    Examples
    --------
    >>> maps = np.array([[[0.0], [1.0], [3.0]], [[0.0], [2.0], [3.0]]])
    >>> neighbour_probability(maps, 1)[1].tolist()
    [0.5, 0.0, 0.5]
    """
    n_maps, n_objects, _ = maps.shape
    k = whole("k", k)
    if k >= n_objects:
        raise ValueError(f"k is {k}, but there are only {n_objects - 1} other objects; choose a smaller k")
    rows = np.arange(n_objects) if of is None else np.asarray(of, dtype=np.int64)
    if len(rows) and not (rows.min() >= 0 and rows.max() < n_objects):
        raise ValueError(f"objects are numbered from 0 to {n_objects - 1}; of= contains {rows.min()} to {rows.max()}")
    if len(rows) * n_objects > MOST_CELLS:
        raise ValueError(
            f"a table of {len(rows):,} x {n_objects:,} objects is too large; pass of= with the objects that matter"
        )
    counts = np.zeros((len(rows), n_objects))
    block = max(1, 2**24 // n_objects)
    for x in maps:
        norms = np.einsum("od,od->o", x, x)
        for begin in range(0, len(rows), block):
            objects = rows[begin : begin + block]
            squared = norms - 2.0 * np.einsum("id,jd->ij", x[objects], x)  # squared distances, up to a constant per row
            squared[np.arange(len(objects)), objects] = np.inf
            near = np.argpartition(squared, k - 1, axis=1)[:, :k]
            counts[begin + np.arange(len(objects))[:, np.newaxis], near] += 1.0
    fractions: Array = counts / max(n_maps, 1)
    return fractions


class NeighbourCalibration(NamedTuple):
    """Calibration curve from the fraction of replicates in which j is near i to the probability that j is truly near i.

    The fraction q is overconfident: replicates scatter around the fitted map and repeat its errors, and a pair looks
    close partly because such errors brought it together. The size of this effect is estimated where the truth is known:
    answers are simulated from the fitted map, fitted, and replicated in turn. The log odds of the probability are
    ``constant + near * log(q) - far * log(1 - q)`` (beta calibration, Kull, Silva Filho and Flach 2017).

    Attributes
    ----------
    constant, near, far
        Coefficients of the curve; (0, 1, 1) is the identity.
    """

    constant: float = 0.0
    near: float = 1.0
    far: float = 1.0

    @classmethod
    def fitted(cls, simulated: Array, truth: Array, k: int) -> Self:
        """Fit the curve to simulated studies.

        Parameters
        ----------
        simulated
            Replicates of each simulated study, (n_studies, n_replicates, n_objects, n_dims).
        truth
            The map from which the answers of these studies were simulated.
        k
            Number of nearest neighbours.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> truth = rng.normal(size=(30, 2))
        >>> fits = truth + 0.5 * rng.normal(size=(5, 1, 30, 2))
        >>> curve = NeighbourCalibration.fitted(fits + 0.1 * rng.normal(size=(5, 20, 30, 2)), truth, 1)
        >>> bool(curve.probability(np.array([0.9]), 20)[0] < 0.7)  # replicates scatter a fifth as much as the fits err
        True
        """
        from scipy.optimize import minimize

        n_objects, n_replicates = len(truth), simulated.shape[1]
        rows = np.arange(n_objects)
        if n_objects > MOST_CALIBRATED:
            rows = np.sort(np.random.default_rng(0).choice(n_objects, MOST_CALIBRATED, replace=False))
        fractions = np.stack([neighbour_probability(maps, k, rows.tolist()) for maps in simulated])
        is_near = np.broadcast_to(neighbour_probability(truth[np.newaxis], k, rows.tolist()), fractions.shape)
        near = fractions > 0
        features, right = _features(fractions[near], n_replicates), is_near[near]
        identity = np.array([0.0, 1.0, 1.0])

        def cost(coefficients: Array) -> tuple[float, Array]:
            odds, off = features @ coefficients, coefficients - identity
            value = np.logaddexp(0.0, odds).sum() - right @ odds + 0.5 * PRIOR * off @ off
            return float(value), features.T @ (0.5 * (1.0 + np.tanh(0.5 * odds)) - right) + PRIOR * off

        # A larger fraction never means a smaller probability.
        bounds = [(None, None), (0.0, None), (0.0, None)]
        with one_blas_thread():
            return cls(*minimize(cost, identity, jac=True, method="L-BFGS-B", bounds=bounds).x.tolist())

    def probability(self, fractions: Array, n_replicates: int) -> Array:
        """Convert fractions of ``n_replicates`` replicates to probabilities, which never exceed them; 0 stays 0."""
        odds = _features(fractions, n_replicates) @ np.array(self)
        # Fractions are overconfident, so a curve that raises one does so only because of its own estimation error.
        probability: Array = np.minimum(0.5 * (1.0 + np.tanh(0.5 * odds)), fractions)
        return probability


def _features(fractions: Array, n_replicates: int) -> Array:
    """Return 1, log(q) and -log(1 - q), where q is kept away from 0 and 1 by half a replicate."""
    q = (fractions * n_replicates + 0.5) / (n_replicates + 1)
    return np.stack([np.ones_like(q), np.log(q), -np.log1p(-q)], axis=-1)
