"""Response quality of the participants of a running study. No one is ever excluded automatically.

Verdicts and thresholds are those of :mod:`closerthan.people`, so that the researcher's page and ``closerthan people``
agree. The refit process assesses the participants (:func:`~closerthan.collect.choosing.judging.assessed_people`) and
stores the result with the map; this module adds the current counts from the database.
"""

import math
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from typing import NamedTuple, TypedDict

from closerthan.collect.store.access import Access
from closerthan.collect.store.answers import ANSWERED, objects_of, picks_of
from closerthan.collect.store.database import Store
from closerthan.collect.store.participants import COUNTED
from closerthan.collect.study.description import Study
from closerthan.comparisons.screen import Screen
from closerthan.people.person import DOUBTFUL, FAST, FEW, one_sided, signs_of_carelessness
from closerthan.registry import JsonObject
from closerthan.wording import percent

__all__ = ["Assessment", "Page", "Participant", "Votes", "n_people", "passed_checks", "people", "shared_votes"]

NOT_ASSESSED = "not assessed yet"

Votes = defaultdict[tuple[str, str, tuple[int, ...]], Counter[int]]
"""Counts of statements, by condition, shared question and subject of the statement."""

_TO_CHECK = ", ".join(f"'{verdict}'" for verdict in (*DOUBTFUL, "fine"))


class Assessment(TypedDict):
    """Lapse rate, verdict and reasons of one participant, as in :class:`closerthan.people.person.Person`."""

    lapse: float | None
    verdict: str
    reasons: str


class Page(NamedTuple):
    """A part of the table of participants.

    Attributes
    ----------
    begin, length
        The number of participants before the page, and the maximum number on it; -1 for no limit.
    only
        "" for everybody, "check" for those whose assessment gives a reason to look at their answers, or "excluded".
    """

    begin: int = 0
    length: int = -1
    only: str = ""

    @property
    def condition(self) -> str:
        """An SQL condition on `participants`, joined with `assessments`."""
        is_excluded = "number IN (SELECT participant FROM exclusions)"
        conditions = {
            "": "1",
            "check": f"(verdict IN ({_TO_CHECK}) OR state = 'failed') AND reasons <> '' AND NOT {is_excluded}",
            "excluded": is_excluded,
        }
        return f"state <> 'declined' AND NOT pilot AND {conditions[self.only]}"


@dataclass(frozen=True)
class Participant:
    """Statistics of one participant; pairs are (number of successes, number of trials).

    Attributes
    ----------
    number, name, state
        Number in the database, pseudonym, and the state of the interview.
    answers
        Number of answers so far, without practice and questions that could not be shown.
    checks, repeats, shared
        Check questions that were passed, repeated questions that were answered as before, and shared questions that
        were answered as most other participants did. Where several options are picked, the comparisons of the
        repeated and shared questions are counted.
    left
        Fraction of the answers in which the left (or first) option was picked; None without answers.
    median_ms, fast
        Median response time in milliseconds, and the fraction of the answers that took less than 0.3 s per pick.
    lapse, verdict, reasons
        The latest :class:`Assessment`. Before the first one, the verdict is "few" or "not assessed yet", and the
        reasons are those that need no map.
    excluded
        Why the researcher left this person's answers out; None if they count.
    condition
        The condition of the participant; empty if there are none.
    """

    number: int
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
    excluded: str | None = None
    condition: str = ""

    @property
    def needs_attention(self) -> bool:
        """True if the researcher should look at this participant's answers."""
        return (
            self.excluded is None
            and bool(self.reasons)
            and (self.verdict in (*DOUBTFUL, "fine", NOT_ASSESSED) or self.state == "failed")
        )

    def to_data(self) -> JsonObject:
        """Return the statistics as JSON data."""
        return {**asdict(self), "needs_attention": self.needs_attention}


