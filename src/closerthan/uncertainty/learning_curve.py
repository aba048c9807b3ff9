"""Learning curve: the error on new answers against the number of answers, and what more answers would bring."""

import dataclasses
import functools
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from closerthan.arrays import Array
from closerthan.checks import whole
from closerthan.comparisons import Comparisons
from closerthan.evaluate.cross_validation import fold_of
from closerthan.fit.progress import trials_bar
from closerthan.fit.settings import starts_asked, time_until
from closerthan.losses import Loss
from closerthan.metrics import NORMAL_95, log_odds
from closerthan.saving import whole_csv
from closerthan.uncertainty.part_errors import PartErrors, growing
from closerthan.uncertainty.power_law import PowerLaw
from closerthan.uncertainty.refits import ENDED, Fitter, Refits, TimeOverError
from closerthan.uncertainty.repeats import NoiseCeiling, noise_ceilings
from closerthan.uncertainty.replicates import Replicates
from closerthan.wording import percent

__all__ = ["LearningCurve", "learning_curve"]

SHARES = 2.0 ** (-np.arange(6, -1, -1) / 2)  # of the answers: an eighth, ..., half, 0.71, all
# By how much errors may lie off a power law: a share of the last one's standard error, for what single fits leave to
# chance, and a share of what they lie above the last one, since the first steep fall is no power law. What all numbers
# of the rule are worth: docs/measured/enough-constants.md.
FIT_SPREAD, STEEP_SPREAD = 0.3, 0.1
BEYOND = 0.5  # of a predicted fall: its standard error
SMALL = 1e-4  # an error that makes no difference; where nothing is wrong, there is no other spread
FEWEST = 5  # groups of answers in the smallest part
FOLDS = 10
FEWER_FOLDS, MANY = 5, 100_000  # comparisons with which five folds are enough
SUREST = 1e3  # log odds: beyond it a loss of one's own may be infinite
STARTS = 2  # of each fit: a bad one would bend the curve
DRAWS = 200  # of the errors, for intervals
WORTH = 0.005  # a gain below it is hardly worth as many answers again
GUESSING = 0.45  # an error above it is hardly better than chance


