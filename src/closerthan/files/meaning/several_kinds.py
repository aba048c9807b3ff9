"""Tables whose rows are answers to several kinds of questions, each in columns of its own.

A row belongs to the kind whose columns are filled: ``anchor``, ``left``, ``right`` and ``winner`` in one row,
``item_1``, ``item_2``, ``item_3`` and ``odd`` in the next.
"""

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from closerthan.files.formats.tables import Table
from closerthan.files.meaning.attributes.conditions import SelectedRows
from closerthan.files.meaning.columns import Form, Layout, ambiguous_kinds
from closerthan.files.meaning.interpretation import EMPTY, Codes, DerivedRows, Interpretation, Mask, Problem
from closerthan.wording import listed

__all__ = ["SeveralKinds", "all_cells_filled", "combined_layout", "interpret"]

_FEWEST = {"items": 3, "shown": 2, "ranking": 1, "chosen": 1}  # cells of a list that must be filled


def interpret(table: Table, layouts: Sequence[Layout], names: Sequence[str] = ()) -> Interpretation:
    """Return the answers in the rows of a table that has columns for one kind of question or for several."""
    parts = _rows_of_layouts(table, layouts) if len(layouts) > 1 else []
    if len(parts) > 1:
        return SeveralKinds(table, parts, names)
    return Interpretation(table, parts[0].layout if parts else layouts[0], names)


def all_cells_filled(table: Table, layout: Layout) -> Mask:
    """Return whether each row has the cells that an answer of this form needs."""
    filled = np.ones(table.n_rows, dtype=bool)
    for place in _needed(layout):
        filled &= ~table.column(place).is_empty()
    return filled


def _needed(layout: Layout) -> list[int]:
    """Return the columns that must not be empty; the cells at the end of a list may be."""
    return [place for role in layout.form.roles for place in layout.columns[role][: _FEWEST.get(role, 1)]]


class _Part(NamedTuple):
    """Rows of a table that are answers in the same form."""

    layout: Layout
    rows: NDArray[np.intp]


def _rows_of_layouts(table: Table, layouts: Sequence[Layout]) -> list[_Part]:
    """Divide the rows among the layouts; a row without a complete answer belongs to the one with most of its cells."""
    filled = np.stack([all_cells_filled(table, layout) for layout in layouts], axis=1)
    n_cells = np.stack(
        [sum(~table.column(place).is_empty() for place in _needed(layout)) for layout in layouts], axis=1
    )
    owner = np.where(filled.any(axis=1), np.where(filled, n_cells, -1).argmax(axis=1), n_cells.argmax(axis=1))
    for first, second in itertools.combinations(range(len(layouts)), 2):
        one, other = layouts[first], layouts[second]
        nested = one.used <= other.used or other.used <= one.used
        if not nested and (filled[:, first] & filled[:, second]).any():
            raise ambiguous_kinds(table, {one.form.kind, other.form.kind})
    return [_Part(layouts[number], np.flatnonzero(owner == number)) for number in np.unique(owner).tolist()]


def combined_layout(layouts: Sequence[Layout]) -> Layout:
    """Return a layout with the columns of several.

    Examples
    --------
    >>> closer = Layout(Form("triplet", ("anchor", "left", "right", "winner")),
    ...     {"anchor": (0,), "left": (1,), "right": (2,), "winner": (3,), "participant": (9,)})
    >>> odd = Layout(Form("odd-one-out", ("items", "odd")), {"items": (4, 5, 6), "odd": (7,), "participant": (9,)})
    >>> both = combined_layout([closer, odd])
    >>> both.form.kind, both.objects
    ('triplet and odd-one-out', (0, 1, 2, 4, 5, 6))
    """
    columns: dict[str, tuple[int, ...]] = {}
    for layout in layouts:
        for role, places in layout.columns.items():
            columns[role] = tuple(dict.fromkeys((*columns.get(role, ()), *places)))
    if len(columns.get("side", ())) > 1:  # left, right and winner of one kind, not an attribute of all answers
        del columns["side"]
    kinds = dict.fromkeys(layout.form.kind for layout in layouts)
    roles = dict.fromkeys(role for layout in layouts for role in layout.form.roles)
    return Layout(Form(listed(list(kinds)), tuple(roles)), columns)


class SeveralKinds(Interpretation):
    """The rows of a table, each interpreted as an answer to the kind of question whose columns it fills."""

    def __init__(self, table: Table, parts: Sequence[_Part], names: Sequence[str] = ()) -> None:
        self.table, self.layout = table, combined_layout([part.layout for part in parts])
        self.kind = self.layout.form.kind
        self._rows_of_parts = [part.rows for part in parts]
        self._parts = [Interpretation(SelectedRows(table, rows), layout, names) for layout, rows in parts]
        counts = Counter({part.kind: 0 for part in self._parts})
        for part in self._parts:
            counts[part.kind] += part.table.n_rows
        of_each = ", ".join(f"{number:,} {kind}" for kind, number in counts.items())
        self.notes = [f"the rows are answers to several kinds of questions: {of_each}"]
        self.notes += [note for part in self._parts for note in part.notes]
        code_of: dict[str, int] = {}
        self._new_codes = [
            np.array([code_of.setdefault(name, len(code_of)) for name in part.labels] + [EMPTY], dtype=np.int32)
            for part in self._parts
        ]
        self.labels = list(code_of)
        self.problems = [
            self._problem(problem, rows)
            for part, rows in zip(self._parts, self._rows_of_parts, strict=True)
            for problem in part.problems
        ]

    def _problem(self, problem: Problem, rows: NDArray[np.intp]) -> Problem:
        is_problem = np.zeros(self.table.n_rows, dtype=bool)
        is_problem[rows[problem.rows]] = True
        return Problem(is_problem, problem.option, lambda row: problem.message(int(np.searchsorted(rows, row))))

    @property
    def has_unnamed_pairs(self) -> bool:
        """False, since the columns have names."""
        return False

    @property
    def options(self) -> Codes | None:
        """The objects from which people chose, in the order of presentation; empty cells where it is unknown."""
        options_of_parts = [part.options for part in self._parts]
        widths = [options.shape[1] for options in options_of_parts if options is not None]
        if not widths or "quadruplet" in self._kinds:
            return None
        combined = np.full((self.table.n_rows, max(widths)), EMPTY, dtype=np.int32)
        for options, rows, new_codes in zip(options_of_parts, self._rows_of_parts, self._new_codes, strict=True):
            if options is not None:
                combined[rows[:, None], np.arange(options.shape[1])] = new_codes[options]
        return combined

    @property
    def _kinds(self) -> set[str]:
        return {part.kind for part in self._parts}

    def comparisons(self, keep: Mask | None) -> DerivedRows:
        """Return the comparisons implied by the rows in ``keep``, or by all rows if it is None."""
        codes, sources = [], []
        for part, rows, new_codes in zip(self._parts, self._rows_of_parts, self._new_codes, strict=True):
            inside = None if keep is None else keep[rows]
            if inside is not None and not inside.any():
                continue
            derived = part.comparisons(inside)
            triplets = "quadruplet" in self._kinds and derived.rows.shape[1] == 3
            codes.append(new_codes[derived.rows[:, [0, 1, 0, 2]] if triplets else derived.rows])
            sources.append(rows[derived.source])
        if not codes:
            width = 4 if "quadruplet" in self._kinds else 3
            return DerivedRows(np.empty((0, width), dtype=np.int32), np.empty(0, dtype=np.intp))
        source = np.concatenate(sources)
        order = np.argsort(source, kind="stable")
        return DerivedRows(np.concatenate(codes)[order], source[order])
