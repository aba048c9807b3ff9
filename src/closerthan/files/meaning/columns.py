"""Columns: which column of a table plays which role, and so what kind of question was asked."""

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from closerthan.comparisons.column_names import ALIASES, NUMBERED, TITLES, fits, known, number_in, plain
from closerthan.files.formats.tables import Table
from closerthan.files.meaning.choosing import no_single_column

KINDS = ("triplet", "quadruplet", "odd-one-out", "most-central", "rank", "nearest")
"""The questions that can be read."""

EXTRAS = ("weight", "participant", "answer", "block", "time", "side", "split")

# If several columns have a usual name for one of these roles, the first of its names counts: a study may well number
# its participants in two ways, and an anchor may be there as a number and as a name.
_FIRST_COUNTS = ("anchor", "participant", "time", "side")


class Form(NamedTuple):
    """One way to write down the answers to a question.

    ``positions`` is what a table without column names means: the role of each column from left to right.
    """

    kind: str
    roles: tuple[str, ...]
    optional: tuple[str, ...] = ()
    positions: tuple[str, ...] | None = None


FORMS = (
    Form("nearest", ("anchor", "shown", "chosen")),
    Form("rank", ("anchor", "ranking"), positions=("anchor", "ranking", "...")),
    Form("triplet", ("anchor", "left", "right", "winner")),
    Form("triplet", ("anchor", "near", "far"), ("label",), positions=("anchor", "near", "far")),
    Form(
        "quadruplet",
        ("near_1", "near_2", "far_1", "far_2"),
        ("label",),
        positions=("near_1", "near_2", "far_1", "far_2"),
    ),
    Form("odd-one-out", ("items", "odd"), positions=("items", "items", "items", "odd")),
    Form("odd-one-out", ("items",), positions=("items", "items", "items")),
    Form("most-central", ("items", "central"), positions=("items", "items", "items", "central")),
    Form("odd-one-out", ("items", "selected")),
    Form("most-central", ("items", "selected")),
    Form("triplet", ("items", "selected")),
)

# What three or four columns without names are, if nothing else is said.
_USUAL = {3: FORMS[3], 4: FORMS[4]}

# Who won and who lost says all that left, right and winner say, and in one way only; "other" is too vague for that.
_LEFT_AND_RIGHT, _WON_AND_LOST = FORMS[2], FORMS[3]
_VAGUE = ("other",)


class Layout(NamedTuple):
    """What a table's columns mean: the form, and the positions of the columns of each role."""

    form: Form
    columns: Mapping[str, tuple[int, ...]]

    @property
    def objects(self) -> tuple[int, ...]:
        """The columns whose cells are objects in every form."""
        picks = {"winner", "odd", "central", "selected", "chosen", "label", *EXTRAS}
        return tuple(column for role, found in self.columns.items() if role not in picks for column in found)

    @property
    def labels(self) -> tuple[int, ...]:
        """The other columns to read as labels: all except the weight."""
        columns = (column for role, found in self.columns.items() if role != "weight" for column in found)
        objects = set(self.objects)
        return tuple(column for column in columns if column not in objects)


@functools.lru_cache(maxsize=4)  # asked once per form and role, of what may be 100,000 columns
def _known(names: tuple[str | None, ...]) -> list[tuple[int, str]]:
    """The columns whose names have a usual role, and their positions."""
    return [(position, name) for position, name in enumerate(names) if name and known(name)]


