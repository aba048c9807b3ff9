"""Draw the groups of comparisons that a split holds out."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["draw_groups", "number_of_units"]


def number_of_units(share: float, total: int, by: str) -> int:
    """Return ``share`` of ``total`` units as a whole number; raise an error if either part would be empty.

    Examples
    --------
    >>> number_of_units(0.25, 8, "people")
    2
    """
    number = round(share * total) if 0 < share < 1 else 0
    if not 0 < number < total:
        raise ValueError(f"a share of {share} of {total} {by} leaves one part empty; choose another share")
    return number


def draw_groups(sizes: NDArray[np.int64], number: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw random groups whose sizes add up to about ``number``; return a mask of the groups.

    Examples
    --------
    >>> draw_groups(np.array([1, 1, 1, 1]), 2, np.random.default_rng(0)).sum()
    np.int64(2)
    """
    order = rng.permutation(len(sizes))
    # A group larger than the target (a question that everybody was asked) is drawn only if there is no other.
    is_large = sizes > number
    if is_large.any():
        order = order[np.argsort(np.where(is_large, sizes, 0)[order], kind="stable")]
    total = np.cumsum(sizes[order])
    last = int(np.searchsorted(total, number))
    if last and total[last] - number > number - total[last - 1]:
        last -= 1
    is_drawn = np.zeros(len(sizes), dtype=bool)
    is_drawn[order[: min(last + 1, len(sizes) - 1)]] = True
    return is_drawn
