"""Palette: which object gets which colour (and shape), from a column of labels or numbers."""

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["COLOURS", "GREY", "RAMP", "Palette", "palette_of"]

# Okabe and Ito's colours, which people with any kind of colour vision can tell apart; without yellow, faint on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
GREY = "#8a8a8a"
RAMP = "cividis"  # of numbers, by matplotlib's name; also for people with any kind of colour vision
N_SHAPES = 5
MOST_CATEGORIES = len(COLOURS) * N_SHAPES - 1


class Palette(NamedTuple):
    """Categories (with ``codes``) or numbers (without)."""

    values: NDArray[Any]  # numbers: NaN where there is none; categories: the code of each object
    categories: tuple[str, ...] | None  # the most frequent first; None for numbers

    def counts(self) -> list[int]:
        """How many objects each category has."""
        assert self.categories is not None
        return [int(count) for count in np.bincount(self.values, minlength=len(self.categories))]

    def colour(self, code: int) -> str:
        """Of a category."""
        assert self.categories is not None
        return GREY if self.categories[code] == "(none)" else COLOURS[code % len(COLOURS)]

    def shown(self) -> list[Any]:
        """The colour of each object."""
        if self.categories is not None:
            return [self.colour(code) for code in self.values.tolist()]
        from matplotlib import colormaps

        low, high = np.nanmin(self.values), np.nanmax(self.values)
        share = (self.values - low) / (high - low)
        return [GREY if np.isnan(one) else colormaps[RAMP](one) for one in share]


def palette_of(labels: Any, n_objects: int) -> Palette:
    """Numbers with more than ten different values stay numbers; everything else is a category.

    Missing labels (None, NaN, "") form the category "(none)". With very many categories, the rarest ones share one.

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
            f"there are {len(column)} labels for {n_objects} objects; pass one per object, None where unknown"
        )
    missing = [_is_missing(label) for label in column]
    present = [label for label, gone in zip(column, missing, strict=True) if not gone]
    if present and all(_is_number(label) for label in present) and len(set(present)) > 10:
        numbers = [np.nan if gone else float(label) for label, gone in zip(column, missing, strict=True)]
        return Palette(np.array(numbers), None)
    texts = ["(none)" if gone else str(label) for label, gone in zip(column, missing, strict=True)]
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
