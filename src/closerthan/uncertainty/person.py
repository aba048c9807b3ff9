"""Person: what the answers of one person look like, and what to do about it, in words."""

import math
from typing import Any, NamedTuple

import numpy as np

from closerthan.arrays import Array
from closerthan.comparisons import Comparisons
from closerthan.metrics import error_interval
from closerthan.wording import percent, percentage_points

__all__ = ["Person", "check_people", "hurried"]

FEW = 20  # answers: with fewer, nothing can be said of a person
CARELESS = 0.3  # lapse rate that is surely exceeded by somebody careless
UNLIKE = 0.15  # and by somebody who answers unlike the others
FAST = 0.3  # seconds: nobody reads a question in less
MANY_FAST = 0.2  # share of answers, or of sets of them
SET = 20  # answers in a row, of which a person reads most unless in a hurry
FIFTH, TENTH = 0.8, 1.1  # seconds: the fifth and the tenth fastest of a set, if most were not read
ONE_SIDE = 0.75  # share of answers on one side
PASSED = 0.8  # share of checks
CONSISTENT = 0.75  # agreement with oneself on repeated questions
GUESSING = 0.45  # an error above it is hardly better than chance
ENOUGH = 5  # checks or repeats that tell something

VERDICTS = {
    "reversed": "answers the other way round: see whether near and far are swapped",
    "careless": "looks careless: weigh the answers, or leave them out and say so",
    "unlike": "answers unlike the others: look at the answers, and weigh them",
    "own view": "careful, but with another view than the others: keep, and look at the groups",
    "few": "too few answers to tell: keep",
    "fine": "keep",
}
"""What each verdict advises; the first are the most troubling."""

DOUBTFUL = ("reversed", "careless", "unlike")
"""Verdicts on people whose answers are to count less."""


