"""How good a map is: triplet error against answers, Procrustes distance against another map, retrieval by class."""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from closerthan.arrays import Array
from closerthan.comparisons import Comparisons, first_mentions, pairs_of
from closerthan.comparisons.grouping import check_by
from closerthan.geometry import matrix_of
from closerthan.losses import Loss, loss_named
from closerthan.objective import agreement

__all__ = [
    "Alignment",
    "Interval",
    "Retrieval",
    "distances",
    "effective_number",
    "error_interval",
    "log_odds",
    "margins",
    "object_errors",
    "one_standard_error_choice",
    "procrustes",
    "retrieval",
    "share_standard_error",
    "triplet_error",
]

NORMAL_95 = 1.96  # standard errors to either side of an estimate: its 95 % interval, if it is normal
MOST_JUDGED = 1_000_000  # comparisons of a large file that tell how alike those of an answer are
_CHUNK = 1 << 20  # rows per block, which bounds the memory for temporary arrays


def triplet_error(comparisons: Comparisons | ArrayLike, embedding: ArrayLike) -> float:
    """The share (by weight) of comparisons that the map gets wrong; equal distances count as wrong.

    Works for triplets and quadruplets.

    Examples
    --------
    >>> triplet_error([[0, 1, 2], [0, 2, 1]], [[0.0], [1.0], [3.0]])
    0.5
    """
    answers = Comparisons.of(comparisons, unmentioned="ignore")
    return agreement.wrong_share(answers, _map_of(answers, embedding))


def margins(comparisons: Comparisons | ArrayLike, embedding: ArrayLike) -> Array:
    """Squared distance of the far pair minus that of the near pair: positive where the map agrees.

    Examples
    --------
    >>> margins([[0, 1, 2], [0, 2, 1]], [[0.0], [1.0], [3.0]])
    array([ 8., -8.])
    """
    answers = Comparisons.of(comparisons, unmentioned="ignore")
    return agreement.margins(answers, _map_of(answers, embedding))


def log_odds(comparisons: Comparisons | ArrayLike, embedding: ArrayLike, loss: str | Loss) -> Array:
    """How much more the reverse of each comparison would cost: ``loss(far, near) - loss(near, far)``.

    Where the loss is the negative logarithm of a probability, as in ste, tste and ckl, these are the log odds that an
    answer is as written. In other losses they are a margin in the loss's own units.

    Examples
    --------
    >>> log_odds([[0, 1, 2], [0, 2, 1]], [[0.0], [1.0], [3.0]], "ste")
    array([ 8., -8.])
    """
    answers = Comparisons.of(comparisons, unmentioned="ignore")
    x = _map_of(answers, embedding)
    return agreement.log_odds(answers, x, loss_named(loss).in_dims(x.shape[1]))


def distances(comparisons: Comparisons | ArrayLike, embedding: ArrayLike) -> tuple[Array, Array]:
    """The distance of each comparison's near pair and that of its far pair, on the map.

    Examples
    --------
    >>> distances([[0, 1, 2]], [[0.0], [1.0], [3.0]])
    (array([1.]), array([3.]))
    """
    answers = Comparisons.of(comparisons)
    x = _map_of(answers, embedding)
    near, far = np.empty(len(answers)), np.empty(len(answers))
    for begin in range(0, len(answers), _CHUNK):
        part = slice(begin, begin + _CHUNK)
        for (one, other), distance in zip(pairs_of(answers.rows[part]), (near, far), strict=True):
            distance[part] = np.linalg.norm(x[one] - x[other], axis=1)
    return near, far


def object_errors(comparisons: Comparisons | ArrayLike, embedding: ArrayLike) -> Array:
    """For each object: the share (by weight) of the comparisons it takes part in that the map gets wrong.

    Any place in a comparison counts, and a comparison counts once for an object. An object without
    comparisons has no error: NaN.

    Examples
    --------
    >>> object_errors([[0, 1, 2], [0, 2, 1], [1, 2, 3]], [[0.0], [1.0], [3.0], [9.0]])
    array([0.5       , 0.33333333, 0.33333333, 0.        ])
    """
    answers = Comparisons.of(comparisons)
    x = _map_of(answers, embedding)
    wrong, total = np.zeros(len(x)), np.zeros(len(x))
    for begin in range(0, len(answers), _CHUNK):
        part = answers.take(slice(begin, begin + _CHUNK))
        violated = ~(margins(part, x) > 0)
        weights = np.ones(len(part)) if part.weights is None else part.weights
        for objects, once in first_mentions(part.rows):
            total += np.bincount(objects[once], weights[once], len(x))
            wrong += np.bincount(objects[once & violated], weights[once & violated], len(x))
    errors = np.full(len(x), np.nan)
    np.divide(wrong, total, out=errors, where=total > 0)
    return errors


