"""Selection of a participant's next question: a plan determines its kind, a queue or a random draw its objects."""

import itertools
import math
import random
import secrets
from collections.abc import Sequence
from typing import NamedTuple

from closerthan.collect.store.database import Store
from closerthan.collect.study.description import Study

__all__ = ["DrawnQuestion", "QuestionDrawer", "content_of"]

_LETTERS = {"chosen": "c", "random": "r", "shared": "s", "repeat": "a", "check": "k"}
_NAMES = {letter: name for name, letter in _LETTERS.items()}
_SMALL = 12  # with at most this many objects, all questions are listed; with more, rejection sampling is fast
_QUEUE_HEAD = 50  # questions of the queue to consider; a participant has rarely answered all of these before
_TRIES = 1000  # attempts of rejection sampling


class DrawnQuestion(NamedTuple):
    """A question: its objects in the order of presentation, and how it was selected."""

    objects: tuple[int, int, int]
    kind: str
    repeats: str | None = None
    score: float | None = None
    map: int | None = None
    probability: float | None = None


def content_of(kind: str, objects: Sequence[int]) -> str:
    """Return a text that identifies a question, whatever the order of its options.

    Examples
    --------
    >>> content_of("closer", (5, 9, 2)), content_of("odd", (5, 9, 2))
    ('5:2:9', '2:5:9')
    """
    first, *options = objects
    ordered = [first, *sorted(options)] if kind == "closer" else sorted(objects)
    return ":".join(map(str, ordered))


