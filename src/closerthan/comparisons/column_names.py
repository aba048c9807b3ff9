"""The usual names of the columns in tables of answers, in files and in DataFrames."""

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any

from closerthan.wording import first_few

__all__ = ["ALIASES", "NUMBERED", "SECONDS", "TITLES", "fits", "is_usual_name", "number_in", "order_by_name", "plain"]

ALIASES: Mapping[str, tuple[str, ...]] = {
    "anchor": (
        "anchor", "head", "center", "centre", "probe", "reference", "ref", "query", "target", "standard", "i",
    ),
    "near": ("near", "nearer", "closer", "winner", "positive", "pos", "similar", "j"),
    "far": ("far", "farther", "further", "loser", "other", "negative", "neg", "dissimilar", "k"),
    "left": ("left", "option_a", "choice_a"),
    "right": ("right", "option_b", "choice_b"),
    "winner": ("winner", "selected", "chosen", "choice", "answer", "response", "closer"),
    "label": ("label", "y", "sign"),
    "near_1": ("near_1", "near_a", "near_first", "i"),
    "near_2": ("near_2", "near_b", "near_second", "j"),
    "far_1": ("far_1", "far_a", "far_first", "l"),
    "far_2": ("far_2", "far_b", "far_second", "k"),
    "odd": ("odd", "odd_one_out", "oddoneout", "odd_one", "chosen_odd", "outlier"),
    "central": ("central", "most_central", "center", "centre", "chosen_center", "chosen_centre", "chosen_central"),
    "selected": ("selected", "chosen", "choice", "answer", "response", "winner"),
    "weight": ("weight", "weights"),
    "participant": (
        "participant", "participants", "person", "worker", "subject", "subj", "user", "annotator", "rater", "judge",
        "observer", "respondent", "puid", "prolific_pid", "prolific", "mturk", "workerid", "participantid", "subjectid",
        "userid",
    ),
    # The name that closerthan writes. Other names of blocks are considered only if answers turn out to be chained.
    "block": ("split_block",),
    # Not "answer", which usually holds what was chosen.
    "answer": ("answer_id", "answer_number", "answer_no"),
    # Not "time", which usually holds a date.
    "time": (
        "rt", "response_time", "reaction_time", "responsetime", "reactiontime", "response_latency", "latency",
        "decision_time",
    ),
    "side": ("side", "near_side", "chosen_side", "selected_side", "winner_side", "response_side", "answer_side"),
    "split": ("split", "set", "subset", "partition", "train_test", "is_test", "test", "is_train", "train"),
}  # fmt: skip
"""The usual names of a column, by role."""

NUMBERED: Mapping[str, tuple[str, ...]] = {
    "items": (
        "item", "items", "object", "objects", "triplet_object", "stim", "stimulus", "stimuli", "image", "images",
        "picture", "pictures", "option", "triplet",
    ),
    "ranking": ("rank", "ranking", "ranked", "place"),
    "shown": (
        "shown", "candidate", "candidates", "option", "options", "of", "image", "images", "picture", "pictures",
        "items",
    ),
    "chosen": ("chosen", "nearest", "selected", "picked", "choice", "choices"),
}  # fmt: skip
"""The usual names of several numbered columns (item_1, item_2, item_3; or stim_0, stim_1, stim_2), by role."""

_SUFFIXES = ("", "_id", "_name", "_index", "_number", "_nr", "_no")
SECONDS: Mapping[str, float] = {
    "_s": 1, "_sec": 1, "_secs": 1, "_seconds": 1, "_ms": 1e-3, "_msec": 1e-3, "_milliseconds": 1e-3,
}  # fmt: skip
"""Suffixes by which the name of a column of times gives its unit, and the unit in seconds."""


@functools.lru_cache(maxsize=1 << 17)  # each name is looked up once per role
def plain(name: str) -> str:
    """Return a column's name in lower case, with underscores between words and before a number at the end.

    Examples
    --------
    >>> plain(" Chosen Center"), plain("stim0"), plain("triplet_object_1"), plain("workerId")
    ('chosen_center', 'stim_0', 'triplet_object_1', 'worker_id')
    """
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip()).lower()
    words = re.sub(r"[^\w]+", "_", words).strip("_")
    return re.sub(r"(?<=[a-z])(?=\d+$)", "_", words)