def understood(
    table: Table, kind: str | None = None, columns: Mapping[str, str | int | Sequence[str | int] | None] | None = None
) -> Layout:
    """Which columns of a table are used, and for what.

    Parameters
    ----------
    kind
        The question, one of :data:`KINDS`; None: find out.
    columns
        The column (its name, or its position from 0) of each role that is not found by its usual name, or that should
        not be; None for a role that no column plays.

    Examples
    --------
    >>> from pathlib import Path
    >>> from closerthan.files.formats.tables import Column, LoadedTable
    >>> cells = Column.of_cells(["ant"])
    >>> table = LoadedTable(Path("a.csv"), "text", [("Head", cells), ("q", cells), ("Loser", cells)])
    >>> layout = understood(table, columns={"near": "q"})
    >>> layout.form.kind, dict(layout.columns)
    ('triplet', {'anchor': (0,), 'near': (1,), 'far': (2,)})
    """
    if kind is not None and kind not in KINDS:
        raise ValueError(f"unknown kind {kind!r}; known are: {', '.join(KINDS)}")
    given = {role: _located(table, role, wanted) for role, wanted in (columns or {}).items()}
    unnamed = [position for position, name in enumerate(table.names) if name is None]
    asked = {role for role, found in given.items() if found and role not in EXTRAS}
    if unnamed and not asked:
        return Layout(*_by_position(table, kind, unnamed, given))

    fitting: list[Layout] = []
    for form in FORMS:
        if kind not in (None, form.kind) or not asked <= {*form.roles, *form.optional}:
            continue
        if form.roles == ("items",) and kind is None:
            continue
        found: dict[str, tuple[int, ...]] = {}
        for role in (*form.roles, *form.optional):
            places = given[role] if role in given else _first(table, role, _usual(table, role, taken=found))
            if places:
                found[role] = places
        if all(role in found for role in form.roles) and _sensible(form, found):
            fitting.append(Layout(form, found))
    if not fitting:
        raise ValueError(_not_understood(table, kind))
    # A form that uses more of the columns says more than one that uses fewer.
    most = max(len(layout.form.roles) for layout in fitting)
    fullest = [layout for layout in fitting if len(layout.form.roles) == most]
    if [layout.form for layout in fullest] == [_LEFT_AND_RIGHT]:
        fullest = [layout for layout in fitting if _says_who_won(table, layout)] or fullest
    kinds = {layout.form.kind for layout in fullest}
    if len(kinds) > 1:
        raise ValueError(
            f"{table.path}: the columns {table.titles} can be answers to different questions; "
            f"pass kind= one of: {', '.join(kind for kind in KINDS if kind in kinds)}"
        )
    layout = fullest[0]
    for role, places in layout.columns.items():
        if role in ALIASES and len(places) > 1:
            raise _both(table, role, places)
    return Layout(layout.form, _once(table, {**layout.columns, **_extras(table, given, layout.columns)}))


