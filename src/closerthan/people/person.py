"""Person: statistics of one person's answers, the verdict that follows from them, and its reasons in words."""

import math
from typing import Any, NamedTuple

import numpy as np

from closerthan.arrays import Array
from closerthan.comparisons import Comparisons
from closerthan.metrics import error_interval
from closerthan.wording import percent, percentage_points

__all__ = ["Person", "check_people", "failed_checks", "fraction_of_fast_sets", "one_sided", "signs_of_carelessness"]

# Set by judgement unless a reason is given; docs/measured/people.md shows how often the verdicts are right.
FEW = 20  # answers: with fewer, nothing can be said of a person
CARELESS = 0.3  # lapse rate that is surely exceeded by somebody careless
UNLIKE = 0.15  # and by somebody who answers unlike the others
FAST = 0.3  # seconds: nobody reads a question in less
MANY_FAST = 0.2  # fraction of answers, or of sets of them
SET = 20  # answers in a row, of which a person reads most unless in a hurry
FIFTH, TENTH = 0.8, 1.1  # seconds: the fifth and the tenth fastest of a set, if most were not read
ONE_SIDE = 0.75  # fraction of answers on one side
FEW_CHECKS = 3  # with fewer, a failed one may be a slip
MOST_FAILED = 0.2  # fraction of checks that is surely exceeded by somebody who fails them
CONSISTENT = 0.75  # agreement with oneself on repeated questions
ENOUGH = 5  # repeats that tell something
# Binomial standard errors by which another map predicts better. Cross-validated errors of random answers spread 1.1 to
# 1.6 times as widely (all maps share most of the answers), so that about 3 % and 10 % of careless people exceed these.
BETTER, MAYBE_BETTER = 3.0, 2.0
PER_COORDINATE = 3  # answers per coordinate of a map, with which a person's own map predicts clearly better than chance

VERDICTS = {
    "reversed": "answers the other way round: see whether near and far are swapped",
    "careless": "looks careless: no map predicts the answers as well as it should; look at them before you decide",
    "unlike": "answers unlike the others, for an unknown reason: look at the answers",
    "own view": "careful, but with another view than the others: keep, and see whose maps predict the answers",
    "unclear": "cannot be judged, as the map of the others predicts the answers no better than chance: keep",
    "few": "too few answers to tell: keep",
    "fine": "keep",
}
"""The meaning and the advice of each verdict; the first are the most troubling."""

DOUBTFUL = ("reversed", "careless", "unlike")
"""Verdicts on people whose answers may count less."""


class Person(NamedTuple):
    """A line of the table of people; what is not known is NaN (or 0 of it)."""

    name: str
    answers: int
    lapse_rate: float  # share of answers that were given without looking
    lapse_low: float  # 95 % interval
    lapse_high: float
    others_error: float  # share of this person's answers that the map of the others gets wrong
    group_error: float  # the same of a map of people who answer alike, cross-validated; where the others' map is poor
    own_error: float  # the same of a map of this person's own answers; where the other two are poor
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
    hurried: float  # fraction of sets of 20 answers that are very fast
    weight: float  # mean probability that an answer was given by looking
    typical_rate: float = 0.0  # median lapse rate of all people: those who lapse no more often are like the others

    @property
    def verdict(self) -> str:
        """A key of ``VERDICTS``: "fine", "few", "unclear", "own view", "unlike", "careless" or "reversed"."""
        if self.answers < FEW:
            return "few"
        if self.is_suspect and self.predicted_by:
            return "own view"
        if self._is_reversed:
            return "reversed"
        if self.lapse_low <= max(UNLIKE, self.typical_rate):
            return "fine" if error_interval(self.others_error, self.answers).high < 0.5 else "unclear"
        if not self._signs and self._is_consistent:
            return "own view"
        if self._signs:
            return "careless"
        # Speed alone says little: somebody practised answers quickly, and well.
        doubt = self._passed_checks or self._predicted_by(MAYBE_BETTER)
        return "careless" if (self.in_a_hurry or self.lapse_low > CARELESS) and not doubt else "unlike"

    @property
    def is_suspect(self) -> bool:
        """Whether the map of the others predicts the answers so badly that other maps should be tried."""
        return self.answers >= FEW and (self.lapse_low > UNLIKE or self._is_reversed)

    @property
    def predicted_by(self) -> str:
        """Whose map predicts the answers clearly better than that of the others: "group", "own", or "" for nobody's."""
        return self._predicted_by(BETTER)

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
            return ", ".join(self._signs)
        texts = []
        if self.verdict != "few":
            texts.append(
                f"lapses in {percent(self.lapse_rate, 0)} of {self.answers:,} answers "
                f"({percent(self.lapse_low, 0)} to {percent(self.lapse_high, 0)})"
            )
        if self.repeats >= ENOUGH:
            texts.append(f"{percent(self.consistency, 0)} the same when asked again")
        errors = [("of the others' map", self.others_error)]
        errors += [("of a map of people who answer alike", self.group_error), ("of the own map", self.own_error)]
        error_texts = [f"{percent(error, 0)} {whose}" for whose, error in errors if not math.isnan(error)]
        if len(error_texts) > 1 or self.verdict == "unclear":
            texts.append(f"error {', '.join(error_texts)}")
        if self.in_a_hurry:
            texts.append(f"in a hurry in {percent(self.hurried, 0)} of the sets of {SET} answers")
        return ", ".join([*texts, *self._signs])

    @property
    def trouble(self) -> tuple[int, float]:
        """By which people are sorted, the most troubling first."""
        return list(VERDICTS).index(self.verdict), -self.lapse_rate

    @property
    def failed_checks(self) -> bool:
        """Whether the person surely fails more than a fifth of the questions with a known answer."""
        return failed_checks(self.checks, self.checks_passed)

    @property
    def _passed_checks(self) -> bool:
        """Whether more checks were passed than the lapse rate allows: half of the lapses on checks would fail."""
        if not self.checks:
            return False
        return error_interval(1 - self.checks_passed / self.checks, self.checks).high < self.lapse_low / 2

    @property
    def _is_reversed(self) -> bool:
        return error_interval(self.others_error, self.answers, confidence=0.99).low > 0.5

    def _predicted_by(self, standard_errors: float) -> str:
        """Whose map, "group" or "own", predicts better than the map of the others by that many standard errors.

        Where the map of the others is no better than chance, chance is to be beaten; where it is worse, its reverse.
        """
        low, high = error_interval(self.others_error, self.answers)
        others = 0.5 if low <= 0.5 <= high else min(self.others_error, 1 - self.others_error)
        for whose, error in (("group", self.group_error), ("own", self.own_error)):
            variance = others * (1 - others) + (error * (1 - error) if others < 0.5 else 0.0)
            if others - error > standard_errors * math.sqrt(variance / self.answers):  # False if it is NaN
                return whose
        return ""

    @property
    def _is_consistent(self) -> bool:
        if self.repeats < ENOUGH or self.consistency < CONSISTENT:
            return False
        return error_interval(1 - self.consistency, self.repeats).high < 0.5  # not by luck

    @property
    def _signs(self) -> list[str]:
        return signs_of_carelessness((self.checks, self.checks_passed), (self.left, self.sides), self.fast)

    @property
    def has_signs(self) -> bool:
        """Whether something beside the map speaks for carelessness: checks, sides or times."""
        return bool(self._signs) or self.in_a_hurry

    @property
    def in_a_hurry(self) -> bool:
        """Whether more than a fifth of the person's sets of 20 answers, and more than one set, are very fast."""
        n_sets = self.answers // SET
        return self.hurried > MANY_FAST and round(self.hurried * n_sets) > 1

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


