"""Response quality of the participants of a running study. No one is ever excluded automatically.

Verdicts and thresholds are those of :mod:`closerthan.people`, so that the researcher's page and ``closerthan people``
agree. The refit process assesses the participants (:func:`~closerthan.collect.choosing.judging.assessed_people`) and
stores the result with the map; this module adds the current counts from the database.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypedDict

from closerthan.collect.store.access import Access
from closerthan.collect.store.database import Store
from closerthan.collect.study.description import Study
from closerthan.collect.web.interview import passed
from closerthan.people.person import DOUBTFUL, FAST, FEW, one_sided, signs_of_carelessness
from closerthan.wording import percent

__all__ = ["Assessment", "Participant", "passed_checks", "people"]

NOT_ASSESSED = "not assessed yet"


class Assessment(TypedDict):
    """Lapse rate, verdict and reasons of one participant, as in :class:`closerthan.people.person.Person`."""

    lapse: float | None
    verdict: str
    reasons: str


@dataclass(frozen=True)
class Participant:
    """Statistics of one participant; pairs are (number of successes, number of trials).

    Attributes
    ----------
    name, state
        Pseudonym, and the state of the interview.
    answers
        Number of answers so far, without practice.
    checks, repeats, shared
        Check questions that were passed, repeated questions that were answered as before, and shared questions that
        were answered like most of the other participants.
    left
        Fraction of the answers in which the left (or first) option was chosen; None without answers.
    median_ms, fast
        Median response time in milliseconds, and the fraction of the answers that took less than 0.3 s.
    lapse, verdict, reasons
        The latest :class:`Assessment`. Before the first one, the verdict is "few" or "not assessed yet", and the
        reasons are those that need no map.
    """

    name: str
    state: str
    answers: int
    checks: tuple[int, int]
    repeats: tuple[int, int]
    shared: tuple[int, int]
    left: float | None
    median_ms: float | None
    fast: float | None
    lapse: float | None
    verdict: str
    reasons: str

    @property
    def needs_attention(self) -> bool:
        """True if the researcher should look at this participant's answers."""
        return bool(self.reasons) and (self.verdict in DOUBTFUL or self.verdict in ("fine", NOT_ASSESSED))

    def to_data(self) -> dict[str, Any]:
        """Return the statistics as JSON data."""
        return {**asdict(self), "needs_attention": self.needs_attention}


def people(store: Store, study: Study, access: Access) -> list[Participant]:
    """Return all participants who gave their consent, the latest first."""
    with store.reading():
        rows = store.rows(
            """SELECT number, state, value AS person FROM participants
            LEFT JOIN identities ON participant = number AND role = 'person'
            WHERE state <> 'declined' ORDER BY number DESC"""
        )
        counts = {row["participant"]: row for row in store.rows(
            """SELECT participant, count(*) AS answers, avg(choice = 0) AS left, avg(rt_ms < ?) AS fast FROM questions
            JOIN answers ON question = id WHERE place > 0 GROUP BY participant""", 1000 * FAST
        )}  # fmt: skip
        medians = {row["participant"]: row["median"] for row in store.rows(
            """SELECT participant, avg(rt_ms) AS median FROM (
                SELECT participant, rt_ms, row_number() OVER (PARTITION BY participant ORDER BY rt_ms) AS place,
                count(*) OVER (PARTITION BY participant) AS number
                FROM questions JOIN answers ON question = id WHERE questions.place > 0 AND rt_ms IS NOT NULL)
            WHERE place IN ((number + 1) / 2, (number + 2) / 2) GROUP BY participant"""
        )}  # fmt: skip
        assessed: dict[str, Assessment] = store.latest_judgement().get("people") or {}
        checks, repeats, shared = passed_checks(store, study.kind), _repeats(store, study), _agreements(store, study)
    participants = []
    for row in rows:
        number = row["number"]
        count = counts.get(number)
        n_answers, fraction_left, fast = (count["answers"], count["left"], count["fast"]) if count else (0, None, None)
        participants.append(
            Participant(
                name=access.pseudonym(number, row["person"]),
                state=row["state"],
                answers=n_answers,
                checks=checks[number],
                repeats=repeats[number],
                shared=shared[number],
                left=fraction_left,
                median_ms=medians.get(number),
                fast=fast,
                **(
                    assessed.get(str(number))
                    or _before_assessment(n_answers, checks[number], fraction_left, fast, study)
                ),
            )
        )
    return participants


