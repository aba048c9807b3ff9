"""Questions: the rules that turn an answer into comparisons.

============  ==================================================  ==============================================
kind          an answer                                           the comparisons that follow
============  ==================================================  ==============================================
triplet       anchor is closer to near than to far                d(anchor, near) < d(anchor, far)
quadruplet    the near pair is closer than the far pair           d(near_1, near_2) < d(far_1, far_2)
odd-one-out   of a, b and o, o is the odd one                     d(a, b) < d(a, o) and d(b, a) < d(b, o); the same for
                                                                  all pairs a, b of more objects
most-central  of a, b and c, c is the most central                d(a, c) < d(a, b) and d(b, c) < d(b, a)
rank          r1, ..., rn are ordered from nearest to farthest  d(anchor, ra) < d(anchor, rb) for all a < b
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

NOTHING = -1  # stands for an empty cell where an object's number stands otherwise
MOST = 2**31 - 1  # comparisons
_FEW = 8  # columns
_NO_ANSWER = MISSING | {"None"}  # as Python, and so PsychoPy, writes nothing
_TIES = frozenset({"tie", "tied", "same", "equal", "both", "neither", "none"})
_LABELS = {"1": 1, "+1": 1, "true": 1, "0": 0, "-1": -1, "false": -1}

Codes = NDArray[np.int32]
Mask = NDArray[np.bool_]


@dataclasses.dataclass(frozen=True)
class Objects:
    """The objects in some columns: (m, w) codes that point at labels; an empty cell is -1."""

    codes: Codes
    labels: list[str]

    @classmethod
    def of_columns(cls, columns: Sequence[Column], names: Sequence[str] = ()) -> "Objects":
        """From columns that each have labels of their own; what is among ``names`` is never an empty cell.

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
        number: dict[str, int] = {}
        codes = np.empty((len(columns[0].codes), len(columns)), dtype=np.int32)
        moved = np.empty(0, dtype=np.int32)
        for place, column in enumerate(columns):
            if place == 0 or column.labels is not columns[place - 1].labels:
                numbers = [NOTHING if name in empty else number.setdefault(name, len(number)) for name in column.labels]
                moved = np.array(numbers, dtype=np.int32)
            codes[:, place] = moved[column.codes]
        return cls(codes, list(number))


class Comparing(NamedTuple):
    """What some answers say, as pairs of objects, and which answer each comparison is from."""

    rows: Codes
    source: NDArray[np.intp]


class Problem(NamedTuple):
    """Rows that cannot be used: which, the option that drops them, and what is wrong with one of them."""

    rows: Mask
    option: str
    message: Callable[[int], str]


