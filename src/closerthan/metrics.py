"""Measures of the quality of a map: triplet error, Procrustes distance to another map, retrieval by class."""

import math
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan.arrays import Array
from closerthan.checks import ParameterError, checked
from closerthan.comparisons import Comparisons, first_mentions, pairs_of
from closerthan.comparisons.grouping import AUTO
from closerthan.geometry import matrix_of, procrustes_rotation
from closerthan.losses import Loss, loss_named
from closerthan.objective import agreement
from closerthan.representation import shows_fields, tabulated

__all__ = [
    "Interval",
    "ProcrustesFit",
    "Retrieval",
    "clustered_number",
    "distances",
    "effective_number",
    "error_interval",
    "kish_number",
    "log_odds",
    "margins",
    "object_errors",
    "procrustes",
    "proportion_standard_error",
    "ratio_number",
    "ratio_variance",
    "retrieval",
    "triplet_error",
]

NORMAL_95 = 1.96  # half width, in standard errors, of the 95 % interval of a normal estimate
MOST_SAMPLED = 1_000_000  # comparisons from which the effective number of a large file is estimated
_CHUNK = 1 << 20  # rows per block, which bounds the memory for temporary arrays


@checked
def triplet_error(answers: Comparisons | ArrayLike, embedding: ArrayLike) -> float:
    """Return the fraction (by weight) of comparisons that the map gets wrong; equal distances count as wrong.

    It works for triplets and quadruplets.

    Examples
    --------
    >>> triplet_error([[0, 1, 2], [0, 2, 1]], [[0.0], [1.0], [3.0]])
    0.5
    """
    comparisons = Comparisons.of(answers, unmentioned="ignore")
    return agreement.wrong_fraction(comparisons, _map_of(comparisons, embedding))


@checked
def margins(answers: Comparisons | ArrayLike, embedding: ArrayLike) -> Array:
    """Return the squared distance of the far pair minus that of the near pair, positive where the map agrees.

    Examples
    --------
    >>> margins([[0, 1, 2], [0, 2, 1]], [[0.0], [1.0], [3.0]])
    array([ 8., -8.])
    """
    comparisons = Comparisons.of(answers, unmentioned="ignore")
    return agreement.margins(comparisons, _map_of(comparisons, embedding))


@checked
def log_odds(answers: Comparisons | ArrayLike, embedding: ArrayLike, loss: str | Loss) -> Array:
    """Return ``loss(far, near) - loss(near, far)``: the increase of the loss if a comparison were reversed.

    Where the loss is the negative logarithm of a probability, as in ste, tste and ckl, these are the log odds that an
    answer is as written. For other losses they are margins in the units of the loss.

    Examples
    --------
    >>> log_odds([[0, 1, 2], [0, 2, 1]], [[0.0], [1.0], [3.0]], "ste")
    array([ 8., -8.])
    """
    comparisons = Comparisons.of(answers, unmentioned="ignore")
    x = _map_of(comparisons, embedding)
    return agreement.log_odds(comparisons, x, loss_named(loss).in_dims(x.shape[1]))


@checked
def distances(answers: Comparisons | ArrayLike, embedding: ArrayLike) -> tuple[Array, Array]:
    """Return the distances on the map between the near pair and between the far pair of each comparison.

    Examples
    --------
    >>> distances([[0, 1, 2]], [[0.0], [1.0], [3.0]])
    (array([1.]), array([3.]))
    """
    comparisons = Comparisons.of(answers)
    x = _map_of(comparisons, embedding)
    near, far = np.empty(len(comparisons)), np.empty(len(comparisons))
    for begin in range(0, len(comparisons), _CHUNK):
        part = slice(begin, begin + _CHUNK)
        for (one, other), distance in zip(pairs_of(comparisons.rows[part]), (near, far), strict=True):
            distance[part] = np.linalg.norm(x[one] - x[other], axis=1)
    return near, far


@checked
def object_errors(answers: Comparisons | ArrayLike, embedding: ArrayLike) -> Array:
    """Return for each object the fraction (by weight) of its comparisons that the map gets wrong.

    All comparisons that contain the object count, each once. The error of an object without comparisons is NaN.

    Examples
    --------
    >>> object_errors([[0, 1, 2], [0, 2, 1], [1, 2, 3]], [[0.0], [1.0], [3.0], [9.0]])
    array([0.5       , 0.33333333, 0.33333333, 0.        ])
    """
    comparisons = Comparisons.of(answers)
    x = _map_of(comparisons, embedding)
    wrong, total = np.zeros(len(x)), np.zeros(len(x))
    for begin in range(0, len(comparisons), _CHUNK):
        part = comparisons.take(slice(begin, begin + _CHUNK))
        violated = ~(margins(part, x) > 0)
        weights = np.ones(len(part)) if part.weights is None else part.weights
        for objects, once in first_mentions(part.rows):
            total += np.bincount(objects[once], weights[once], len(x))
            wrong += np.bincount(objects[once & violated], weights[once & violated], len(x))
    errors = np.full(len(x), np.nan)
    np.divide(wrong, total, out=errors, where=total > 0)
    return errors