def _before_assessment(
    n_answers: int, checks: tuple[int, int], fraction_left: float | None, fast: float | None, study: Study
) -> Assessment:
    """Return verdict and reasons of a participant who is not part of an assessment yet."""
    if n_answers < FEW:
        return {"lapse": None, "verdict": "few", "reasons": ""}
    fraction = math.nan if fraction_left is None else fraction_left
    n_sides = n_answers if fraction_left is not None and study.options == 2 else 0
    reasons = signs_of_carelessness((checks[1], checks[0]), (fraction, n_sides), math.nan if fast is None else fast)
    if study.options > 2 and fraction_left is not None and one_sided(fraction, n_answers, 1 / study.options):
        reasons.append(f"{percent(fraction, 0)} in the first position")
    return {"lapse": None, "verdict": NOT_ASSESSED, "reasons": ", ".join(reasons)}


def _pairs() -> defaultdict[int, tuple[int, int]]:
    return defaultdict(lambda: (0, 0))


def passed_checks(store: Store, kind: str) -> dict[int, tuple[int, int]]:
    """Return, for each participant, the numbers of check questions passed and answered."""
    counts = _pairs()
    rows = store.rows("SELECT * FROM questions JOIN answers ON question = id WHERE kind = 'check' AND said = 'choice'")
    for row in rows:
        n_passed, n_checks = counts[row["participant"]]
        counts[row["participant"]] = (n_passed + passed(kind, _objects(row), row["choice"]), n_checks + 1)
    return counts


def _repeats(store: Store, study: Study) -> dict[int, tuple[int, int]]:
    """Return, for each participant, the numbers of repeated questions answered as before and answered at all."""
    counts = _pairs()
    rows = store.rows(
        """SELECT again.participant, again.first, again.second, again.third, later.choice AS choice,
        question.first AS first_1, question.second AS second_1, question.third AS third_1, earlier.choice AS choice_1
        FROM questions AS again JOIN answers AS later ON later.question = again.id
        JOIN questions AS question ON question.id = again.repeats
        JOIN answers AS earlier ON earlier.question = question.id
        WHERE later.said = 'choice' AND earlier.said = 'choice'"""
    )
    for row in rows:
        same, total = counts[row["participant"]]
        before = (row["first_1"], row["second_1"], row["third_1"])
        is_same = _picked(study, _objects(row), row["choice"]) == _picked(study, before, row["choice_1"])
        counts[row["participant"]] = (same + is_same, total + 1)
    return counts


def _agreements(store: Store, study: Study) -> dict[int, tuple[int, int]]:
    """Return for each participant how many shared questions were answered like most others, and how many were compared.

    Questions without a unique most frequent answer of the other participants are not compared.
    """
    picks: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    rows = store.rows("SELECT * FROM questions JOIN answers ON question = id WHERE kind = 'shared' AND said = 'choice'")
    for row in rows:
        picks[row["content"]].append((row["participant"], _picked(study, _objects(row), row["choice"])))
    counts = _pairs()
    for answers in picks.values():
        votes = Counter(pick for _, pick in answers)
        for participant, pick in answers:
            others = votes.copy()
            others[pick] -= 1
            (most, number), *rest = others.most_common()
            if number > 0 and not (rest and rest[0][1] == number):  # the others have a unique most frequent answer
                same, total = counts[participant]
                counts[participant] = (same + (pick == most), total + 1)
    return counts


def _objects(row: Any) -> tuple[int, int, int]:
    return row["first"], row["second"], row["third"]


def _picked(study: Study, objects: Sequence[int], choice: int) -> int:
    return objects[choice + (study.kind == "closer")]
