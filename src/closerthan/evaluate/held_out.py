"""Expected error on new answers, measured by fits that did not see them.

Where it is known which questions were drawn at random, only answers to these are scored
(:mod:`closerthan.evaluate.random_questions`).
"""

import functools
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan.arrays import Array
from closerthan.calibration import Calibration, ChoiceCalibration
from closerthan.checks import checked, number
from closerthan.comparisons import Comparisons
from closerthan.comparisons.grouping import AUTO, draw_groups
from closerthan.evaluate.answer_accuracy import AnswerAccuracy, HeldOutAnswers, answer_accuracy
from closerthan.evaluate.cross_validation import FOLDS, OVERLAP, Folds, held_out_fits, number_of_folds, with_fixed_loss
from closerthan.evaluate.facts import amount
from closerthan.evaluate.random_questions import ONLY_RANDOM, random_among_others, random_part
from closerthan.fit.plan import FitPlan
from closerthan.metrics import clustered_number, effective_number, error_interval, log_odds, margins
from closerthan.representation import tabulated
from closerthan.result import Result
from closerthan.settings import FitOptions, Settings, lists_options
from closerthan.wording import percent_interval

__all__ = ["HeldOutError", "HeldOutSplit", "held_out_error"]

FEWEST_TO_CALIBRATE = 100  # comparisons, or whole answers
MOST_OF_RANDOM = 0.5  # fraction of the random questions that may be held out; the fit needs some of them, too


class _OfAnswers(TypedDict, total=False):
    """Attributes of :class:`HeldOutError` about whole answers."""

    answers: AnswerAccuracy | None
    answer_calibration: ChoiceCalibration | None


class _About(_OfAnswers, total=False):
    """Attributes of :class:`HeldOutError` besides the error and the comparisons that it was measured on."""

    stopped_by: str
    calibration: Calibration | None
    n_fits: int
    only_random: bool


@tabulated
@dataclass(frozen=True, repr=False)
class HeldOutError:
    """The fraction of held-out comparisons that maps fitted without them get wrong, and the same for whole answers.

    Attributes
    ----------
    error, low, high
        The fraction and its 95 % interval.
    n_comparisons, n_answers
        Number of held-out comparisons, and of the answers that they come from.
    amount
        The same in words.
    by
        The split unit: "answers" and "blocks" (of dependent trials) for the error on new answers,
        "people" for that on new people.
    stopped_by
        Why the fit ended; "" if it is unknown or there were several fits.
    calibration
        Converts the map's log odds into probabilities, for :attr:`closerthan.Result.calibration`; None if fewer than
        100 comparisons were held out.
    n_fits
        Number of fits without a part of the answers: 1, or the number of folds of a cross-validation.
    only_random
        True if some questions were not drawn at random, and only answers to random questions were scored.
    answers
        The accuracy of held-out whole answers, with bits per answer; None if each answer is a single comparison.
    answer_calibration
        Converts the map's log similarities into probabilities of whole answers, for
        :attr:`closerthan.Result.answer_calibration`; None if each answer is a single comparison, or if fewer than 100
        were held out.
    """

    error: float
    low: float
    high: float
    n_comparisons: int
    n_answers: int
    amount: str
    by: str = "answers"
    stopped_by: str = ""
    calibration: Calibration | None = None
    n_fits: int = 1
    only_random: bool = False
    answers: AnswerAccuracy | None = None
    answer_calibration: ChoiceCalibration | None = None

    @classmethod
    def of(cls, held_out: Comparisons, embedding: NDArray[Any], by: str = AUTO, stopped_by: str = "") -> "HeldOutError":
        """Measure the error of a map that was fitted without these comparisons."""
        only_random = random_among_others(held_out) is not None
        held_out = random_part(held_out)
        unit = held_out.split_unit(by)
        n_effective = effective_number(held_out, embedding, by=unit)
        wrong = ~(margins(held_out, embedding) > 0)
        whole = HeldOutAnswers.of(held_out, unit)
        answers = None if whole is None else answer_accuracy(held_out, embedding, by=unit)
        return cls._measured(
            held_out, wrong, n_effective, unit, stopped_by=stopped_by, answers=answers, only_random=only_random
        )

    @classmethod
    def _measured(
        cls, held_out: Comparisons, wrong: NDArray[np.bool_], n_effective: float, by: str, **about: Unpack[_About]
    ) -> "HeldOutError":
        """Return the error, from the wrong comparisons and the effective number of independent comparisons."""
        error = float(np.average(wrong, weights=held_out.weights))
        low, high = error_interval(error, n_effective)
        words = f"{amount(held_out)}, {ONLY_RANDOM}" if about.get("only_random") else amount(held_out)
        return cls(error, low, high, len(held_out), held_out.n_answers, words, by, **about)

    def __repr__(self) -> str:
        return f"HeldOutError({self})"

    def __str__(self) -> str:
        error = f"{percent_interval(self.error, self.low, self.high)} of {self.amount}"
        return error if self.answers is None else f"{error} are wrong; right: {self.answers}"


