"""Cross-validation: how well maps predict answers that they were not fitted to."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from closerthan.arrays import Array
from closerthan.checks import ParameterError, checked, whole
from closerthan.comparisons import Comparisons
from closerthan.comparisons.grouping import AUTO, none_can_be_held_out
from closerthan.evaluate.answer_accuracy import AnswerAccuracy, HeldOutAnswers
from closerthan.evaluate.random_questions import random_among_others
from closerthan.fit.plan import FitPlan
from closerthan.metrics import Interval, error_interval, margins, ratio_variance
from closerthan.representation import tabulated
from closerthan.result import Result
from closerthan.settings import FitOptions, Settings, TimeOverError, lists_options
from closerthan.wording import counted, p_number, p_value, percent, percent_interval, percent_range, percentage_points

__all__ = [
    "CSV_TITLES",
    "Folds",
    "Gain",
    "Scores",
    "cross_validate",
    "fold_of",
    "folds",
    "gain",
    "held_out_fits",
    "number_of_folds",
    "scores_of",
    "titles_with_answers",
    "with_fixed_loss",
]

FOLDS = 5
# The variance of a cross-validated error or of a difference of two, relative to that of independent units. Units share
# training answers, so they are not independent. docs/measured/dims.md shows the coverage of the intervals.
# Chosen empirically: 1, 1.6 and 2.25 were also tried on simulated answers (other seeds, similar settings).
OVERLAP = 1.5
CSV_TITLES = ("error", "low", "high", "standard_error", "training_error")
CSV_ANSWER_TITLES = ("answer_accuracy", "answer_accuracy_low", "answer_accuracy_high", "bits_per_answer")


@tabulated
@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Scores:
    """Errors on held-out comparisons, for each fit and for each split unit.

    Attributes
    ----------
    held_out, training
        The error of each fit on the part that was held out and on the part that was fitted.
    seconds
        Total time that all fits spent in the solver.
    wrong, weight
        For each unit (a question or a person), the weight of its comparisons that were predicted wrongly while held
        out, and the weight of all its comparisons. With repeated cross-validation, ``wrong`` is the mean over repeats.
    answers
        The accuracy of held-out whole answers; None if each answer is a single comparison.
    only_random
        True if some questions were not drawn at random, and only answers to random questions were scored.
    """

    held_out: Array
    training: Array
    seconds: float
    wrong: Array
    weight: Array
    answers: AnswerAccuracy | None = None
    only_random: bool = False

    def __repr__(self) -> str:
        error = percent_interval(self.mean, *self.interval)
        if self.answers is None:
            return f"Scores(held-out error {error}, {counted(len(self.held_out), 'fit')})"
        whole = f"{percent(self.answers.accuracy)} of whole answers right"
        return f"Scores(held-out error {error} of comparisons, {whole}, {counted(len(self.held_out), 'fit')})"

    @property
    def mean(self) -> float:
        """The held-out error: the fraction by weight of all comparisons that were predicted wrongly."""
        return float(self.wrong.sum() / self.weight.sum())

    @property
    def standard_error(self) -> float:
        """The standard error of the held-out error over units, adjusted for shared training answers."""
        return float(np.sqrt(OVERLAP * ratio_variance(self.wrong, self.weight)))

    @property
    def interval(self) -> Interval:
        """The 95 % interval of the held-out error, by Student's t over units; Wilson's if all have the same error."""
        if not self.standard_error > 0:
            return error_interval(self.mean, len(self.weight) / OVERLAP)
        half = _student_t(len(self.weight)) * self.standard_error
        return Interval(max(self.mean - half, 0.0), min(self.mean + half, 1.0))

    def cells(self, gap: "Gain | None") -> tuple[str, ...]:
        """Return the cells of a printed table: the errors, and the gap to other scores with its p value."""
        compared = ("", "") if gap is None else (percentage_points(gap.mean), p_number(gap.p_value))
        errors = percent(self.mean), percent_range(*self.interval), percent(float(self.training.mean()))
        whole = () if self.answers is None else (percent(self.answers.accuracy), f"{self.answers.bits:.2f}")
        return *errors, *compared, *whole

    @property
    def ceilings_in_words(self) -> list[str]:
        """Sentences about the noise ceilings of whole answers; none if no question was repeated."""
        return [] if self.answers is None else [str(ceiling) for ceiling in self.answers.ceilings]

    def csv_cells(self, gap: "Gain | None") -> list[str]:
        """Return the cells of a CSV file: ``CSV_TITLES``, then the gap with its interval and p value."""
        numbers = (self.mean, *self.interval, self.standard_error, float(self.training.mean()))
        compared = [""] * 4 if gap is None else [f"{number:.6g}" for number in gap]
        return [*(f"{number:.6f}" for number in numbers), *compared]

    def csv_answer_cells(self) -> list[str]:
        """Return further cells of a CSV file: ``CSV_ANSWER_TITLES``, or nothing if each answer is a comparison."""
        if self.answers is None:
            return []
        return [f"{number:.6f}" for number in (*self.answers.accuracy_and_interval, self.answers.bits)]


def titles_with_answers(titles: Sequence[str], scores: Scores) -> tuple[str, ...]:
    """Return the titles of a table of :meth:`Scores.cells`, with further columns if whole answers were counted.

    Examples
    --------
    >>> titles_with_answers(["dims", "held-out error"], Scores(np.ones(5), np.ones(5), 0.0, np.ones(8), np.ones(8)))
    ('dims', 'held-out error')
    """
    if scores.answers is None:
        return tuple(titles)
    return (*("error" if title == "held-out error" else title for title in titles), "answers", "bits")


@tabulated
class Gain(NamedTuple):
    """The improvement of one kind of map over another, on the same held-out comparisons."""

    mean: float  # difference of the held-out errors; positive if the second kind is better
    low: float  # limits of the 95 % interval
    high: float
    p_value: float  # two-sided, of a test against no difference

    @classmethod
    def tested(cls, mean: float, error: float, n_units: int) -> "Gain":
        """Test whether a mean difference over units is zero, given its standard error, by Student's t.

        Examples
        --------
        >>> Gain.tested(0.1, 0.02, 30)
        Gain(10.0 percentage points (95 % interval 5.9 to 14.1, p < 0.0001))
        """
        from scipy.stats import t

        if error == 0:  # all units have the same difference: a sign test, whose interval reaches 0 unless it is sure
            p = 1.0 if mean == 0 else 0.5 ** (n_units - 1)
            low, high = (mean, mean) if p < 0.05 else (min(mean, 0.0), max(mean, 0.0))
            return cls(mean, low, high, p)
        half = _student_t(n_units) * error
        return cls(mean, mean - half, mean + half, float(2 * t.sf(abs(mean) / error, n_units - 1)))

    @property
    def is_significant(self) -> bool:
        """True if the second kind is significantly better: the whole interval is above zero."""
        return self.low > 0

    def __repr__(self) -> str:
        return f"Gain({self})"

    def __str__(self) -> str:
        points = [percentage_points(number) for number in (self.mean, self.low, self.high)]
        return f"{points[0]} percentage points (95 % interval {points[1]} to {points[2]}, {p_value(self.p_value)})"


def gain(before: Scores, after: Scores) -> Gain:
    """Test whether ``after`` predicts better than ``before``, paired over the units that were held out.

    The units (people, or questions) are the independent observations: each has a difference between its errors on the
    two kinds of maps, both fitted without it. The mean difference is compared with its standard error by
    Student's t. Units share training answers; to allow for that, the variance is multiplied by ``OVERLAP``.

    Examples
    --------
    >>> weight = np.ones(6)
    >>> one, two = (
    ...     Scores(wrong, wrong, 0.0, wrong, weight)
    ...     for wrong in np.array([[0.30, 0.31, 0.29, 0.33, 0.30, 0.28], [0.20, 0.22, 0.20, 0.21, 0.22, 0.18]])
    ... )
    >>> gain(one, two).is_significant, gain(two, one).is_significant, gain(one, one).p_value
    (True, False, 1.0)
    """
    n_units = len(before.weight)
    if not np.array_equal(before.weight, after.weight) or n_units < 2:
        raise ValueError(
            f"the scores are of {n_units} and {len(after.weight)} units; both must be of the same units, at least 2"
        )
    difference = before.wrong - after.wrong
    error = float(np.sqrt(OVERLAP * ratio_variance(difference, before.weight)))
    return Gain.tested(float(difference.sum() / before.weight.sum()), error, n_units)


def _student_t(n_units: int) -> float:
    return float(stdtrit(n_units - 1, 0.975))


def folds(
    comparisons: Comparisons, n_folds: int, seed: int = 0, *, by: str = AUTO
) -> Iterator[tuple[Comparisons, Comparisons]]:
    """Yield pairs of a training and a held-out part; each comparison is held out once.

    Answers are not split, and answers about the same objects stay together: if a question was asked several times, or
    if an answer implies several comparisons, training data would otherwise contain held-out answers.

    Parameters
    ----------
    comparisons
        The comparisons to split.
    n_folds
        Number of parts.
    seed
        Determines which groups are held out together.
    by
        The split unit: "auto", "answers", "blocks", "people" or (single) "comparisons"; see
        :meth:`Comparisons.groups`.

    Examples
    --------
    >>> answers = Comparisons.from_triplets([[0, 1, 2], [1, 0, 2], [0, 1, 3], [1, 2, 3]])
    >>> sorted(len(held_out) for _, held_out in folds(answers, 3))
    [1, 1, 2]
    """
    by = comparisons.split_unit(by)
    part = fold_of(comparisons.groups(by), n_folds, seed, by)
    for number in range(n_folds):
        held_out = part == number
        yield comparisons.take(~held_out), comparisons.take(held_out)


def fold_of(group: NDArray[Any], n_folds: int, seed: int, by: str, *, parameter: str = "n_folds") -> NDArray[np.int32]:
    """Return the fold in which each row is held out; groups are not split, and folds have equal numbers of groups.

    An error about the number of folds names ``parameter``.

    Examples
    --------
    >>> fold_of(np.array([0, 0, 1, 2]), 3, 0, "answers")
    array([2, 2, 0, 1], dtype=int32)
    """
    n_groups = int(group.max()) + 1
    if n_groups == 1:
        raise ValueError(none_can_be_held_out(by))
    if not 2 <= n_folds <= n_groups:
        named = {AUTO: "groups that are held out together", "answers": "groups of answers about the same objects"}
        rule = f"it must be at least 2, and at most one for each of the {n_groups:,} {named.get(by, by)}"
        raise ParameterError(parameter, n_folds, rule)
    fold = (np.random.default_rng(seed).permutation(n_groups) % n_folds).astype(np.int32)
    fold_of_row: NDArray[np.int32] = fold[group]
    return fold_of_row


def number_of_folds(comparisons: Comparisons, by: str, usual: int = FOLDS) -> int:
    """Return the usual number of folds, or the number of groups if it is smaller.

    Examples
    --------
    >>> number_of_folds(Comparisons.from_triplets([[0, 1, 2], [1, 0, 3]]), "answers")
    2
    """
    n_groups = int(comparisons.groups(by).max()) + 1
    if n_groups < 2:
        raise ValueError(none_can_be_held_out(by))
    return min(usual, n_groups)


@dataclasses.dataclass(frozen=True)
class Folds:
    """A scheme of repeated cross-validation.

    Attributes
    ----------
    by
        The split unit: "answers", "blocks", "people" or (single) "comparisons".
    n_folds
        Number of parts; each is held out once.
    n_repeats
        Number of cross-validations, each with different folds.
    """

    by: str
    n_folds: int = FOLDS
    n_repeats: int = 1

    @classmethod
    def of(cls, answers: Comparisons, by: str, n_folds: int | None, n_repeats: int) -> Self:
        """Check the numbers and return the scheme; if ``n_folds`` is None, it is that of :func:`number_of_folds`."""
        n_folds = number_of_folds(answers, by) if n_folds is None else whole("n_folds", n_folds, least=2)
        return cls(by, n_folds, whole("n_repeats", n_repeats, least=1))

    @property
    def n_fits(self) -> int:
        """The total number of fits."""
        return self.n_folds * self.n_repeats

    def in_words(self, scores: Scores) -> str:
        """Describe the units and folds that the errors and tests are based on.

        Examples
        --------
        >>> Folds("answers").in_words(Scores(np.ones(5), np.ones(5), 0.0, np.ones(80), np.ones(80)))
        'errors and tests are over 80 questions, each held out as a whole: 5 folds, 1 repeat'
        """
        units = f"{len(scores.weight):,} {'questions' if self.by == 'answers' else self.by}"
        times = f"{counted(self.n_folds, 'fold')}, {counted(self.n_repeats, 'repeat')}"
        if scores.answers is not None:
            times += "; errors are fractions of comparisons"
        if scores.only_random:
            times += "; only answers to random questions are scored"
        return f"errors and tests are over {units}, each held out as a whole: {times}"


def with_fixed_loss(plan: FitPlan, answers: Comparisons) -> FitPlan:
    """Return the plan with the loss and the penalty chosen on all answers; unchanged if both are fixed."""
    if not plan.settings.must_choose:
        return plan
    result = plan.fit(answers, progress=plan.progress)
    return plan.replace(loss=result.loss_name if plan.settings.is_auto else plan.loss, penalty=result.penalty)


def held_out_fits(answers: Comparisons, plan: FitPlan, scheme: Folds) -> Iterator[tuple[NDArray[np.bool_], Result]]:
    """Hold out each fold in turn; yield a mask of the held-out rows, and the fit to all others.

    Ctrl-C raises KeyboardInterrupt. When the time limit, which all fits share, is reached, TimeOverError is raised.
    """
    group = answers.groups(scheme.by)
    for repeat in range(scheme.n_repeats):
        seed = plan.seed + repeat
        fold = fold_of(group, scheme.n_folds, seed, scheme.by)
        for number in range(scheme.n_folds):
            held_out = fold == number
            result = plan.fit(answers.take(~held_out), progress=plan.progress, seed=seed, by=scheme.by)
            if result.stopped_by == "time_limit":
                n_done = repeat * scheme.n_folds + number
                raise TimeOverError(
                    f"the time limit was reached after {n_done} of {scheme.n_fits} fits; raise time_limit, or leave it "
                    "out"
                )
            yield held_out, result


def scores_of(answers: Comparisons, plan: FitPlan, scheme: Folds, on_fit: Callable[[], None] | None = None) -> Scores:
    """Cross-validate the fits of a plan; ``on_fit`` is called after each fit."""
    group = answers.groups(scheme.by)
    weight = np.ones(len(answers)) if answers.weights is None else answers.weights
    random = random_among_others(answers)
    is_scored = np.ones(len(answers), dtype=bool) if random is None else random
    wrong = np.zeros(len(answers))
    whole = HeldOutAnswers.of(answers, answers.split_unit(scheme.by))
    held_out_errors, training_errors, seconds = [], [], 0.0
    for is_held_out, result in held_out_fits(answers, plan, scheme):
        held_out = is_held_out & is_scored
        mispredicted = ~(margins(answers.take(held_out), result.embedding) > 0)
        wrong[held_out] += mispredicted * weight[held_out] / scheme.n_repeats
        total = weight[held_out].sum()  # a fold may have no random questions
        held_out_errors.append(float(mispredicted @ weight[held_out] / total) if total > 0 else np.nan)
        training_errors.append(result.best_record.train_error)
        seconds += float(result.history[-1].seconds)
        if whole is not None:
            whole.predict(result, is_held_out, 1 / scheme.n_repeats)
        if on_fit is not None:
            on_fit()
    units = np.bincount(group, is_scored) > 0
    return Scores(
        np.array(held_out_errors),
        np.array(training_errors),
        seconds,
        np.bincount(group, wrong)[units].astype(np.float64),
        np.bincount(group, weight * is_scored)[units].astype(np.float64),
        None if whole is None else whole.measured(scheme.by, rows=random, overlap=OVERLAP)[0],
        random is not None,
    )


@checked
@lists_options(FitOptions)
def cross_validate(
    answers: Comparisons | ArrayLike,
    n_dims: int | None = None,
    *,
    n_folds: int = FOLDS,
    n_repeats: int = 1,
    on_fit: Callable[[], None] | None = None,
    settings: Settings | None = None,
    **options: Unpack[FitOptions],
) -> Scores:
    """Measure the error on held-out comparisons, and the accuracy of held-out whole answers, by cross-validation.

    If the answers record which questions were drawn at random (:attr:`closerthan.Trials.random`), only answers to these
    are scored, since other questions, such as those of an adaptive study, may be harder.

    Parameters
    ----------
    answers, n_dims
        As in :func:`closerthan.embed`.
    n_folds
        Number of parts; each is held out once.
    n_repeats
        Number of cross-validations, each with different folds.
    on_fit
        Called without arguments after each fit, for example to advance a progress bar.
    settings, options
        As in :func:`closerthan.embed`. ``seed`` also determines the folds, so results for different settings but
        the same seed are comparable fold by fold. ``by`` is the split unit: "answers" measures how well new answers are
        predicted, "people" how well the answers of new people are; "blocks" keeps dependent trials together; "auto"
        means blocks if the answers have them, otherwise answers. All fits share the time limit.

    Examples
    --------
    >>> import closerthan as ct
    >>> scores = ct.cross_validate(ct.datasets.eurodist().comparisons(), loss="soe")
    >>> scores.held_out.shape, bool(scores.mean < 0.1)
    ((5,), True)
    """
    plan = FitPlan.of(settings, n_dims, options, accepts_validation_set=True)
    return scores_of(Comparisons.of(answers), plan, Folds(plan.settings.by, n_folds, n_repeats), on_fit)
