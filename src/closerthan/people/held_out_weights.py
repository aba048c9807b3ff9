"""Tests of individual weights on held-out answers: do people differ, and how strongly?

Some answers of each person are held out, and four models that are fitted to the others predict them:

- one map for all people,
- one map and a *consistency* per person, a factor that scales all distances and is small if answers vary at random,
- one map and *weights* per person,
- the same after the people's names have been shuffled among the answers, which should not improve predictions.

All four start at the same map and are fitted in the same way. People weigh the dimensions differently if weights
predict better than consistencies alone; that one map predicts worse shows only that people differ in some way.

The spread of the weights is chosen from ``SPREADS`` by held-out answers. For each half of these, the choice is made on
the other half, so that it does not favour the weights.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from closerthan.accuracy import correct_choices, log_probabilities, pair_scores, pair_similarities
from closerthan.arrays import Array, frozen
from closerthan.calibration import ChoiceCalibration
from closerthan.comparisons import Choices, Comparisons
from closerthan.comparisons.questions import consecutive_numbers
from closerthan.evaluate.answer_accuracy import AnswerAccuracy
from closerthan.evaluate.cross_validation import OVERLAP, fold_of
from closerthan.losses import Loss, Penalized
from closerthan.metrics import log_odds, ratio_variance
from closerthan.objective.individuals import IndividualObjective, Individuals, PersonalAnswers, Spread
from closerthan.objective.protocol import MeanLoss, Point
from closerthan.registry import JsonObject
from closerthan.solvers.quasi_newton import descend

__all__ = ["BitsGain", "Evidence", "Fits", "HeldOutTrials", "by_person", "personal_answers"]

CONSISTENCY = 0.5  # prior standard deviation of the logarithm of a person's consistency, set by judgement
SPREADS = (0.1, 0.2, 0.4, 0.8)  # prior standard deviations of log weights that are tried
FOLDS = 5
MOST_HELD_OUT = 50_000  # if more comparisons would be predicted, only some of the folds are run
WINDOW = 10  # number of iterations that must lower the objective by PRECISION
PRECISION = 1e-5  # nats per answer, a hundredth of the gains that matter
SIGNIFICANT = 0.05
ONE_MAP, SHUFFLED = "one map", "shuffled"
EVIDENCE_TITLES = ("model", "accuracy", "low", "high", "bits_per_answer", "answers")


class BitsGain(NamedTuple):
    """The improvement of one model over another, in bits per held-out answer; p is one-sided."""

    mean: float
    low: float
    high: float
    p_value: float

    @property
    def is_significant(self) -> bool:
        """True if the second model is significantly better."""
        return self.mean > 0 and self.p_value < SIGNIFICANT

    @property
    def in_words(self) -> str:
        """The gain with its 95 % interval."""
        return f"{self.mean:.3f} bits per answer (95 % interval {self.low:.3f} to {self.high:.3f})"

    @classmethod
    def of(cls, before: Array, after: Array, units: NDArray[Any], weights: Array | None) -> "BitsGain":
        """Compare log probabilities of the same answers; ``units`` are the independent units, such as questions."""
        from scipy.stats import t

        weight = np.ones(len(before)) if weights is None else weights
        sums = np.bincount(units, weight * (after - before)) / np.log(2)
        totals = np.bincount(units, weight).astype(np.float64)
        sums, totals = sums[totals > 0], totals[totals > 0]
        mean = float(sums.sum() / totals.sum())
        error = float(np.sqrt(OVERLAP * ratio_variance(sums, totals)))
        if not 0 < error < np.inf:
            return cls(mean, mean, mean, 1.0)
        half = float(t.isf(0.025, len(sums) - 1)) * error
        return cls(mean, mean - half, mean + half, float(t.sf(mean / error, len(sums) - 1)))


@dataclasses.dataclass(frozen=True)
class Evidence:
    """The accuracy of the four models on the same held-out answers, and the gains between them.

    Attributes
    ----------
    one_map, consistency, weights, permuted
        Accuracy of each model, with bits per answer.
    gain_of_consistency
        Gain from a consistency per person, compared with one map for all.
    gain_of_weights
        Gain from weights per person, compared with a consistency per person.
    gain_of_permuted
        Gain from weights, compared with one map, after the people's names have been shuffled.
    bits
        Bits per held-out answer by spread of the weights, without calibration.
    """

    one_map: AnswerAccuracy
    consistency: AnswerAccuracy
    weights: AnswerAccuracy
    permuted: AnswerAccuracy
    gain_of_consistency: BitsGain
    gain_of_weights: BitsGain
    gain_of_permuted: BitsGain
    bits: dict[float, float]

    @property
    def best_spread(self) -> float:
        """The spread of the weights that predicts best; 0 for equal weights."""
        return min(self.bits, key=lambda spread: self.bits[spread])

    def to_data(self) -> JsonObject:
        """Return everything as JSON data."""
        return {**dataclasses.asdict(self), "bits": list(self.bits.items())}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> "Evidence":
        """Return the evidence that :meth:`to_data` described."""
        accuracies = [AnswerAccuracy(**data[name]) for name in ("one_map", "consistency", "weights", "permuted")]
        gains = [BitsGain(*data[f"gain_of_{name}"]) for name in ("consistency", "weights", "permuted")]
        return cls(*accuracies, *gains, bits=dict(data["bits"]))  # type: ignore[arg-type, misc]

    @property
    def models(self) -> dict[str, AnswerAccuracy]:
        """The four models by name."""
        return {
            "one map": self.one_map,
            "one map, own consistency": self.consistency,
            "one map, own weights": self.weights,
            "people shuffled": self.permuted,
        }

    def rows(self) -> list[tuple[str, str, str]]:
        """Return a table of the models as text: name, accuracy, bits."""
        return [(name, one.interval, f"{one.bits:.3f}") for name, one in self.models.items()]

    csv_titles = EVIDENCE_TITLES

    def csv_rows(self) -> list[tuple[str, float, float, float, float, int]]:
        """Return the same with all digits, under ``csv_titles``."""
        return [(name, *one.accuracy_and_interval, one.bits, one.n_answers) for name, one in self.models.items()]


@dataclasses.dataclass(frozen=True)
class Fits:
    """Fits of maps with individual weights that share the loss and the stopping rules.

    Attributes
    ----------
    loss, penalty, n_dims
        The loss, the strength of its penalty per object, and the number of dimensions.
    iterations
        Maximum number of iterations.
    n_threads
        Number of threads.
    must_end
        Function that returns True if a fit must end early.
    """

    loss: Loss
    penalty: float
    n_dims: int
    iterations: int
    n_threads: int
    must_end: Callable[[], bool] = lambda: False

    def objective(self, answers: PersonalAnswers, spread: Spread, *, fixed: Array | None = None) -> IndividualObjective:
        """Return the objective of a fit; ``fixed`` is a map that is not fitted."""
        weight = self.penalty * answers.n_objects / max(answers.choices.n_answers, 1)
        rule = Penalized(self.loss, weight) if weight else self.loss
        return IndividualObjective(answers, rule, spread, n_dims=self.n_dims, fixed=fixed, n_threads=self.n_threads)

    def fit(self, objective: IndividualObjective, start: Individuals) -> Individuals:
        """Lower the objective until it hardly changes; return the normalised map and weights."""
        fitted = objective.individuals(self._descend(objective, start).x)
        return fitted.normalized(objective.answers.is_present)

    def fit_weights(self, objective: IndividualObjective, start: Individuals) -> Array:
        """Return the log weights that fit best on a fixed map; they are not normalised."""
        return objective.individuals(self._descend(objective, start).x).log_weights

    def _descend(self, objective: IndividualObjective, start: Individuals) -> Point:
        return descend_until_flat(objective, objective.start(start), self.iterations, self.must_end)

    def without_people(self, x: Array, n_people: int) -> Individuals:
        """Return a map that is the same for all people."""
        return Individuals(x, np.zeros((n_people, self.n_dims)))


def descend_until_flat(objective: MeanLoss, first: Point, iterations: int, must_end: Callable[[], bool]) -> Point:
    """Lower the objective until it hardly changes, or for some iterations; return the last point."""
    values = [first.value]

    def report(point: Point, _: int) -> bool:
        values.append(point.value)
        slow = len(values) > WINDOW and values[-1 - WINDOW] - point.value < PRECISION
        return slow or len(values) > iterations or must_end()

    return descend(objective, first, report, must_end)


def by_person(answers: Comparisons) -> Comparisons:
    """Return the comparisons sorted by person, with answers numbered in this order."""
    assert answers.people is not None
    number = np.arange(len(answers)) if answers.answers is None else answers.answers
    order = np.lexsort((number, answers.people))
    number = number[order]
    in_order = answers.take(order)
    if answers.answers is None:
        return in_order
    return in_order.replace(answers=np.cumsum(np.diff(number, prepend=number[0]) != 0).astype(np.int32))


def personal_answers(answers: Comparisons, n_people: int) -> PersonalAnswers:
    """Return the whole answers of comparisons that are sorted by person."""
    choices = Choices.of(answers)
    assert answers.people is not None
    return PersonalAnswers.of(choices, answers.people[choices.rows], n_people)


class HeldOutTrials:
    """Predictions of the four models for held-out answers.

    Parameters
    ----------
    answers
        Comparisons, sorted by person.
    fits
        Fits that share the loss and the stopping rules.
    first_map
        Returns a map fitted to some of the comparisons, at which all models start.
    by, seed
        The unit to hold out, and the seed for the folds.
    """

    def __init__(
        self, answers: Comparisons, fits: Fits, first_map: Callable[[Comparisons], Array], *, by: str, seed: int
    ) -> None:
        assert answers.people is not None
        self._answers, self._fits, self._first_map, self._seed = answers, fits, first_map, seed
        self._n_people = len(answers.person_names or ())
        unit = answers.groups(by)
        n_folds = min(FOLDS, int(unit.max()) + 1)
        self._fold = fold_of(unit, n_folds, seed, by)
        self.n_folds = min(n_folds, -(-MOST_HELD_OUT * n_folds // len(answers)))
        self._choices = Choices.of(answers)
        self._unit, self._people = unit[self._choices.rows], answers.people[self._choices.rows]
        self._predictions: dict[str, _Predictions] = {}
        self._is_tested = np.zeros(len(self._choices), dtype=bool)

    @property
    def n_fits(self) -> int:
        """Number of fits of all folds."""
        return self.n_folds * (len(SPREADS) + 4)

    @property
    def has_results(self) -> bool:
        """True if at least one fold is complete."""
        return bool(self._is_tested.any())

    def run(self, tick: Callable[[], None]) -> None:
        """Run all folds; an exception keeps those that are complete."""
        rng = np.random.default_rng(self._seed)
        for fold in range(self.n_folds):
            train = self._answers.take(self._fold != fold)
            numbers = np.flatnonzero(self._fold[self._choices.rows] == fold)
            test, people = self._choices.take(numbers), self._people[numbers]
            start = self._fits.without_people(self._first_map(train), self._n_people)
            tick()
            objective = self._fits.objective(personal_answers(train, self._n_people), Spread())
            start = self._fits.fit(objective, start)
            predicted = {ONE_MAP: _Prediction.of(start, test, people, self._fits.loss)}
            tick()
            best, current = SPREADS[0], start
            for spread in (0.0, *SPREADS):
                current = self._fits.fit(objective.with_spread(Spread(CONSISTENCY, spread)), current)
                predicted[_named(spread)] = _Prediction.of(current, test, people, self._fits.loss)
                if spread and predicted[_named(spread)].bits < predicted[_named(best)].bits:
                    best = spread
                tick()
            shuffled = by_person(_with_shuffled_people(train, rng))
            objective = self._fits.objective(personal_answers(shuffled, self._n_people), Spread(CONSISTENCY, best))
            of_shuffled = self._fits.fit(objective, start)
            predicted[SHUFFLED] = _Prediction.of(of_shuffled, test, rng.permutation(people), self._fits.loss)
            tick()
            self._keep(numbers, predicted)

    def _keep(self, numbers: NDArray[np.int64], predicted: "dict[str, _Prediction]") -> None:
        pairs = self._choices.pairs_of_answers(numbers)
        for name, one in predicted.items():
            if name not in self._predictions:
                zeros = np.zeros(len(self._choices.pairs)), np.zeros(len(self._choices))
                self._predictions[name] = _Predictions(*zeros)
            self._predictions[name].scores[pairs] = one.scores
            self._predictions[name].right[numbers] = one.right
        self._is_tested[numbers] = True

    def evidence(self) -> Evidence:
        """Return the conclusions from the folds that are complete."""
        numbers = np.flatnonzero(self._is_tested)
        choices = self._choices.take(numbers)
        pairs = self._choices.pairs_of_answers(numbers)
        models = {
            name: _Prediction(one.scores[pairs], one.right[numbers], choices) for name, one in self._predictions.items()
        }
        unit = consecutive_numbers(self._unit[numbers])
        in_half = (np.random.default_rng(self._seed).permutation(int(unit.max()) + 1) % 2)[unit].astype(bool)
        of_spread = {spread: models[_named(spread)] for spread in (0.0, *SPREADS)}
        chosen = [
            min(of_spread.values(), key=lambda one: one.bits_of(other)) for other in (~in_half, in_half)
        ]  # for each half of the answers, the spread that predicts the other half best
        of_pair = np.repeat(in_half[choices.answers], choices.sizes)
        weights = _Prediction(
            np.where(of_pair, chosen[0].scores, chosen[1].scores),
            np.where(in_half, chosen[0].right, chosen[1].right),
            choices,
        )
        parts = (models[ONE_MAP], models[_named(0.0)], weights, models[SHUFFLED])
        logs = [one.calibrated_logs() for one in parts]
        accuracies = [
            AnswerAccuracy.measured(choices, one.right, unit, log, overlap=OVERLAP)
            for one, log in zip(parts, logs, strict=True)
        ]
        gains = [BitsGain.of(logs[one], logs[two], unit, choices.weights) for one, two in ((0, 1), (1, 2), (0, 3))]
        bits = {spread: one.bits for spread, one in of_spread.items()}
        return Evidence(*accuracies, *gains, bits)  # type: ignore[arg-type, call-arg]


class _Predictions(NamedTuple):
    """A log similarity for each pair of all answers, and whether each answer was predicted correctly."""

    scores: Array
    right: Array


@dataclasses.dataclass(frozen=True, eq=False)
class _Prediction:
    """The prediction of a model for some answers: the fields of :class:`_Predictions`, and these answers."""

    scores: Array
    right: Array
    choices: Choices

    @classmethod
    def of(cls, model: Individuals, test: Choices, people: NDArray[Any], loss: Loss) -> "_Prediction":
        """Predict answers by the personal maps of the people who gave them."""
        answers = PersonalAnswers.of(test, people, len(model.log_weights))
        maps, choices = answers.maps(model), answers.choices
        scores = pair_scores(choices, lambda questions: log_odds(questions, maps, loss))
        return cls(scores, correct_choices(choices, pair_similarities(choices, maps)), test)

    @functools.cached_property
    def _bits_of_answers(self) -> Array:
        return np.asarray(-log_probabilities(self.choices, self.scores) / np.log(2))

    @property
    def bits(self) -> float:
        """Bits per answer, by the probabilities of the model."""
        return float(np.average(self._bits_of_answers, weights=self.choices.weights))

    def bits_of(self, part: NDArray[np.bool_]) -> float:
        """Bits per answer for some of the answers."""
        weights = part.astype(np.float64) * (1.0 if self.choices.weights is None else self.choices.weights)
        return float(np.average(self._bits_of_answers, weights=weights)) if weights.any() else self.bits

    def calibrated_logs(self) -> Array:
        """Return the log probability of each answer with a slope and a lapse rate fitted to these answers."""
        return ChoiceCalibration.fitted(self.choices, self.scores).log_probability(self.choices, self.scores)


def _named(spread: float) -> str:
    return f"spread {spread:g}"


def _with_shuffled_people(answers: Comparisons, rng: np.random.Generator) -> Comparisons:
    """Return the comparisons with the people's names shuffled among whole answers."""
    assert answers.people is not None
    number = np.arange(len(answers)) if answers.answers is None else answers.answers
    _, first, answer = np.unique(number, return_index=True, return_inverse=True)
    return answers.replace(people=frozen(rng.permutation(answers.people[first])[answer]))
