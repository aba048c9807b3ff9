"""Learning curve: the error on new answers as a function of the number of answers, and its extrapolation."""

import dataclasses
import functools
import math
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from closerthan.arrays import Array
from closerthan.checks import ParameterError, checked, whole
from closerthan.comparisons import Comparisons
from closerthan.comparisons.grouping import AUTO, none_can_be_held_out
from closerthan.evaluate.answer_accuracy import imply_several_comparisons
from closerthan.evaluate.cross_validation import fold_of
from closerthan.evaluate.random_questions import random_among_others
from closerthan.evaluate.repeats import NoiseCeiling, answer_ceilings, noise_ceilings
from closerthan.fit.progress import trials_bar
from closerthan.losses import Loss
from closerthan.metrics import NORMAL_95, log_odds
from closerthan.result import Result
from closerthan.saving import whole_csv
from closerthan.settings import ENDED, FitOptions, Settings, TimeOverError, ended_by, lists_options
from closerthan.uncertainty.part_errors import PartAccuracies, PartErrors, WholeAnswerMeans, growing
from closerthan.uncertainty.power_law import PowerLaw
from closerthan.uncertainty.refitter import Fitter, Refitter, plan_refits
from closerthan.uncertainty.replicates import Replicates, replicate
from closerthan.wording import html_table, percent, percent_interval, percent_range, percentage_points

__all__ = ["LearningCurve", "learning_curve"]

FRACTIONS = 2.0 ** (-np.arange(6, -1, -1) / 2)  # subset sizes: an eighth, ..., half, 0.71 and all of the answers
# Spread of errors around the power law: a fraction of the standard error of the last error, for the randomness of
# single fits, and a fraction of their height above it, since the initial steep fall does not follow a power law.
# docs/measured/enough-constants.md shows the effect of these constants.
FIT_SPREAD, STEEP_SPREAD = 0.3, 0.1
# Standard error of a predicted decrease, relative to the decrease. Intervals contained the error of twice as many
# answers in 96 % of simulated sets and 13 of 14 halves of real studies; with half the value, in 92 % and 12 of 14
# (docs/measured/enough*.md).
BEYOND = 1.0
FEW = 15  # with fewer answers per coordinate, errors of real studies fell faster than predicted
SMALL = 1e-4  # negligible error that keeps the covariance regular if no answer is predicted wrongly
FEWEST = 5  # groups of answers in the smallest subset
FOLDS = 10
FEWER_FOLDS, MANY = 5, 100_000  # five folds are enough for this many comparisons
LARGEST_LOG_ODDS = 1e3  # log odds are clipped here, since those of a user-defined loss may be infinite
STARTS = 2  # random starts of each fit, since a poor local optimum would distort the curve
DRAWS = 200  # simulated error curves for intervals
WORTH = 0.005  # smallest decrease of the error for which it is worth doubling the answers
MATTERS = 0.01  # decrease that the interval must exclude before the answers are called enough
FEWEST_RANDOM = 100  # with fewer answers to random questions, errors are measured on all questions
GUESSING = 0.45  # error above which predictions are hardly better than chance


class Expected(NamedTuple):
    """The error expected with a number of answers (or people), with its 95 % interval."""

    number: float
    error: float
    low: float
    high: float

    def __str__(self) -> str:
        return percent_interval(self.error, self.low, self.high)


class ExpectedDecrease(NamedTuple):
    """The decrease of the error that twice as many answers (or people) would bring, with its 95 % interval."""

    decrease: float
    low: float
    high: float