@tabulated
class Interval(NamedTuple):
    """The interval from ``low`` to ``high``, such as a confidence interval."""

    low: float
    high: float


@checked
def error_interval(error: float, measured_on: Comparisons | float, *, confidence: float = 0.95) -> Interval:
    """Return Wilson's score interval of an error measured on comparisons, or on a number of independent ones.

    Questions are independent; the comparisons of one answer and the answers to one question are not. Comparisons are
    therefore counted by :func:`effective_number`. For a more accurate interval, compute that number with the map and
    pass ``effective_number(comparisons, embedding)``.

    Examples
    --------
    >>> low, high = error_interval(0.1, 200)
    >>> round(low, 3), round(high, 3)
    (0.066, 0.149)
    """
    number = effective_number(measured_on) if isinstance(measured_on, Comparisons) else measured_on
    if not 0 <= error <= 1:
        raise ParameterError("error", error, "an error lies between 0 and 1")
    if not number > 0:
        raise ValueError(f"the error was measured on {number} comparisons; at least one is needed")
    if not 0 < confidence < 1:
        raise ParameterError("confidence", confidence, "it must lie between 0 and 1, such as 0.95")
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    shrink = 1 + z**2 / number
    centre = (error + z**2 / (2 * number)) / shrink
    half = z * math.sqrt(error * (1 - error) / number + (z / (2 * number)) ** 2) / shrink
    return Interval(max(centre - half, 0.0), min(centre + half, 1.0))


@checked
def proportion_standard_error(proportion: Any, number: Any) -> Any:
    """Return the standard error ``sqrt(p (1 - p) / n)`` of a proportion p of n independent answers; arrays are allowed.

    Examples
    --------
    >>> float(proportion_standard_error(0.2, 100))
    0.04
    """
    return np.sqrt(proportion * (1 - proportion) / number)


@checked
def effective_number(answers: Comparisons, embedding: ArrayLike | None = None, *, by: str = AUTO) -> float:
    """Return how many independent comparisons of equal weight would measure an error as precisely as these.

    The independent units are the groups that are held out as a whole (see :meth:`Comparisons.groups`): the questions,
    each with all answers to it, or the people. A map that gets a question wrong is wrong about most of the answers to
    it, so fifty answers to one question are worth far fewer than fifty independent measurements.

    Without a map, the comparisons of a group are taken to be right or wrong together. The number is then Kish's
    ``sum(W)**2 / sum(W**2)``, where W are the total weights of the groups. With a map, the correlation within groups
    is estimated; see :func:`clustered_number`.

    Parameters
    ----------
    answers
        The comparisons that the error is measured on.
    embedding
        The map whose error is measured.
    by
        The independent unit, as in :meth:`Comparisons.groups`: "answers", "blocks", "people" or "comparisons"; "auto"
        means blocks if the answers have some, otherwise answers.

    Examples
    --------
    >>> effective_number(Comparisons.from_triplets([[0, 1, 2], [0, 1, 3]], weights=[3.0, 1.0]))
    1.6
    >>> effective_number(Comparisons.from_triplets([[0, 1, 2], [1, 0, 2], [0, 1, 3], [1, 0, 3]]))
    2.0
    """
    by = answers.split_unit(by)
    weights = answers.weights
    if by == "comparisons":
        return float(len(answers)) if weights is None else kish_number(weights)
    if not answers.cheap_to_enumerate:
        return _estimated_from_sample(answers, embedding, by)
    group = answers.groups(by)
    if embedding is None:
        return kish_number(np.bincount(group, weights))
    return clustered_number(~(margins(answers, embedding) > 0), group, weights)


