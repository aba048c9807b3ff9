"""The rules that turn answers into comparisons.

============  ==================================================  ==============================================
kind          an answer                                           the implied comparisons
============  ==================================================  ==============================================
triplet       anchor is closer to near than to far                d(anchor, near) < d(anchor, far)
quadruplet    the near pair is closer than the far pair           d(near_1, near_2) < d(far_1, far_2)
odd-one-out   of a, b and o, o is the odd one                     d(a, b) < d(a, o) and d(b, a) < d(b, o); the same for
                                                                  all pairs a, b of more objects
most-central  of a, b and c, c is the most central                d(a, c) < d(a, b) and d(b, c) < d(b, a)
rank          r1, ..., rn are ordered from nearest to farthest    d(anchor, ra) < d(anchor, rb) for all a < b, and
              (of more objects, if these are listed)              d(anchor, ra) < d(anchor, other) for the others shown
nearest       of these n objects, these k are nearest to anchor   d(anchor, chosen) < d(anchor, not chosen): k(n - k)
============  ==================================================  ==============================================
"""

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from closerthan.comparisons import reversed_rows
from closerthan.files.formats.tables import MISSING, Column, Table
from closerthan.files.meaning.columns import Layout
from closerthan.messages import Message

EMPTY = -1  # code of an empty cell
MOST = 2**31 - 1  # maximum number of comparisons derived from one file
_FEW = 8  # columns up to which comparing all pairs is faster than sorting
_NO_ANSWER = MISSING | {"None"}  # Python, and therefore PsychoPy, writes None
_TIES = frozenset({"tie", "tied", "same", "equal", "both", "neither", "none"})
_LABELS = {"1": 1, "+1": 1, "true": 1, "0": 0, "-1": -1, "false": -1}

Codes = NDArray[np.int32]
Mask = NDArray[np.bool_]


@dataclasses.dataclass(frozen=True)
class Objects:
    """The objects in several columns: an (m, w) array of codes that index labels; an empty cell is -1."""

    codes: Codes
    labels: list[str]

    @classmethod
    def of_columns(cls, columns: Sequence[Column], names: Sequence[str] = ()) -> "Objects":
        """Combine columns that may have separate labels; a label among ``names`` never means an empty cell.

        Examples
        --------
        >>> both = Objects.of_columns([Column.of_cells(["ant", "NA"]), Column.of_cells(["bee", "ant"])])
        >>> both.codes.tolist(), both.labels
        ([[0, 1], [-1, 0]], ['ant', 'bee'])
        """
        empty = MISSING - set(names)
        labels = columns[0].labels
        if all(column.labels is labels for column in columns) and not empty.intersection(labels):
            return cls(np.stack([column.codes for column in columns], axis=1), labels)
        code_of: dict[str, int] = {}
        codes = np.empty((len(columns[0].codes), len(columns)), dtype=np.int32)
        new_codes = np.empty(0, dtype=np.int32)
        for place, column in enumerate(columns):
            if place == 0 or column.labels is not columns[place - 1].labels:
                new_codes = np.array(
                    [EMPTY if name in empty else code_of.setdefault(name, len(code_of)) for name in column.labels],
                    dtype=np.int32,
                )
            codes[:, place] = new_codes[column.codes]
        return cls(codes, list(code_of))


class DerivedRows(NamedTuple):
    """Comparisons as rows of label codes, and the row of the table that each is derived from."""

    rows: Codes
    source: NDArray[np.intp]


class Problem(NamedTuple):
    """Unusable rows: a mask, the option that drops them, and a function that describes the problem in a row."""

    rows: Mask
    option: str
    message: Callable[[int], str]