class Interval(NamedTuple):
    """An interval that should contain a number."""

    low: float
    high: float


def error_interval(error: float, measured_on: Comparisons | float, *, confidence: float = 0.95) -> Interval:
    """Wilson's score interval of an error that was measured on comparisons, or on that many independent ones.

    Answers are independent, the comparisons of one answer are not: see :func:`effective_number`, which comparisons
    are counted by. It can do better if it knows the map: pass ``effective_number(comparisons, embedding)``.

    Examples
    --------
    >>> low, high = error_interval(0.1, 200)
    >>> round(low, 3), round(high, 3)
    (0.066, 0.149)
    """
    number = effective_number(measured_on) if isinstance(measured_on, Comparisons) else measured_on
    if not 0 <= error <= 1:
        raise ValueError(f"error is {error}; a share lies between 0 and 1")
    if not number > 0:
        raise ValueError(f"the error was measured on {number} comparisons; it takes at least one")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}; it lies between 0 and 1, as in 0.95")
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    shrink = 1 + z**2 / number
    centre = (error + z**2 / (2 * number)) / shrink
    half = z * math.sqrt(error * (1 - error) / number + (z / (2 * number)) ** 2) / shrink
    return Interval(max(centre - half, 0.0), min(centre + half, 1.0))


def share_standard_error(share: Any, number: Any) -> Any:
    """The standard error of a share (or of several) of so many independent answers: ``sqrt(p (1 - p) / n)``.

    Examples
    --------
    >>> float(share_standard_error(0.2, 100))
    0.04
    """
    return np.sqrt(share * (1 - share) / number)


def effective_number(comparisons: Comparisons, embedding: ArrayLike | None = None, *, by: str = "answers") -> float:
    """How many independent comparisons of equal weight measure an error as exactly as these.

    Answers (or people) are independent; within one, comparisons may be right or wrong together. If they all were, the
    number is Kish's ``sum(W)**2 / sum(W**2)``, where W are the weights of whole answers; this is what is given without
    a map. With a map, the correlation within answers is estimated: the error e is a ratio of sums over answers, whose
    variance is estimated by ``v = n / (n - 1) * sum((T - e W)**2) / sum(W)**2``, T being the weights of what is wrong
    (linearisation; Cochran 1977, 6.3), and the number is the one with ``e (1 - e) / number = v``. As in Korn and
    Graubard (1998), it is made smaller where v comes from few answers, by Student's t at 95 %.

    Parameters
    ----------
    comparisons
        What the error is measured on.
    embedding
        The map whose error it is.
    by
        What is independent: "answers", "people" or "comparisons".

    Examples
    --------
    >>> effective_number(Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]], weights=[3.0, 1.0]))
    1.6
    >>> effective_number(Comparisons.from_triplets([[0, 1, 2], [1, 0, 2], [0, 1, 3], [1, 0, 3]], answers=[1, 1, 2, 2]))
    2.0
    """
    check_by(by, comparisons.people)
    cluster = {"answers": comparisons.answers, "people": comparisons.people, "comparisons": None}[by]
    weights = comparisons.weights
    if comparisons.on_disk is not None and not (weights is None and cluster is None):
        return _of_a_sample(comparisons, embedding, by)
    most = float(len(comparisons)) if weights is None else float(weights.sum() ** 2 / np.sum(weights**2))
    if cluster is None:
        return most
    total = np.bincount(cluster, weights).astype(np.float64)
    n_clusters = int(np.count_nonzero(total))
    least = float(total.sum() ** 2 / np.sum(total**2))
    if embedding is None or n_clusters < 2:
        return least
    wrong = ~(margins(comparisons, embedding) > 0)
    wrong_weight = np.bincount(cluster, wrong if weights is None else wrong * weights)
    error = float(wrong_weight.sum() / total.sum())
    squares = float(np.sum((wrong_weight - error * total) ** 2))
    if not 0 < error < 1 or squares == 0:  # the correlation within answers cannot be estimated
        return least
    variance = n_clusters / (n_clusters - 1) * squares / float(total.sum()) ** 2
    narrower = NormalDist().inv_cdf(0.975) / float(stdtrit(n_clusters - 1, 0.975))
    return min(error * (1 - error) / variance * narrower**2, most)


def _of_a_sample(comparisons: Comparisons, embedding: ArrayLike | None, by: str) -> float:
    """The effective number of a file that is too large for memory, from some of its rows."""
    if by == "people" and len(comparisons) > MOST_JUDGED:  # all of them are in a sample
        return effective_number(comparisons.sample(MOST_JUDGED, np.random.default_rng(0)), embedding, by=by)
    some = comparisons.take(np.arange(min(MOST_JUDGED, len(comparisons))))  # rows of an answer follow each other
    return effective_number(some, embedding, by=by) * len(comparisons) / len(some)