@checked
def clustered_number(wrong: NDArray[Any], group: NDArray[Any], weights: Array | None = None) -> float:
    """Return the effective number of comparisons in independent groups, given a mask of the wrong ones.

    It is the :func:`ratio_number` of the error, the ratio of the total weight of the wrong comparisons to that of all
    comparisons; a tie may count as half wrong. It is at most the number of comparisons (Kish's, if they have weights).

    Examples
    --------
    >>> group = np.repeat(np.arange(100), 10)
    >>> wrong = np.random.default_rng(0).random(1000) < 0.2
    >>> 700 < clustered_number(wrong, group) <= 1000, 15 < clustered_number(group < 20, group) <= 100
    (True, True)
    """
    total = np.bincount(group, weights).astype(np.float64)
    wrong_weight = np.bincount(group, wrong if weights is None else wrong * weights, len(total))
    most = float(len(group)) if weights is None else kish_number(weights)
    return ratio_number(wrong_weight, total, most)


@checked
def ratio_number(sums: NDArray[Any], weights: NDArray[Any], most: float = math.inf) -> float:
    """Return the number of independent measurements that would give ``sum(sums) / sum(weights)`` as precisely.

    The sums and weights are those of independent units. The effective number is the one with
    ``e (1 - e) / number = v``, where e is the fraction and v its :func:`ratio_variance`. Where v is estimated from few
    units the number is reduced by Student's t at 95 %, as in Korn and Graubard (1998). If all units have the same
    fraction, or if there is only one, v cannot be estimated, and Kish's number of the weights is returned.

    Examples
    --------
    >>> ratio_number(np.array([1.0, 1.0, 1.0]), np.full(3, 3.0))
    3.0
    >>> 15 < ratio_number(np.repeat([0.0, 1.0], [80, 20]), np.ones(100)) <= 100
    True
    """
    n_units = int(np.count_nonzero(weights))
    fraction = float(np.sum(sums) / np.sum(weights))
    variance = ratio_variance(sums, weights)
    # Rounding leaves a tiny variance where all units have the same fraction.
    if n_units < 2 or not 0 < fraction < 1 or variance < (1e-12 * fraction) ** 2:
        return kish_number(weights)
    from scipy.special import stdtrit  # a first fit does not need SciPy, which takes .15 s to import

    few = NormalDist().inv_cdf(0.975) / float(stdtrit(n_units - 1, 0.975))
    return min(fraction * (1 - fraction) / variance * few**2, most)


@checked
def ratio_variance(sums: NDArray[Any], weights: NDArray[Any]) -> float:
    """Estimate the variance of ``sum(sums) / sum(weights)``, a ratio of totals over independent units.

    By linearisation (Cochran 1977, 6.3) it is ``n / (n - 1) * sum((T - e W)**2) / sum(W)**2``, where n is the number of
    units of positive weight, W are the weights, T the sums and e their ratio. With equal weights it is the squared
    standard error of the mean. A single unit carries no information about the variance, which is then infinite.

    Examples
    --------
    >>> ratio_variance(np.array([1.0, 2.0, 3.0]), np.ones(3))
    0.3333333333333333
    >>> ratio_variance(np.array([0.0, 2.0]), np.array([0.0, 5.0]))
    inf
    """
    n_units, total = int(np.count_nonzero(weights)), float(np.sum(weights))
    if n_units < 2:
        return math.inf
    squares = float(np.sum((sums - np.sum(sums) / total * weights) ** 2))
    return n_units / (n_units - 1) * squares / total**2


@checked
def kish_number(weights: NDArray[Any]) -> float:
    """Return Kish's effective number of independent measurements, ``sum(w)**2 / sum(w**2)``, for weights w.

    Examples
    --------
    >>> kish_number(np.array([2, 2, 2])), kish_number(np.array([3.0, 1.0]))
    (3.0, 1.6)
    """
    return float(np.sum(weights, dtype=np.float64) ** 2 / np.sum(np.square(weights, dtype=np.float64)))


