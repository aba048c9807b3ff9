"""Which question a participant gets next: its kind by a plan, its objects from a queue or by chance."""

import itertools
import math
import random
import secrets
from collections.abc import Sequence
from typing import NamedTuple

from closerthan.collect.store.database import Store
from closerthan.collect.study.description import Study

__all__ = ["Drawer", "Drawn", "content_of"]

_LETTERS = {"chosen": "c", "random": "r", "shared": "s", "repeat": "a", "check": "k"}
_NAMES = {letter: name for name, letter in _LETTERS.items()}
_SMALL = 12  # with at most so many objects, all questions are listed; with more, drawing again is quick
_LOOKED_AT = 50  # questions of the queue: a person has rarely had as many of those that are waiting
_TRIES = 1000


class Drawn(NamedTuple):
    """A question: its objects as they are shown, and how it came about."""

    objects: tuple[int, int, int]
    kind: str
    repeats: str | None = None
    score: float | None = None
    map: int | None = None
    probability: float | None = None


def content_of(kind: str, objects: Sequence[int]) -> str:
    """The same text for the same question, on whatever sides its objects are.

    Examples
    --------
    >>> content_of("closer", (5, 9, 2)), content_of("odd", (5, 9, 2))
    ('5:2:9', '2:5:9')
    """
    first, *options = objects
    ordered = [first, *sorted(options)] if kind == "closer" else sorted(objects)
    return ":".join(map(str, ordered))


