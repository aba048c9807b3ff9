"""Positions of options on the screen: which one was chosen, and whether the positions are an artefact of the file.

An answer names one of the objects shown: the odd one, the most central one, or the one that is nearest to the anchor.
The position of this object is the position that was chosen. A pair of objects has the position of the object that one
names by choosing the pair: in a question for the odd one out of a, b and c, the pair (a, b) has the position of c.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from closerthan.comparisons.choices import Choices
from closerthan.comparisons.container import Comparisons
from closerthan.comparisons.rows import pair_numbers, pairs_of
from closerthan.comparisons.trials import SIDES, UNKNOWN
from closerthan.wording import percent

__all__ = ["chosen_positions", "fraction_on_left", "position_name", "positions_of_pairs", "without_artefacts"]

# Set by judgement, not tuned.
FEWEST_ANSWERS = 20  # answers with a position; fewer may be in one place by chance
ONE_SIDE = 0.95  # fraction of all answers
ONE_SIDE_OF_A_PERSON = 0.8  # the same for one person; lower than for all answers, since a person gives fewer
FEWEST_OF_A_PERSON = 5  # answers with a position
MOST_PEOPLE = 0.9  # fraction of the people: one or two careless ones do not make the file one-sided

Positions = NDArray[np.int8]


def position_name(position: int, n_options: int) -> str:
    """Return the name of a position among a number of options.

    Examples
    --------
    >>> position_name(0, 2), position_name(0, 3)
    ('left', 'position 1 of 3')
    """
    return SIDES[position] if n_options == len(SIDES) else f"position {position + 1} of {n_options}"


def without_artefacts(answers: Comparisons) -> tuple[Comparisons, str]:
    """Drop positions that are a property of the file and not of the screen; return a sentence that says so, or "".

    This is assumed if nearly all people almost always chose the same position, as in an export whose last column holds
    the odd object, or if the objects of nearly all questions are in the order of their numbers.

    Examples
    --------
    >>> from closerthan.comparisons import Trials
    >>> rows = np.random.default_rng(0).permuted(np.tile(np.arange(5), (40, 1)), axis=1)[:, :3]
    >>> answers = Comparisons.from_triplets(rows, people=[1, 2] * 20, trials=Trials(sides=["left"] * 40))
    >>> answers, sentence = without_artefacts(answers)
    >>> answers.positions is None, sentence[:56]
    (True, 'the chosen object is on the left in 100.0 % of the answe')
    """
    if answers.positions is None:
        return answers, ""
    rows, chosen = _chosen(answers)
    if len(rows) < FEWEST_ANSWERS:
        return answers, ""
    sentence = _one_sided(answers, rows, chosen) or _sorted(answers)
    if not sentence:
        return answers, ""
    assert answers.trials is not None
    trials = dataclasses.replace(answers.trials, positions=None)
    return answers.replace(trials=trials if len(trials) else None), sentence


def _one_sided(answers: Comparisons, rows: NDArray[np.intp], chosen: Positions) -> str:
    counts = np.bincount(chosen)
    position = int(counts.argmax())
    fraction = float(counts[position] / len(chosen))
    if fraction <= ONE_SIDE:
        return ""
    if answers.people is not None:
        number = np.bincount(answers.people[rows])
        on_side = np.bincount(answers.people[rows], chosen == position)
        enough = number >= FEWEST_OF_A_PERSON
        one_sided = on_side[enough] >= ONE_SIDE_OF_A_PERSON * number[enough]
        if len(one_sided) and one_sided.mean() < MOST_PEOPLE:
            return ""
    assert answers.positions is not None
    n_options = int(answers.positions.max()) + 1
    where, side = ("on the", "side") if n_options == len(SIDES) else ("in", "position")
    return (
        f"the chosen object is {where} {position_name(position, n_options)} in {percent(fraction)} of the answers, so "
        f"the {side} is a property of the file, not of the people; {side}s are ignored"
    )


def _sorted(answers: Comparisons) -> str:
    assert answers.positions is not None
    rows, positions = np.asarray(answers.rows), answers.positions
    has_both = (positions >= 0).all(axis=1)
    if rows.shape[1] != 3 or has_both.sum() < FEWEST_ANSWERS:
        return ""
    near_first = positions[has_both, 0] < positions[has_both, 1]
    ascending = float(np.mean(near_first == (rows[has_both, 1] < rows[has_both, 2])))
    if max(ascending, 1 - ascending) <= ONE_SIDE:
        return ""
    return (
        "the objects of nearly every question are in the order of their numbers or names, so their order is a property "
        "of the file, not of the screen; positions are ignored"
    )


def fraction_on_left(answers: Comparisons) -> float | None:
    """Return the fraction of answers whose near object was shown on the left; None if no answer has a side."""
    if answers.sides is None:
        return None
    _, chosen = _chosen(answers)
    return float((chosen == 0).mean()) if len(chosen) else None


def _chosen(answers: Comparisons) -> tuple[NDArray[np.intp], Positions]:
    """Return a row of each answer with a known position, and the position of the object that the answer names."""
    positions = answers.positions
    assert positions is not None
    named = positions[:, 0]
    if answers.answers is not None and answers.rows.shape[1] == 3:
        named = np.where(_names_far_object(answers), positions[:, 1], named)
    rows = np.flatnonzero(named >= 0)
    if answers.answers is not None:
        rows = rows[np.unique(answers.answers[rows], return_index=True)[1]]
    return rows, named[rows]


def _has_one(answer: NDArray[np.int32], column: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return whether all rows of each answer have the same number in a column."""
    order = np.argsort(answer, kind="stable")
    starts = np.flatnonzero(np.diff(answer[order], prepend=-1))
    least, most = np.minimum.reduceat(column[order], starts), np.maximum.reduceat(column[order], starts)
    same = np.zeros(int(answer.max(initial=-1)) + 1, dtype=bool)
    same[answer[order][starts]] = least == most
    return same