def one_standard_error_choice(sizes: Sequence[int], means: ArrayLike, standard_errors: ArrayLike) -> int:
    """The smallest size whose mean error is at most one standard error above the lowest mean (Breiman et al. 1984).

    Examples
    --------
    >>> one_standard_error_choice([1, 2, 3], [0.31, 0.12, 0.115], [0.01, 0.01, 0.015])
    2
    """
    mean = np.asarray(means, dtype=np.float64)
    best = int(mean.argmin())
    limit = mean[best] + np.asarray(standard_errors, dtype=np.float64)[best]
    return int(min(size for size, error in zip(sizes, mean, strict=True) if error <= limit))


class Alignment(NamedTuple):
    """One map laid over another."""

    aligned: NDArray[np.float64]
    distance: float  # 0: same shape; 1: nothing in common


def procrustes(embedding: ArrayLike, reference: ArrayLike, *, scaling: bool = True) -> Alignment:
    """Move, rotate, mirror and (unless ``scaling=False``) scale a map so that it fits a reference best.

    The distance is the squared difference that is left, relative to the reference's spread. Maps with fewer
    dimensions are padded with zeros.

    Examples
    --------
    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> turned = 3 * square[:, ::-1] + 5
    >>> bool(procrustes(turned, square).distance < 1e-12)
    True
    """
    x, target = matrix_of("embedding", embedding), matrix_of("reference", reference)
    if len(x) != len(target):
        raise ValueError(f"the maps have {len(x)} and {len(target)} objects; they must show the same ones")
    width = max(x.shape[1], target.shape[1])
    x, target = (np.pad(m, ((0, 0), (0, width - m.shape[1]))) for m in (x, target))
    centre = target.mean(axis=0)
    x, centred = x - x.mean(axis=0), target - centre
    spread = float(np.sum(centred**2))
    if spread == 0:
        raise ValueError("all objects of the reference are in one place; there is nothing to align with")
    left, singular, right = np.linalg.svd(x.T @ centred)
    size = float(np.sum(x**2))
    scale = float(singular.sum()) / size if scaling and size > 0 else 1.0
    aligned = scale * x @ (left @ right)
    return Alignment(aligned + centre, float(np.sum((aligned - centred) ** 2)) / spread)


class Retrieval(NamedTuple):
    """How well queries find their own class; each number is a mean over the queries."""

    mean_average_precision: float
    precision: NDArray[np.float64]  # precision[K - 1]: the share of the K nearest that are of the query's class
    recall: NDArray[np.float64]  # recall[K - 1]: the share of the query's class that is among the K nearest


def retrieval(queries: ArrayLike, query_labels: ArrayLike, gallery: ArrayLike, gallery_labels: ArrayLike) -> Retrieval:
    """Rank a gallery by its distance from each query, and measure how high objects of the query's class rank.

    The average precision of a query is the mean, over the objects of its class, of the precision at their rank.
    Objects at the same distance keep the gallery's order.

    Examples
    --------
    >>> found = retrieval([[0.0]], ["a"], [[1.0], [2.0], [3.0]], ["a", "b", "a"])
    >>> round(found.mean_average_precision, 4), found.precision.tolist()[:2], found.recall.tolist()
    (0.8333, [1.0, 0.5], [0.5, 0.5, 1.0])
    """
    x, y = matrix_of("queries", queries), matrix_of("gallery", gallery)
    wanted, found = np.asarray(query_labels), np.asarray(gallery_labels)
    for name, points, labels in (("query_labels", x, wanted), ("gallery_labels", y, found)):
        if labels.shape != (len(points),):
            raise ValueError(f"{name} have shape {labels.shape}; one label is needed for each of {len(points)} places")
    if x.shape[1] != y.shape[1]:
        raise ValueError(f"queries have {x.shape[1]} dimensions, the gallery {y.shape[1]}; they must agree")
    stray = ~np.isin(wanted, found)
    if stray.any():
        raise ValueError(f"class {wanted[stray][0]!r} of a query is not in the gallery; leave such queries out")
    squared = np.sum(x**2, axis=1)[:, None] - 2 * x @ y.T + np.sum(y**2, axis=1)
    order = np.argsort(squared, axis=1, kind="stable")
    hits = found[order] == wanted[:, None]
    found_so_far = np.cumsum(hits, axis=1)
    precision = found_so_far / np.arange(1, len(y) + 1)
    n_relevant = found_so_far[:, -1]
    average = np.sum(precision * hits, axis=1) / n_relevant
    recall = found_so_far / n_relevant[:, None]
    return Retrieval(float(average.mean()), precision.mean(axis=0), recall.mean(axis=0))


def _map_of(answers: Comparisons, embedding: ArrayLike) -> Array:
    x = matrix_of("embedding", embedding)
    if len(x) < answers.n_objects:
        raise ValueError(f"the map has {len(x)} objects, but the comparisons speak of {answers.n_objects}")
    return x