class Interpretation:
    """The rows of a table, interpreted as answers to one kind of question.

    The constructor collects ``problems``; :meth:`comparisons` must be called only for rows without problems.
    """

    def __init__(self, table: Table, layout: Layout, names: Sequence[str] = ()) -> None:
        self.table, self.layout = table, layout
        self.kind = layout.form.kind
        self.notes: list[str] = []
        self.problems: list[Problem] = []
        self._objects = Objects.of_columns([table.column(position) for position in layout.objects], names)
        self._place = {position: place for place, position in enumerate(layout.objects)}
        self.labels = self._objects.labels
        self._prepare()

    def _of(self, *roles: str) -> Codes:
        """Return the codes in the columns with the given roles."""
        places = [self._place[position] for role in roles for position in self.layout.columns[role]]
        codes: Codes = (
            self._objects.codes if places == list(range(len(self._place))) else self._objects.codes[:, places]
        )
        return codes

    def _title(self, role: str, which: int = 0) -> str:
        return self.table.title(self.layout.columns[role][which])

    @property
    def has_unnamed_pairs(self) -> bool:
        """True if four columns without names are taken to be two pairs of objects."""
        return self.kind == "quadruplet" and set(self.table.names) == {None}

    @property
    def options(self) -> Codes | None:
        """The objects from which people chose, in the order of presentation; None if the file does not reveal it.

        It does not if the order of the columns gives the answer, as in a list whose last object is the odd one.
        """
        roles = self.layout.form.roles
        if "winner" in roles or (roles[0] == "items" and len(roles) > 1):
            return self._items[:, 1:] if self.kind == "triplet" and "items" in roles else self._items
        return self._of("shown") if "shown" in roles else None

    # ---- finding problems ----

    def _prepare(self) -> None:
        form = self.layout.form
        if "winner" in form.roles:
            self._items, self._anchor = self._of("left", "right"), self._of("anchor")[:, 0]
            self._require_cells(self._of("anchor", "left", "right"))
            self._picked = self._pick("winner")
            self._require_distinct(np.column_stack([self._anchor, self._items]))
        elif form.kind in ("triplet", "quadruplet") and "items" not in form.roles:
            pairs = self._of(*form.roles)
            self._require_cells(pairs)
            self._require_distinct(pairs, quadruplets=form.kind == "quadruplet")
            self._rows, self._sign = pairs, self._signs()
        elif form.kind == "rank":
            self._anchor, self._items = self._of("anchor")[:, 0], self._of("ranking")
            self._n_ranked = self._items.shape[1]
            is_partial = "shown" in form.roles
            self._require_lists(self._items, "ranking", at_least=1 if is_partial else 2, anchor=self._anchor)
            if is_partial:
                self._items = np.column_stack([self._items, self._unranked()])
            self._require_distinct(np.column_stack([self._anchor, self._items]))
        elif form.kind == "nearest":
            self._anchor, self._items = self._of("anchor")[:, 0], self._of("shown")
            self._require_lists(self._items, "shown", at_least=2, anchor=self._anchor)
            self._chosen = self._choices()
            self._require_distinct(np.column_stack([self._anchor, self._items]))
        else:
            self._items = self._of("items")
            if self._items.shape[1] == 3:
                self._require_cells(self._items)
            else:
                self._require_lists(self._items, "items", at_least=3)
            self._require_distinct(self._items)
            role = next((role for role in ("odd", "central", "selected") if role in form.roles), None)
            # Without a column that names the odd one, it is the last of the items.
            last = np.maximum((self._items != EMPTY).sum(axis=1), 1) - 1
            self._picked = last if role is None else self._pick(role)
            if role is None:
                self.notes.append("no column names the odd one; the last item of each row is taken to be the odd one")
            if form.kind == "triplet":
                self.notes.append("the first item is the anchor, and the selected one of the others is near")
                self._add(
                    self._picked == 0, "self_pairs", lambda _: "the selected item is the first one, which is the anchor"
                )

    def _unranked(self) -> Codes:
        """Return the objects that are shown and not ranked; other cells are empty."""
        options, ranked = self._of("shown"), self._items
        self._require_lists(options, "shown", at_least=2, anchor=self._anchor)
        is_ranked = (options[:, :, np.newaxis] == ranked[:, np.newaxis]).any(axis=2)
        is_shown = (options[:, :, np.newaxis] == ranked[:, np.newaxis]).any(axis=1) | (ranked == EMPTY)
        if not is_shown.all():
            row = int(np.argmin(is_shown.all(axis=1)))
            name = self.labels[ranked[row, int(np.argmin(is_shown[row]))]]
            raise self.table.error(row, f"{name!r} is ranked, but it is not among the objects shown")
        return np.where(is_ranked, EMPTY, options).astype(np.int32)

    def _add(self, rows: Mask, option: str, message: Callable[[int], str]) -> None:
        if rows.any():
            self.problems.append(Problem(rows, option, message))

    def _require_cells(self, codes: Codes) -> None:
        """Report empty cells."""
        self._add((codes == EMPTY).any(axis=1), "missing", lambda _: "a cell is empty where an object is expected")

    def _require_distinct(self, codes: Codes, quadruplets: bool = False) -> None:
        """Report objects that are compared with themselves."""
        columns = codes.T
        if quadruplets:
            i, j, l, k = columns  # noqa: E741
            same = (i == j) | (l == k) | ((i == l) & (j == k)) | ((i == k) & (j == l))
            same &= (codes != EMPTY).all(axis=1)
        else:
            same = np.zeros(len(codes), dtype=bool)
            if len(columns) > _FEW:
                columns = np.sort(codes, axis=1).T
            for place, column in enumerate(columns):
                for other in columns[place + 1 : place + 2 if len(columns) > _FEW else None]:
                    same |= (column == other) & (column != EMPTY)

        def message(row: int) -> str:
            names = [self.labels[code] for code in codes[row] if code != EMPTY]
            repeated, _ = Counter(names).most_common(1)[0]
            return f"object {repeated!r} is compared with itself"

        self._add(same, "self_pairs", message)

    def _signs(self) -> NDArray[np.int8] | None:
        """Return 1 for rows as written and -1 for reversed rows, from the column of labels; None if there is none."""
        if "label" not in self.layout.columns:
            return None
        column = self.table.column(self.layout.columns["label"][0])
        signs = np.array([_LABELS.get(name.lower().removesuffix(".0"), 9) for name in column.labels], dtype=np.int8)
        empty = np.array([name in MISSING for name in column.labels])
        self._add(empty[column.codes], "missing", lambda _: f"the label in {self._title('label')} is empty")
        signs[empty] = 1
        if 9 in signs:
            row = int(np.argmax(signs[column.codes] == 9))
            name = column.labels[column.codes[row]]
            raise self.table.error(
                row, f"the label in {self._title('label')} is {name!r}; expected 1, -1, true or false (0: a tie)"
            )
        sign_of_row: NDArray[np.int8] = signs[column.codes]
        zero = 'the label is 0, a tie (if 0 means "reversed", write -1 or false)'
        self._add(sign_of_row == 0, "ties", lambda _: zero)
        return sign_of_row

    def _require_lists(self, codes: Codes, role: str, at_least: int, anchor: Codes | None = None) -> None:
        """Report lists with gaps or with too few objects; empty cells at the end are allowed."""
        empty = codes == EMPTY
        gaps = (empty[:, :-1] & ~empty[:, 1:]).any(axis=1)
        if anchor is not None:
            gaps |= anchor == EMPTY
        self._add(gaps, "missing", lambda _: "a cell is empty where an object is expected")
        short = ((~empty).sum(axis=1) < at_least) & ~gaps
        self._add(short, "missing", lambda _: f"there are fewer than {at_least} objects in {role!r}")

    # ---- finding the chosen item ----

    def _pick(self, role: str, which: int = 0, optional: bool = False) -> NDArray[np.intp]:
        """Return the position of the chosen item among the items of each row; -1 if there is none."""
        position = self.layout.columns[role][which]
        column = self.table.column(position)
        code_of = {name: code for code, name in enumerate(self.labels)}
        empty = np.array([name in _NO_ANSWER and name not in code_of for name in column.labels])
        tied = np.array([name.lower() in _TIES and name not in code_of for name in column.labels]) & ~empty
        if not optional:
            self._add(empty[column.codes], "missing", lambda _: f"the answer in {self._title(role, which)} is empty")
        self._add(tied[column.codes], "ties", lambda _: f"the answer in {self._title(role, which)} is a tie")
        usable = ~(empty | tied)[column.codes]
        for problem in self.problems:
            usable &= ~problem.rows

        as_object = np.array([code_of.get(name, EMPTY) for name in column.labels], dtype=np.int32)[column.codes]
        hits = (self._items == as_object[:, None]) & (as_object != EMPTY)[:, None]
        if not (hits.any(axis=1) | ~usable).all():
            places, meaning = self._places(column, empty | tied)
            if places is None:
                raise self._invalid_choice(int(np.argmax(usable & ~hits.any(axis=1))), role, which)
            self.notes.append(f"the answers in {self._title(role, which)} are {meaning}")
            picked = places[column.codes]
            is_empty = usable & (np.take_along_axis(self._items, picked[:, None], axis=1)[:, 0] == EMPTY)
            if is_empty.any():
                raise self._invalid_choice(int(np.argmax(is_empty)), role, which)
            return picked
        picked = np.where(hits.any(axis=1), hits.argmax(axis=1), -1)
        places, meaning = self._places(column, empty | tied)
        if places is not None and (places[column.codes] != picked)[usable].any():
            self.notes.append(
                f"the answers in {self._title(role, which)} are taken to be objects, but they could also be {meaning}"
            )
        return picked

    def _invalid_choice(self, row: int, role: str, which: int) -> ValueError:
        options = ", ".join(repr(self.labels[item]) for item in self._items[row] if item != EMPTY)
        if "left" in self.layout.columns:
            options += ", left or right"
        place = self.layout.columns[role][which]
        column = self.table.column(place)
        answer = column.labels[column.codes[row]]
        problem = f"the answer in {self._title(role, which)} is {answer!r}; expected {options}"
        if self.table.names[place] is None and len(self.layout.columns) == 2:
            way_out = "if that column is not the answer but the person, pass {columns}"
            problem = Message(problem, way_out, columns={"participant": place})
        return self.table.error(row, problem)

    def _places(self, column: Column, ignored: Mask) -> tuple[NDArray[np.intp] | None, str]:
        """Interpret the labels of a choice as column names or positions, and describe which; None if neither fits."""
        role = "left" if "left" in self.layout.columns else "shown" if "shown" in self.layout.columns else "items"
        positions = self.layout.columns["left"] + self.layout.columns["right"] if role == "left" else ()
        positions = positions or self.layout.columns[role]
        width = len(positions)
        titles = {(self.table.names[position] or "").lower(): place for place, position in enumerate(positions)}
        if role == "left":
            titles |= {"left": 0, "right": 1, "arrowleft": 0, "arrowright": 1}
        words = [name.lower() for name, ignore in zip(column.labels, ignored, strict=True) if not ignore]
        counts = [str(count) for count in range(width + 1)]
        if all(word in titles for word in words):
            meaning, place_of = "column names", titles
        elif all(word in counts[:-1] for word in words) and "0" in words:
            meaning, place_of = "positions counted from 0", {count: place for place, count in enumerate(counts[:-1])}
        elif all(word in counts[1:] for word in words) and self._reaches_last_item(column):
            meaning, place_of = "positions counted from 1", {count: place for place, count in enumerate(counts[1:])}
        else:
            return None, ""
        places = [place_of.get(name.lower(), -1) for name in column.labels]
        return np.array(places, dtype=np.intp), meaning

    def _reaches_last_item(self, column: Column) -> bool:
        """Return whether a choice equals the number of items in its row, which a position from 0 never does."""
        number = np.array([int(name) if name.isdecimal() else -1 for name in column.labels])[column.codes]
        return bool((number == (self._items != EMPTY).sum(axis=1)).any())

    def _choices(self) -> Mask:
        """Return an (m, n) mask of the chosen objects among those shown."""
        columns = self.layout.columns["chosen"]
        picks = np.stack([self._pick("chosen", which, optional=which > 0) for which in range(len(columns))], axis=1)
        chosen = np.zeros(self._items.shape, dtype=bool)
        rows, places = np.nonzero(picks >= 0)
        chosen[rows, picks[rows, places]] = True
        repeated = (picks >= 0).sum(axis=1) > chosen.sum(axis=1)
        self._add(repeated, "self_pairs", lambda _: "an object is chosen twice")
        all_chosen = chosen.sum(axis=1) == (self._items != EMPTY).sum(axis=1)
        self._add(all_chosen & ~repeated, "ties", lambda _: "all objects are chosen, so none is nearer than another")
        return chosen

    # ---- deriving comparisons ----

    def comparisons(self, keep: Mask | None) -> DerivedRows:
        """Return the comparisons implied by the rows in ``keep`` (None for all)."""
        selected: Any = slice(None) if keep is None else keep
        source = np.arange(self.table.n_rows)[selected]
        if self.kind == "rank":
            return self._pairs_of(selected, source, ranked=True)
        if self.kind == "nearest":
            return self._pairs_of(selected, source, ranked=False)
        if self.kind in ("triplet", "quadruplet") and "items" not in self.layout.form.roles:
            if "winner" in self.layout.form.roles:
                near, far = _split(self._items[selected], self._picked[selected])
                return DerivedRows(np.column_stack([self._anchor[selected], near, far]), source)
            rows = self._rows[selected]
            if self._sign is not None:
                rows = np.where((self._sign[selected] < 0)[:, None], reversed_rows(rows), rows)
            return DerivedRows(rows, source)
        if self._items.shape[1] > 3:
            return self._odd_of_many(selected, source)
        chosen = self._picked[selected]
        picked, first, second = _three(self._items[selected], np.where(chosen < 0, 1, chosen))  # -1 is a tie
        if self.kind == "triplet":
            anchor = self._items[selected][:, 0]
            other = np.where(first == anchor, second, first)
            return DerivedRows(np.column_stack([anchor, picked, other]), source)
        if self.kind == "odd-one-out":
            pair = [(first, second, picked), (second, first, picked)]
        else:
            pair = [(first, picked, second), (second, picked, first)]
        rows = np.stack([np.column_stack(columns) for columns in pair], axis=1).reshape(-1, 3)
        return DerivedRows(rows.astype(np.int32, copy=False), np.repeat(source, 2))

    def _odd_of_many(self, selected: Any, source: NDArray[np.intp]) -> DerivedRows:
        """Return d(a, b) < d(a, o) for all ordered pairs (a, b) of items other than the odd one o."""
        items, picked = self._items[selected], self._picked[selected]
        others = items != EMPTY
        others[np.arange(len(items)), picked] = False
        n_others = others.sum(axis=1)
        self._check_total(int((n_others * (n_others - 1)).sum()))
        odd = items[np.arange(len(items)), picked]
        parts, places = [], []
        for first in range(items.shape[1]):
            paired = others & others[:, first, None]
            paired[:, first] = False
            rows, second = np.nonzero(paired)
            parts.append(np.column_stack([items[rows, first], items[rows, second], odd[rows]]))
            places.append(rows)
        return _in_order(parts, places, source)

    def _check_total(self, total: int) -> None:
        if total > MOST:
            raise ValueError(
                f"{self.table.path}: these answers imply {total:,} comparisons, more than fit in memory; "
                "use fewer answers or shorter lists"
            )

    def _pairs_of(self, selected: Any, source: NDArray[np.intp], ranked: bool) -> DerivedRows:
        """Return d(anchor, near) < d(anchor, far) for all pairs of a higher- and a lower-ranked (or unchosen) item."""
        items, anchor = self._items[selected], self._anchor[selected]
        present = items != EMPTY
        chosen = self._chosen[selected] & present if not ranked else present.copy()
        if ranked:
            chosen[:, self._n_ranked :] = False
        n_near, n_items = chosen.sum(axis=1), present.sum(axis=1)
        n_pairs = n_near * (n_items - n_near) + (n_near * (n_near - 1) // 2 if ranked else 0)
        self._check_total(int(n_pairs.sum()))
        parts, places = [], []
        for near in range(items.shape[1]):
            after = slice(near + 1, None) if ranked else slice(None)
            fars = present[:, after] if ranked else present & ~chosen
            rows, fars = np.nonzero(fars & chosen[:, near, None])
            parts.append(np.column_stack([anchor[rows], items[rows, near], items[:, after][rows, fars]]))
            places.append(rows)
        return _in_order(parts, places, source)


def _in_order(parts: list[Codes], places: list[NDArray[np.intp]], source: NDArray[np.intp]) -> DerivedRows:
    """Concatenate parts in the order of rows; ``places`` are the rows that the parts come from."""
    place = np.concatenate(places)
    order = np.argsort(place, kind="stable")
    return DerivedRows(np.concatenate(parts)[order], source[place[order]])


def _split(pair: Codes, picked: NDArray[np.intp]) -> tuple[Codes, Codes]:
    near, far = np.where((picked == 0)[:, None], pair, pair[:, ::-1]).T
    return near, far


def _three(items: Codes, picked: NDArray[np.intp]) -> tuple[Codes, Codes, Codes]:
    """Return the chosen item of each row, and the two others in their order."""
    a, b, c = items.T
    return (
        np.choose(picked, [a, b, c]),
        np.choose(picked, [b, a, a]),
        np.choose(picked, [c, c, b]),
    )


RULES: Mapping[str, str] = {
    "triplet": "anchor is closer to near than to far: d(anchor, near) < d(anchor, far)",
    "quadruplet": "the near pair is closer than the far pair: d(near_1, near_2) < d(far_1, far_2)",
    "odd-one-out": "of a, b and o, o is the odd one: d(a, b) < d(a, o) and d(b, a) < d(b, o)",
    "most-central": "of a, b and c, c is the most central: d(a, c) < d(a, b) and d(b, c) < d(b, a)",
    "rank": "r1, ..., rn are ordered from nearest to farthest from anchor: d(anchor, ra) < d(anchor, rb) for all a < b"
    " (and for all b that are shown but not ranked)",
    "nearest": "these k of n are nearest to anchor: d(anchor, chosen) < d(anchor, not chosen), k(n - k) of them",
}