class Question:
    """The answers in a table, on the way to comparisons.

    ``problems`` are found first; :meth:`comparisons` is then asked about the rows that have none.
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
        """The codes of the columns of some roles."""
        places = [self._place[position] for role in roles for position in self.layout.columns[role]]
        codes: Codes = (
            self._objects.codes if places == list(range(len(self._place))) else self._objects.codes[:, places]
        )
        return codes

    def _title(self, role: str, which: int = 0) -> str:
        return self.table.title(self.layout.columns[role][which])

    @property
    def picked_side(self) -> NDArray[np.intp] | None:
        """0 where the left object was picked, 1 where the right one was, -1 where none; None for other questions."""
        return self._picked if "winner" in self.layout.form.roles else None

    # ---- what is wrong with some rows ----

    def _prepare(self) -> None:
        form = self.layout.form
        if "winner" in form.roles:
            self._items, self._anchor = self._of("left", "right"), self._of("anchor")[:, 0]
            self._complete(self._of("anchor", "left", "right"))
            self._picked = self._pick("winner")
            self._different(np.column_stack([self._anchor, self._items]))
        elif form.kind in ("triplet", "quadruplet") and "items" not in form.roles:
            pairs = self._of(*form.roles)
            self._complete(pairs)
            self._different(pairs, quadruplets=form.kind == "quadruplet")
            self._rows, self._sign = pairs, self._signs()
        elif form.kind == "rank":
            self._anchor, self._items = self._of("anchor")[:, 0], self._of("ranking")
            self._prepare_lists(self._items, "ranking", at_least=2, anchor=self._anchor)
            self._different(np.column_stack([self._anchor, self._items]))
        elif form.kind == "nearest":
            self._anchor, self._items = self._of("anchor")[:, 0], self._of("shown")
            self._prepare_lists(self._items, "shown", at_least=2, anchor=self._anchor)
            self._chosen = self._choices()
            self._different(np.column_stack([self._anchor, self._items]))
        else:
            self._items = self._of("items")
            if self._items.shape[1] == 3:
                self._complete(self._items)
            else:
                self._prepare_lists(self._items, "items", at_least=3)
            self._different(self._items)
            role = next((role for role in ("odd", "central", "selected") if role in form.roles), None)
            # Without a column that says which, the last of the three is the odd one.
            last = np.maximum((self._items != NOTHING).sum(axis=1), 1) - 1
            self._picked = last if role is None else self._pick(role)
            if role is None:
                self.notes.append("no column says which item is odd: the last one of each row is taken to be")
            if form.kind == "triplet":
                self.notes.append("the first item is the anchor, the selected one of the others is near")
                self._add(
                    self._picked == 0, "self_pairs", lambda _: "the selected item is the first one, which is the anchor"
                )

    def _add(self, rows: Mask, option: str, message: Callable[[int], str]) -> None:
        if rows.any():
            self.problems.append(Problem(rows, option, message))

    def _complete(self, codes: Codes) -> None:
        self._add((codes == NOTHING).any(axis=1), "missing", lambda _: "a cell is empty where an object is expected")

    def _different(self, codes: Codes, quadruplets: bool = False) -> None:
        """No object is compared with itself."""
        columns = codes.T
        if quadruplets:
            i, j, l, k = columns  # noqa: E741
            same = (i == j) | (l == k) | ((i == l) & (j == k)) | ((i == k) & (j == l))
            same &= (codes != NOTHING).all(axis=1)
        else:
            same = np.zeros(len(codes), dtype=bool)
            if len(columns) > _FEW:  # by then sorting is faster than to compare all pairs
                columns = np.sort(codes, axis=1).T
            for place, column in enumerate(columns):
                for other in columns[place + 1 : place + 2 if len(columns) > _FEW else None]:
                    same |= (column == other) & (column != NOTHING)

        def message(row: int) -> str:
            named = [self.labels[code] for code in codes[row] if code != NOTHING]
            twice, _ = Counter(named).most_common(1)[0]
            return f"object {twice!r} is compared with itself"

        self._add(same, "self_pairs", message)

    def _signs(self) -> NDArray[np.int8] | None:
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
        zero = 'the label is 0, a tie (if 0 means "reversed", write -1 or false)'
        self._add(signs[column.codes] == 0, "ties", lambda _: zero)
        found: NDArray[np.int8] = signs[column.codes]
        return found

    def _prepare_lists(self, codes: Codes, role: str, at_least: int, anchor: Codes | None = None) -> None:
        """Lists may end early, but have no hole."""
        empty = codes == NOTHING
        holes = (empty[:, :-1] & ~empty[:, 1:]).any(axis=1)
        if anchor is not None:
            holes |= anchor == NOTHING
        self._add(holes, "missing", lambda _: "a cell is empty where an object is expected")
        short = ((~empty).sum(axis=1) < at_least) & ~holes
        self._add(short, "missing", lambda _: f"there are fewer than {at_least} objects in {role!r}")

    # ---- which item was picked ----

    def _pick(self, role: str, which: int = 0, optional: bool = False) -> NDArray[np.intp]:
        """The place, from 0, of the picked item among the row's items; -1 where none is."""
        position = self.layout.columns[role][which]
        column = self.table.column(position)
        code = {name: number for number, name in enumerate(self.labels)}
        empty = np.array([name in _NO_ANSWER and name not in code for name in column.labels])
        tied = np.array([name.lower() in _TIES and name not in code for name in column.labels]) & ~empty
        if not optional:
            self._add(empty[column.codes], "missing", lambda _: f"the answer in {self._title(role, which)} is empty")
        self._add(tied[column.codes], "ties", lambda _: f"the answer in {self._title(role, which)} is a tie")
        open_rows = ~(empty | tied)[column.codes]
        for problem in self.problems:
            open_rows &= ~problem.rows

        as_object = np.array([code.get(name, NOTHING) for name in column.labels], dtype=np.int32)[column.codes]
        hits = (self._items == as_object[:, None]) & (as_object != NOTHING)[:, None]
        if not (hits.any(axis=1) | ~open_rows).all():
            places, how = self._places(column, empty | tied)
            if places is None:
                raise self._strange(int(np.argmax(open_rows & ~hits.any(axis=1))), role, which)
            self.notes.append(f"the answers in {self._title(role, which)} are {how}")
            picked = places[column.codes]
            nothing = open_rows & (np.take_along_axis(self._items, picked[:, None], axis=1)[:, 0] == NOTHING)
            if nothing.any():
                raise self._strange(int(np.argmax(nothing)), role, which)
            return picked
        picked = np.where(hits.any(axis=1), hits.argmax(axis=1), -1)
        places, how = self._places(column, empty | tied)
        if places is not None and (places[column.codes] != picked)[open_rows].any():
            self.notes.append(
                f"the answers in {self._title(role, which)} are taken to be objects, but they could be {how} as well"
            )
        return picked

    def _strange(self, row: int, role: str, which: int) -> ValueError:
        among = ", ".join(repr(self.labels[item]) for item in self._items[row] if item != NOTHING)
        column = self.table.column(self.layout.columns[role][which])
        answer = column.labels[column.codes[row]]
        return self.table.error(row, f"the answer in {self._title(role, which)} is {answer!r}; expected {among}")

    def _places(self, column: Column, without: Mask) -> tuple[NDArray[np.intp] | None, str]:
        """What each label of an answer is, if it is not an object: the name of a column, or a count of columns."""
        role = "left" if "left" in self.layout.columns else "shown" if "shown" in self.layout.columns else "items"
        positions = self.layout.columns["left"] + self.layout.columns["right"] if role == "left" else ()
        positions = positions or self.layout.columns[role]
        width = len(positions)
        titles = {(self.table.names[position] or "").lower(): place for place, position in enumerate(positions)}
        if role == "left":
            titles |= {"left": 0, "right": 1, "arrowleft": 0, "arrowright": 1}
        words = [name.lower() for name, empty in zip(column.labels, without, strict=True) if not empty]
        counts = [str(count) for count in range(width + 1)]
        if all(word in titles for word in words):
            how, place_of = "names of columns", titles
        elif all(word in counts[:-1] for word in words) and "0" in words:
            how, place_of = "places counted from 0", {count: place for place, count in enumerate(counts[:-1])}
        elif all(word in counts[1:] for word in words) and self._reaches_the_end(column):
            how, place_of = "places counted from 1", {count: place for place, count in enumerate(counts[1:])}
        else:
            return None, ""
        places = [place_of.get(name.lower(), -1) for name in column.labels]
        return np.array(places, dtype=np.intp), how

    def _reaches_the_end(self, column: Column) -> bool:
        """Whether an answer is the number of its row's items, which a place counted from 0 never is."""
        number = np.array([int(name) if name.isdecimal() else -1 for name in column.labels])[column.codes]
        return bool((number == (self._items != NOTHING).sum(axis=1)).any())

    def _choices(self) -> Mask:
        """Which of the shown objects are chosen, as an (m, n) mask."""
        columns = self.layout.columns["chosen"]
        picks = np.stack([self._pick("chosen", which, optional=which > 0) for which in range(len(columns))], axis=1)
        chosen = np.zeros(self._items.shape, dtype=bool)
        rows, places = np.nonzero(picks >= 0)
        chosen[rows, picks[rows, places]] = True
        twice = (picks >= 0).sum(axis=1) > chosen.sum(axis=1)
        self._add(twice, "self_pairs", lambda _: "an object is chosen twice")
        whole = chosen.sum(axis=1) == (self._items != NOTHING).sum(axis=1)
        self._add(whole & ~twice, "ties", lambda _: "all objects are chosen, so none is nearer than another")
        return chosen

    # ---- the rules ----

    def comparisons(self, keep: Mask | None) -> Comparing:
        """What the rows in ``keep`` (None: all) say."""
        kept: Any = slice(None) if keep is None else keep
        source = np.arange(self.table.n_rows)[kept]
        if self.kind == "rank":
            return self._pairs_of(kept, source, ranked=True)
        if self.kind == "nearest":
            return self._pairs_of(kept, source, ranked=False)
        if self.kind in ("triplet", "quadruplet") and "items" not in self.layout.form.roles:
            if "winner" in self.layout.form.roles:
                near, far = _split(self._items[kept], self._picked[kept])
                return Comparing(np.column_stack([self._anchor[kept], near, far]), source)
            rows = self._rows[kept]
            if self._sign is not None:
                rows = np.where((self._sign[kept] < 0)[:, None], reversed_rows(rows), rows)
            return Comparing(rows, source)
        if self._items.shape[1] > 3:
            return self._odd_of_many(kept, source)
        picked, first, second = _three(self._items[kept], self._picked[kept])
        if self.kind == "triplet":
            anchor = self._items[kept][:, 0]
            other = np.where(first == anchor, second, first)
            return Comparing(np.column_stack([anchor, picked, other]), source)
        if self.kind == "odd-one-out":
            both = [(first, second, picked), (second, first, picked)]
        else:
            both = [(first, picked, second), (second, picked, first)]
        rows = np.stack([np.column_stack(one) for one in both], axis=1).reshape(-1, 3)
        return Comparing(rows.astype(np.int32, copy=False), np.repeat(source, 2))

    def _odd_of_many(self, kept: Any, source: NDArray[np.intp]) -> Comparing:
        """For all pairs (a, b) of a row's items but the odd one o: d(a, b) < d(a, o)."""
        items, picked = self._items[kept], self._picked[kept]
        others = items != NOTHING
        others[np.arange(len(items)), picked] = False
        n_others = others.sum(axis=1)
        self._check_total(int((n_others * (n_others - 1)).sum()))
        odd = items[np.arange(len(items)), picked]
        parts, places = [], []
        for one in range(items.shape[1]):
            paired = others & others[:, one, None]
            paired[:, one] = False
            rows, second = np.nonzero(paired)
            parts.append(np.column_stack([items[rows, one], items[rows, second], odd[rows]]))
            places.append(rows)
        return _in_order(parts, places, source)

    def _check_total(self, total: int) -> None:
        if total > MOST:
            raise ValueError(
                f"{self.table.path}: {total:,} comparisons follow from these answers, more than fit in memory; "
                "leave out answers, or cut long lists"
            )

    def _pairs_of(self, kept: Any, source: NDArray[np.intp], ranked: bool) -> Comparing:
        """All pairs (near, far) of a row's items, either by their ranks or by whether they are chosen."""
        items, anchor = self._items[kept], self._anchor[kept]
        there = items != NOTHING
        chosen = there if ranked else self._chosen[kept] & there
        n_near, n_there = chosen.sum(axis=1), there.sum(axis=1)
        self._check_total(int((n_there * (n_there - 1) // 2 if ranked else n_near * (n_there - n_near)).sum()))
        parts, places = [], []
        for near in range(items.shape[1]):
            after = slice(near + 1, None) if ranked else slice(None)
            fars = there[:, after] if ranked else there & ~chosen
            rows, fars = np.nonzero(fars & chosen[:, near, None])
            parts.append(np.column_stack([anchor[rows], items[rows, near], items[:, after][rows, fars]]))
            places.append(rows)
        return _in_order(parts, places, source)


def _in_order(parts: list[Codes], places: list[NDArray[np.intp]], source: NDArray[np.intp]) -> Comparing:
    """Comparisons row by row; ``places`` are the rows that the parts are from."""
    place = np.concatenate(places)
    order = np.argsort(place, kind="stable")
    return Comparing(np.concatenate(parts)[order], source[place[order]])


def _split(pair: Codes, picked: NDArray[np.intp]) -> tuple[Codes, Codes]:
    near, far = np.where((picked == 0)[:, None], pair, pair[:, ::-1]).T
    return near, far


def _three(items: Codes, picked: NDArray[np.intp]) -> tuple[Codes, Codes, Codes]:
    """The picked item of each row, and the two others in their order."""
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
    "rank": "r1, ..., rn are ordered from nearest to farthest from anchor: d(anchor, ra) < d(anchor, rb) for all a < b",
    "nearest": "these k of n are nearest to anchor: d(anchor, chosen) < d(anchor, not chosen), k(n - k) of them",
}