class Expected(NamedTuple):
    """An error that is expected with so many answers (or people), with its 95 % interval."""

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
        The share of all triplets on which 95 % of the replicates agree; None without replicates.
    loss
        Of all fits.
    stopped_by, after
        What ended it early, "interrupted" (by Ctrl-C) or "time_limit", and after what; "" if all is done.
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
        """Whether twice as many would lower the error by half a per cent or more."""
        return self.now.error - self.twice.error >= WORTH

    @property
    def is_chance(self) -> bool:
        """Whether new answers are predicted no better than by chance, or hardly so."""
        return self.now.high >= 0.5 or self.now.error > GUESSING

    @property
    def advice(self) -> str:
        """Whether to ask for more, in words."""
        if self.is_chance:
            return (
                f"either there are far too few {self.by}, or they are noise: see whether the file was read right, and "
                "whether people looked"
            )
        worth = "worth asking for" if self.more_is_worth_it else "hardly worth asking for"
        return f"with twice as many the error would be about {self.twice}: {worth}"

    def expected(self, number: float) -> Expected:
        """The error with so many answers (or people), by the curve.

        The interval counts the spread of curves through other errors that might have been measured, and half of what
        the curve predicts beyond the largest part that was measured, since its form is a guess there.
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
            said.append(f"however many are asked, it will hardly fall below {percent(self.law.floor)}")
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


def learning_curve(
    answers: Comparisons | ArrayLike,
    n_dims: int = 2,
    *,
    by: str = "answers",
    n_folds: int | None = None,
    n_replicates: int = 0,
    seed: int = 0,
    n_threads: int | None = None,
    progress: bool = False,
    **settings: Any,
) -> LearningCurve:
    """Is it enough? The error on new answers of maps that were fitted to growing parts of the answers.

    Parameters
    ----------
    answers, n_dims
        As in :func:`closerthan.embed`.
    by
        What grows, and is held out whole: "answers" tells what more answers of these people bring, "people" what more
        people do.
    n_folds
        Each of so many parts is held out once. None: ten, or five of a large file; at most one for each group.
    n_replicates
        Maps of resampled answers, by which the share of decided triplets is measured; 0: it is not.
    seed, n_threads, progress
        As in :func:`closerthan.embed`.
    settings
        Of :func:`closerthan.embed`. With ``loss="auto"`` the loss is chosen once, on all answers. A time limit is that
        of all fits together.

    Returns
    -------
    LearningCurve
        Ctrl-C and a time limit end it early with a curve through what is done, once a fold is.

    Examples
    --------
    >>> import closerthan as ct
    >>> points = np.random.default_rng(0).standard_normal((20, 2))
    >>> answers = ct.datasets.simulated(points, 2000, noise="flip", level=0.1, seed=0)
    >>> curve = ct.learning_curve(answers, loss="soe", n_folds=5, seed=0)
    >>> bool(0.1 < curve.twice.error <= curve.now.error < 0.2), curve.needed(0.05).number
    (True, inf)
    """
    known = Comparisons.of(answers)
    if by not in ("answers", "people"):
        raise ValueError(f'by is {by!r}; it can be "answers" or "people"')
    group = known.groups(by)
    n_groups = int(group.max()) + 1
    if n_groups < 2 * FEWEST:
        what, one = "groups of objects that were asked about together", "all answers are about the same objects"
        if by == "people":
            what, one = "people", "all answers are of one person"
        there = one if n_groups == 1 else f"there are {n_groups} {what}"
        raise ValueError(f"{there}; a learning curve takes at least {2 * FEWEST} {what}")
    if n_folds is None:
        n_folds = min(FOLDS if len(known) < MANY else FEWER_FOLDS, n_groups)
    n_folds = whole("n_folds", n_folds, least=2)
    rngs = np.random.default_rng(seed).spawn(n_folds)
    fold = fold_of(group, n_folds, seed, by)
    shares = [share for share in SHARES if round(share * n_groups * (1 - 1 / n_folds)) >= FEWEST]
    parts = [rows for number in range(n_folds) for rows in growing(fold != number, group, shares, rngs[number])]
    with trials_bar(progress, "learning curve", 1 + len(parts), 0) as tick:
        usual = {"by": by, **settings, **starts_asked(settings, STARTS)}
        fits = Refits.of(known, n_dims, usual, seed=seed, n_threads=n_threads)
        tick()

        def scores(rows: NDArray[Any], fitted: Fitter) -> NDArray[np.float32]:
            x = fitted(known.take(rows), np.random.default_rng(seed)).embedding
            odds = np.nan_to_num(log_odds(known, x, fits.first.loss), nan=0.0)
            return np.clip(odds, -SUREST, SUREST).astype(np.float32)

        done = fits.together([functools.partial(scores, rows) for rows in parts], tick)
    measured = PartErrors(group, known.weights, len(shares))
    for number, (rows, found) in enumerate(zip(parts, done.results, strict=True)):
        if found is not None:
            measured.add(number % len(shares), rows, found)
    if not measured.seen.any():
        raise done.cut("fits")
    counts = np.array([_count(known.take(rows), by) for rows in parts], dtype=np.float64)
    numbers, errors, covariance = counts.reshape(n_folds, -1).mean(axis=0), *measured.errors()
    decided, stopped_by, after = None, done.stopped_by, done.share("fits")
    if n_replicates and not stopped_by:
        about: dict[str, Any] = {"n_threads": n_threads, "progress": progress, **time_until(fits.deadline)}
        try:
            unit = by if by == "people" else None
            replicates = Replicates.of(fits.first, known, n_replicates=n_replicates, by=unit, seed=seed, **about)
        except (KeyboardInterrupt, TimeOverError) as early:  # the curve is there all the same
            stopped_by = "interrupted" if isinstance(early, KeyboardInterrupt) else "time_limit"
            after = "the curve, before it was known what is decided"
        else:
            decided, stopped_by = replicates.share_decided, replicates.stopped_by
            after = f"{len(replicates):,} of {n_replicates:,} replicates"
    return LearningCurve(
        by,
        _count(known, by),
        numbers,
        errors,
        covariance,
        tuple(noise_ceilings(known)),
        decided,
        fits.first.loss,
        stopped_by,
        after,
    )


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