def is_usual_name(name: str) -> bool:
    """Return whether this is the usual name of a column of some role.

    Examples
    --------
    >>> is_usual_name("Anchor"), is_usual_name("stim_0"), is_usual_name("apple")
    (True, True, False)
    """
    title = plain(name)
    return title in _ALL_TITLES or (
        title[-1:].isdecimal() and any(number_in(role, name) is not None for role in NUMBERED)
    )


TITLES: Mapping[str, Mapping[str, int]] = {
    role: {
        alias + suffix: rank
        for rank, alias in enumerate(aliases)
        for suffix in (*_SUFFIXES, *(SECONDS if role == "time" else ()))
    }
    for role, aliases in ALIASES.items()
}
"""Rank of each usual name of a role; 0 is the best."""
# A column that holds a single choice has no number in its name.
_ALL_TITLES = {*NUMBERED["chosen"], *(title for titles in TITLES.values() for title in titles)}


def fits(role: str, name: str) -> bool:
    """Return whether a column's name is a usual one for a role.

    Examples
    --------
    >>> fits("near", "Winner"), fits("far", "Winner")
    (True, False)
    """
    return plain(name) in TITLES[role]


def number_in(role: str, name: str) -> int | None:
    """Return the number at the end of a column's name, if the rest is a usual name for a role; otherwise None.

    Examples
    --------
    >>> number_in("items", "stim_2"), number_in("ranking", "stim_2")
    (2, None)
    """
    match = re.fullmatch(r"(.+)_(\d+)", plain(name))
    return int(match[2]) if match and match[1] in NUMBERED[role] else None


_ROLES = (("anchor", "near", "far"), ("near_1", "near_2", "far_1", "far_2"))
_NO_NAME = re.compile(r"column_\d+|\d+")  # names that libraries give to unnamed columns


def order_by_name(data: Any) -> list[int] | None:
    """Return the order that arranges the named columns of a DataFrame as triplets or quadruplets.

    None is returned for data without column names, whose columns keep their order.

    Examples
    --------
    >>> import pandas
    >>> order_by_name(pandas.DataFrame({"far": ["ant"], "near": ["bee"], "anchor": ["cat"]}))
    [2, 1, 0]
    >>> order_by_name([["cat", "bee", "ant"]])
    """
    names = names_of(data)
    if names is None:
        return None
    for roles in sorted(_ROLES, key=lambda roles: len(roles) != len(names)):
        candidates = [[place for place, name in enumerate(names) if fits(role, name)] for role in roles]
        order = [places[0] for places in candidates if len(places) == 1]
        if len(set(order)) == len(roles):
            if len(names) == len(roles):
                return order
            raise ValueError(
                f"the table has the columns {_quoted(names)}; read all of them with "
                f"closerthan.read_comparisons(table), or pass only {', '.join(repr(names[place]) for place in order)}"
            )
    raise ValueError(
        f"the table has the columns {_quoted(names)}, which are not understood; name them anchor, near, far "
        "(or near_1, near_2, far_1, far_2), in any order; or pass table.to_numpy() to take them by their position; "
        "closerthan.read_comparisons(table) also reads answers to other kinds of questions"
    )


def names_of(data: Any) -> list[str] | None:
    """Return the column names of a DataFrame or Arrow table; None if it has none, or for other data."""
    names = getattr(data, "column_names", getattr(data, "columns", None))
    if names is None or callable(names) or not hasattr(data, "shape"):
        return None
    # Columns numbered by pandas or polars have no names.
    unnamed = all(not isinstance(name, str) or _NO_NAME.fullmatch(name) for name in names)
    return None if unnamed else [str(name) for name in names]


def _quoted(names: Sequence[str]) -> str:
    return first_few([repr(name) for name in names], 20)