@checked
@lists_options(FitOptions)
def held_out_error(
    answers: Comparisons | ArrayLike,
    n_dims: int | None = None,
    *,
    fraction: float = 0.1,
    weights: ArrayLike | None = None,
    settings: Settings | None = None,
    **options: Unpack[FitOptions],
) -> HeldOutError:
    """Estimate the error on new answers by fitting a part of the answers.

    Answers are held out once: a second fit is made without a fraction of them. People are usually few and differ,
    so with ``by="people"`` each person is held out once, in a cross-validation of up to five fits. If the answers
    record which questions were drawn at random (:attr:`closerthan.Trials.random`), only answers to these are scored,
    since other questions, such as those of an adaptive study, may be harder.

    Parameters
    ----------
    answers, n_dims
        As in :func:`closerthan.embed`.
    fraction
        The fraction of the answers to hold out. With ``by="people"``, the smallest fraction of the people to hold out
        in each fit.
    weights
        Weights for the fits only, such as those of :func:`closerthan.assess_people`; held-out answers keep their own.
    settings, options
        Settings of the fit to be judged, as in :func:`closerthan.embed`. ``by`` is the split unit: "answers" (all
        answers about the same objects stay together), "blocks" or "people"; "auto" means blocks if the answers have
        them, otherwise answers. ``seed`` determines what is held out, and is the seed of the fit. In a
        cross-validation, ``loss="auto"`` is chosen once on all answers, and all fits share the time limit.

    Examples
    --------
    >>> import closerthan as ct
    >>> measured = ct.held_out_error(ct.datasets.eurodist().comparisons(), loss="soe")
    >>> measured.amount, bool(measured.low < measured.error < 0.1)
    ('398 comparisons', True)
    """
    number("fraction", fraction, lambda it: 0 < it < 1, "lie between 0 and 1")
    plan = FitPlan.of(settings, n_dims, options, accepts_validation_set=True)
    comparisons, by = Comparisons.of(answers), plan.settings.by
    if by == "people":
        fitted = comparisons if weights is None else comparisons.weighted(weights)
        return _over_people(comparisons, fitted, plan, fraction)
    split = HeldOutSplit.of(comparisons, fraction, plan.seed, by=by, weights=weights)
    return split.error(plan.fit(split.train, progress=plan.progress))


@dataclass(frozen=True)
class HeldOutSplit:
    """Answers in two parts: one to fit, and one that is used only for the held-out error.

    Attributes
    ----------
    train, held_out
        The two parts.
    by
        The split unit.
    only_random
        True if the second part has only random questions, although others were asked. Other questions about the same
        objects are then in neither part.
    """

    train: Comparisons
    held_out: Comparisons
    by: str
    only_random: bool = False

    @classmethod
    def of(
        cls, answers: Comparisons, fraction: float, seed: int, *, by: str = AUTO, weights: ArrayLike | None = None
    ) -> "HeldOutSplit":
        """Hold out ``fraction`` of the answers at random; see :func:`held_out_error` for the parameters."""
        random = random_among_others(answers)
        split = _parts if random is None else functools.partial(_random_parts, random=random)
        train, held_out = split(answers, fraction, seed, by=by)
        if weights is not None:
            train, _ = split(answers.weighted(weights), fraction, seed, by=by)  # the same rows as before, weighted
        return cls(train, held_out, answers.split_unit(by), random is not None)

    def error(self, result: Result) -> HeldOutError:
        """Measure the error of a fit to the first part on the second part."""
        wrong, odds = _predicted(self.held_out, result)
        group = self.held_out.groups(self.by)
        whole = HeldOutAnswers.of(self.held_out, self.by)
        if whole is not None:
            whole.predict(result)
        return HeldOutError._measured(
            self.held_out,
            wrong,
            clustered_number(wrong, group, self.held_out.weights),
            self.by,
            stopped_by=result.stopped_by,
            calibration=_calibration(odds, self.held_out, group),
            only_random=self.only_random,
            **_answers(whole, self.by),
        )