def failed_checks(asked: int, passed: int) -> bool:
    """Whether a person surely fails more than a fifth of the checks: the lower end of the 95 % interval lies above.

    Of fewer than three checks nothing is concluded.

    Examples
    --------
    >>> failed_checks(1, 0), failed_checks(5, 3), failed_checks(5, 2), failed_checks(50, 40)
    (False, False, True, False)
    """
    return asked >= FEW_CHECKS and error_interval(1 - passed / asked, asked).low > MOST_FAILED


def one_sided(left: float, answers: int, usual: float = 0.5) -> bool:
    """Whether nearly all answers lie on one side: ``left`` is the fraction on the left, ``usual`` that of chance.

    Examples
    --------
    >>> one_sided(0.8, 100), one_sided(0.8, 10), one_sided(0.1, 100, usual=1 / 3), one_sided(0.6, 100, usual=1 / 3)
    (True, False, True, False)
    """
    least, most = usual * 2 * (1 - ONE_SIDE), 1 - (1 - usual) * 2 * (1 - ONE_SIDE)
    return answers >= FEW and not least <= left <= most


def signs_of_carelessness(checks: tuple[int, int], left: tuple[float, int], fast: float) -> list[str]:
    """Return the signs of carelessness that do not depend on a map, in words.

    Parameters
    ----------
    checks
        Number of check questions asked, and how many of them were passed.
    left
        Fraction of the chosen objects that were shown on the left, and the number of answers whose side is known.
    fast
        Fraction of the answers that took less than 0.3 seconds; NaN if unknown.

    Examples
    --------
    >>> signs_of_carelessness((5, 1), (0.9, 50), 0.1)
    ['4 of 5 checks failed', '90 % on the left']
    """
    signs = []
    if failed_checks(*checks):
        signs.append(f"{checks[0] - checks[1]} of {checks[0]} checks failed")
    if one_sided(*left):
        side = "left" if left[0] > 0.5 else "right"
        signs.append(f"{percent(max(left[0], 1 - left[0]), 0)} on the {side}")
    if fast > MANY_FAST:
        signs.append(f"{percent(fast, 0)} faster than {FAST:g} s")
    return signs


def fraction_of_fast_sets(seconds: Array) -> float:
    """Return the fraction of sets of 20 answers in a row that are very fast; NaN without a whole set.

    A set is very fast if its fifth fastest answer took less than 0.8 and its tenth fastest less than 1.1 seconds: the
    rule by which Hebart et al. (2020) left out workers of the THINGS similarity study.

    Examples
    --------
    >>> slow, fast = np.full(20, 2.0), np.full(20, 0.7)
    >>> fraction_of_fast_sets(np.concatenate([slow, fast])), fraction_of_fast_sets(slow[:19])
    (0.5, nan)
    """
    n_sets = len(seconds) // SET
    if not n_sets:
        return math.nan
    sets = np.sort(seconds[: n_sets * SET].reshape(n_sets, SET), axis=1)
    return float(np.mean((sets[:, 4] < FIFTH) & (sets[:, 9] < TENTH)))
