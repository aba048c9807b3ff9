"""How carefully each participant answers, and what to do about it; nobody is ever left out silently.

Checks, sides and times are judged by the same rules as in ``closerthan people``.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from closerthan.collect.store.access import Access
from closerthan.collect.store.database import Store
from closerthan.collect.study.description import Study
from closerthan.collect.web.interview import passed
from closerthan.people.person import FAST, FEW, MANY_FAST, failed_checks, one_sided
from closerthan.wording import percent

__all__ = ["Person", "people"]

LAPSES = 0.5  # more answers than this were given without looking
_SOME = 3  # repeats or shared questions


@dataclass(frozen=True)
class Person:
    """A participant in numbers; pairs are (right, asked)."""

    name: str
    state: str
    answers: int
    checks: tuple[int, int]
    repeats: tuple[int, int]
    shared: tuple[int, int]
    left: float | None
    median_ms: float | None
    fast: float | None  # fraction of the answers that took less than 0.3 s
    lapse: float | None
    advice: str = "fine"
    reasons: tuple[str, ...] = ()

    def told(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def people(store: Store, study: Study, access: Access) -> list[Person]:
    """All participants who agreed, the latest first."""
    with store.reading():
        participants = store.rows(
            """SELECT number, state, value AS person FROM participants
            LEFT JOIN identities ON participant = number AND role = 'person'
            WHERE state <> 'declined' ORDER BY number DESC"""
        )
        counts = {row["participant"]: row for row in store.rows(
            """SELECT participant, count(*) AS answers, avg(choice = 0) AS left FROM questions
            JOIN answers ON question = id WHERE place > 0 GROUP BY participant"""
        )}  # fmt: skip
        medians = {row["participant"]: row["median"] for row in store.rows(
            """SELECT participant, avg(rt_ms) AS median FROM (
                SELECT participant, rt_ms, row_number() OVER (PARTITION BY participant ORDER BY rt_ms) AS place,
                count(*) OVER (PARTITION BY participant) AS number
                FROM questions JOIN answers ON question = id WHERE questions.place > 0 AND rt_ms IS NOT NULL)
            WHERE place IN ((number + 1) / 2, (number + 2) / 2) GROUP BY participant"""
        )}  # fmt: skip
        fast = {row["participant"]: row["fast"] for row in store.rows(
            """SELECT participant, avg(rt_ms < ?) AS fast FROM questions JOIN answers ON question = id
            WHERE questions.place > 0 AND rt_ms IS NOT NULL GROUP BY participant""", 1000 * FAST
        )}  # fmt: skip
        judgement = store.value("SELECT judgement FROM maps WHERE judgement IS NOT NULL ORDER BY version DESC LIMIT 1")
        lapses = json.loads(judgement or "{}").get("lapses") or {}
        checks, repeats, shared = _checks(store, study), _repeats(store, study), _agreements(store, study)
    found = []
    for row in participants:
        number = row["number"]
        count = counts.get(number)
        person = Person(
            name=access.pseudonym(number, row["person"]),
            state=row["state"],
            answers=count["answers"] if count else 0,
            checks=checks[number],
            repeats=repeats[number],
            shared=shared[number],
            left=count["left"] if count else None,
            median_ms=medians.get(number),
            fast=fast.get(number),
            lapse=lapses.get(str(number)),
        )
        found.append(_advised(person, study))
    return found


def _advised(person: Person, study: Study) -> Person:
    reasons = []
    right, asked = person.checks
    if failed_checks(asked, right):
        reasons.append(f"{asked - right} of {asked} checks wrong")
    if person.fast is not None and person.fast > MANY_FAST and person.answers >= FEW:
        reasons.append(f"{percent(person.fast, 0)} of the answers in less than {FAST:g} s")
    if person.lapse is not None and person.lapse > LAPSES and person.answers >= FEW:
        reasons.append(f"{percent(person.lapse, 0)} answered without looking, as far as the map can tell")
    usual = 1 / study.options
    if person.left is not None and one_sided(person.left, person.answers, usual):
        reasons.append(f"{percent(person.left, 0)} left")
    for (same, number), what in ((person.repeats, "repeats"), (person.shared, "shared questions")):
        if number >= _SOME and same / number < usual:
            reasons.append(f"{same} of {number} {what} alike")
    advice = "leave out?" if len(reasons) > 1 else "look closely" if reasons else "fine"
    return Person(**{**asdict(person), "advice": advice, "reasons": tuple(reasons)})


def _pairs() -> defaultdict[int, tuple[int, int]]:
    return defaultdict(lambda: (0, 0))


def _checks(store: Store, study: Study) -> dict[int, tuple[int, int]]:
    found = _pairs()
    for row in store.rows("SELECT * FROM questions JOIN answers ON question = id WHERE kind = 'check'"):
        right, asked = found[row["participant"]]
        is_right = passed(study.kind, _objects(row), row["choice"])
        found[row["participant"]] = (right + is_right, asked + 1)
    return found


def _repeats(store: Store, study: Study) -> dict[int, tuple[int, int]]:
    found = _pairs()
    rows = store.rows(
        """SELECT again.participant, again.first, again.second, again.third, later.choice AS choice,
        question.first AS first_1, question.second AS second_1, question.third AS third_1, earlier.choice AS choice_1
        FROM questions AS again JOIN answers AS later ON later.question = again.id
        JOIN questions AS question ON question.id = again.repeats
        JOIN answers AS earlier ON earlier.question = question.id
        WHERE later.said = 'choice' AND earlier.said = 'choice'"""
    )
    for row in rows:
        same, asked = found[row["participant"]]
        before = (row["first_1"], row["second_1"], row["third_1"])
        is_same = _picked(study, _objects(row), row["choice"]) == _picked(study, before, row["choice_1"])
        found[row["participant"]] = (same + is_same, asked + 1)
    return found


def _agreements(store: Store, study: Study) -> dict[int, tuple[int, int]]:
    """How often somebody said what most of the others said."""
    said: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    rows = store.rows("SELECT * FROM questions JOIN answers ON question = id WHERE kind = 'shared' AND said = 'choice'")
    for row in rows:
        said[row["content"]].append((row["participant"], _picked(study, _objects(row), row["choice"])))
    found = _pairs()
    for answers in said.values():
        counts = Counter(pick for _, pick in answers)
        for participant, pick in answers:
            others = counts.copy()
            others[pick] -= 1
            (most, number), *rest = others.most_common()
            if number > 0 and not (rest and rest[0][1] == number):  # the others are of one mind
                same, asked = found[participant]
                found[participant] = (same + (pick == most), asked + 1)
    return found


def _objects(row: Any) -> tuple[int, int, int]:
    return row["first"], row["second"], row["third"]


def _picked(study: Study, objects: Sequence[int], choice: int) -> int:
    return objects[choice + (study.kind == "closer")]
