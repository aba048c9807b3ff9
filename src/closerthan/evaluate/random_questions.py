"""Random questions among others: the error on these estimates the error on arbitrary questions.

In an adaptive study, most questions were chosen because their answers were hard to predict, and a map is wrong about
them more often than about others. Where it is known which questions were drawn at random, only these are scored.
"""

import numpy as np
from numpy.typing import NDArray

from closerthan.comparisons import Comparisons

__all__ = ["ONLY_RANDOM", "random_among_others", "random_part"]

ONLY_RANDOM = "all from random questions"


def random_among_others(comparisons: Comparisons) -> NDArray[np.bool_] | None:
    """Return a mask of the random questions; None if that is unknown, or if all or none of them are random."""
    random = comparisons.random
    return None if random is None or random.all() or not random.any() else random


def random_part(comparisons: Comparisons) -> Comparisons:
    """Return the comparisons of random questions, or all where :func:`random_among_others` returns None.

    Examples
    --------
    >>> from closerthan.comparisons import Trials
    >>> rows = [[0, 1, 2], [1, 0, 2], [2, 1, 0]]
    >>> chosen_and_random = Comparisons.from_triplets(rows, trials=Trials(random=np.array([True, False, True])))
    >>> len(random_part(chosen_and_random)), len(random_part(Comparisons.from_triplets(rows)))
    (2, 3)
    """
    random = random_among_others(comparisons)
    return comparisons if random is None else comparisons.take(random)