class Person(NamedTuple):
    """A line of the table of people; what is not known is NaN (or 0 of it)."""

    name: str
    answers: int
    lapse_rate: float  # share of answers that were given without looking
    lapse_low: float  # 95 % interval
    lapse_high: float
    others_error: float  # share of this person's comparisons that the map of the others gets wrong
    own_error: float  # the same of this person's own map, cross-validated; measured where the others' map is poor
    consistency: float  # share of pairs of own answers to the same question that agree
    repeats: int  # such pairs
    agreement: float  # the same with other people's answers
    shared: int
    checks_passed: int
    checks: int
    left: float  # share of chosen objects that were shown on the left
    sides: int  # answers whose side is known
    median_seconds: float
    fast: float  # share of answers that took less than 0.3 seconds
    hurried: float  # share of sets of 20 answers that are too fast to have been read
    weight: float  # mean probability that an answer was given by looking

    @property
    def verdict(self) -> str:
        """A key of ``VERDICTS``: "fine", "few", "own view", "unlike", "careless" or "reversed"."""
        if self.answers < FEW:
            return "careless" if self._failed_checks else "few"
        if error_interval(self.others_error, self.answers).low > 0.5:
            return "reversed"
        if self.lapse_low <= UNLIKE:
            return "careless" if self._failed_checks else "fine"
        signs = self._signs
        if not signs and self._careful:
            return "own view"
        # Speed alone says little: somebody practised answers quickly, and well.
        return "careless" if signs or self.in_a_hurry or self.lapse_low > CARELESS else "unlike"

    @property
    def advice(self) -> str:
        """What to do, in words."""
        return VERDICTS[self.verdict]

    @property
    def lapses(self) -> str:
        """The lapse rate and its 95 % interval, short enough for a table: ``12 % (3-25)``."""
        return (
            f"{percent(self.lapse_rate, 0)} ({percentage_points(self.lapse_low, 0)}-"
            f"{percentage_points(self.lapse_high, 0)})"
        )

    @property
    def reasons(self) -> str:
        """What the verdict rests on, in words; empty if there is nothing to say."""
        if self.verdict == "fine":
            return ""
        said = []
        if self.verdict != "few":
            said.append(
                f"lapses in {percent(self.lapse_rate, 0)} of {self.answers:,} answers "
                f"({percent(self.lapse_low, 0)} to {percent(self.lapse_high, 0)})"
            )
        if self.repeats >= ENOUGH:
            said.append(f"{percent(self.consistency, 0)} the same when asked again")
        if self.predicts_self:
            said.append(
                f"error of the own map {percent(self.own_error, 0)}, of the others' map {percent(self.others_error, 0)}"
            )
        if self.in_a_hurry:
            said.append(f"in a hurry in {percent(self.hurried, 0)} of the sets of {SET} answers")
        return ", ".join([*said, *self._signs])

    @property
    def trouble(self) -> tuple[int, float]:
        """By which people are sorted, the most troubling first."""
        return list(VERDICTS).index(self.verdict), -self.lapse_rate

    @property
    def _failed_checks(self) -> bool:
        return self.checks >= ENOUGH and self.checks_passed < PASSED * self.checks

    @property
    def predicts_self(self) -> bool:
        """Whether a map of the person's own answers predicts them clearly better than the others' map does."""
        if math.isnan(self.own_error):
            return False
        return error_interval(self.own_error, self.answers).high < min(self.others_error, GUESSING)

    @property
    def _careful(self) -> bool:
        if self.predicts_self:
            return True
        if self.repeats < ENOUGH or self.consistency < CONSISTENT:
            return False
        return error_interval(1 - self.consistency, self.repeats).high < 0.5  # not by luck

    @property
    def _signs(self) -> list[str]:
        """Signs of carelessness that do not depend on a map."""
        signs = []
        if self._failed_checks:
            signs.append(f"{self.checks - self.checks_passed} of {self.checks} checks failed")
        if self.sides >= FEW and max(self.left, 1 - self.left) > ONE_SIDE:
            side = "left" if self.left > 0.5 else "right"
            signs.append(f"{percent(max(self.left, 1 - self.left), 0)} on the {side}")
        if self.fast > MANY_FAST:
            signs.append(f"{percent(self.fast, 0)} faster than {FAST:g} s")
        return signs

    @property
    def in_a_hurry(self) -> bool:
        """Whether more than a fifth of the person's sets of answers are too fast to have been read."""
        return self.hurried > MANY_FAST

    def as_row(self) -> dict[str, Any]:
        """All of it, for a table: columns by name."""
        return {**self._asdict(), "verdict": self.verdict, "advice": self.advice, "reasons": self.reasons}


def check_people(answers: Comparisons, what: str) -> None:
    """Raise an error unless at least two people are known, whom ``what`` is about."""
    if answers.people is None:
        raise ValueError(
            f"{what} takes people, but nothing says who gave the answers; pass people= with the comparisons or, for a "
            'file, say which column it is: columns={"participant": ...}'
        )
    if (answers.n_people or 0) < 2:
        raise ValueError(f"all answers are of one person; {what} takes at least two")


def hurried(seconds: Array) -> float:
    """The share of sets of 20 answers in a row that are too fast to have been read; NaN without a whole set.

    A set is too fast if its fifth fastest answer took less than 0.8 and its tenth fastest less than 1.1 seconds: the
    rule by which Hebart et al. (2020) left out workers of the THINGS similarity study.

    Examples
    --------
    >>> slow, fast = np.full(20, 2.0), np.full(20, 0.7)
    >>> hurried(np.concatenate([slow, fast])), hurried(slow[:19])
    (0.5, nan)
    """
    n_sets = len(seconds) // SET
    if not n_sets:
        return math.nan
    sets = np.sort(seconds[: n_sets * SET].reshape(n_sets, SET), axis=1)
    return float(np.mean((sets[:, 4] < FIFTH) & (sets[:, 9] < TENTH)))