def _names_far_object(answers: Comparisons) -> NDArray[np.bool_]:
    """Return the rows of answers that name the odd one: the rows of each have several anchors and one far object."""
    assert answers.answers is not None
    if not len(answers):
        return np.zeros(0, dtype=bool)
    anchor, _, far = np.asarray(answers.rows).T
    names_odd_one = _has_one(answers.answers, far) & ~_has_one(answers.answers, anchor)
    return np.asarray(names_odd_one[answers.answers])


def positions_of_pairs(answers: Comparisons, choices: Choices) -> Positions:
    """Return the position of each pair of ``choices.pairs``, -1 where it is unknown.

    Parameters
    ----------
    answers
        Comparisons with positions.
    choices
        Their whole answers.

    Examples
    --------
    >>> from closerthan.comparisons import Trials
    >>> trials = Trials(positions=[[2, 0], [1, 0]])  # of a, b and the odd one: 1, 2 and 0
    >>> odd_one_out = Comparisons.from_triplets([[5, 6, 7], [6, 5, 7]], answers=[0, 0], trials=trials, n_objects=8,
    ...     unmentioned="ignore")
    >>> choices = Choices.of(odd_one_out)
    >>> choices.pairs.tolist(), positions_of_pairs(odd_one_out, choices).tolist()
    ([[5, 6], [5, 7], [6, 7]], [0, 2, 1])
    """
    if answers.positions is None:
        return np.full(len(choices.pairs), UNKNOWN, dtype=np.int8)
    rows, near, far = np.asarray(answers.rows), answers.positions[:, 0], answers.positions[:, 1]
    numbers = np.arange(len(rows)) if answers.answers is None else answers.answers
    answer = np.unique(numbers, return_inverse=True)[1].astype(np.int64)
    if rows.shape[1] == 3 and answers.answers is not None:
        # With several anchors, a pair is chosen by naming the third object.
        is_triangle = ~_has_one(answers.answers, rows[:, 0])[answers.answers]
        near, far = np.where(is_triangle, far, near), np.where(is_triangle, near, far)
    both = np.concatenate([pair_numbers(*pair, answers.n_objects) for pair in pairs_of(rows)])
    keys, first = np.unique(np.tile(answer, 2) * answers.n_objects**2 + both, return_index=True)
    pair_of_choice = pair_numbers(choices.pairs[:, 0], choices.pairs[:, 1], answers.n_objects)
    keys_of_pairs = choices.answers[choices.choice_of_pair] * np.int64(answers.n_objects**2) + pair_of_choice
    positions = np.concatenate([near, far])[first][np.searchsorted(keys, keys_of_pairs)]
    return np.where(choices.is_odd_of_many[choices.answers[choices.choice_of_pair]], UNKNOWN, positions).astype(np.int8)


def chosen_positions(choices: Choices, positions: Positions) -> Positions:
    """Return the position that each answer names, -1 where it is unknown or where the answer has several choices.

    ``positions`` are those of the pairs (:func:`positions_of_pairs`).
    """
    chosen = positions[choices.starts[:-1]][choices.first_choices]
    return np.where(choices.n_choices_of_answers == 1, chosen, UNKNOWN).astype(np.int8)
