"""Short names: long names abbreviated so that they stay distinct and fit beside points."""

import itertools
import re
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["ShortNames", "short_names"]

LEAST = 4  # characters shared by all names; fewer are not worth removing
BEFORE = 6  # characters to keep before the position at which a name differs from the others


class ShortNames(NamedTuple):
    """Abbreviated names."""

    names: list[str]
    left_out: str  # description of the common beginning and ending that was removed; "" if there was none


def short_names(names: Sequence[str], longest: int) -> ShortNames:
    """Abbreviate names to at most ``longest`` characters on one line, so that different names stay different.

    If a name is too long, the common beginning and ending of all names are removed. A name that is still too long is
    truncated where it resembles the others.

    Examples
    --------
    >>> short_names(["ant", "bee"], 10)
    ShortNames(names=['ant', 'bee'], left_out='')
    >>> short_names(["stimuli/set 1/red apple.png", "stimuli/set 1/green apple.png"], 15)
    ShortNames(names=['red', 'green'], left_out="their common beginning 'stimuli/set 1/' and ending ' apple.png'")
    """
    texts = [" ".join(str(name).split()) for name in names]
    if max(map(len, texts), default=0) <= longest:
        return ShortNames(texts, "")
    beginning, ending = _common_ends(texts)
    parts = [text[len(beginning) : len(text) - len(ending)] for text in texts]
    ends = [f"{end} {text!r}" for end, text in (("beginning", beginning), ("ending", ending)) if text]
    left_out = f"their common {' and '.join(ends)}" if ends else ""
    if max(map(len, parts)) <= longest:
        return ShortNames(parts, left_out)
    return ShortNames(
        [_cut(part, place, longest) for part, place in zip(parts, _unique_from(parts), strict=True)], left_out
    )


def _common_ends(texts: list[str]) -> tuple[str, str]:
    """Return the common beginning and ending of all texts, in whole words; both are "" if a text would be empty."""
    if len(texts) < 2:
        return "", ""
    beginning = _whole_words(_common_prefix(texts))
    ending = _whole_words(_common_prefix([text[len(beginning) :][::-1] for text in texts]))[::-1]
    if any(len(text) <= len(beginning) + len(ending) for text in texts):
        return "", ""
    return beginning, ending


def _whole_words(prefix: str) -> str:
    """Return the prefix up to its last separator, or "" if that is too short to be worth removing."""
    match = re.match(r".*[\W_]", prefix)
    return match[0] if match and len(match[0]) >= LEAST else ""


def _common_prefix(texts: list[str]) -> str:
    """Return the common prefix of all texts, which is that of the first and the last in alphabetical order."""
    first, last = min(texts), max(texts)
    differs = (at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other)
    return first[: next(differs, min(len(first), len(last)))]


def _unique_from(parts: list[str]) -> list[int]:
    """Return the position at which each text first differs from the most similar one, its alphabetical neighbour."""
    order = sorted(range(len(parts)), key=parts.__getitem__)
    places = [0] * len(parts)
    for one, other in itertools.pairwise(order):
        same = len(_common_prefix([parts[one], parts[other]]))
        places[one], places[other] = max(places[one], same), max(places[other], same)
    return places


def _cut(text: str, place: int, longest: int) -> str:
    """Truncate a text so that the characters around position ``place`` remain."""
    if len(text) <= longest:
        return text
    head = -(-longest // 2)
    if place < head:
        return f"{text[:head]}…{text[len(text) - (longest - head - 1) :]}"
    start = min(place - BEFORE, len(text) - longest + 1)
    piece = text[start : start + longest - 1]
    return f"…{piece}" if start + longest - 1 >= len(text) else f"…{piece[:-1]}…"
