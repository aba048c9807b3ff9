"""The physical levels of a difference-scaling study, and its answers as questions about intervals between them."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array
from closerthan.checks import ParameterError, distinct
from closerthan.comparisons import Comparisons, pairs_of
from closerthan.messages import value_error
from closerthan.wording import counted, first_few

__all__ = ["IntervalQuestions", "Levels", "levels_of", "questions_about"]

FEWEST = 3  # levels


@dataclasses.dataclass(frozen=True)
class Levels:
    """The levels in ascending order, and the level of each object.

    Attributes
    ----------
    values
        Physical values; 1, 2, ... for levels that are ordered names.
    names
        What the levels are called.
    level_of
        Index of the level of each object; -1 for objects that occur in no answer.
    """

    values: Array
    names: tuple[str, ...]
    level_of: NDArray[np.intp]


def levels_of(answers: Comparisons, levels: Sequence[float] | Sequence[str] | None) -> Levels:
    """Return the levels of the objects that occur in the answers.

    Examples
    --------
    >>> answers = Comparisons.from_triplets([["0.5", "0.25", "2"], ["0.5", "2", "0.25"]])
    >>> levels_of(answers, None).values.tolist()
    [0.25, 0.5, 2.0]
    >>> levels_of(Comparisons.from_triplets([["mid", "low", "high"]]), ["low", "mid", "high"]).names
    ('low', 'mid', 'high')
    """
    names = answers.names or tuple(str(number) for number in range(answers.n_objects))
    if levels is None:
        numbers = [_number(name) for name in names]
        if any(number is None for number in numbers):
            name = names[numbers.index(None)]
            raise value_error(
                f"the level {name!r} is not a number", "pass {levels}, the names in ascending order", levels=...
            )
        values = np.array(numbers, dtype=np.float64)
    elif levels and all(isinstance(level, str) for level in levels):
        order = [str(level) for level in levels]
        distinct(order, "levels")
        absent = [name for name in names if name not in order]
        if absent:
            rule = "it must name all levels in ascending order"
            raise ParameterError("levels", levels, rule, problem=f"does not have {first_few(absent, 5)}")
        values = np.array([order.index(name) + 1.0 for name in names])
    else:
        rule = f"it must have one finite number for each of the {answers.n_objects} objects, or all be names"
        try:
            values = np.asarray(levels, dtype=np.float64)
        except (TypeError, ValueError):
            raise ParameterError("levels", levels, rule) from None
        if values.shape != (answers.n_objects,) or not np.isfinite(values).all():
            raise ParameterError("levels", levels, rule)
    if levels is None:
        _check_order(answers, values)
    mentioned = answers.mentioned
    distinct_values, codes = np.unique(values[mentioned], return_inverse=True)
    level_of = np.full(answers.n_objects, -1, dtype=np.intp)
    level_of[mentioned] = codes
    if len(distinct_values) < FEWEST:
        raise ValueError(
            f"the answers are about {counted(len(distinct_values), 'level')}; a scale needs at least {FEWEST}"
        )
    if levels is not None and isinstance(levels[0], str):
        titles = tuple(str(levels[int(value) - 1]) for value in distinct_values)
    else:
        titles = tuple(f"{value:g}" for value in distinct_values)
    return Levels(distinct_values, titles, level_of)


def _check_order(answers: Comparisons, values: Array) -> None:
    """Raise an error if the intervals of most answers overlap, since the objects may then be numbered in any order.

    The two intervals in a question of difference scaling do not overlap: one ends before, or where, the other begins.
    In questions about objects that are numbered at random, two thirds of the intervals overlap.
    """
    near, far = (np.sort(values[np.stack(ends)], axis=0) for ends in pairs_of(answers.rows))
    overlap = (near[1] > far[0]) & (far[1] > near[0])
    if overlap.mean() > 0.5:
        raise value_error(
            f"the intervals of {int(overlap.sum()):,} of {len(overlap):,} comparisons overlap, so the objects may not "
            "be levels in the order of their numbers",
            "if they are, pass {levels}: the physical value of each object",
            levels=...,
        )


def _number(name: str) -> float | None:
    try:
        value = float(name)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


@dataclasses.dataclass(frozen=True)
class IntervalQuestions:
    """Answers as a regression: predictors of the distinct questions, and the question and response of each answer.

    Attributes
    ----------
    design
        (n_questions, n_levels - 1): the decision variable is ``design @ psi[1:]``, the scale difference of the interval
        that lies higher on the axis minus that of the other one.
    question_of
        The question of each answer.
    responses
        1.0 if the higher interval was judged larger, 0.0 otherwise.
    """

    design: Array
    question_of: NDArray[np.intp]
    responses: Array

    @property
    def totals(self) -> Array:
        """The number of times that each question was asked."""
        return np.bincount(self.question_of, minlength=len(self.design)).astype(np.float64)

    def counts(self, responses: Array) -> Array:
        """Return how often each question was answered "larger", for each row of responses."""
        order = np.argsort(self.question_of, kind="stable")
        starts = np.searchsorted(self.question_of[order], np.arange(len(self.design)))
        return np.add.reduceat(responses[:, order], starts, axis=1)


def questions_about(answers: Comparisons, levels: Levels) -> IntervalQuestions:
    """Return the design and the responses of the regression that estimates the scale.

    Examples
    --------
    >>> answers = Comparisons.from_triplets([["2", "1", "3"], ["2", "3", "1"]])
    >>> questions = questions_about(answers, levels_of(answers, None))
    >>> questions.design.tolist(), questions.responses.tolist()
    ([[-2.0, 1.0]], [1.0, 0.0])
    """
    rows = levels.level_of[answers.rows]
    near = np.sort(rows[:, :2], axis=1)
    far = np.sort(rows[:, [0, 2]] if rows.shape[1] == 3 else rows[:, 2:], axis=1)
    # The higher interval is the one with the higher upper end; of two with the same end, the one that begins higher.
    n_levels = len(levels.values)
    far_is_higher = far[:, 1] * n_levels + far[:, 0] > near[:, 1] * n_levels + near[:, 0]
    higher = np.where(far_is_higher[:, None], far, near)
    lower = np.where(far_is_higher[:, None], near, far)
    pairs, question_of = np.unique(np.column_stack([lower, higher]), axis=0, return_inverse=True)
    design = np.zeros((len(pairs), n_levels))
    for column, sign in enumerate((1.0, -1.0, -1.0, 1.0)):
        np.add.at(design, (np.arange(len(pairs)), pairs[:, column]), sign)
    return IntervalQuestions(design[:, 1:], question_of.reshape(-1), far_is_higher.astype(np.float64))
