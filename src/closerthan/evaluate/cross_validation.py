"""Cross-validation: how well maps of one kind or another predict answers that they have not seen."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan import metrics
from closerthan.comparisons import Comparisons
from closerthan.fit.embedding import embed
from closerthan.metrics import triplet_error
from closerthan.wording import percentage_points

__all__ = ["Gain", "Scores", "cross_validate", "folds", "gain", "one_standard_error_choice"]


class Scores(NamedTuple):
    """Errors on the parts that were held out, one a fold."""

    held_out: NDArray[np.float64]
    training: NDArray[np.float64]
    seconds: float  # in the solver, all folds together

    @property
    def mean(self) -> float:
        """The mean held-out error."""
        return float(self.held_out.mean())

    @property
    def standard_error(self) -> float:
        """Of the mean held-out error."""
        return float(self.held_out.std(ddof=1) / np.sqrt(len(self.held_out)))


class Gain(NamedTuple):
    """By how much one kind of map predicts better than another, on the same folds."""

    mean: float  # of the differences of held-out errors: positive if the second is better
    low: float  # of the 95 % interval
    high: float
    p_value: float  # of a test against no difference

    @property
    def is_sure(self) -> bool:
        """Whether the second is better beyond reasonable doubt."""
        return self.low > 0

    def __str__(self) -> str:
        points = [percentage_points(number) for number in (self.mean, self.low, self.high)]
        return f"{points[0]} percentage points (95 % interval {points[1]} to {points[2]}, p = {self.p_value:.2g})"


def gain(before: Scores, after: Scores) -> Gain:
    """Whether ``after`` predicts better than ``before``: the corrected resampled t-test of Nadeau and Bengio (2003).

    Both are measured on the same folds, so that their differences count. Training parts overlap, which a plain paired
    t-test does not know: the variance of the mean of J differences is taken as ``(1 / J + n_test / n_train)`` times
    that of one, and ``n_test / n_train`` is ``1 / (J - 1)`` in a cross-validation of J folds.

    Examples
    --------
    >>> errors = np.array([[0.30, 0.31, 0.29], [0.20, 0.22, 0.20]])
    >>> one, two = (Scores(row, row, 0.0) for row in errors)
    >>> gain(one, two).is_sure, gain(two, one).is_sure, gain(one, one).p_value
    (True, False, 1.0)
    """
    from scipy.stats import t

    n_folds = len(before.held_out)
    if n_folds != len(after.held_out) or n_folds < 2:
        raise ValueError(f"there are {n_folds} and {len(after.held_out)} folds; both need the same ones, at least 2")
    differences = before.held_out - after.held_out
    mean = float(differences.mean())
    error = float(differences.std(ddof=1) * np.sqrt(1 / n_folds + 1 / (n_folds - 1)))
    half = float(t.ppf(0.975, n_folds - 1)) * error
    if error == 0:
        return Gain(mean, mean, mean, 1.0 if mean == 0 else 0.0)
    return Gain(mean, mean - half, mean + half, float(2 * t.sf(abs(mean) / error, n_folds - 1)))


def folds(
    comparisons: Comparisons, n_folds: int, seed: int = 0, *, by: str = "answers"
) -> Iterator[tuple[Comparisons, Comparisons]]:
    """Pairs of a training and a held-out part; each comparison is held out once.

    Answers stay whole, and answers about the same objects stay together: if a question was asked several times, or if
    an answer made several comparisons, one would otherwise be held out while another tells the fit what it is.

    Parameters
    ----------
    comparisons
        What to cut into parts.
    n_folds
        How many parts there are.
    seed
        Decides which groups are held out together.
    by
        What is held out whole: "answers", "people" or (single) "comparisons"; see :meth:`Comparisons.groups`.

    Examples
    --------
    >>> answers = Comparisons.from_triplets([[0, 1, 2], [1, 0, 2], [0, 1, 3], [1, 2, 3]])
    >>> sorted(len(held_out) for _, held_out in folds(answers, 3))
    [1, 1, 2]
    """
    part = fold_of(comparisons.groups(by), n_folds, seed, by)
    for number in range(n_folds):
        held_out = part == number
        yield comparisons.take(~held_out), comparisons.take(held_out)


def fold_of(group: NDArray[Any], n_folds: int, seed: int, by: str) -> NDArray[np.int32]:
    """The fold in which each row is held out: whole groups, as many in one fold as in another.

    Examples
    --------
    >>> fold_of(np.array([0, 0, 1, 2]), 3, 0, "answers")
    array([2, 2, 0, 1], dtype=int32)
    """
    n_groups = int(group.max()) + 1
    if not 2 <= n_folds <= n_groups:
        what = {
            "answers": "groups of objects that were asked about together",
            "people": "people",
            "comparisons": "comparisons",
        }
        raise ValueError(
            f"{n_folds} folds are asked for; it takes at least 2, and at most one for each of the {n_groups:,} "
            f"{what[by]}"
        )
    fold = (np.random.default_rng(seed).permutation(n_groups) % n_folds).astype(np.int32)
    found: NDArray[np.int32] = fold[group]
    return found


def cross_validate(
    comparisons: Comparisons | ArrayLike,
    n_dims: int = 2,
    *,
    n_folds: int = 5,
    seed: int = 0,
    by: str = "answers",
    **settings: Any,
) -> Scores:
    """The error on held-out comparisons, over folds.

    Parameters
    ----------
    comparisons, n_dims
        As in :func:`closerthan.embed`.
    n_folds
        Into how many parts to cut the comparisons; each is held out once.
    seed
        The same seed gives the same folds: what is compared with it is compared on the same parts.
    by
        What is held out whole: "answers" tells how well new answers are predicted, "people" how well those of new
        people are.
    settings
        Of :func:`closerthan.embed`: loss, solver, validation and so on.

    Examples
    --------
    >>> import closerthan as ct
    >>> scores = ct.cross_validate(ct.datasets.eurodist().comparisons(), loss="soe")
    >>> scores.held_out.shape, bool(scores.mean < 0.1)
    ((5,), True)
    """
    answers = Comparisons.of(comparisons)
    held_out, training, seconds = [], [], 0.0
    for train, test in folds(answers, n_folds, seed, by=by):
        result = embed(train, n_dims, seed=seed, by=by, **settings)
        if result.stopped_by == "interrupted":
            raise KeyboardInterrupt
        held_out.append(triplet_error(test, result.embedding))
        training.append(result.best_record.train_error)
        seconds += float(result.history[-1].seconds)
    return Scores(np.array(held_out), np.array(training), seconds)


def one_standard_error_choice(sizes: Sequence[int], scores: Sequence[Scores]) -> int:
    """The smallest size whose mean error is at most one standard error above the lowest mean.

    Examples
    --------
    >>> def scores(*errors):
    ...     return Scores(np.array(errors), np.array(errors), 0.0)
    >>> one_standard_error_choice([1, 2, 3], [scores(0.3, 0.32), scores(0.11, 0.13), scores(0.1, 0.13)])
    2
    """
    return metrics.one_standard_error_choice(
        sizes, [score.mean for score in scores], [score.standard_error for score in scores]
    )
