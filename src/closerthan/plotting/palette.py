"""Palette: colours of the objects, from a column of labels or numbers."""

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["COLOURS", "GREY", "RAMP", "Palette", "palette_of"]

# The colours of Okabe and Ito, which are safe for colour-blind readers; without yellow, which is faint on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
GREY = "#8a8a8a"
RAMP = "cividis"  # matplotlib's name for the colour map of numbers, which is safe for colour-blind readers
N_SHAPES = 5
MOST_CATEGORIES = len(COLOURS) * N_SHAPES - 1


class Palette(NamedTuple):
    """A column of categories or of numbers, from which each object takes its colour."""

    values: NDArray[Any]  # the number of each object (NaN where it is missing), or the code of its category
    categories: tuple[str, ...] | None  # the most frequent first; None if the values are numbers

    def colour(self, code: int) -> str:
        """Return the colour of a category."""
        assert self.categories is not None
        return GREY if self.categories[code] == "(none)" else COLOURS[code % len(COLOURS)]

    def colours(self) -> list[Any]:
        """Return the colour of each object."""
        if self.categories is not None:
            return [self.colour(code) for code in self.values.tolist()]
        from matplotlib import colormaps

        low, high = np.nanmin(self.values), np.nanmax(self.values)
        fractions = (self.values - low) / (high - low)
        return [GREY if np.isnan(fraction) else colormaps[RAMP](fraction) for fraction in fractions]


def palette_of(labels: Any, n_objects: int) -> Palette:
    """Return the palette of a column with one label per object.

    Numbers with more than ten distinct values stay numbers; all other labels are categories. Missing labels (None,
    NaN, "") form the category "(none)". If there are very many categories, the rarest are combined into one.

    Examples
    --------
    >>> palette_of(["fish", "bird", "bird", None], 4).categories
    ('bird', 'fish', '(none)')
    >>> palette_of(np.linspace(0, 1, 20), 20).categories is None
    True
    """
    column = list(labels)
    if len(column) != n_objects:
        raise ValueError(
            f"there are {len(column)} labels for {n_objects} objects; pass one per object, None where it is missing"
        )
    missing = [_is_missing(label) for label in column]
    present = [label for label, is_missing in zip(column, missing, strict=True) if not is_missing]
    if present and all(_is_number(label) for label in present) and len(set(present)) > 10:
        numbers = [np.nan if is_missing else float(label) for label, is_missing in zip(column, missing, strict=True)]
        return Palette(np.array(numbers), None)
    texts = ["(none)" if is_missing else str(label) for label, is_missing in zip(column, missing, strict=True)]
    counts = Counter(text for text in texts if text != "(none)")
    categories = sorted(counts, key=lambda text: (-counts[text], text))
    if len(categories) > MOST_CATEGORIES:
        rare = set(categories[MOST_CATEGORIES - 1 :])
        other = f"({len(rare)} others)"
        texts = [other if text in rare else text for text in texts]
        categories = [*categories[: MOST_CATEGORIES - 1], other]
    if any(missing):
        categories.append("(none)")
    code = {category: position for position, category in enumerate(categories)}
    return Palette(np.array([code[text] for text in texts], dtype=np.int64), tuple(categories))


def _is_missing(label: Any) -> bool:
    return label is None or label == "" or (_is_number(label) and not np.isfinite(label))


def _is_number(label: Any) -> bool:
    return isinstance(label, int | float | np.integer | np.floating) and not isinstance(label, bool | np.bool_)