class QuestionDrawer:
    """Draws the questions of a study. All methods must be called inside a transaction of the store."""

    def __init__(self, study: Study, store: Store, objects: Sequence[int], rng: random.Random | None = None) -> None:
        self._study, self._store = study, store
        self._objects = list(objects)
        self._available = set(objects)
        self._random = rng or random.SystemRandom()
        n = len(self._objects)
        self._possible = n * math.comb(n - 1, 2) if study.kind == "closer" else math.comb(n, 3)

    def plan(self) -> str:
        """Draw the kind of question at each place; shared questions have the same places for all participants."""
        number = self._study.number
        plan: list[str | None] = [None] * number
        for place in self._shared_places():
            plan[place - 1] = "shared"
        free = [place for place in range(number) if plan[place] is None]
        # Only earlier questions can be repeated, so repeats are in the second half of the free places if possible.
        n_repeats = self._study.count_of("repeat")
        late = free[-max(n_repeats, len(free) // 2) :] if n_repeats else []
        for place in self._random.sample(late, n_repeats):
            plan[place] = "repeat"
        for kind in ("check", "random"):
            free = [place for place in range(number) if plan[place] is None]
            for place in self._random.sample(free, min(self._study.count_of(kind), len(free))):
                plan[place] = kind
        return "".join(_LETTERS[kind or "chosen"] for kind in plan)

    def draw(self, participant: int, place: int, plan: str) -> DrawnQuestion:
        """Draw a question for a participant. Places start at 1; practice questions have smaller numbers."""
        kind = "practice" if place < 1 else _NAMES[plan[place - 1]]
        question = None
        if kind == "chosen":
            question = self._from_queue(participant)
        elif kind == "shared":
            question = self._shared(participant, place)
        elif kind == "repeat":
            question = self._repeated(participant)
        elif kind == "check":
            question = self._check()
        # A random question replaces one that is not available, for example if the queue is empty.
        return question or self._at_random(participant, "practice" if kind == "practice" else "random")

    def choose_shared(self) -> None:
        """Choose the questions that all participants get, once for the study."""
        for place in self._shared_places():
            if self._store.value("SELECT 1 FROM shared WHERE place = ?", place) is None:
                first, second, third = self._random_objects(self._shared_contents())
                self._store.insert("shared", place=place, first=first, second=second, third=third)

    def assign(self, participant: int, place: int, plan: str, now: float) -> None:
        """Draw a question and store it for this participant."""
        question = self.draw(participant, place, plan)
        first, second, third = question.objects
        self._store.insert(
            "questions",
            id=secrets.token_urlsafe(9),
            participant=participant,
            place=place,
            kind=question.kind,
            first=first,
            second=second,
            third=third,
            content=self._content(question.objects),
            repeats=question.repeats,
            score=question.score,
            map=question.map,
            probability=question.probability,
            asked_at=now,
        )

    def _shared_places(self) -> list[int]:
        """Return the places of shared questions, spread evenly."""
        number, count = self._study.number, self._study.count_of("shared")
        return [1 + (2 * index + 1) * number // (2 * count) for index in range(count)]

    def _content(self, objects: Sequence[int]) -> str:
        return content_of(self._study.kind, objects)

    def _already_asked(self, participant: int) -> set[str]:
        """Return the questions that must not be asked again; practice and checks do not count."""
        rows = self._store.rows(
            "SELECT content FROM questions WHERE participant = ? AND kind IN ('chosen', 'random', 'shared')",
            participant,
        )
        return {row["content"] for row in rows}

    def _shared_contents(self) -> set[str]:
        return {self._content(tuple(row)) for row in self._store.rows("SELECT first, second, third FROM shared")}

    def _from_queue(self, participant: int) -> DrawnQuestion | None:
        excluded = self._already_asked(participant) | self._shared_contents()
        for row in self._store.rows("SELECT * FROM queue ORDER BY number LIMIT ?", _QUEUE_HEAD):
            objects = (row["first"], row["second"], row["third"])
            if self._content(objects) not in excluded and self._available.issuperset(objects):
                self._store.change("DELETE FROM queue WHERE number = ?", row["number"])
                return DrawnQuestion(
                    self._shuffled(objects),
                    "chosen",
                    score=row["score"],
                    map=row["map"],
                    probability=row["probability"],
                )
        return None

    def _shared(self, participant: int, place: int) -> DrawnQuestion | None:
        row = self._store.row("SELECT first, second, third FROM shared WHERE place = ?", place)
        if row is None or not self._available.issuperset(row):
            return None
        if self._content(tuple(row)) in self._already_asked(participant):
            return None
        return DrawnQuestion(self._shuffled(tuple(row)), "shared", map=self._map())

    def _repeated(self, participant: int) -> DrawnQuestion | None:
        rows = self._store.rows(
            """SELECT * FROM questions JOIN answers ON question = id WHERE participant = ?1 AND said = 'choice'
            AND kind IN ('chosen', 'random')
            AND id NOT IN (SELECT repeats FROM questions WHERE participant = ?1 AND repeats IS NOT NULL)
            ORDER BY place""",
            participant,
        )
        # Do not repeat the latest questions, which are easy to remember, if there are others.
        rows = rows[: max(1, len(rows) - 5)]
        if not rows:
            return None
        row = self._random.choice(rows)
        objects = (row["first"], row["second"], row["third"])
        swapped = (objects[0], objects[2], objects[1]) if self._study.kind == "closer" else objects[::-1]
        return DrawnQuestion(swapped, "repeat", repeats=row["id"], map=self._map(), probability=1 / len(rows))

    def _check(self) -> DrawnQuestion:
        anchor, other = self._random.sample(self._objects, 2)
        n = len(self._objects)
        objects = self._shuffled((anchor, anchor, other))
        return DrawnQuestion(objects, "check", map=self._map(), probability=1 / (n * (n - 1)))

    def _at_random(self, participant: int, kind: str) -> DrawnQuestion:
        excluded = self._already_asked(participant) | self._shared_contents()
        return DrawnQuestion(
            self._random_objects(excluded), kind, map=self._map(), probability=1 / (self._possible - len(excluded))
        )

    def _random_objects(self, excluded: set[str]) -> tuple[int, int, int]:
        """Draw one of the questions that are not excluded, each with the same probability."""
        for _ in range(_TRIES if len(self._objects) > _SMALL else 0):
            first, second, third = self._random.sample(self._objects, 3)
            if self._content((first, second, third)) not in excluded:
                return first, second, third
        remaining = [objects for objects in self._all() if self._content(objects) not in excluded]
        return self._shuffled(self._random.choice(remaining))

    def _all(self) -> list[tuple[int, int, int]]:
        if self._study.kind == "odd":
            return list(itertools.combinations(self._objects, 3))
        return [
            (anchor, *pair)
            for anchor in self._objects
            for pair in itertools.combinations([other for other in self._objects if other != anchor], 2)
        ]

    def _shuffled(self, objects: tuple[int, ...]) -> tuple[int, int, int]:
        """Return the same question with its options in random order."""
        first, second, third = objects
        if self._study.kind == "odd":
            first, second, third = self._random.sample(objects, 3)
        elif self._random.random() < 0.5:
            second, third = third, second
        return first, second, third

    def _map(self) -> int | None:
        version: int | None = self._store.value("SELECT max(version) FROM maps")
        return version