class Needed(NamedTuple):
    """The number of answers (or people) needed for an error, with its 95 % interval; infinity if it is out of reach."""

    error: float
    number: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class LearningCurve:
    """Result of :func:`learning_curve`.

    Attributes
    ----------
    by
        The unit that is counted: "answers" or "people".
    total
        Total number of units.
    numbers
        Mean number of units in the subsets of each size.
    errors
        For each size, the error of maps fitted to subsets on comparisons outside them, from calibrated probabilities.
    covariance
        Covariance matrix of the errors, (n_sizes, n_sizes). They are measured on the same answers and therefore
        positively correlated; their differences are more precise than the errors themselves.
    ceilings
        Noise ceilings from repeated questions; empty if no question was repeated.
    share_decided
        The fraction of all triplets on which 95 % of the replicates agree; None without replicates.
    loss
        The loss of all fits.
    stopped_by, after
        The reason for an early end, "interrupted" (by Ctrl-C) or "time_limit", and the progress by then; "" if the
        computation is complete.
    n_unsettled
        Number of objects that are not settled (:attr:`Replicates.unsettled`); None without replicates.
    shape, n_answers
        Numbers of objects and dimensions of the maps, and the number of all answers; 0 if unknown.
    only_random
        True if some questions were not drawn at random, and errors were measured on random questions only.
    accuracies, answer_chance
        For each size, the fraction of whole answers outside the subsets that the maps predict, and that of random
        choices; None and NaN if each answer is a single comparison.
    bits, guessing_bits
        The same for bits per answer: the mean of ``-log2 P``, where P is the probability of a whole answer.
    answer_ceilings
        Noise ceilings of whole answers; empty if each answer is a single comparison.
    """

    by: str
    total: int
    numbers: Array
    errors: Array
    covariance: Array
    ceilings: tuple[NoiseCeiling, ...]
    share_decided: float | None
    loss: Loss
    stopped_by: str = ""
    after: str = ""
    n_unsettled: int | None = None
    shape: tuple[int, int] = (0, 0)
    n_answers: int = 0
    only_random: bool = False
    accuracies: Array | None = None
    answer_chance: float = math.nan
    bits: Array | None = None
    guessing_bits: float = math.nan
    answer_ceilings: tuple[NoiseCeiling, ...] = ()

    def with_replicates(self, replicates: Replicates) -> Self:
        """Return the curve with the fraction of decided triplets and the number of unsettled objects added."""
        return dataclasses.replace(
            self,
            share_decided=replicates.share_decided,
            n_unsettled=len(replicates.unsettled),
            shape=replicates.result.embedding.shape,
        )

    def __repr__(self) -> str:
        return (
            f"LearningCurve({self.total:,} {self.by}: error {percent(self.now.error)}, with twice as many "
            f"{percent(self.twice.error)})"
        )

    def _repr_html_(self) -> str:
        return html_table(repr(self), self.titles, self.table())

    @property
    def titles(self) -> tuple[str, ...]:
        """Titles of :meth:`table`."""
        if self.accuracies is None:
            return self.by, "held-out error", "95 % interval", "curve"
        return self.by, "error", "95 % interval", "curve", "whole answers", "bits"

    def table(self) -> list[tuple[str, ...]]:
        """Return errors and predictions as text; where whole answers were counted, also their accuracy and bits."""
        limits = zip(self.numbers, self.errors, *self.intervals, self.law.at(self.numbers), strict=True)
        rows: list[tuple[str, ...]] = [
            (f"{number:,.0f}", percent(error), percent_range(low, high), percent(fitted))
            for number, error, low, high, fitted in limits
        ]
        for one, what in ((self.now, "(all)"), (self.twice, "(twice as many)")):
            rows.append((f"{one.number:,.0f} {what}", "", percent_range(one.low, one.high), percent(one.error)))
        if self.accuracies is None or self.bits is None:
            return rows
        both = zip(self.accuracies.tolist(), self.bits.tolist(), strict=True)
        cells = [*((percent(accuracy), f"{bits:.2f}") for accuracy, bits in both), ("", ""), ("", "")]
        return [(*row, *of_answers) for row, of_answers in zip(rows, cells, strict=True)]

    @property
    def intervals(self) -> tuple[Array, Array]:
        """Lower and upper limits of the 95 % intervals of the errors."""
        half = stdtrit(self.total - 1, 0.975) * np.sqrt(self.covariance.diagonal())
        return np.maximum(self.errors - half, 0.0), np.minimum(self.errors + half, 1.0)

    @cached_property
    def law(self) -> PowerLaw:
        """The power law fitted to the errors."""
        return _law(self.numbers, self.errors, self.covariance)

    @property
    def now(self) -> Expected:
        """Expected error with all answers (or people)."""
        return self.expected(self.total)

    @property
    def twice(self) -> Expected:
        """Expected error with twice as many answers (or people)."""
        return self.expected(2 * self.total)

    @cached_property
    def gain(self) -> ExpectedDecrease:
        """The decrease of the error that twice as many answers (or people) would bring.

        Its interval includes the spread of curves fitted to simulated errors, and a standard error as large as the
        decrease itself, because the form of the curve beyond the largest measured subset is a guess.
        """
        decrease = max(self.law(self.total) - self.law(2 * self.total), 0.0)
        spread = float(np.std([law(self.total) - law(2 * self.total) for law in self._laws]))
        half = NORMAL_95 * float(np.hypot(spread, BEYOND * decrease))
        return ExpectedDecrease(decrease, max(decrease - half, 0.0), decrease + half)

    @property
    def more_is_worth_it(self) -> bool:
        """True if twice as many answers would lower the error by half a percentage point or more."""
        return self.gain.decrease >= WORTH

    @property
    def is_chance(self) -> bool:
        """True if new answers are not predicted clearly better than by chance.

        Either the 95 % interval of the error includes 50 %, or the error is above 45 %.
        """
        return self.now.high >= 0.5 or self.now.error > GUESSING

    @property
    def answers_per_coordinate(self) -> float:
        """Number of answers per object and dimension; infinity if it is unknown."""
        n_objects, n_dims = self.shape
        return self.n_answers / (n_objects * n_dims) if n_objects and self.n_answers else np.inf

    @property
    def verdict(self) -> str:
        """The verdict on the number of answers, from the curve and from the unsettled objects.

        "chance": new answers are not predicted clearly better than by chance; "more": twice as many answers would lower
        the error by half a percentage point or more; "unclear": probably not, but there are fewer than 15 answers per
        object and dimension, or the interval includes a full percentage point; "unsettled": neither, but the positions
        of some objects are not settled; "enough": none of these.
        """
        if self.is_chance:
            return "chance"
        if self.more_is_worth_it:
            return "more"
        if self.gain.high >= MATTERS or self.answers_per_coordinate < FEW:
            return "unclear"
        return "unsettled" if self.n_unsettled else "enough"

    @property
    def advice(self) -> str:
        """Advice on whether to collect more answers, in words."""
        if self.is_chance:
            return (
                f"either there are far too few {self.by}, or the answers are mostly noise: check the question and the "
                "participants, and that the file was read correctly"
            )
        expected = f"with twice as many {self.by} the error would be about {self.twice}"
        unsettled = ""
        if self.n_unsettled:
            are = "is" if self.n_unsettled == 1 else "are"
            unsettled = f"; {self.n_unsettled:,} of {self.shape[0]:,} objects {are} not settled"
        meaning = {
            "more": f"it is worth collecting more{unsettled}",
            "unclear": f"{self._doubt}, so collect more before you decide{unsettled}",
            "unsettled": "enough to predict new answers, but not to interpret all positions"
            f"{unsettled}: collect more answers about these",
            "enough": "it is hardly worth collecting more",
        }
        return f"{expected}: {meaning[self.verdict]}"

    @property
    def _doubt(self) -> str:
        """The reason why the curve does not tell whether the answers are enough."""
        if self.gain.high >= MATTERS:
            return f"the gain may be as large as {percentage_points(self.gain.high)} percentage points"
        return f"there are only {self.answers_per_coordinate:.1f} answers per object and dimension"

    @property
    def summary(self) -> str:
        """The verdict in one line, for a figure."""
        if self.is_chance:
            return (
                "New answers are not predicted clearly better than by chance: check the question and the participants."
            )
        points = percentage_points(self.gain.decrease)
        lower = f"Twice as many {self.by} would lower the error by about {points} percentage points"
        meaning = {
            "more": "it is worth collecting more",
            "unclear": "it is not clear yet whether there are enough",
            "unsettled": "there are enough to predict answers, but not to interpret all positions",
            "enough": "it is hardly worth collecting more",
        }
        return f"{lower}: {meaning[self.verdict]}."

    def expected(self, number: float) -> Expected:
        """Return the error that the curve predicts with this number of answers (or people).

        The interval includes the spread of curves fitted to simulated errors, and a standard error as large as the
        decrease that the curve predicts beyond the largest measured subset, where its form is a guess.
        """
        error = self.law(number)
        spread = float(np.std([law(number) for law in self._laws]))
        beyond = BEYOND * max(self.law(float(self.numbers[-1])) - error, 0.0)
        half = NORMAL_95 * float(np.hypot(spread, beyond))
        return Expected(number, error, max(error - half, 0.0), min(error + half, 1.0))

    def needed(self, error: float) -> Needed:
        """Return the number of answers (or people) that the curve needs to reach this error.

        Examples
        --------
        >>> numbers = np.array([250.0, 500.0, 1000.0])
        >>> errors = 0.1 + 0.1 * (numbers / 1000) ** -1.1
        >>> curve = LearningCurve("answers", 1000, numbers, errors, 1e-8 * np.eye(3), (), None, None)
        >>> round(curve.law.floor, 3), round(curve.needed(0.15).number), curve.needed(0.05).number
        (0.1, 1878, inf)
        """
        if not 0 < error < 0.5:
            raise ParameterError("error", error, "it must lie between 0 and 0.5, which is chance")
        low, high = np.quantile([law.number_for(error) for law in self._laws], [0.025, 0.975], method="nearest")
        number = self.law.number_for(error)
        return Needed(error, number, min(float(low), number), max(float(high), number))

    @cached_property
    def _laws(self) -> list[PowerLaw]:
        """Power laws fitted to simulated errors, with a fixed seed; their spread is the uncertainty of the curve."""
        rng = np.random.default_rng(0)
        spread = self.covariance + _off_the_law(self.errors, self.covariance)
        simulated = rng.multivariate_normal(self.errors, spread, size=DRAWS, method="svd")
        return [_law(self.numbers, np.clip(errors, 0.0, 1.0), self.covariance) for errors in simulated]

    def sentences(self, target: float | None = None) -> list[str]:
        """Return conclusions and advice in words; with a target error, also the number of answers that it needs."""
        now, subject = self.now, f"with all {self.total:,} {self.by}, new answers"
        if self.is_chance:
            predicted = "not predicted clearly" if now.high >= 0.5 else "predicted hardly"
            sentences = [f"{subject} are {predicted} better than by chance, which is 50 %: their error is {now}"]
        else:
            sentences = [f"{subject} are predicted with an error of {now}"]
        if self.accuracies is not None and self.bits is not None:
            sentences[0] += " of comparisons"
            sentences.append(
                f"maps of {self.numbers[-1]:,.0f} {self.by} predict {percent(float(self.accuracies[-1]))} of the other "
                f"whole answers, with {self.bits[-1]:.2f} bits per answer; chance is {percent(self.answer_chance)}, "
                f"and guessing takes {self.guessing_bits:.2f} bits"
            )
        if self.only_random:
            sentences[0] += ", measured on random questions only, as others may be harder"
        sentences.append(self.advice)
        if not self.is_chance:
            sentences.append(self._range_of_validity)
            sentences.append(
                f"the fitted curve levels off at an error of {percent(self.law.floor)}, however many {self.by} there "
                "are"
            )
        if target is not None and not self.is_chance:
            sentences.append(self._needed_in_words(self.needed(target)))
        sentences += [str(ceiling) for ceiling in (*self.ceilings, *self.answer_ceilings)]
        if not self.ceilings:
            sentences.append("no question was asked twice: ask some again to learn how much of the error is noise")
        if self.share_decided is not None:
            sentences.append(
                f"{percent(self.share_decided, 0)} of all triplets are decided: 95 % of the maps fitted to resampled "
                "answers agree on them"
            )
        if self.stopped_by:
            sentences.append(
                f"{ENDED[self.stopped_by]} after {self.after}: these results are less certain than complete ones"
            )
        return sentences

    @property
    def _range_of_validity(self) -> str:
        """The people for whom the prediction holds, and a warning if it is often inaccurate."""
        scope = {
            "answers": "this holds for further answers from the same people, not for other people",
            "people": "this holds for further people like these",
        }[self.by]
        each = self.answers_per_coordinate
        if each >= FEW:
            return scope
        return (
            f"{scope}; with fewer than {FEW} answers per object and dimension (here {each:.1f}) errors often fall "
            "faster than predicted"
        )

    def _needed_in_words(self, needed: Needed) -> str:
        if needed.error >= self.now.error:
            return f"an error of {percent(needed.error)} has already been reached"
        if not np.isfinite(needed.number):
            return (
                f"an error of {percent(needed.error)} is out of reach with more {self.by} of this kind: try other "
                "dimensions, clearer questions or more careful people"
            )
        times = needed.number / self.total
        most = f"to {_rounded(needed.high)}" if np.isfinite(needed.high) else "or more; it may be out of reach"
        return (
            f"an error of {percent(needed.error)} needs about {_rounded(needed.number)} {self.by}, {times:.1f} times "
            f"as many as there are (95 % interval {_rounded(needed.low)} {most})"
        )

    def to_csv(self, path: str | Path) -> None:
        """Write numbers, errors, their intervals and the fitted curve; the last two rows are predictions."""
        low, high = self.intervals
        rows = [
            [f"{number:.0f}", *(f"{value:.6f}" for value in values)]
            for number, *values in zip(self.numbers, self.errors, low, high, self.law.at(self.numbers), strict=True)
        ]
        titles = [self.by, "error", "low", "high", "curve"]
        rows += [
            [f"{one.number:.0f}", "", *(f"{value:.6f}" for value in (one.low, one.high, one.error))]
            for one in (self.now, self.twice)
        ]
        if self.accuracies is not None and self.bits is not None:
            titles += ["answer_accuracy", "bits_per_answer"]
            both = zip(self.accuracies.tolist(), self.bits.tolist(), strict=True)
            cells = [*([f"{accuracy:.6f}", f"{bits:.6f}"] for accuracy, bits in both), ["", ""], ["", ""]]
            rows = [[*row, *of_answers] for row, of_answers in zip(rows, cells, strict=True)]
        whole_csv(path, titles, rows)

    def noise_to_csv(self, path: str | Path) -> None:
        """Write the noise ceilings: agreement and least possible error, with 95 % intervals, and what they count."""
        ceilings = (*self.ceilings, *self.answer_ceilings)
        numbers = [
            (one.agreement, one.low, one.high, one.least_error, *one.least_error_interval, one.most_error)
            for one in ceilings
        ]
        rows = [
            [one.of, str(one.n_questions), *(f"{value:.6f}" for value in values), one.unit]
            for one, values in zip(ceilings, numbers, strict=True)
        ]
        titles = [
            "agreement",
            "low",
            "high",
            "least_error",
            "least_error_low",
            "least_error_high",
            "most_error",
            "unit",
        ]
        whole_csv(path, ["answers_of", "questions", *titles], rows)