def _over_people(comparisons: Comparisons, fitted: Comparisons, plan: FitPlan, fraction: float) -> HeldOutError:
    """Hold out each person once."""
    n_folds = number_of_folds(comparisons, "people", min(FOLDS, max(round(1 / fraction), 2)))
    wrong, odds = np.zeros(len(comparisons), dtype=bool), np.zeros(len(comparisons))
    whole = HeldOutAnswers.of(comparisons, "people")
    for held_out, result in held_out_fits(fitted, with_fixed_loss(plan, fitted), Folds("people", n_folds)):
        wrong[held_out], odds[held_out] = _predicted(comparisons.take(held_out), result)
        if whole is not None:
            whole.predict(result, held_out)
    random = random_among_others(comparisons)
    answers = _answers(whole, "people", random, OVERLAP)
    if random is not None:
        comparisons, wrong, odds = comparisons.take(random), wrong[random], odds[random]
    group = comparisons.groups("people")
    n_effective = clustered_number(wrong, group, comparisons.weights) / OVERLAP  # the maps share training answers
    return HeldOutError._measured(
        comparisons,
        wrong,
        n_effective,
        "people",
        n_fits=n_folds,
        calibration=_calibration(odds, comparisons, group),
        only_random=random is not None,
        **answers,
    )


def _answers(
    whole: HeldOutAnswers | None, by: str, rows: NDArray[np.bool_] | None = None, overlap: float = 1.0
) -> _OfAnswers:
    """Return the attributes of :class:`HeldOutError` about whole answers; none if each answer is a comparison."""
    if whole is None:
        return {}
    answers, calibration = whole.measured(by, rows=rows, overlap=overlap)
    is_enough = answers.n_answers >= FEWEST_TO_CALIBRATE
    return {"answers": answers, "answer_calibration": calibration if is_enough else None}


def _calibration(odds: Array, held_out: Comparisons, group: NDArray[Any]) -> Calibration | None:
    """Calibrate log odds on held-out comparisons; None if there are too few."""
    if len(odds) < FEWEST_TO_CALIBRATE:
        return None
    return Calibration.fitted(odds, held_out.weights, units=group)


def _predicted(held_out: Comparisons, result: Result) -> tuple[NDArray[np.bool_], Array]:
    """Return which held-out comparisons a map gets wrong, and the log odds of all of them."""
    return ~(margins(held_out, result.embedding) > 0), log_odds(held_out, result.embedding, result.loss)


def _random_parts(
    comparisons: Comparisons, fraction: float, seed: int, *, by: str, random: NDArray[np.bool_]
) -> tuple[Comparisons, Comparisons]:
    """Hold out groups that contain a random question, with ``fraction`` of all comparisons.

    The first part has the comparisons of all other groups, and the second part those of the random questions in the
    groups that are held out.
    """
    group = comparisons.groups(by)
    sizes = np.bincount(group)
    with_random = np.flatnonzero(np.bincount(group, random))
    if len(with_random) < 2:
        raise ValueError("all random questions are in one group and stay together, so one part would have none")
    number = min(fraction * len(comparisons), MOST_OF_RANDOM * sizes[with_random].sum())
    is_drawn = np.zeros(len(sizes), dtype=bool)
    is_drawn[with_random[draw_groups(sizes[with_random], max(round(number), 1), np.random.default_rng(seed))]] = True
    is_held_out = is_drawn[group]
    return comparisons.take(~is_held_out), comparisons.take(is_held_out & random)


def _parts(comparisons: Comparisons, fraction: float, seed: int, *, by: str) -> tuple[Comparisons, Comparisons]:
    """Split at random into two parts, the second with ``fraction`` of the answers; neither is empty."""
    n_rows = comparisons.n_answers if by == "answers" else len(comparisons)
    fraction = min(max(fraction, 1 / n_rows), 1 - 1 / n_rows)
    return comparisons.split(fraction, np.random.default_rng(seed), by=by)
