"""Screens: the objects that a question shows, what participants pick, and which comparisons follow."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

__all__ = ["KINDS", "Screen"]

KINDS = ("closer", "odd", "nearest", "rank")
"""The kinds of questions: which of two objects is closer to the anchor, which of three is the odd one out, which r of k
are the closest to the anchor, and the same in order, the closest first."""

Triplet = tuple[int, int, int]


@dataclass(frozen=True)
class Screen:
    """A kind of question, with the number of options and how many of them to pick.

    A question is a tuple of object numbers: the anchor, if the kind has one, and the options in the order of
    presentation. An answer is a tuple of positions among the options, in the order in which they were picked.

    Examples
    --------
    >>> Screen.of("closer"), Screen.of("nearest", 8, 2).n_objects
    (Screen(kind='closer', n_options=2, n_picks=1), 9)
    """

    kind: str = "closer"
    n_options: int = 2
    n_picks: int = 1

    @classmethod
    def of(cls, kind: str, n_options: int = 8, n_picks: int = 2) -> Self:
        """Return a screen; the numbers are fixed for the kinds "closer" and "odd"."""
        return cls(kind, *{"closer": (2, 1), "odd": (3, 1)}.get(kind, (n_options, n_picks)))

    @classmethod
    def named(cls, name: str) -> Self:
        """Return the screen with this name.

        Examples
        --------
        >>> Screen.named("odd").name, Screen.named("rank 2 of 8").name
        ('odd', 'rank 2 of 8')
        """
        kind, *numbers = name.split()
        return cls.of(kind, *(int(number) for number in numbers[::-2]))

    @property
    def name(self) -> str:
        """The kind, with the numbers of picks and options if several options can be picked."""
        return f"{self.kind} {self.n_picks} of {self.n_options}" if self.picks_several else self.kind

    @property
    def has_anchor(self) -> bool:
        """True if options are compared with an anchor."""
        return self.kind != "odd"

    @property
    def is_ordered(self) -> bool:
        """True if the order of the picks matters."""
        return self.kind == "rank"

    @property
    def picks_several(self) -> bool:
        """True if options are picked one after another and then confirmed."""
        return self.kind in ("nearest", "rank")

    @property
    def n_objects(self) -> int:
        """The number of objects in a question."""
        return self.n_options + self.has_anchor

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a table of questions.

        Examples
        --------
        >>> Screen.of("closer").columns, Screen.of("rank", 3).columns
        (('anchor', 'left', 'right'), ('anchor', 'shown_1', 'shown_2', 'shown_3'))
        """
        if self.kind == "closer":
            return ("anchor", "left", "right")
        if self.kind == "odd":
            return ("item_1", "item_2", "item_3")
        return ("anchor", *(f"shown_{place + 1}" for place in range(self.n_options)))

    def number(self, n_objects: int, n_anchors: int | None = None) -> int:
        """Return the number of different questions about ``n_objects`` objects.

        With ``n_anchors``, only this number of objects may be anchors; questions without an anchor then show at least
        one of these objects.

        Examples
        --------
        >>> Screen.of("closer").number(5), Screen.of("odd").number(5), Screen.of("rank", 4, 2).number(5)
        (30, 10, 5)
        """
        n_anchors = n_objects if n_anchors is None else n_anchors
        if self.has_anchor:
            return n_anchors * math.comb(n_objects - 1, self.n_options)
        return math.comb(n_objects, self.n_options) - math.comb(n_objects - n_anchors, self.n_options)

    def all(self, objects: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """Yield all different questions about some objects."""
        if not self.has_anchor:
            yield from itertools.combinations(objects, self.n_options)
            return
        for anchor in objects:
            others = [other for other in objects if other != anchor]
            yield from ((anchor, *options) for options in itertools.combinations(others, self.n_options))

    def content(self, objects: Sequence[int] | Sequence[str]) -> str:
        """Return a text that identifies a question, whatever the order of its options.

        Examples
        --------
        >>> Screen.of("closer").content((5, 9, 2)), Screen.of("odd").content((5, 9, 2))
        ('5:2:9', '2:5:9')
        """
        return ":".join(map(str, (*objects[: self.has_anchor], *sorted(objects[self.has_anchor :]))))

    def options(self, objects: Sequence[int]) -> tuple[int, ...]:
        """Return the options of a question in the order of presentation."""
        return tuple(objects[self.has_anchor :])

    def reversed(self, objects: Sequence[int]) -> tuple[int, ...]:
        """Return the same question with its options in the opposite order."""
        return (*objects[: self.has_anchor], *self.options(objects)[::-1])

    def comparisons(self, objects: Sequence[int], picks: Sequence[int]) -> list[Triplet]:
        """Return the comparisons (anchor, near, far) that an answer implies.

        Choosing the odd one out gives two of them: each of the other two is closer to its partner than to the odd one.

        Examples
        --------
        >>> Screen.of("closer").comparisons((4, 7, 9), [1]), Screen.of("odd").comparisons((4, 7, 9), [1])
        ([(4, 9, 7)], [(4, 9, 7), (9, 4, 7)])
        >>> Screen.of("rank", 3, 2).comparisons((0, 5, 6, 7), [2, 0])
        [(0, 7, 5), (0, 7, 6), (0, 5, 6)]
        """
        options = self.options(objects)
        others = [option for place, option in enumerate(options) if place not in picks]
        if not self.has_anchor:
            (first, second), odd = others, options[picks[0]]
            return [(first, second, odd), (second, first, odd)]
        later = [options[pick] for pick in picks]
        rows = []
        for pick in picks:
            later = later[1:]
            fars = [*later, *others] if self.is_ordered else others
            rows += [(objects[0], options[pick], far) for far in fars]
        return rows

    def passed(self, objects: Sequence[int], picks: Sequence[int]) -> bool:
        """Return whether a check question, in which an object occurs twice, was answered correctly.

        The anchor itself must be picked (as the first one of a ranking), or the object that differs from the others.

        Examples
        --------
        >>> Screen.of("closer").passed((4, 7, 4), [1]), Screen.of("odd").passed((4, 7, 4), [1])
        (True, True)
        >>> [Screen.of(kind, 3, 2).passed((4, 7, 9, 4), [0, 2]) for kind in ("nearest", "rank")]
        [True, False]
        """
        picked = [self.options(objects)[pick] for pick in picks]
        if not self.has_anchor:
            return list(objects).count(picked[0]) == 1
        return objects[0] in (picked[:1] if self.is_ordered else picked)

    def statements(self, objects: Sequence[int], picks: Sequence[int]) -> dict[tuple[int, ...], int]:
        """Return what an answer says, so that two answers to the same question can be compared statement by statement.

        Picking the odd one out is one statement. Otherwise, there is one for each comparison: of these two objects,
        which is nearer?

        Examples
        --------
        >>> Screen.of("odd").statements((4, 7, 9), [1]), Screen.of("closer").statements((4, 9, 7), [1])
        ({(): 7}, {(7, 9): 7})
        """
        if not self.has_anchor:
            return {(): objects[picks[0]]}
        return {(min(near, far), max(near, far)): near for _, near, far in self.comparisons(objects, picks)}
