"""Detect sides that are an artefact of the file: for all people, the chosen object is nearly always on one side."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from closerthan.comparisons.container import Comparisons
from closerthan.comparisons.trials import SIDES
from closerthan.wording import percent

__all__ = ["fraction_on_left", "without_one_sided"]

# Set by judgement, not tuned.
FEWEST_ANSWERS = 20  # answers with a side; fewer may be on one side by chance
ONE_SIDE = 0.95  # fraction of all answers
ONE_SIDE_OF_A_PERSON = 0.8  # the same for one person; lower than for all answers, since a person gives fewer
FEWEST_OF_A_PERSON = 5  # answers with a side
MOST_PEOPLE = 0.9  # fraction of the people: one or two careless ones do not make the file one-sided


def without_one_sided(answers: Comparisons) -> tuple[Comparisons, str]:
    """Drop the sides if nearly all people almost always chose the same one; return a sentence that says so, or "".

    A preference that everybody shares is a property of the file, such as an export whose first column holds the chosen
    object. It says nothing about how carefully people answered.

    Examples
    --------
    >>> from closerthan.comparisons import Trials
    >>> rows = np.random.default_rng(0).permuted(np.tile(np.arange(5), (40, 1)), axis=1)[:, :3]
    >>> answers = Comparisons.from_triplets(rows, people=[1, 2] * 20, trials=Trials(sides=["left"] * 40))
    >>> answers, sentence = without_one_sided(answers)
    >>> answers.sides is None, sentence[:56]
    (True, 'the chosen object is on the left in 100.0 % of the answe')
    """
    first_rows = _first_rows(answers)
    if answers.trials is None or len(first_rows) < FEWEST_ANSWERS:
        return answers, ""
    on_left = np.asarray(answers.sides)[first_rows] == 0
    fraction = float(on_left.mean())
    side = 0 if fraction > 0.5 else 1
    if max(fraction, 1 - fraction) <= ONE_SIDE:
        return answers, ""
    if answers.people is not None:
        number = np.bincount(answers.people[first_rows])
        on_side = np.bincount(answers.people[first_rows], on_left == (side == 0))
        enough = number >= FEWEST_OF_A_PERSON
        one_sided = on_side[enough] >= ONE_SIDE_OF_A_PERSON * number[enough]
        if len(one_sided) and one_sided.mean() < MOST_PEOPLE:
            return answers, ""
    sentence = (
        f"the chosen object is on the {SIDES[side]} in {percent(max(fraction, 1 - fraction))} of the answers, so the "
        "side is a property of the file, not of the people; sides are ignored"
    )
    trials = dataclasses.replace(answers.trials, sides=None)
    return answers.replace(trials=trials if len(trials) else None), sentence


def fraction_on_left(answers: Comparisons) -> float | None:
    """Return the fraction of answers whose near object was shown on the left; None if no answer has a side."""
    first_rows = _first_rows(answers)
    return float((np.asarray(answers.sides)[first_rows] == 0).mean()) if len(first_rows) else None


def _first_rows(answers: Comparisons) -> NDArray[np.intp]:
    """Return the first row of each answer that has a side."""
    if answers.sides is None:
        return np.empty(0, np.intp)
    rows = np.flatnonzero(answers.sides >= 0)
    return rows if answers.answers is None else rows[np.unique(answers.answers[rows], return_index=True)[1]]
