"""Selection of a participant's next question: a plan determines its kind, a queue or a random draw its objects."""

import math
import random
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from closerthan.collect.store.answers import columns_of, objects_of
from closerthan.collect.store.database import Store
from closerthan.collect.study.description import Study

__all__ = ["DrawnQuestion", "NoQuestionLeftError", "QuestionDrawer"]

_LETTERS = {"chosen": "c", "random": "r", "shared": "s", "repeat": "a", "check": "k", "own": "o"}
_NAMES = {letter: name for name, letter in _LETTERS.items()}
_FEW = 1000  # up to this number of questions, all of them are listed; with more, rejection sampling is fast
_QUEUE_HEAD = 50  # questions of the queue to consider; a participant has rarely answered all of these before
_TRIES = 1000  # attempts of rejection sampling


class NoQuestionLeftError(Exception):
    """The participant has been asked all questions that the objects allow."""


class DrawnQuestion(NamedTuple):
    """A question: its objects in the order of presentation, and how it was selected."""

    objects: tuple[int, ...]
    kind: str
    repeats: str | None = None
    score: float | None = None
    map: int | None = None
    probability: float | None = None


class QuestionDrawer:
    """Draws the questions of a study. All methods must be called inside a transaction of the store."""

    def __init__(
        self,
        study: Study,
        store: Store,
        numbers: Mapping[str, int],
        rng: random.Random | None = None,
        condition: str = "",
    ) -> None:
        self._study, self._store, self._screen = study, store, study.screen
        self._condition = condition
        self._objects = [numbers[stimulus.name] for stimulus in study.objects]
        self._available = set(self._objects)
        self._own = [tuple(numbers[name] for name in names) for names in study.own_questions]
        self._random = rng or random.SystemRandom()
        self._possible = self._screen.number(len(self._objects))

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
        for kind in ("check", "random", "own"):
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
        elif kind == "own":
            question = self._from_own_list(participant)
        elif kind == "check" or (kind == "practice" and self._study.feedback):
            question = self._check()._replace(kind=kind)
        # A random question replaces one that is not available, for example if the queue is empty.
        return question or self._at_random(participant, "practice" if kind == "practice" else "random")

    def choose_shared(self) -> None:
        """Choose the questions that all participants get, once for the study."""
        for place in self._shared_places():
            if self._shared_at(place) is None:
                objects = self._shared_elsewhere(place) or self._random_objects(self._reserved())
                self._store.insert("shared", condition=self._condition, place=place, **columns_of(objects))

    def _shared_at(self, place: int) -> Any:
        return self._store.row("SELECT * FROM shared WHERE condition = ? AND place = ?", self._condition, place)

    def _shared_elsewhere(self, place: int) -> tuple[int, ...] | None:
        """Return the question that another condition shares at this place, so that conditions can be compared."""
        rows = self._store.rows("SELECT * FROM shared WHERE place = ? ORDER BY condition", place)
        reserved = self._reserved()
        for objects in map(objects_of, rows):
            if self._available.issuperset(objects) and self._screen.content(objects) not in reserved:
                return objects
        return None

    def assign(self, participant: int, place: int, plan: str, now: float) -> None:
        """Draw a question and store it for this participant."""
        question = self.draw(participant, place, plan)
        self._store.insert(
            "questions",
            id=secrets.token_urlsafe(9),
            participant=participant,
            place=place,
            kind=question.kind,
            **columns_of(question.objects),
            content=self._screen.content(question.objects),
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

    def _already_asked(self, participant: int) -> set[str]:
        """Return the questions that must not be asked again; practice and checks do not count."""
        rows = self._store.rows(
            "SELECT content FROM questions WHERE participant = ? AND kind IN ('chosen', 'random', 'shared', 'own')",
            participant,
        )
        return {row["content"] for row in rows}

    def _reserved(self) -> set[str]:
        """Return the questions that everybody gets: shared ones, and the researcher's own if their order is fixed."""
        shared = [
            objects_of(row) for row in self._store.rows("SELECT * FROM shared WHERE condition = ?", self._condition)
        ]
        own = self._own[: self._study.count_of("own")] if self._study.own_order == "listed" else []
        return {self._screen.content(objects) for objects in (*shared, *own)}

    def _from_own_list(self, participant: int) -> DrawnQuestion | None:
        excluded = self._already_asked(participant)
        contents = {self._screen.content(objects): objects for objects in self._own}
        remaining = [
            content
            for content, objects in contents.items()
            if content not in excluded and self._available.issuperset(objects)
        ]
        if not remaining:
            return None
        content, probability = remaining[0], 1.0
        if self._study.own_order == "random":
            counts = dict(map(tuple, self._store.rows("SELECT content, asked FROM own_questions")))
            least = min(counts.get(content, 0) for content in remaining)
            candidates = [content for content in remaining if counts.get(content, 0) == least]
            content, probability = self._random.choice(candidates), 1 / len(candidates)
        if not self._is_pilot(participant):
            self._store.change(
                """INSERT INTO own_questions VALUES (?, 1)
                ON CONFLICT (content) DO UPDATE SET asked = asked + 1""",
                content,
            )
        objects = self._shuffled(contents[content])
        return DrawnQuestion(objects, "own", map=self._map(), probability=probability)

    def _from_queue(self, participant: int) -> DrawnQuestion | None:
        excluded = self._already_asked(participant) | self._reserved()
        for row in self._store.rows(
            "SELECT * FROM queue WHERE condition = ? ORDER BY number LIMIT ?", self._condition, _QUEUE_HEAD
        ):
            objects = objects_of(row)
            if self._screen.content(objects) not in excluded and self._available.issuperset(objects):
                if not self._is_pilot(participant):  # a question to a pilot still has to be asked
                    self._store.change("DELETE FROM queue WHERE number = ?", row["number"])
                return DrawnQuestion(
                    self._shuffled(objects),
                    "chosen",
                    score=row["score"],
                    map=row["map"],
                    probability=row["probability"],
                )
        return None

    def _is_pilot(self, participant: int) -> bool:
        return bool(self._store.value("SELECT pilot FROM participants WHERE number = ?", participant))

    def _shared(self, participant: int, place: int) -> DrawnQuestion | None:
        row = self._shared_at(place)
        if row is None:
            return None
        objects = objects_of(row)
        if not self._available.issuperset(objects) or self._screen.content(objects) in self._already_asked(participant):
            return None
        return DrawnQuestion(self._shuffled(objects), "shared", map=self._map())

    def _repeated(self, participant: int) -> DrawnQuestion | None:
        rows = self._store.rows(
            """SELECT questions.* FROM questions JOIN answers ON question = id
            WHERE participant = ? AND said = 'choice' AND kind IN ('chosen', 'random', 'own')
            AND id NOT IN (SELECT repeats FROM questions WHERE participant = ? AND repeats IS NOT NULL)
            ORDER BY place""",
            participant,
            participant,
        )
        rows = [row for row in rows if self._available.issuperset(objects_of(row))]
        # Do not repeat the latest questions, which are easy to remember, if there are others.
        rows = rows[: max(1, len(rows) - 5)]
        if not rows:
            return None
        row = self._random.choice(rows)
        turned = self._screen.reversed(objects_of(row))
        return DrawnQuestion(turned, "repeat", repeats=row["id"], map=self._map(), probability=1 / len(rows))

    def _check(self) -> DrawnQuestion:
        """Draw a question in which one of the options is the anchor, or two of three options are the same."""
        n_others = self._screen.n_options - 1 if self._screen.has_anchor else 1
        anchor, *others = self._random.sample(self._objects, 1 + n_others)
        n = len(self._objects)
        objects = self._shuffled((anchor, anchor, *others))
        return DrawnQuestion(objects, "check", map=self._map(), probability=1 / (n * math.comb(n - 1, n_others)))

    def _at_random(self, participant: int, kind: str) -> DrawnQuestion:
        excluded = self._possible_ones(self._already_asked(participant) | self._reserved())
        if kind == "practice" and len(excluded) == self._possible:  # practice may repeat a question
            excluded = set()
        return DrawnQuestion(
            self._random_objects(excluded), kind, map=self._map(), probability=1 / (self._possible - len(excluded))
        )

    def _possible_ones(self, contents: set[str]) -> set[str]:
        """Return those questions whose objects are still part of the study."""
        return {content for content in contents if self._available.issuperset(map(int, content.split(":")))}

    def _random_objects(self, excluded: set[str]) -> tuple[int, ...]:
        """Draw one of the questions that are not excluded, each with the same probability."""
        for _ in range(_TRIES if self._possible > _FEW else 0):
            objects = tuple(self._random.sample(self._objects, self._screen.n_objects))
            if self._screen.content(objects) not in excluded:
                return objects
        remaining = [
            objects for objects in self._screen.all(self._objects) if self._screen.content(objects) not in excluded
        ]
        if not remaining:
            raise NoQuestionLeftError
        return self._shuffled(self._random.choice(remaining))

    def _shuffled(self, objects: Sequence[int]) -> tuple[int, ...]:
        """Return the same question with its options in random order."""
        options = self._screen.options(objects)
        return (*objects[: self._screen.has_anchor], *self._random.sample(options, len(options)))

    def _map(self) -> int | None:
        version: int | None = self._store.value("SELECT max(version) FROM maps WHERE condition = ?", self._condition)
        return version
