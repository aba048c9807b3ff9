"""Cross-validation: how well maps of one kind or another predict answers that they have not seen."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan import metrics
from closerthan.comparisons import Comparisons
from closerthan.fit.embedding import embed
from closerthan.metrics import triplet_error

__all__ = ["Scores", "cross_validate", "folds", "one_standard_error_choice"]


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
        What is held out whole: "answers" tells how well new answers are foretold, "people" how well those of new
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
