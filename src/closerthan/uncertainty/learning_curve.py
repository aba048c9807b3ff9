"""Learning curve: the error on new answers against the number of answers, and what more answers would bring."""

import dataclasses
import functools
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from closerthan.arrays import Array
from closerthan.checks import checked, whole
from closerthan.comparisons import Comparisons
from closerthan.comparisons.grouping import AUTO
from closerthan.evaluate.cross_validation import fold_of
from closerthan.fit.progress import trials_bar
from closerthan.losses import Loss
from closerthan.metrics import NORMAL_95, log_odds
from closerthan.result import Result
from closerthan.saving import whole_csv
from closerthan.settings import ENDED, FitOptions, Settings, TimeOverError, ended_by, lists_options
from closerthan.uncertainty.part_errors import PartErrors, growing
from closerthan.uncertainty.power_law import PowerLaw
from closerthan.uncertainty.refitter import Fitter, Refitter, plan_refits
from closerthan.uncertainty.repeats import NoiseCeiling, noise_ceilings
from closerthan.uncertainty.replicates import Replicates, replicate
from closerthan.wording import percent, percentage_points

__all__ = ["LearningCurve", "learning_curve"]

FRACTIONS = 2.0 ** (-np.arange(6, -1, -1) / 2)  # of the answers: an eighth, ..., half, 0.71, all
# By how much errors may lie off a power law: a share of the last one's standard error, for what single fits leave to
# chance, and a share of what they lie above the last one, since the first steep fall is no power law. What all numbers
# of the rule are worth: docs/measured/enough-constants.md.
FIT_SPREAD, STEEP_SPREAD = 0.3, 0.1
# Standard error of a predicted fall, relative to it. Intervals held the error of twice as many answers in 96 % of
# simulated sets and 13 of 14 halves of real studies; with half as much, in 92 % and 12 (docs/measured/enough*.md).
BEYOND = 1.0
FEW = 15  # answers for each coordinate: with fewer, real errors fell faster than predicted
SMALL = 1e-4  # an error that makes no difference; where nothing is wrong, there is no other spread
FEWEST = 5  # groups of answers in the smallest part
FOLDS = 10
FEWER_FOLDS, MANY = 5, 100_000  # comparisons with which five folds are enough
LARGEST_LOG_ODDS = 1e3  # log odds are clipped here, since those of a user-defined loss may be infinite
STARTS = 2  # of each fit: a bad one would bend the curve
DRAWS = 200  # of the errors, for intervals
WORTH = 0.005  # a gain below it is hardly worth as many answers again
GUESSING = 0.45  # an error above it is hardly better than chance


class Expected(NamedTuple):
    """The error expected with a number of answers (or people), with its 95 % interval."""

    number: float
    error: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{percent(self.error)} (95 % interval {percent(self.low)} to {percent(self.high)})"