@checked
@lists_options(FitOptions)
def learning_curve(
    answers: Comparisons | ArrayLike,
    n_dims: int | None = None,
    *,
    n_folds: int | None = None,
    n_replicates: int = 0,
    settings: Settings | None = None,
    result: Result | None = None,
    **options: Unpack[FitOptions],
) -> LearningCurve:
    """Measure the error on new answers of maps fitted to growing subsets of the answers.

    If the answers record which questions were drawn at random (:attr:`closerthan.Trials.random`), errors are measured
    on the answers to these, provided that there are at least 100: other questions, such as those of an adaptive
    study, may be harder.

    Parameters
    ----------
    answers, n_dims, settings
        As in :func:`closerthan.embed`.
    n_folds
        Number of folds, each of which is held out once: by default ten, or five for a large file; at most one per
        group.
    n_replicates
        Number of replicates from which the fraction of decided triplets is estimated; 0: it is not estimated.
    result
        An existing fit to the same answers, which saves fitting them again.
    options
        As in :func:`closerthan.embed`. ``by`` is the unit that is added and held out: "answers" (or whole "blocks"
        of dependent answers) predicts the effect of more answers from the same people, "people" that of more people;
        "auto" means blocks where the answers have them, and otherwise answers. Each fit has two random starts, or
        ``n_starts``. With ``loss="auto"`` the loss is chosen once, on all answers. All fits share the time limit.

    Returns
    -------
    LearningCurve
        Ctrl-C and a time limit end the computation early and keep a curve through the completed fits, once the maps of
        one fold are complete.

    Examples
    --------
    >>> import closerthan as ct
    >>> points = np.random.default_rng(0).standard_normal((20, 2))
    >>> answers = ct.datasets.simulated(points, 2000, noise="flip", level=0.1, seed=0)
    >>> curve = ct.learning_curve(answers, loss="soe", n_folds=5, seed=0)
    >>> bool(0.1 < curve.twice.error <= curve.now.error < 0.2), curve.needed(0.05).number
    (True, inf)
    """
    comparisons = Comparisons.of(answers)
    by = options.pop("by", AUTO if settings is None else settings.by)
    if by not in (AUTO, "answers", "blocks", "people"):
        raise ValueError(f'by is {by!r}; it can be "auto", "answers", "blocks" or "people"')
    by = comparisons.split_unit(by)
    plan = plan_refits(comparisons, n_dims, settings, result, {**options, "by": by})
    plan = plan.with_default_starts(STARTS)
    group = comparisons.groups(by)
    n_groups = int(group.max()) + 1
    if n_groups == 1:
        raise ValueError(none_can_be_held_out(by))
    if n_groups < 2 * FEWEST:
        units = by if by in ("people", "blocks") else "different sets of objects"
        raise ValueError(f"there are {n_groups} {units}; a learning curve needs at least {2 * FEWEST} {units}")
    if n_folds is None:
        n_folds = min(FOLDS if len(comparisons) < MANY else FEWER_FOLDS, n_groups)
    n_folds = whole("n_folds", n_folds, least=2)
    fractions = [fraction for fraction in FRACTIONS if round(fraction * n_groups * (1 - 1 / n_folds)) >= FEWEST]
    n_fits = n_folds * len(fractions)
    with trials_bar(bool(plan.progress), "learning curve", 1 + n_fits, 0) as tick:
        if result is None and n_replicates:
            result = plan.fit(comparisons)
        refitter = Refitter.of(comparisons, plan, result)
        tick()
        rngs = np.random.default_rng(refitter.seed).spawn(n_folds)
        fold = fold_of(group, n_folds, refitter.seed, by)
        random = random_among_others(comparisons)
        if random is not None and comparisons.take(random).n_answers < FEWEST_RANDOM:
            random = None
        is_whole = comparisons.cheap_to_enumerate and imply_several_comparisons(comparisons)
        whole_answers = PartAccuracies(comparisons, group, len(fractions), random) if is_whole else None
        parts = [rows for number in range(n_folds) for rows in growing(fold != number, group, fractions, rngs[number])]

        def scores(rows: NDArray[Any], fit_map: Fitter) -> tuple[NDArray[np.float32], Array | None]:
            x = fit_map(comparisons.take(rows), np.random.default_rng(refitter.seed)).embedding
            odds = np.nan_to_num(log_odds(comparisons, x, refitter.loss), nan=0.0)
            clipped = np.clip(odds, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS).astype(np.float32)
            return clipped, None if whole_answers is None else whole_answers.scored(x, refitter.loss, rows)

        outcome = refitter.run([functools.partial(scores, rows) for rows in parts], tick)
    measured = PartErrors(group, comparisons.weights, len(fractions), random)
    for number, (rows, part_scores) in enumerate(zip(parts, outcome.results, strict=True)):
        if part_scores is not None:
            measured.add(number % len(fractions), rows, part_scores[0])
            if whole_answers is not None:
                whole_answers.add(number % len(fractions), rows, part_scores[1])
    if not measured.evaluated.any():
        raise outcome.error("fits")
    counts = np.array([_count(comparisons.take(rows), by) for rows in parts], dtype=np.float64)
    numbers, errors, covariance = counts.reshape(n_folds, -1).mean(axis=0), *measured.errors()
    replicates, stopped_by, after = None, outcome.stopped_by, outcome.progress("fits")
    if n_replicates and not stopped_by:
        try:
            replicates = replicate(
                comparisons,
                n_replicates=n_replicates,
                result=result,
                by=by if by == "people" else AUTO,
                seed=refitter.seed,
                device=plan.device,
                n_threads=plan.n_threads,
                progress=plan.progress,
                time_limit=plan.budget.seconds_left,
            )
        except (KeyboardInterrupt, TimeOverError) as early:  # the curve itself is complete
            stopped_by = ended_by(early)
            after = "the curve, before the decided triplets were estimated"
        else:
            stopped_by, after = replicates.stopped_by, f"{len(replicates):,} of {n_replicates:,} replicates"
    ceilings = tuple(noise_ceilings(comparisons))
    of_answers: WholeAnswerMeans = {} if whole_answers is None else whole_answers.measured
    curve = LearningCurve(
        "people" if by == "people" else "answers",  # answers are counted even if blocks are the split unit
        _count(comparisons, by),
        numbers,
        errors,
        covariance,
        ceilings,
        None,
        refitter.loss,
        stopped_by,
        after,
        shape=(comparisons.n_objects, plan.settings.n_dims),
        n_answers=comparisons.n_answers,
        only_random=random is not None,
        answer_ceilings=() if whole_answers is None else tuple(answer_ceilings(comparisons)),
        **of_answers,
    )
    return curve if replicates is None else curve.with_replicates(replicates)


def _count(answers: Comparisons, by: str) -> int:
    return (answers.n_people or 0) if by == "people" else answers.n_answers


def _law(numbers: Array, errors: Array, covariance: Array) -> PowerLaw:
    return PowerLaw.fitted(numbers, errors, covariance + _off_the_law(errors, covariance))


def _off_the_law(errors: Array, covariance: Array) -> Array:
    """Return the covariance of the deviations of the errors from a power law."""
    steep = STEEP_SPREAD * (errors - errors[-1])
    return np.diag(FIT_SPREAD**2 * covariance[-1, -1] + steep**2 + SMALL**2)


def _rounded(number: float) -> str:
    """Format a number rounded to two significant digits."""
    digits = max(len(str(int(number))) - 2, 0)
    return f"{round(number, -digits):,.0f}"