def people(
    store: Store, study: Study, access: Access, page: Page | None = None, votes: "Votes | None" = None
) -> list[Participant]:
    """Return the participants who gave their consent, the latest first, without pilots.

    Parameters
    ----------
    store, study, access
        The database, the study and its secrets.
    page
        Which participants to return; by default all of them.
    votes
        The answers of all people to the shared questions, if they have been counted already (:func:`shared_votes`).
    """
    page = page or Page()
    with store.reading():
        rows = store.rows(
            f"""SELECT number, state, condition, value AS person, reason, lapse, verdict, reasons FROM participants
            LEFT JOIN identities ON identities.participant = number AND role = 'person'
            LEFT JOIN exclusions ON exclusions.participant = number
            LEFT JOIN assessments ON assessments.participant = number
            WHERE {page.condition} ORDER BY number DESC LIMIT ? OFFSET ?""", page.length, page.begin
        )  # fmt: skip
        everybody = page.length < 0
        among = "" if everybody else f"AND participant IN ({', '.join(str(row['number']) for row in rows)})"
        counts = {row["participant"]: row for row in store.rows(
            f"""SELECT participant, count(*) AS answers,
            avg(choice = 0 OR ':' || answers.more || ':' LIKE '%:0:%') AS left, avg(rt_ms < ?) AS fast
            FROM questions JOIN answers ON question = id
            WHERE place > 0 AND said <> 'fault' {among} GROUP BY participant""",
            1000 * FAST * study.screen.n_picks,
        )}  # fmt: skip
        medians = {row["participant"]: row["median"] for row in store.rows(
            f"""SELECT participant, avg(rt_ms) AS median FROM (
                SELECT participant, rt_ms, row_number() OVER (PARTITION BY participant ORDER BY rt_ms) AS place,
                count(*) OVER (PARTITION BY participant) AS number
                FROM questions JOIN answers ON question = id
                WHERE questions.place > 0 AND said <> 'fault' AND rt_ms IS NOT NULL {among})
            WHERE place IN ((number + 1) / 2, (number + 2) / 2) GROUP BY participant"""
        )}  # fmt: skip
        screen = study.screen
        checks, repeats = passed_checks(store, screen, among), _repeats(store, screen, among)
        shared = _agreements(store, screen, shared_votes(store, study) if votes is None else votes, among)
    participants = []
    for row in rows:
        number = row["number"]
        count = counts.get(number)
        n_answers, fraction_left, fast = (count["answers"], count["left"], count["fast"]) if count else (0, None, None)
        assessment: Assessment = (
            _before_assessment(n_answers, checks[number], fraction_left, fast, study)
            if row["verdict"] is None
            else {"lapse": row["lapse"], "verdict": row["verdict"], "reasons": row["reasons"]}
        )
        participants.append(
            Participant(
                number=number,
                name=access.pseudonym(number, row["person"]),
                state=row["state"],
                condition=row["condition"],
                answers=n_answers,
                checks=checks[number],
                repeats=repeats[number],
                shared=shared[number],
                left=fraction_left,
                median_ms=medians.get(number),
                fast=fast,
                excluded=row["reason"],
                **assessment,
            )
        )
    return participants


def n_people(store: Store, page: Page) -> int:
    """Return the number of participants on all pages of the same kind."""
    number: int = store.value(
        f"SELECT count(*) FROM participants LEFT JOIN assessments ON participant = number WHERE {page.condition}"
    )
    return number


def _before_assessment(
    n_answers: int, checks: tuple[int, int], fraction_left: float | None, fast: float | None, study: Study
) -> Assessment:
    """Return verdict and reasons of a participant who is not part of an assessment yet."""
    if n_answers < FEW:
        return {"lapse": None, "verdict": "few", "reasons": ""}
    fraction, screen = math.nan if fraction_left is None else fraction_left, study.screen
    n_sides = n_answers if fraction_left is not None and screen.n_options == 2 else 0
    reasons = signs_of_carelessness((checks[1], checks[0]), (fraction, n_sides), math.nan if fast is None else fast)
    expected = screen.n_picks / screen.n_options
    if screen.n_options > 2 and fraction_left is not None and one_sided(fraction, n_answers, expected):
        reasons.append(f"{percent(fraction, 0)} in the first position")
    return {"lapse": None, "verdict": NOT_ASSESSED, "reasons": ", ".join(reasons)}