def _estimated_from_sample(
    comparisons: Comparisons, embedding: ArrayLike | None, by: str, most_rows: int = MOST_SAMPLED
) -> float:
    """Estimate the effective number of comparisons in a file that is too large for memory from some of its rows."""
    n_rows = len(comparisons)
    if by == "people" and n_rows > most_rows:  # a random sample has answers of all people
        return effective_number(comparisons.sample(most_rows, np.random.default_rng(0)), embedding, by=by)
    first = comparisons.take(np.arange(min(most_rows, n_rows)))  # the rows of an answer are contiguous
    number = effective_number(first, embedding, by=by)
    if len(first) == n_rows:
        return number
    # Repeated questions add rows but few groups, so the number of groups is assumed to grow as a power of the rows.
    half = effective_number(first.take(slice(len(first) // 2)), by=by)
    power = min(max(math.log2(effective_number(first, by=by) / half), 0.0), 1.0)
    return number * float((n_rows / len(first)) ** power)


@shows_fields
class ProcrustesFit(NamedTuple):
    """One map aligned with another."""

    aligned: NDArray[np.float64]
    distance: float  # 0: same shape; 1: nothing in common


@checked
def procrustes(embedding: ArrayLike, reference: ArrayLike, *, scaling: bool = True) -> ProcrustesFit:
    """Align a map with a reference by translation, rotation, reflection and (unless ``scaling=False``) scaling.

    The distance is the sum of squared residuals divided by the reference's sum of squares about its centre. The map
    with fewer dimensions is padded with zeros.

    Examples
    --------
    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> turned = 3 * square[:, ::-1] + 5
    >>> bool(procrustes(turned, square).distance < 1e-12)
    True
    """
    x, target = matrix_of("embedding", embedding), matrix_of("reference", reference)
    if len(x) != len(target):
        raise ValueError(f"the maps have {len(x)} and {len(target)} objects; they must have the same objects")
    width = max(x.shape[1], target.shape[1])
    x, target = (np.pad(m, ((0, 0), (0, width - m.shape[1]))) for m in (x, target))
    centre = target.mean(axis=0)
    x, centred = x - x.mean(axis=0), target - centre
    spread = float(np.sum(centred**2))
    if spread == 0:
        raise ValueError("all objects of the reference are at the same place; a map cannot be aligned with it")
    rotation, trace = procrustes_rotation(x.T @ centred)
    size = float(np.sum(x**2))
    scale = float(trace) / size if scaling and size > 0 else 1.0
    aligned = scale * x @ rotation
    return ProcrustesFit(aligned + centre, float(np.sum((aligned - centred) ** 2)) / spread)


@shows_fields
class Retrieval(NamedTuple):
    """Quality of retrieval by class; each number is a mean over the queries."""

    mean_average_precision: float
    precision: NDArray[np.float64]  # precision[K - 1]: fraction of the K nearest objects that have the query's class
    recall: NDArray[np.float64]  # recall[K - 1]: fraction of the query's class that is among the K nearest objects


@checked
def retrieval(queries: ArrayLike, query_labels: ArrayLike, gallery: ArrayLike, gallery_labels: ArrayLike) -> Retrieval:
    """Rank a gallery by its distance from each query, and measure how high objects of the query's class rank.

    The average precision of a query is the mean, over the objects of its class, of the precision at their rank.
    Objects at the same distance keep the gallery's order.

    Examples
    --------
    >>> quality = retrieval([[0.0]], ["a"], [[1.0], [2.0], [3.0]], ["a", "b", "a"])
    >>> round(quality.mean_average_precision, 4), quality.precision.tolist()[:2], quality.recall.tolist()
    (0.8333, [1.0, 0.5], [0.5, 0.5, 1.0])
    """
    x, y = matrix_of("queries", queries), matrix_of("gallery", gallery)
    query_class, gallery_class = np.asarray(query_labels), np.asarray(gallery_labels)
    for name, points, labels in (("query_labels", x, query_class), ("gallery_labels", y, gallery_class)):
        if labels.shape != (len(points),):
            raise ValueError(f"{name} have shape {labels.shape}; one label is needed for each of {len(points)} points")
    if x.shape[1] != y.shape[1]:
        raise ValueError(f"queries have {x.shape[1]} dimensions, the gallery {y.shape[1]}; they must agree")
    missing = ~np.isin(query_class, gallery_class)
    if missing.any():
        raise ValueError(f"class {query_class[missing][0]!r} of a query is not in the gallery; leave such queries out")
    squared = np.sum(x**2, axis=1)[:, None] - 2 * x @ y.T + np.sum(y**2, axis=1)
    order = np.argsort(squared, axis=1, kind="stable")
    hits = gallery_class[order] == query_class[:, None]
    n_hits = np.cumsum(hits, axis=1)
    precision = n_hits / np.arange(1, len(y) + 1)
    n_relevant = n_hits[:, -1]
    average = np.sum(precision * hits, axis=1) / n_relevant
    recall = n_hits / n_relevant[:, None]
    return Retrieval(float(average.mean()), precision.mean(axis=0), recall.mean(axis=0))


def _map_of(answers: Comparisons, embedding: ArrayLike) -> Array:
    x = matrix_of("embedding", embedding)
    if len(x) < answers.n_objects:
        raise ValueError(
            f"the map has {len(x)} objects, but the comparisons have {answers.n_objects}; pass a map of all objects"
        )
    return x
