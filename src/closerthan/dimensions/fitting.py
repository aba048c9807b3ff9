"""Estimate sparse, non-negative dimensions of objects from whole answers (SPoSE).

If x_i >= 0 are the weights of object i on each dimension, the pair (i, j) is chosen among the pairs shown with
probability proportional to ``exp(x_i . x_j)``. The dimensions minimise

.. math:: \\operatorname{mean}(-\\log P) + \\frac{\\lambda}{n} \\sum_{ik}
          \\bigl(x_{ik} + \\tfrac{\\rho}{2} x_{ik}^2\\bigr)

where n is the number of objects. The first term of the penalty (L1) makes most weights exactly zero, and with them
whole dimensions. Alone it does not prevent overfitting: similarities grow with the *square* of the weights, so a
dimension with large weights of two objects explains a single answer at little cost. The second term makes such
dimensions expensive.

References
----------
M. N. Hebart, C. Y. Zheng, F. Pereira, C. I. Baker: Revealing the multidimensional mental representations of natural
objects underlying human similarity judgements. Nature Human Behaviour 2020.
L. Muttenthaler, C. Y. Zheng, P. McClure, R. A. Vandermeulen, M. N. Hebart, F. Pereira: VICE: Variational
interpretable concept embeddings. NeurIPS 2022.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan.accuracy import correct_choices, log_probabilities, pair_similarities
from closerthan.arrays import Array, inner
from closerthan.checks import ParameterError, checked
from closerthan.comparisons import Choices, Comparisons
from closerthan.comparisons.questions import consecutive_numbers
from closerthan.dimensions.matching import correlations_with_matches
from closerthan.dimensions.options import SPARSE_DEFAULTS, SparseOptions, SparseSettings
from closerthan.dimensions.penalty import PenaltyTried, first_penalty, search_penalty, sparsest
from closerthan.dimensions.projected_lbfgs import minimise
from closerthan.dimensions.result import SparseDimensions
from closerthan.dimensions.start import choice_matrix_start
from closerthan.evaluate.answer_accuracy import AnswerAccuracy
from closerthan.evaluate.repeats import answer_ceilings
from closerthan.fit.ctrl_c import CtrlC
from closerthan.fit.progress import phases
from closerthan.messages import value_error
from closerthan.metrics import kish_number
from closerthan.objective.devices import dot_products_on
from closerthan.objective.dot_products import PairLikelihood, ShownPairs
from closerthan.settings import Budget
from closerthan.signatures import lists_keywords
from closerthan.wording import counted

__all__ = ["sparse_dimensions"]

LEAST_ANSWERS = 20  # so that each held-out tenth has two of them
NEGLIGIBLE = 0.1  # dimensions whose weights are all below it are dropped; they change log odds by at most .01
SEARCH_TOLERANCE = 5.0  # factor by which the tolerance is larger while the penalty is chosen
REFIT_TOLERANCE = 3.0  # factor by which the tolerance of refits is larger
CLEARLY = 2.0  # standard errors by which dimensions must predict better than guessing


@lists_keywords(SparseOptions, SPARSE_DEFAULTS)
@checked
def sparse_dimensions(
    answers: Comparisons | ArrayLike, n_dims: int | None = None, **options: Unpack[SparseOptions]
) -> SparseDimensions:
    """Estimate sparse, non-negative dimensions of objects, which people can name (SPoSE).

    Parameters
    ----------
    answers
        The answers: odd one out of three, nearest of k, rankings or triplets. Whole answers count, not the comparisons
        that follow from them.
    n_dims
        Number of dimensions to start with; those that are not needed become zero and are dropped. By default 60, or
        half the number of objects if that is less.
    penalty
        Strength of the L1 penalty, in the units of SPoSE's lambda; by default chosen by held-out answers.
    ridge
        Strength of the squared penalty, relative to ``penalty``; 0: L1 only, the objective of SPoSE.
    n_refits
        Number of fits to resampled answers, from other starts, which show which dimensions reappear; 0: none.
    held_out
        Fraction of the answers by which the penalty is chosen; the accuracy is measured on as many others. These two
        parts are withheld only from the fits that choose the penalty.
    by
        The unit that is held out and resampled: "answers" (those about the same objects stay together), "blocks" or
        "people". "auto": "blocks" if the answers have blocks, otherwise "answers".
    tolerance, max_iterations
        A fit stops when its objective decreases by less than this fraction per iteration.
    time_limit
        Seconds after which the dimensions so far are returned.
    seed
        The same seed gives the same dimensions on the CPU, for any number of threads; None draws a new one.
    device
        "cpu", "cuda" (a GPU; needs PyTorch) or "auto".
    n_threads
        Number of threads; by default one per core.
    progress
        Whether to show what is being done.

    Returns
    -------
    SparseDimensions
        The dimensions, sorted by their sum. Ctrl-C and the time limit end the computation early and keep the
        dimensions so far.

    Examples
    --------
    >>> import closerthan as ct
    >>> x = np.kron(np.eye(3), np.ones((8, 1))) * 2
    >>> answers = ct.answers_from(x, 2000, similarity="dot", question="odd-one-out", temperature=1.0)
    >>> dimensions = ct.sparse_dimensions(answers, 6, n_refits=2)
    >>> dimensions.n_dims, int(dimensions.is_reproducible.sum())
    (3, 3)
    """
    comparisons = Comparisons.of(answers)
    settings = _settings(comparisons, n_dims, options)
    choices = Choices.of(comparisons)
    _check(choices)
    units = consecutive_numbers(comparisons.groups(settings.by)[choices.rows]).astype(np.int64)
    budget = Budget.of(settings.time_limit)
    with CtrlC() as ctrl_c, phases(bool(options.get("progress"))) as phase:
        pairs = ShownPairs.of(choices)
        device, n_threads = options.get("device", "cpu"), options.get("n_threads")
        with dot_products_on(device, pairs, n_threads) as likelihood:
            fits = _Fits(likelihood, choices, settings, lambda: ctrl_c.pressed.is_set() or budget.is_over)
            split = _Split.draw(units, settings, fits.rng)
            phase("choosing the penalty")
            tried, penalty, x = fits.search(split)
            accuracy = _accuracy(comparisons, choices, split, units, x)
            predicts = settings.penalty is not None or split.predicts_better_than_chance(choices, x)
            x = x if predicts else x[:, :0]
            if x.shape[1]:
                phase("fitting all answers")
                x = _sorted(fits.fit(penalty, fits.own_weights, x))
            refits = []
            for number in range(settings.n_refits if x.shape[1] else 0):
                phase(f"refit {number + 1} of {settings.n_refits}")
                refit = fits.refit(penalty, units)
                if fits.must_end():
                    break
                refits.append(_sorted(refit))
    stopped_by = "interrupted" if ctrl_c.pressed.is_set() else "time_limit" if budget.is_over else ""
    return SparseDimensions(
        x,
        comparisons.names,
        correlations_with_matches(x, refits),
        penalty,
        tuple(tried),
        accuracy,
        choices.n_answers,
        settings,
        stopped_by,
    )


def _settings(comparisons: Comparisons, n_dims: int | None, options: SparseOptions) -> SparseSettings:
    settings = SparseSettings.of(n_dims, options)
    if n_dims is None:
        settings = dataclasses.replace(settings, n_dims=max(min(settings.n_dims, comparisons.n_objects // 2), 1))
    if n_dims is not None and n_dims > comparisons.n_objects:
        raise ParameterError("n_dims", n_dims, f"it can be at most the number of objects, {comparisons.n_objects:,}")
    comparisons.split_unit(settings.by)
    return settings


def _check(choices: Choices) -> None:
    """Raise an error if the answers are too few."""
    number = choices.n_answers if choices.weights is None else int(np.count_nonzero(choices.weights))
    if number < LEAST_ANSWERS:
        raise ValueError(
            f"{counted(number, 'answer')}: too few to estimate dimensions and to hold some out; collect at least "
            f"{LEAST_ANSWERS}, or fit a map"
        )


class _Fits:
    """Fits of the same answers with different weights and penalties."""

    def __init__(
        self, likelihood: PairLikelihood, choices: Choices, settings: SparseSettings, must_end: Callable[[], bool]
    ) -> None:
        self._likelihood, self._choices, self._settings = likelihood, choices, settings
        self.must_end = must_end
        self.rng = np.random.default_rng(settings.seed)
        self.own_weights = np.ones(choices.n_answers) if choices.weights is None else choices.weights

    def fit(
        self,
        penalty: float,
        weights: Array,
        start: Array | None = None,
        *,
        slack: float = 1.0,
        refit: bool = False,
    ) -> Array:
        """Return dimensions for weighted answers; ``slack`` is a factor of the tolerance.

        The penalty is given for a fit to all answers. If some have no weight, or are drawn several times, it grows with
        the inverse square root of the effective number of answers, like the noise of the gradient.
        """
        penalty *= math.sqrt(kish_number(self.own_weights) / kish_number(weights))
        likelihood, ridge = self._likelihood.weighted(weights), penalty * self._settings.ridge
        n_dims, n_objects = self._settings.n_dims, self._choices.n_objects
        if start is None:
            start = choice_matrix_start(likelihood, n_dims, self.rng, weights=weights, is_random=refit)

        def objective(x: Array) -> tuple[float, Array]:
            value, gradient = likelihood.at(x)
            gradient *= n_objects
            gradient += penalty
            if ridge:
                gradient += ridge * x
            return n_objects * value + penalty * float(x.sum()) + ridge / 2 * inner(x, x), gradient

        minimum = minimise(
            objective,
            start,
            tolerance=slack * self._settings.tolerance,
            most_iterations=self._settings.max_iterations,
            must_end=self.must_end,
        )
        return minimum.x[:, minimum.x.max(axis=0) > NEGLIGIBLE]

    def search(self, split: "_Split") -> tuple[list[PenaltyTried], float, Array]:
        """Return the penalties tried, the one chosen, and its dimensions.

        The largest penalty is chosen that predicts held-out answers as well as the best one, within a standard error.
        """
        settings, choices = self._settings, self._choices
        training = split.training(choices)
        dimensions: dict[float, Array] = {}
        bits: dict[float, Array] = {}

        def try_penalty(penalty: float) -> PenaltyTried:
            if dimensions and self.must_end():
                raise StopIteration
            x = dimensions[penalty] = self.fit(penalty, training, slack=SEARCH_TOLERANCE)
            bits[penalty] = split.bits(choices, x, split.choosing)
            return PenaltyTried(penalty, float(bits[penalty].mean()), x.shape[1])

        if settings.penalty is None:
            tried = search_penalty(first_penalty(choices.n_objects, choices.n_answers), try_penalty)
        else:
            tried = [try_penalty(settings.penalty)]
        chosen = sparsest(bits)
        return tried, chosen, dimensions[chosen]

    def refit(self, penalty: float, units: NDArray[np.int64]) -> Array:
        """Return dimensions for resampled units, from a random start."""
        n_units = int(units.max()) + 1
        counts = np.bincount(self.rng.integers(0, n_units, n_units), minlength=n_units).astype(np.float64)
        return self.fit(penalty, counts[units] * self.own_weights, slack=REFIT_TOLERANCE, refit=True)


@dataclasses.dataclass(frozen=True)
class _Split:
    """Held-out answers: some choose the penalty, others measure the accuracy."""

    choosing: NDArray[np.int64]
    measuring: NDArray[np.int64]
    n_answers: int

    @classmethod
    def draw(cls, units: NDArray[np.int64], settings: SparseSettings, rng: np.random.Generator) -> "_Split":
        """Hold out units at random until each part has its fraction of the answers."""
        order = rng.permutation(int(units.max()) + 1)
        sizes = np.bincount(units)[order]
        before = np.cumsum(sizes) - sizes
        part = np.minimum((before / (settings.held_out * len(units))).astype(np.int64), 2)
        of_unit = np.empty_like(part)
        of_unit[order] = part
        if (of_unit < 2).all():
            raise _too_few_units(len(order), settings.by)
        of_answer = of_unit[units]
        choosing, measuring = (np.flatnonzero(of_answer == number) for number in (0, 1))
        return cls(choosing, measuring if len(measuring) else choosing, len(units))

    def training(self, choices: Choices) -> Array:
        """Return the weights of all answers, which are 0 if they are held out."""
        weights = np.ones(self.n_answers) if choices.weights is None else choices.weights.copy()
        weights[self.choosing] = weights[self.measuring] = 0.0
        return weights

    def bits(self, choices: Choices, x: Array, which: NDArray[np.int64]) -> Array:
        """Return the bits of some answers, ``-log2 P``."""
        part = choices.take(which)
        return -log_probabilities(part, pair_similarities(part, x, "dot")) / math.log(2)

    def predicts_better_than_chance(self, choices: Choices, x: Array) -> bool:
        """Return whether dimensions predict the answers that measure the accuracy clearly better than guessing."""
        gains = self.bits(choices, x[:, :0], self.measuring) - self.bits(choices, x, self.measuring)
        return bool(gains.mean() > CLEARLY * gains.std() / math.sqrt(len(gains)))


def _too_few_units(number: int, by: str) -> ValueError:
    rule = "too few for training and two held-out parts"
    if by in ("auto", "answers"):
        return ValueError(f"all answers belong to {counted(number, 'question')}, {rule}; ask more questions")
    return value_error(f"the unit {by!r} divides the answers into {number}, {rule}", "choose {by}", by="answers")


def _accuracy(
    comparisons: Comparisons, choices: Choices, split: _Split, units: NDArray[np.int64], x: Array
) -> AnswerAccuracy:
    """Return the accuracy of dimensions on answers that neither they nor their penalty depend on."""
    part = choices.take(split.measuring)
    similarities = pair_similarities(part, x, "dot")
    return AnswerAccuracy.measured(
        part,
        correct_choices(part, similarities),
        consecutive_numbers(units[split.measuring]),
        log_probabilities(part, similarities),
        ceilings=tuple(answer_ceilings(comparisons, choices)),
    )


def _sorted(x: Array) -> Array:
    return np.ascontiguousarray(x[:, np.argsort(-x.sum(axis=0), kind="stable")])