def _pairs() -> defaultdict[int, tuple[int, int]]:
    return defaultdict(lambda: (0, 0))


def passed_checks(store: Store, screen: Screen, among: str = "") -> dict[int, tuple[int, int]]:
    """Return, for each participant, the numbers of check questions passed and answered.

    ``among`` is an SQL condition on the participants, which begins with AND.
    """
    counts = _pairs()
    rows = store.rows(
        f"""SELECT {ANSWERED} FROM questions JOIN answers ON question = id
        WHERE kind = 'check' AND said = 'choice' {among}"""
    )
    for row in rows:
        n_passed, n_checks = counts[row["participant"]]
        counts[row["participant"]] = (n_passed + screen.passed(objects_of(row), picks_of(row)), n_checks + 1)
    return counts


def _repeats(store: Store, screen: Screen, among: str) -> dict[int, tuple[int, int]]:
    """Return, for each participant, the numbers of statements repeated as before and repeated at all."""
    counts = _pairs()
    answered = f"SELECT {ANSWERED} FROM questions JOIN answers ON question = id WHERE said = 'choice' {among}"
    earlier = {
        row["id"]: screen.statements(objects_of(row), picks_of(row))
        for row in store.rows(f"{answered} AND id IN (SELECT repeats FROM questions WHERE repeats IS NOT NULL {among})")
    }
    for row in store.rows(f"{answered} AND repeats IS NOT NULL"):
        before = earlier.get(row["repeats"], {})
        now = screen.statements(objects_of(row), picks_of(row))
        common = before.keys() & now.keys()
        same, total = counts[row["participant"]]
        counts[row["participant"]] = (same + sum(before[key] == now[key] for key in common), total + len(common))
    return counts


def shared_votes(store: Store, study: Study) -> Votes:
    """Return how often people whose answers count made each statement about each shared question."""
    votes: Votes = defaultdict(Counter)
    rows = store.rows(
        f"""SELECT {ANSWERED}, condition, count(*) AS number FROM questions
        JOIN answers ON question = id JOIN participants ON participants.number = participant
        WHERE kind = 'shared' AND said = 'choice' AND {COUNTED}
        GROUP BY condition, content, first, second, third, questions.more, choice, answers.more"""
    )
    for row in rows:
        for about, statement in study.screen.statements(objects_of(row), picks_of(row)).items():
            votes[row["condition"], row["content"], about][statement] += row["number"]
    return votes


def _agreements(store: Store, screen: Screen, votes: Votes, among: str) -> dict[int, tuple[int, int]]:
    """Return for each participant how many statements agree with those of most others, and how many were compared.

    Statements are about shared questions, and the others are those whose answers count. Statements about which the
    others are divided equally are not compared.
    """
    rows = store.rows(
        f"""SELECT {ANSWERED}, condition, {COUNTED} AS counts FROM questions JOIN answers ON question = id
        JOIN participants ON number = participant WHERE kind = 'shared' AND said = 'choice' {among}"""
    )
    counts = _pairs()
    for row in rows:
        for about, statement in screen.statements(objects_of(row), picks_of(row)).items():
            others = votes[row["condition"], row["content"], about].copy()
            if row["counts"]:
                others[statement] -= 1
            if not others:
                continue
            (most, number), *rest = others.most_common()
            if number > 0 and not (rest and rest[0][1] == number):  # the others have a unique most frequent answer
                same, total = counts[row["participant"]]
                counts[row["participant"]] = (same + (statement == most), total + 1)
    return counts
