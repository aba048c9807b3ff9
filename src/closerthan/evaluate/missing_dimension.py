"""Missing dimension: a score test of whether one more dimension would explain the answers better, without fitting it.

The map predicts the log odds of each answer, and a calibration converts them to probabilities. If no dimension is
missing, the residuals are noise. If objects had one more coordinate z, the squared distances would grow by
``(z_i - z_j)**2``, so that the residuals of the questions would correlate with
``d = (z_k - z_l)**2 - (z_i - z_j)**2``. The z that correlates best with the residuals of one half of the questions is
the first eigenvector of an object-by-object matrix; whether it also correlates with those of the other half is the
test. With ten or more identified people, halves and sums are over people, otherwise over questions.

The test is approximate. Its error rates were measured only on a few simulated sets of answers without people (5 to 12
of each kind, not part of a benchmark): with the right number of dimensions, p was below 1 % in at most 8 % of the maps,
or 25 % where answers follow tste and the map was fitted with ste; if a dimension was missing, in 0 to 100 %. The test
suggests a cross-validation and does not replace it. A large p is no evidence that no dimension is missing.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.special import ndtr

from closerthan.arrays import Array
from closerthan.calibration import Calibration
from closerthan.comparisons import Comparisons, pairs_of
from closerthan.comparisons.grouping import AUTO
from closerthan.evaluate.dims import unit_of
from closerthan.losses import Loss
from closerthan.metrics import log_odds

__all__ = ["missing_dimension"]

MOST_OBJECTS = 2_000  # number of objects whose dense matrix takes a second or two to decompose
MOST_ROWS = 200_000  # number of comparisons, set by judgement


def missing_dimension(answers: Comparisons, embedding: Array, loss: Loss, seed: int = 0) -> float:
    """Return the p value under the null hypothesis that no dimension is missing; NaN if there are too many objects.

    Parameters
    ----------
    answers
        The answers that the map was fitted to.
    embedding, loss
        The map, and the loss that it was fitted with.
    seed
        Decides which questions are in which half.

    Examples
    --------
    >>> import closerthan as ct
    >>> answers = ct.datasets.simulated(np.random.default_rng(0).standard_normal((15, 2)), 2000, noise="ste", seed=0)
    >>> line, plane = (ct.embed(answers, n_dims, loss="ste", seed=0) for n_dims in (1, 2))
    >>> missing_dimension(answers, line.embedding, line.loss) < 1e-6
    True
    >>> missing_dimension(answers, plane.embedding, plane.loss) > 0.05
    True
    """
    rng, n_objects = np.random.default_rng(seed), len(embedding)
    if n_objects > MOST_OBJECTS:
        return math.nan
    if len(answers) > MOST_ROWS:
        answers = answers.sample(MOST_ROWS, rng)
    residual = _residuals(answers, embedding, loss)
    group = answers.groups(unit_of(answers, AUTO))
    half = (rng.permutation(int(group.max()) + 1) % 2)[group]
    scores = []
    for number in (0, 1):
        z = _coordinate(answers.take(half == number), residual[half == number], n_objects)
        judged = half != number
        near, far = (np.square(z[one] - z[other]) for one, other in pairs_of(answers.rows[judged]))
        products = np.bincount(group[judged], residual[judged] * (far - near))
        scores.append(products.sum() / max(math.sqrt(float(np.sum(products**2))), 1e-300))
    return float(ndtr(-sum(scores) / math.sqrt(2)))


def _residuals(answers: Comparisons, embedding: Array, loss: Loss) -> Array:
    """Return, for each comparison, one minus the calibrated probability of the answer.

    Reversing an answer reverses the sign of the difference it is multiplied by, so the product has expectation 0 if
    the probabilities are right.
    """
    odds = np.nan_to_num(log_odds(answers, embedding, loss))
    weights = np.ones(len(answers)) if answers.weights is None else answers.weights
    probability = Calibration.fitted(np.clip(odds, -1e3, 1e3), weights).probability(odds)
    return np.asarray(weights * (1.0 - probability))


def _coordinate(answers: Comparisons, residual: Array, n_objects: int) -> Array:
    """Return the coordinate of each object that explains these residuals best."""
    matrix: NDArray[np.float64] = np.zeros((n_objects, n_objects))
    for sign, (one, other) in zip((-1.0, 1.0), pairs_of(answers.rows), strict=True):
        np.add.at(matrix, (one, other), -sign * residual)
        np.add.at(matrix, (other, one), -sign * residual)
    # A graph's Laplacian: z' M z is the sum of residual * ((z_k - z_l)**2 - (z_i - z_j)**2).
    np.fill_diagonal(matrix, 0.0)
    np.fill_diagonal(matrix, -matrix.sum(axis=1))
    last = [n_objects - 1, n_objects - 1]  # all eigenvectors would take several times as long
    return np.asarray(eigh(matrix, subset_by_index=last)[1][:, 0])