class Needed(NamedTuple):
    """How many answers (or people) a wanted error needs, with its 95 % interval; infinity: it is out of reach."""

    error: float
    number: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class LearningCurve:
    """What :func:`learning_curve` returns.

    Attributes
    ----------
    by
        What is counted, and held out whole: "answers" or "people".
    total
        How many there are in all.
    numbers
        How many were fitted, for each size of part.
    errors
        For each size, the share of the comparisons that maps of parts without them get wrong, by their calibrated
        probabilities.
    covariance
        (n_sizes, n_sizes): of these errors. They are measured on the same answers, so that they are too high or too low
        together; what lies between them is known better.
    ceilings
        What repeated questions say of the noise; empty if none was repeated.
    share_decided
        The fraction of all triplets on which 95 % of the replicates agree; None without replicates.
    loss
        The loss of all fits.
    stopped_by, after
        What ended it early, "interrupted" (by Ctrl-C) or "time_limit", and after what; "" if all is done.
    n_unsettled
        The number of objects that are not settled (:attr:`Replicates.unsettled`); None without replicates.
    shape, n_answers
        Objects and dimensions of the maps, and the number of all answers; 0 if they are not known.
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

    def with_replicates(self, replicates: Replicates) -> Self:
        """Add what replicates say about which triplets are decided and which objects are settled."""
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

    @property
    def intervals(self) -> tuple[Array, Array]:
        """95 % intervals of the errors."""
        half = stdtrit(self.total - 1, 0.975) * np.sqrt(self.covariance.diagonal())
        return np.maximum(self.errors - half, 0.0), np.minimum(self.errors + half, 1.0)

    @cached_property
    def law(self) -> PowerLaw:
        """The curve through the errors."""
        return _law(self.numbers, self.errors, self.covariance)

    @property
    def now(self) -> Expected:
        """With all that there are."""
        return self.expected(self.total)

    @property
    def twice(self) -> Expected:
        """With twice as many."""
        return self.expected(2 * self.total)

    @property
    def more_is_worth_it(self) -> bool:
        """Whether twice as many would lower the error by half a percentage point or more."""
        return self.now.error - self.twice.error >= WORTH

    @property
    def is_chance(self) -> bool:
        """Whether new answers are predicted no better than by chance, or hardly so."""
        return self.now.high >= 0.5 or self.now.error > GUESSING

    @property
    def verdict(self) -> str:
        """Whether the answers are enough, from the curve and from the objects that are not settled.

        "chance": new answers are predicted no better than by chance; "more": more answers would lower the error;
        "unsettled": they would not, but some places are not settled; "enough": neither.
        """
        if self.is_chance:
            return "chance"
        if self.more_is_worth_it:
            return "more"
        return "unsettled" if self.n_unsettled else "enough"

    @property
    def advice(self) -> str:
        """Whether to ask for more, in words."""
        if self.is_chance:
            return (
                f"either there are far too few {self.by}, or they are noise: see whether the file was read right, and "
                "whether people looked"
            )
        expected = f"with twice as many {self.by} the error would be about {self.twice}"
        unsettled = ""
        if self.n_unsettled:
            settled = (
                f"{self.n_unsettled:,} of {self.shape[0]:,} objects {'is' if self.n_unsettled == 1 else 'are'} not"
            )
            unsettled = f"; {settled} settled"
        if self.verdict == "more":
            return f"{expected}: more are worth asking for{unsettled}"
        if self.verdict == "unsettled":
            return (
                f"{expected}: enough to predict new answers, but not to interpret all places{unsettled}: ask more "
                "about those"
            )
        return f"{expected}: more are hardly worth asking for"

    @property
    def summary(self) -> str:
        """The verdict in one line, for a figure."""
        if self.is_chance:
            return "New answers are predicted no better than by chance: see whether people looked."
        gain = max(self.now.error - self.twice.error, 0.0)
        lower = f"Twice as many {self.by} would lower the error by about {percentage_points(gain)} percentage points"
        meaning = {
            "more": "more are worth asking for",
            "unsettled": "enough to predict answers, but not to interpret all places",
            "enough": "more are hardly worth asking for",
        }
        return f"{lower}: {meaning[self.verdict]}."

    def expected(self, number: float) -> Expected:
        """Return the error that the curve predicts with this number of answers (or people).

        The interval includes the spread of curves through other errors that might have been measured, and a standard
        error as large as the fall that the curve predicts beyond the largest part that was measured, since its form is
        a guess there.
        """
        error = self.law(number)
        drawn = float(np.std([law(number) for law in self._laws]))
        beyond = BEYOND * max(self.law(float(self.numbers[-1])) - error, 0.0)
        half = NORMAL_95 * float(np.hypot(drawn, beyond))
        return Expected(number, error, max(error - half, 0.0), min(error + half, 1.0))

    def needed(self, error: float) -> Needed:
        """How many answers (or people) bring the error down to this.

        Examples
        --------
        >>> numbers = np.array([250.0, 500.0, 1000.0])
        >>> errors = 0.1 + 0.1 * (numbers / 1000) ** -1.1
        >>> curve = LearningCurve("answers", 1000, numbers, errors, 1e-8 * np.eye(3), (), None, None)
        >>> round(curve.law.floor, 3), round(curve.needed(0.15).number), curve.needed(0.05).number
        (0.1, 1878, inf)
        """
        if not 0 < error < 0.5:
            raise ValueError(f"the wanted error is {error}; it lies between 0 and 0.5, which is chance")
        low, high = np.quantile([law.number_for(error) for law in self._laws], [0.025, 0.975], method="nearest")
        number = self.law.number_for(error)
        return Needed(error, number, min(float(low), number), max(float(high), number))

    @cached_property
    def _laws(self) -> list[PowerLaw]:
        """Curves through errors as they might have been measured, always the same: how far the curve can be trusted."""
        rng = np.random.default_rng(0)
        spread = self.covariance + _off_the_law(self.errors, self.covariance)
        drawn = rng.multivariate_normal(self.errors, spread, size=DRAWS, method="svd")
        return [_law(self.numbers, np.clip(errors, 0.0, 1.0), self.covariance) for errors in drawn]

    def sentences(self, wanted: float | None = None) -> list[str]:
        """What is known and what to do, in words; ``wanted`` is an error to be reached."""
        now, known = self.now, f"with all {self.total:,} {self.by}, new answers"
        if self.is_chance:
            better = "no" if now.high >= 0.5 else "hardly"
            said = [f"{known} are predicted {better} better than by chance, which is 50 %: their error is {now}"]
        else:
            said = [f"{known} have an error of {now}"]
        said.append(self.advice)
        if not self.is_chance:
            said.append(self._range_of_validity)
            said.append(f"the fitted curve levels off at {percent(self.law.floor)}, however many are asked")
        if wanted is not None and not self.is_chance:
            said.append(self._wanted(self.needed(wanted)))
        said += [str(ceiling) for ceiling in self.ceilings]
        if not self.ceilings:
            said.append("no question was asked twice: ask some again to learn how much of the error is noise")
        if self.share_decided is not None:
            said.append(
                f"{percent(self.share_decided, 0)} of all triplets are decided: 95 % of the maps of resampled answers "
                "agree"
            )
        if self.stopped_by:
            said.append(f"{ENDED[self.stopped_by]} after {self.after}: this is less sure than it could be")
        return said

    @property
    def _range_of_validity(self) -> str:
        """For whom the prediction holds, and where it has not been checked."""
        about = {
            "answers": "this is about further answers of the same people, not about other people",
            "people": "this is about further people like these",
        }[self.by]
        n_objects, n_dims = self.shape
        each = self.n_answers / (n_objects * n_dims) if n_objects and self.n_answers else np.inf
        if each >= FEW:
            return about
        return (
            f"{about}; with fewer than {FEW} answers per object and dimension (here {each:.1f}) errors often fall "
            "faster than predicted"
        )

    def _wanted(self, needed: Needed) -> str:
        if needed.error >= self.now.error:
            return f"an error of {percent(needed.error)} is reached already"
        if not np.isfinite(needed.number):
            return (
                f"an error of {percent(needed.error)} is out of reach with more {self.by} of this kind: try other "
                "dimensions, clearer questions or more careful people"
            )
        times = needed.number / self.total
        most = f"{_rounded(needed.high)}" if np.isfinite(needed.high) else "out of reach"
        return (
            f"an error of {percent(needed.error)} needs about {_rounded(needed.number)} {self.by}, {times:.1f} times "
            f"as many as there are (95 % interval {_rounded(needed.low)} to {most})"
        )

    def to_csv(self, path: str | Path) -> None:
        """Write the curve: numbers, mean errors with intervals, and what the fitted curve says; twice as many last."""
        low, high = self.intervals
        rows = [
            [f"{number:.0f}", *(f"{value:.6f}" for value in values)]
            for number, *values in zip(self.numbers, self.errors, low, high, self.law.at(self.numbers), strict=True)
        ]
        rows += [
            [f"{one.number:.0f}", "", *(f"{value:.6f}" for value in (one.low, one.high, one.error))]
            for one in (self.now, self.twice)
        ]
        whole_csv(path, [self.by, "error", "low", "high", "curve"], rows)

    def noise_to_csv(self, path: str | Path) -> None:
        """Write what repeated questions say about noise: agreement and least possible error, with 95 % intervals."""
        numbers = [
            (one.agreement, one.low, one.high, one.least_error, *one.least_error_interval, one.most_error)
            for one in self.ceilings
        ]
        rows = [
            [one.of, str(one.n_questions), *(f"{value:.6f}" for value in values)]
            for one, values in zip(self.ceilings, numbers, strict=True)
        ]
        titles = ["agreement", "low", "high", "least_error", "least_error_low", "least_error_high", "most_error"]
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

    Parameters
    ----------
    answers, n_dims, settings
        As in :func:`closerthan.embed`.
    n_folds
        Number of folds, each of which is held out once. None: ten, or five for a large file; at most one per group.
    n_replicates
        Number of replicates from which the fraction of decided triplets is estimated; 0: it is not estimated.
    result
        A fit to the same answers, which is then not repeated.
    options
        Those of :func:`closerthan.embed`. ``by`` is the unit that is added and held out: "answers" (or whole "blocks"
        of dependent answers) predicts the effect of more answers from the same people, "people" that of more people;
        "auto" means blocks where the answers have them, and otherwise answers. Each fit has two random starts, or
        ``n_starts``. With ``loss="auto"`` the loss is chosen once, on all answers. A time limit is that of all fits
        together.

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
    if options.get("n_starts") is None:
        plan = plan.replace(n_starts=max(plan.settings.random_starts, STARTS))
    group = comparisons.groups(by)
    n_groups = int(group.max()) + 1
    if n_groups < 2 * FEWEST:
        what, one = "groups of objects that were asked about together", "all answers are about the same objects"
        if by == "people":
            what, one = "people", "all answers are of one person"
        elif by == "blocks":
            what, one = "blocks", "all answers are from one block"
        there = one if n_groups == 1 else f"there are {n_groups} {what}"
        raise ValueError(f"{there}; a learning curve takes at least {2 * FEWEST} {what}")
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
        parts = [rows for number in range(n_folds) for rows in growing(fold != number, group, fractions, rngs[number])]

        def scores(rows: NDArray[Any], fitted: Fitter) -> NDArray[np.float32]:
            x = fitted(comparisons.take(rows), np.random.default_rng(refitter.seed)).embedding
            odds = np.nan_to_num(log_odds(comparisons, x, refitter.loss), nan=0.0)
            return np.clip(odds, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS).astype(np.float32)

        done = refitter.run([functools.partial(scores, rows) for rows in parts], tick)
    measured = PartErrors(group, comparisons.weights, len(fractions))
    for number, (rows, part_scores) in enumerate(zip(parts, done.results, strict=True)):
        if part_scores is not None:
            measured.add(number % len(fractions), rows, part_scores)
    if not measured.evaluated.any():
        raise done.error("fits")
    counts = np.array([_count(comparisons.take(rows), by) for rows in parts], dtype=np.float64)
    numbers, errors, covariance = counts.reshape(n_folds, -1).mean(axis=0), *measured.errors()
    replicates, stopped_by, after = None, done.stopped_by, done.progress("fits")
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
            after = "the curve, before it was known what is decided"
        else:
            stopped_by, after = replicates.stopped_by, f"{len(replicates):,} of {n_replicates:,} replicates"
    ceilings = tuple(noise_ceilings(comparisons))
    curve = LearningCurve(
        "people" if by == "people" else "answers",  # which are counted where blocks grow, too
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
    )
    return curve if replicates is None else curve.with_replicates(replicates)


def _count(answers: Comparisons, by: str) -> int:
    return (answers.n_people or 0) if by == "people" else answers.n_answers


def _law(numbers: Array, errors: Array, covariance: Array) -> PowerLaw:
    return PowerLaw.fitted(numbers, errors, covariance + _off_the_law(errors, covariance))


def _off_the_law(errors: Array, covariance: Array) -> Array:
    """Covariance of what lies between errors and any power law."""
    steep = STEEP_SPREAD * (errors - errors[-1])
    return np.diag(FIT_SPREAD**2 * covariance[-1, -1] + steep**2 + SMALL**2)


def _rounded(number: float) -> str:
    """Two digits are all that is known of it."""
    if not np.isfinite(number):
        return "infinitely many"
    digits = max(len(str(int(number))) - 2, 0)
    return f"{round(number, -digits):,.0f}"
