"""Determine the role of each column of a table, and the kind of question from the roles."""

import functools
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from closerthan.checks import ParameterError
from closerthan.comparisons.column_names import ALIASES, NUMBERED, TITLES, fits, is_usual_name, number_in, plain
from closerthan.files.formats.tables import Table
from closerthan.files.meaning.attributes.conditions import columns_called, no_single_column
from closerthan.messages import Message, value_error

KINDS = ("triplet", "quadruplet", "odd-one-out", "most-central", "rank", "nearest")
"""The kinds of questions whose answers can be read."""

EXTRAS = ("weight", "participant", "answer", "block", "time", "side", "split")
"""Roles of columns other than objects and choices."""

# If several columns have a usual name for one of these roles, the preferred name decides: a study may number its
# participants in two ways, and may store an anchor both as a number and as a name.
_PREFER_FIRST = ("anchor", "participant", "time", "side")


class Form(NamedTuple):
    """One way to record the answers to a question in columns.

    ``positions`` gives the role of each column, from left to right, in a table without column names.
    """

    kind: str
    roles: tuple[str, ...]
    optional: tuple[str, ...] = ()
    positions: tuple[str, ...] | None = None


FORMS = (
    Form("nearest", ("anchor", "shown", "chosen")),
    Form("rank", ("anchor", "shown", "ranking")),
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

# The default meaning of three or four columns without names.
_USUAL = {3: FORMS[4], 4: FORMS[5]}

# Winner and loser contain the same information as left, right and winner; "other" is too vague a name for a loser.
_LEFT_AND_RIGHT, _WON_AND_LOST = FORMS[3], FORMS[4]
_VAGUE = ("other",)


class Layout(NamedTuple):
    """The meaning of a table's columns: the form of the answers, and the positions of the columns by role."""

    form: Form
    columns: Mapping[str, tuple[int, ...]]

    @property
    def objects(self) -> tuple[int, ...]:
        """Positions of the columns whose cells are always objects."""
        choices = {"winner", "odd", "central", "selected", "chosen", "label", *EXTRAS}
        return tuple(place for role, places in self.columns.items() if role not in choices for place in places)

    @property
    def labels(self) -> tuple[int, ...]:
        """Positions of the other columns to read as labels: all except the weight."""
        columns = (place for role, places in self.columns.items() if role != "weight" for place in places)
        objects = set(self.objects)
        return tuple(place for place in columns if place not in objects)

    @property
    def used(self) -> frozenset[int]:
        """Positions of all columns with a role."""
        return frozenset(place for places in self.columns.values() for place in places)

    def without(self, *roles: str) -> "Layout":
        """Return the layout without some roles."""
        return Layout(self.form, {role: places for role, places in self.columns.items() if role not in roles})


@functools.lru_cache(maxsize=4)  # called once per form and role, for up to 100,000 columns
def _named_columns(names: tuple[str | None, ...]) -> list[tuple[int, str]]:
    """Return the positions and names of the columns whose names have a usual role."""
    return [(position, name) for position, name in enumerate(names) if name and is_usual_name(name)]


def find_layout(
    table: Table, kind: str | None = None, columns: Mapping[str, str | int | Sequence[str | int] | None] | None = None
) -> Layout:
    """Determine which columns of a table are used, and for which roles.

    Parameters
    ----------
    table
        The table.
    kind
        The question, one of :data:`KINDS`; None means that it is detected.
    columns
        Columns (names, or positions from 0) by role, which override usual names; None for a role without a column.

    Examples
    --------
    >>> from pathlib import Path
    >>> from closerthan.files.formats.tables import Column, LoadedTable
    >>> cells = Column.of_cells(["ant"])
    >>> table = LoadedTable(Path("a.csv"), "text", [("Head", cells), ("q", cells), ("Loser", cells)])
    >>> layout = find_layout(table, columns={"near": "q"})
    >>> layout.form.kind, dict(layout.columns)
    ('triplet', {'anchor': (0,), 'near': (1,), 'far': (2,)})
    """
    return find_layouts(table, kind, columns, one_kind=True)[0]


def find_layouts(
    table: Table,
    kind: str | None = None,
    columns: Mapping[str, str | int | Sequence[str | int] | None] | None = None,
    *,
    one_kind: bool = False,
) -> list[Layout]:
    """Determine which columns of a table are used if its rows may be answers to several kinds of questions.

    The first layout is that of a table with one kind of question, and the others are those of other kinds whose columns
    the table has as well. With ``one_kind``, or if the caller chooses the kind or some columns, there is only one.
    """
    if kind is not None and kind not in KINDS:
        raise ParameterError("kind", kind, f"choose from: {', '.join(KINDS)}")
    explicit = {role: _locate(table, role, choice) for role, choice in (columns or {}).items()}
    unnamed = [position for position, name in enumerate(table.names) if name is None]
    required = {role for role, places in explicit.items() if places and role not in EXTRAS}
    if unnamed and not required:
        return [Layout(*_by_position(table, kind, unnamed, explicit))]

    fitting: list[Layout] = []
    for form in FORMS:
        if kind not in (None, form.kind) or not required <= {*form.roles, *form.optional}:
            continue
        if form.roles == ("items",) and kind is None:
            continue
        by_role: dict[str, tuple[int, ...]] = {}
        for role in (*form.roles, *form.optional):
            places = explicit[role] if role in explicit else _preferred(table, role, _by_name(table, role, by_role))
            if places:
                by_role[role] = places
        if all(role in by_role for role in form.roles) and _is_plausible(form, by_role):
            fitting.append(Layout(form, by_role))
    if not fitting:
        raise ValueError(_not_understood(table, kind, explicit))
    # Prefer forms that use more columns, because they contain more information.
    most = max(len(layout.form.roles) for layout in fitting)
    fullest = [layout for layout in fitting if len(layout.form.roles) == most]
    if [layout.form for layout in fullest] == [_LEFT_AND_RIGHT]:
        fullest = [layout for layout in fitting if _names_winner_and_loser(table, layout)] or fullest
    kinds = {layout.form.kind for layout in fullest}
    others = [] if one_kind or kind is not None or required else _of_other_kinds(fitting, fullest[0])
    if not kinds <= {one.form.kind for one in (fullest[0], *others)}:
        raise ambiguous_kinds(table, kinds)
    layout = fullest[0]
    for role, places in layout.columns.items():
        if role in ALIASES and len(places) > 1:
            raise _ambiguous(table, role, places)
    extras = _extras(table, explicit, layout.columns)
    return [
        Layout(layout.form, _check_unique(table, {**layout.columns, **extras})),
        *(Layout(one.form, {**extras, **one.columns}) for one in others),
    ]


def ambiguous_kinds(table: Table, kinds: Collection[str]) -> ValueError:
    """Return the error that the columns can be answers to different kinds of questions."""
    return value_error(
        f"{table.path}: the columns {table.titles} can be answers to different questions",
        "pass {kind}",
        kind=tuple(kind for kind in KINDS if kind in kinds),
    )


def _of_other_kinds(fitting: Sequence[Layout], first: Layout) -> list[Layout]:
    """Return a layout of each other kind than that of the first one; its columns determine the kind of question."""
    kinds_of: dict[frozenset[int], set[str]] = {}
    for layout in fitting:
        kinds_of.setdefault(layout.used, set()).add(layout.form.kind)
    others = [
        layout
        for layout in fitting
        if layout.form.kind != first.form.kind
        and layout.used != first.used
        and len(kinds_of[layout.used]) == 1
        and all(role not in ALIASES or len(places) == 1 for role, places in layout.columns.items())
    ]
    of_kind: dict[str, Layout] = {}
    for layout in sorted(others, key=lambda layout: -len(layout.form.roles)):
        of_kind.setdefault(layout.form.kind, layout)
    return list(of_kind.values())


def _check_unique(table: Table, by_role: dict[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """Raise an error if a column has two roles."""
    roles: dict[int, str] = {}
    for role, places in by_role.items():
        for place in places if len(places) < 2 or role != "side" else ():  # "side" may share the column of the choice
            if place in roles:
                raise value_error(
                    f"{table.path}: {table.title(place)} cannot be {roles[place]!r} and {role!r} at once",
                    "pass {columns} to choose another",
                    columns={role: ...},
                )
            roles[place] = role
    return by_role


def _names_winner_and_loser(table: Table, layout: Layout) -> bool:
    if layout.form != _WON_AND_LOST or "label" in layout.columns:
        return False
    return all(plain(table.names[place] or "") not in _VAGUE for place in layout.columns["far"])


def _preferred(table: Table, role: str, places: tuple[int, ...]) -> tuple[int, ...]:
    """Return only the column with the preferred name, for roles in which the name decides between columns."""
    if role not in _PREFER_FIRST or len(places) < 2:
        return places
    ranks = [TITLES[role][plain(table.names[place] or "")] for place in places]
    return tuple(place for place, rank in zip(places, ranks, strict=True) if rank == min(ranks))


def _ambiguous(table: Table, role: str, places: Sequence[int]) -> ValueError:
    titles = " and ".join(table.title(place) for place in places)
    problem = f"{table.path}: {titles} could both be {role!r}"
    if len({table.names[place] for place in places}) < len(places):  # a name would not tell them apart
        remedy = f"pass {{columns}} to choose one by its position ({' or '.join(map(str, places))}, counted from 0)"
        return value_error(problem, remedy, columns={role: places[0]})
    return value_error(problem, "pass {columns} to choose", columns={role: ...})


def _is_plausible(form: Form, by_role: Mapping[str, tuple[int, ...]]) -> bool:
    used = [column for columns in by_role.values() for column in columns]
    if len(set(used)) < len(used):
        return False
    # Knowing the most central of more than three objects does not tell which of two others an object is closer to.
    n_items = len(by_role.get("items", ()))
    if n_items and n_items != 3 and not (n_items > 3 and form.kind == "odd-one-out"):
        return False
    n_ranked, n_shown = len(by_role.get("ranking", ())), len(by_role.get("shown", ()))
    if n_ranked and n_ranked < 2 and not n_shown:
        return False
    if n_ranked and n_shown and n_shown <= n_ranked:  # a ranking of all objects needs no list of the objects
        return False
    return "shown" not in by_role or len(by_role["shown"]) >= 2


def _by_name(table: Table, role: str, by_role: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """Return the columns that have a usual name for a role, and no other role yet."""
    used = {column for columns in by_role.values() for column in columns}
    names = [(position, name) for position, name in _named_columns(table.names) if position not in used]
    if role in ALIASES:
        return tuple(position for position, name in names if fits(role, name))
    if role == "chosen":  # the column of a single choice has no number
        single = tuple(position for position, name in names if plain(name) in NUMBERED["chosen"])
        if single:
            return single
    numbered = sorted((number, position) for position, name in names if (number := number_in(role, name)) is not None)
    consecutive = [number for number, _ in numbered] == list(
        range(numbered[0][0], numbered[0][0] + len(numbered)) if numbered else []
    )
    return tuple(position for _, position in numbered) if consecutive else ()


def _by_position(
    table: Table, kind: str | None, unnamed: Sequence[int], explicit: Mapping[str, tuple[int, ...]]
) -> tuple[Form, dict[str, tuple[int, ...]]]:
    used = {column for columns in explicit.values() for column in columns}
    places = [position for position in unnamed if position not in used]
    default = _USUAL.get(len(places))
    if kind is None and default is not None:
        forms = [default]
    else:
        forms = [form for form in FORMS if form.kind == kind and form.positions]
    for form in forms:
        assert form.positions is not None
        roles = list(form.positions)
        if roles[-1] == "...":
            roles = [*roles[:-1], *[roles[-2]] * (len(places) - len(roles) + 1)]
        if len(roles) == len(places) and len(places) >= 3:
            by_role: dict[str, tuple[int, ...]] = {}
            for role, place in zip(roles, places, strict=True):
                by_role[role] = (*by_role.get(role, ()), place)
            extras = _extras(table, explicit, by_role, (*form.optional, *EXTRAS))
            return form, _check_unique(table, {**by_role, **extras})
    raise value_error(
        f"{table.path} has {len(places)} columns without names"
        f"{f', which is not the usual number for {kind!r}' if kind else ''}; expected 3 (anchor, near, far) or 4 "
        "(near_1, near_2, far_1, far_2)",
        "pass their roles, such as {columns}",
        columns={"anchor": 0, "near": 1, "far": 2},
    )


def _extras(
    table: Table,
    explicit: Mapping[str, tuple[int, ...]],
    by_role: Mapping[str, tuple[int, ...]],
    roles: Sequence[str] = EXTRAS,
) -> dict[str, tuple[int, ...]]:
    extras: dict[str, tuple[int, ...]] = {}
    for role in roles:
        places = explicit[role] if role in explicit else _preferred(table, role, _by_name(table, role, by_role))
        if len(places) > 1:
            raise _ambiguous(table, role, places)
        if places:
            extras[role] = places
    if "side" in roles and "side" not in explicit and "side" not in extras and "winner" not in by_role:
        places = _left_right_choice(table, {**by_role, **extras})
        if places:
            extras["side"] = places
    return extras


def _left_right_choice(table: Table, by_role: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """Return the columns left, right and choice of a table whose answers themselves are in other columns."""
    left, right = _by_name(table, "left", by_role), _by_name(table, "right", by_role)
    if len(left) != 1 or len(right) != 1:
        return ()
    choice = _by_name(table, "winner", {**by_role, "left": left, "right": right}) or by_role.get("near", ())
    return (*left, *right, *choice) if len(choice) == 1 else ()


def _locate(table: Table, role: str, choice: str | int | Sequence[str | int] | None) -> tuple[int, ...]:
    """Return the positions of the columns that the user chose for a role."""
    if role not in ALIASES and role not in NUMBERED:
        rule = f"choose from: {', '.join((*ALIASES, *NUMBERED))}"
        raise ParameterError("columns", role, rule, problem=f"has the role {role!r}")
    if choice is None:
        return ()
    columns: Iterable[str | int] = [choice] if isinstance(choice, str | int) else choice
    located: list[int] = []
    for column in columns:
        places = columns_called(table, column)
        if not places and isinstance(column, str) and role in NUMBERED:  # a list was expanded into numbered columns
            numbered = re.compile(re.escape(plain(column)) + r"_\d+")
            places = [place for place, name in enumerate(table.names) if name and numbered.fullmatch(plain(name))]
        elif len(places) != 1:
            raise no_single_column(table, column, repr(role), len(places))
        if not places:
            raise no_single_column(table, column, repr(role), 0)
        located += places
    return tuple(located)


def _not_understood(table: Table, kind: str | None, explicit: Mapping[str, tuple[int, ...]]) -> Message:
    """Return a message that suggests how to assign the roles of which the fewest are missing."""

    def missing(form: Form) -> list[str]:
        return [role for role in form.roles if not (explicit.get(role) or _by_name(table, role, {}))]

    forms = [form for form in FORMS if kind == form.kind or (kind is None and form.roles != ("items",))]
    assigned = {role for role, places in explicit.items() if places and role not in EXTRAS}
    possible = [form for form in forms if assigned <= {*form.roles, *form.optional}] or forms
    nearest = min(possible, key=lambda form: (len(missing(form)), -len(form.roles)))
    if len(missing(nearest)) == len(nearest.roles):
        nearest = _USUAL[3] if _USUAL[3] in possible else possible[0]
    expected = "; ".join(dict.fromkeys(", ".join(form.roles) for form in forms))
    items = len(_by_name(table, "items", {}))
    hint = f" ({items} of them are items, but 3 are expected unless one is the odd one)" if items not in (0, 3) else ""
    return Message(
        f"{table.path} has the columns {table.titles}{hint}, which are not understood"
        f"{f' as {kind!r}' if kind else ''}; expected one of the sets ({expected})",
        "rename them, or assign roles, such as {columns}",
        columns=dict.fromkeys(missing(nearest) or nearest.roles, ...),
    )