class Drawer:
    """Draws questions of one study. All calls are made inside a transaction of the store."""

    def __init__(self, study: Study, store: Store, objects: Sequence[int], rng: random.Random | None = None) -> None:
        self._study, self._store = study, store
        self._objects = list(objects)
        self._shown = set(objects)
        self._random = rng or random.SystemRandom()
        n = len(self._objects)
        self._possible = n * math.comb(n - 1, 2) if study.kind == "closer" else math.comb(n, 3)

    def plan(self) -> str:
        """The kind of question at each place: shared ones at the same places for everybody, the others by chance."""
        number = self._study.number
        plan: list[str | None] = [None] * number
        for place in self._shared_places():
            plan[place - 1] = "shared"
        free = [place for place in range(number) if plan[place] is None]
        # What is repeated must have been asked: repeats are in the second half of the free places where that is enough.
        n_repeats = self._study.count_of("repeat")
        late = free[-max(n_repeats, len(free) // 2) :] if n_repeats else []
        for place in self._random.sample(late, n_repeats):
            plan[place] = "repeat"
        for kind in ("check", "random"):
            free = [place for place in range(number) if plan[place] is None]
            for place in self._random.sample(free, min(self._study.count_of(kind), len(free))):
                plan[place] = kind
        return "".join(_LETTERS[kind or "chosen"] for kind in plan)

    def draw(self, participant: int, place: int, plan: str) -> Drawn:
        """A question for a participant, for a place from 1 on, or for practice."""
        kind = "practice" if place < 1 else _NAMES[plan[place - 1]]
        drawn = None
        if kind == "chosen":
            drawn = self._from_queue(participant)
        elif kind == "shared":
            drawn = self._shared(participant, place)
        elif kind == "repeat":
            drawn = self._repeated(participant)
        elif kind == "check":
            drawn = self._check()
        # Where there is nothing to take (the queue is empty, say), chance is always ready.
        return drawn or self._by_chance(participant, "practice" if kind == "practice" else "random")

    def share(self) -> None:
        """Decide, once for the study, which questions everybody gets."""
        for place in self._shared_places():
            if self._store.value("SELECT 1 FROM shared WHERE place = ?", place) is None:
                taken = {
                    self._content(tuple(row)) for row in self._store.rows("SELECT first, second, third FROM shared")
                }
                first, second, third = self._objects_by_chance(taken)
                self._store.insert("shared", place=place, first=first, second=second, third=third)

    def hand_out(self, participant: int, place: int, plan: str, now: float) -> None:
        """Draw a question and store it as this participant's."""
        drawn = self.draw(participant, place, plan)
        first, second, third = drawn.objects
        self._store.insert(
            "questions",
            id=secrets.token_urlsafe(9),
            participant=participant,
            place=place,
            kind=drawn.kind,
            first=first,
            second=second,
            third=third,
            content=self._content(drawn.objects),
            repeats=drawn.repeats,
            score=drawn.score,
            map=drawn.map,
            probability=drawn.probability,
            asked_at=now,
        )

    def _shared_places(self) -> list[int]:
        """Spread evenly over the questions."""
        number, count = self._study.number, self._study.count_of("shared")
        return [1 + (2 * index + 1) * number // (2 * count) for index in range(count)]

    def _content(self, objects: Sequence[int]) -> str:
        return content_of(self._study.kind, objects)

    def _seen(self, participant: int) -> set[str]:
        """What a participant was asked and is not to be asked again; practice and checks do not count."""
        rows = self._store.rows(
            "SELECT content FROM questions WHERE participant = ? AND kind IN ('chosen', 'random', 'shared')",
            participant,
        )
        return {row["content"] for row in rows}

    def _shared_contents(self) -> set[str]:
        return {self._content(tuple(row)) for row in self._store.rows("SELECT first, second, third FROM shared")}

    def _from_queue(self, participant: int) -> Drawn | None:
        taken = self._seen(participant) | self._shared_contents()
        for row in self._store.rows("SELECT * FROM queue ORDER BY number LIMIT ?", _LOOKED_AT):
            objects = (row["first"], row["second"], row["third"])
            if self._content(objects) not in taken and all(one in self._shown for one in objects):
                self._store.change("DELETE FROM queue WHERE number = ?", row["number"])
                sides = self._on_sides(objects)
                return Drawn(sides, "chosen", score=row["score"], map=row["map"], probability=row["probability"])
        return None

    def _shared(self, participant: int, place: int) -> Drawn | None:
        row = self._store.row("SELECT first, second, third FROM shared WHERE place = ?", place)
        if row is None or self._content(tuple(row)) in self._seen(participant) or not self._shown.issuperset(row):
            return None
        return Drawn(self._on_sides(tuple(row)), "shared", map=self._map())

    def _repeated(self, participant: int) -> Drawn | None:
        rows = self._store.rows(
            """SELECT * FROM questions JOIN answers ON question = id WHERE participant = ?1 AND said = 'choice'
            AND kind IN ('chosen', 'random')
            AND id NOT IN (SELECT repeats FROM questions WHERE participant = ?1 AND repeats IS NOT NULL)
            ORDER BY place""",
            participant,
        )
        # Not one that is still in everybody's memory, if there are others.
        rows = rows[: max(1, len(rows) - 5)]
        if not rows:
            return None
        row = self._random.choice(rows)
        objects = (row["first"], row["second"], row["third"])
        turned = (objects[0], objects[2], objects[1]) if self._study.kind == "closer" else objects[::-1]
        return Drawn(turned, "repeat", repeats=row["id"], map=self._map(), probability=1 / len(rows))

    def _check(self) -> Drawn:
        one, other = self._random.sample(self._objects, 2)
        n = len(self._objects)
        return Drawn(self._on_sides((one, one, other)), "check", map=self._map(), probability=1 / (n * (n - 1)))

    def _by_chance(self, participant: int, kind: str) -> Drawn:
        taken = self._seen(participant) | self._shared_contents()
        return Drawn(
            self._objects_by_chance(taken), kind, map=self._map(), probability=1 / (self._possible - len(taken))
        )

    def _objects_by_chance(self, taken: set[str]) -> tuple[int, int, int]:
        """Each question that is not taken has the same probability."""
        for _ in range(_TRIES if len(self._objects) > _SMALL else 0):
            one, two, three = self._random.sample(self._objects, 3)
            if self._content((one, two, three)) not in taken:
                return one, two, three
        left = [one for one in self._all() if self._content(one) not in taken]
        return self._on_sides(self._random.choice(left))

    def _all(self) -> list[tuple[int, int, int]]:
        if self._study.kind == "odd":
            return list(itertools.combinations(self._objects, 3))
        return [
            (anchor, *pair)
            for anchor in self._objects
            for pair in itertools.combinations([one for one in self._objects if one != anchor], 2)
        ]

    def _on_sides(self, objects: tuple[int, ...]) -> tuple[int, int, int]:
        """The same question, with its options in random places."""
        first, second, third = objects
        if self._study.kind == "odd":
            first, second, third = self._random.sample(objects, 3)
        elif self._random.random() < 0.5:
            second, third = third, second
        return first, second, third

    def _map(self) -> int | None:
        version: int | None = self._store.value("SELECT max(version) FROM maps")
        return version
