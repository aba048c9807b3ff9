"""Short names: what tells long names apart, to be written beside points."""

import itertools
import re
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["ShortNames", "short_names"]

LEAST = 4  # letters that all names share; fewer are not worth leaving out
BEFORE = 6  # letters to show before the place where a name differs from the others


class ShortNames(NamedTuple):
    """Names that fit beside a point."""

    names: list[str]
    left_out: str  # in words, what all names shared; "" if nothing was left out


def short_names(names: Sequence[str], longest: int) -> ShortNames:
    """Names of at most ``longest`` letters, on one line, that differ where the full names do.

    If a name is too long, what all names begin and end with is left out. One that is still too long is cut where
    it is like the others.

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
    beginning, ending = _shared(texts)
    parts = [text[len(beginning) : len(text) - len(ending)] for text in texts]
    said = [f"{what} {text!r}" for what, text in (("beginning", beginning), ("ending", ending)) if text]
    left_out = f"their common {' and '.join(said)}" if said else ""
    if max(map(len, parts)) <= longest:
        return ShortNames(parts, left_out)
    return ShortNames(
        [_cut(part, place, longest) for part, place in zip(parts, _unique_from(parts), strict=True)], left_out
    )


def _shared(texts: list[str]) -> tuple[str, str]:
    """What all texts begin and end with, in whole words; nothing if little or no text would be left of one."""
    if len(texts) < 2:
        return "", ""
    found = re.match(r".*[\W_]|", _common(texts))
    beginning = found[0] if found and len(found[0]) >= LEAST else ""
    rests = [text[len(beginning) :][::-1] for text in texts]
    found = re.match(r".*[\W_]|", _common(rests))
    ending = found[0][::-1] if found and len(found[0]) >= LEAST else ""
    if any(len(text) <= len(beginning) + len(ending) for text in texts):
        return "", ""
    return beginning, ending


def _common(texts: list[str]) -> str:
    """The letters that all texts begin with: as many as the first and the last in the alphabet share."""
    first, last = min(texts), max(texts)
    differs = (at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other)
    return first[: next(differs, min(len(first), len(last)))]


def _unique_from(parts: list[str]) -> list[int]:
    """Where each text first differs from the one that is most like it: a neighbour in the alphabet."""
    order = sorted(range(len(parts)), key=parts.__getitem__)
    places = [0] * len(parts)
    for one, other in itertools.pairwise(order):
        same = len(_common([parts[one], parts[other]]))
        places[one], places[other] = max(places[one], same), max(places[other], same)
    return places


def _cut(text: str, place: int, longest: int) -> str:
    if len(text) <= longest:
        return text
    head = -(-longest // 2)
    if place < head:
        return f"{text[:head]}…{text[len(text) - (longest - head - 1) :]}"
    start = min(place - BEFORE, len(text) - longest + 1)
    piece = text[start : start + longest - 1]
    return f"…{piece}" if start + longest - 1 >= len(text) else f"…{piece[:-1]}…"