def _once(table: Table, found: dict[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """Each column has one role."""
    roles: dict[int, str] = {}
    for role, places in found.items():
        for place in places if len(places) < 2 or role != "side" else ():  # what was picked may be the near one
            if place in roles:
                raise ValueError(
                    f"{table.path}: {table.title(place)} cannot be {roles[place]!r} and {role!r} at once; "
                    f"pass columns={{{role!r}: ...}} to choose another"
                )
            roles[place] = role
    return found


def _says_who_won(table: Table, layout: Layout) -> bool:
    if layout.form != _WON_AND_LOST or "label" in layout.columns:
        return False
    return all(plain(table.names[place] or "") not in _VAGUE for place in layout.columns["far"])


def _first(table: Table, role: str, places: tuple[int, ...]) -> tuple[int, ...]:
    """The column whose name comes first among the usual ones of a role, where that may decide."""
    if role not in _FIRST_COUNTS or len(places) < 2:
        return places
    ranks = [TITLES[role][plain(table.names[place] or "")] for place in places]
    return tuple(place for place, rank in zip(places, ranks, strict=True) if rank == min(ranks))


def _both(table: Table, role: str, places: Sequence[int]) -> ValueError:
    titles = " and ".join(table.title(place) for place in places)
    return ValueError(f"{table.path}: {titles} could both be {role!r}; pass columns={{{role!r}: ...}} to choose")


def _sensible(form: Form, by_role: Mapping[str, tuple[int, ...]]) -> bool:
    used = [column for columns in by_role.values() for column in columns]
    if len(set(used)) < len(used):
        return False
    # Of the most central one of more than three objects it does not follow which of two an object is closer to.
    n_items = len(by_role.get("items", ()))
    if n_items and n_items != 3 and not (n_items > 3 and form.kind == "odd-one-out"):
        return False
    if "ranking" in by_role and len(by_role["ranking"]) < 2:
        return False
    return "shown" not in by_role or len(by_role["shown"]) >= 2


def _usual(table: Table, role: str, taken: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    used = {column for columns in taken.values() for column in columns}
    names = [(position, name) for position, name in _known(table.names) if position not in used]
    if role in ALIASES:
        return tuple(position for position, name in names if fits(role, name))
    if role == "chosen":  # one choice needs no number
        single = tuple(position for position, name in names if plain(name) in NUMBERED["chosen"])
        if single:
            return single
    numbered = sorted((number, position) for position, name in names if (number := number_in(role, name)) is not None)
    consecutive = [number for number, _ in numbered] == list(
        range(numbered[0][0], numbered[0][0] + len(numbered)) if numbered else []
    )
    return tuple(position for _, position in numbered) if consecutive else ()


def _by_position(
    table: Table, kind: str | None, unnamed: Sequence[int], given: Mapping[str, tuple[int, ...]]
) -> tuple[Form, dict[str, tuple[int, ...]]]:
    taken = {column for columns in given.values() for column in columns}
    places = [position for position in unnamed if position not in taken]
    usual = _USUAL.get(len(places))
    if kind is None and usual is not None:
        forms = [usual]
    else:
        forms = [form for form in FORMS if form.kind == kind and form.positions]
    for form in forms:
        assert form.positions is not None
        roles = list(form.positions)
        if roles[-1] == "...":
            roles = [*roles[:-1], *[roles[-2]] * (len(places) - len(roles) + 1)]
        if len(roles) == len(places) and len(places) >= 3:
            found: dict[str, tuple[int, ...]] = {}
            for role, place in zip(roles, places, strict=True):
                found[role] = (*found.get(role, ()), place)
            return form, _once(table, {**found, **_extras(table, given, found, (*form.optional, *EXTRAS))})
    raise ValueError(
        f"{table.path} has {len(places)} columns without names"
        f"{f', which is not the usual number for {kind!r}' if kind else ''}; expected 3 (anchor, near, far) or 4 "
        '(near_1, near_2, far_1, far_2); say what they are, such as columns={"anchor": 0, "near": 1, "far": 2}'
    )


def _extras(
    table: Table,
    given: Mapping[str, tuple[int, ...]],
    taken: Mapping[str, tuple[int, ...]],
    roles: Sequence[str] = EXTRAS,
) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for role in roles:
        places = given[role] if role in given else _first(table, role, _usual(table, role, taken))
        if len(places) > 1:
            raise _both(table, role, places)
        if places:
            found[role] = places
    if "side" in roles and "side" not in given and "side" not in found and "winner" not in taken:
        shown = _what_was_shown(table, {**taken, **found})
        if shown:
            found["side"] = shown
    return found


def _what_was_shown(table: Table, taken: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The columns left, right and the one that was picked, where the answers themselves are in other columns."""
    left, right = _usual(table, "left", taken), _usual(table, "right", taken)
    if len(left) != 1 or len(right) != 1:
        return ()
    picked = _usual(table, "winner", {**taken, "left": left, "right": right}) or taken.get("near", ())
    return (*left, *right, *picked) if len(picked) == 1 else ()


def _located(table: Table, role: str, wanted: str | int | Sequence[str | int] | None) -> tuple[int, ...]:
    if role not in ALIASES and role not in NUMBERED:
        raise ValueError(f"columns has the role {role!r}; known are: {', '.join((*ALIASES, *NUMBERED))}")
    if wanted is None:
        return ()
    several: Iterable[str | int] = [wanted] if isinstance(wanted, str | int) else wanted
    found = []
    for one in several:
        if isinstance(one, int):
            places = [one] if 0 <= one < len(table.names) else []
        else:
            places = [place for place, name in enumerate(table.names) if name == one] or [
                place for place, name in enumerate(table.names) if name and plain(name) == plain(one)
            ]
        if not places and isinstance(one, str) and role in NUMBERED:  # the places of a list have columns of their own
            numbered = re.compile(re.escape(plain(one)) + r"_\d+")
            places = [place for place, name in enumerate(table.names) if name and numbered.fullmatch(plain(name))]
            if places:
                found += places
                continue
        if len(places) != 1:
            raise no_single_column(table, one, repr(role), len(places))
        found += places
    return tuple(found)


def _not_understood(table: Table, kind: str | None) -> str:
    forms = [form for form in FORMS if kind == form.kind or (kind is None and form.roles != ("items",))]
    expected = "; ".join(dict.fromkeys(", ".join(form.roles) for form in forms))
    items = len(_usual(table, "items", {}))
    hint = f" ({items} of them are items, but 3 are expected unless one is the odd one)" if items not in (0, 3) else ""
    return (
        f"{table.path} has the columns {table.titles}{hint}, which are not understood"
        f"{f' as {kind!r}' if kind else ''}; expected one of the sets ({expected}): "
        f'name them so, or say which is which with columns={{"{forms[0].roles[0]}": ..., ...}}'
    )
