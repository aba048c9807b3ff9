"""Tests of the terms of an answer on held-out answers: what do positions, repetition, ties and lapses explain?

Some whole answers are held out, and models that were fitted to the others predict them. All models are fitted in the
same way: the map, the terms and the differences between people jointly (:mod:`closerthan.objective.answer_terms`). For
each model, a factor of the log similarities and one of the preferences are fitted to the held-out answers, so that a
term gains nothing by making up for probabilities that are too extreme.

Terms enter one after another: of those that are not in the model, the one that gains most bits per answer enters if the
95 % interval of its gain is positive. Terms that never enter explain nothing beyond those that did.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from closerthan.accuracy import correct_choices
from closerthan.arrays import Array
from closerthan.comparisons import Comparisons
from closerthan.comparisons.questions import consecutive_numbers
from closerthan.evaluate.answer_accuracy import AnswerAccuracy
from closerthan.evaluate.cross_validation import OVERLAP, fold_of
from closerthan.losses import Loss, Penalized
from closerthan.objective.answer_terms import AnswerModel, Design, PlacedAnswers, Terms, outcomes
from closerthan.objective.protocol import Point
from closerthan.people.held_out_weights import EVIDENCE_TITLES, BitsGain, descend_until_flat
from closerthan.people.lapses import PRIOR_ANSWERS, PRIOR_LAPSES

__all__ = ["FittedTerms", "ScoredModel", "TermEvidence", "TermFits", "TermTrials"]

FOLDS = 5
FEWEST_PEOPLE = 5  # with fewer, questions are the independent units, and the conclusions are about these people
FIRST_SPREADS = Terms(0.5, 0.5, 0.5, 1.0)  # initial values for the estimation of the spreads
FIRST_LAPSES = -3.0  # logit of a rate of 5 %
ROUNDS, STEPS = 2, 6  # rounds of fitting map and terms together, and steps of estimating the spreads in between
FEW_ITERATIONS = 6  # iterations of fitting the terms before their spreads are estimated again
FACTORS = (-2.0, 1.0)  # limits of the logarithms of the factors of held-out scores


@dataclasses.dataclass(frozen=True, eq=False)
class FittedTerms:
    """A fitted model.

    Attributes
    ----------
    model, point
        The model, and its parameters as a column.
    x
        The map.
    means, latent
        The means of the parameters, and the standard normal variables of each person.
    """

    model: AnswerModel
    point: Array
    x: Array
    means: Array
    latent: Array

    @classmethod
    def of(cls, model: AnswerModel, point: Array) -> "FittedTerms":
        """Return the model at a point."""
        return cls(model, point, *model.parts(point))

    @property
    def parameters(self) -> Array:
        """The parameters of each person."""
        return self.model.parameters(self.means, self.latent)

    @property
    def effects(self) -> Array:
        """The effects on each person's answers, as in :attr:`Design.basis`."""
        return np.asarray(self.parameters @ self.model.design.basis)

    def moved_to(self, model: AnswerModel) -> Point:
        """Return the point of another model with the same terms at which people have the same parameters."""
        latent = self.latent * _ratios(self.model, model)
        return model.at(model.vector(self.x, self.means, latent))


def _ratios(one: AnswerModel, other: AnswerModel) -> Array:
    ratio = np.array(
        [before / after if after else 0.0 for before, after in zip(one.spreads, other.spreads, strict=True)]
    )
    return ratio[one.design.term_of_parameter]


@dataclasses.dataclass(frozen=True)
class TermFits:
    """Fits of maps and terms that share the loss and the stopping rules.

    Attributes
    ----------
    loss, penalty
        The loss, and the strength of its penalty per object.
    places
        The positions that occur, as in :class:`Design`.
    iterations
        Maximum number of iterations.
    must_end
        Returns whether to end early.
    """

    loss: Loss
    penalty: float
    places: tuple[tuple[int, int], ...]
    iterations: int
    must_end: Callable[[], bool] = lambda: False

    def fit(self, answers: PlacedAnswers, terms: Terms, x: Array, *, has_map: bool = True) -> FittedTerms:
        """Fit a map, from a start, jointly with terms; without a map, all pairs are equally similar."""
        design = Design.of(terms, self.places)
        differ = answers.is_present.sum() > 1
        spreads = Terms(*(first if differ and term else 0.0 for first, term in zip(FIRST_SPREADS, terms, strict=True)))
        make = functools.partial(
            AnswerModel,
            answers,
            design,
            loss=Penalized(self.loss, self.penalty * len(x) / max(len(answers.choices), 1)),
            n_dims=x.shape[1],
            lapse_prior=(PRIOR_LAPSES, PRIOR_ANSWERS - PRIOR_LAPSES),
        )
        means = np.where(design.term_of_parameter == len(Terms._fields) - 1, FIRST_LAPSES, 0.0)
        latent = np.zeros((answers.n_people, design.n_parameters))
        model = make(spreads, fixed=None if has_map else np.zeros_like(x))
        fitted = self._minimise(model, model.at(model.vector(x, means, latent)), self.iterations)
        if not any(spreads):
            return fitted
        for _ in range(ROUNDS):
            on_map = make(model.spreads, fixed=fitted.x)
            of_terms = FittedTerms.of(on_map, on_map.vector(fitted.x, fitted.means, fitted.latent))
            for _ in range(STEPS):
                on_map = on_map.with_spreads(on_map.next_spreads(of_terms.point))
                of_terms = self._minimise(on_map, of_terms.moved_to(on_map), FEW_ITERATIONS)
            model = model.with_spreads(on_map.spreads)
            fitted = self._minimise(model, of_terms.moved_to(model), self.iterations)
        return fitted

    def _minimise(self, model: AnswerModel, first: Point, iterations: int) -> FittedTerms:
        """Lower the objective until it hardly changes, or for some iterations."""
        if not len(first.x):
            return FittedTerms.of(model, first.x)
        return FittedTerms.of(model, descend_until_flat(model, first, iterations, self.must_end).x)


class ScoredModel(NamedTuple):
    """The accuracy of a model on held-out answers.

    Attributes
    ----------
    name
        What the model consists of.
    accuracy
        Fraction of the choices that are predicted correctly. Ties do not count.
    bits
        Bits per answer; ties count.
    """

    name: str
    accuracy: AnswerAccuracy
    bits: float


@dataclasses.dataclass(frozen=True)
class TermEvidence:
    """The evidence for each term, from held-out answers.

    Attributes
    ----------
    terms
        The terms that explain something.
    models
        The models that were compared: the map alone, then the map with one term each; if any were kept, finally these
        terms without and with the map.
    added
        For each term, the gain of adding it to the map alone.
    beyond
        For each term, its gain in addition to the other terms that were kept; for a term that was kept, what would be
        lost without it.
    by_people
        Whether people are the independent units of the intervals; otherwise questions are.
    """

    terms: Terms
    models: tuple[ScoredModel, ...]
    added: dict[str, BitsGain]
    beyond: dict[str, BitsGain]
    by_people: bool

    csv_titles = EVIDENCE_TITLES

    def csv_rows(self) -> list[tuple[str, float, float, float, float, int]]:
        """Return the models with all digits, under ``csv_titles``."""
        return [(name, *one.accuracy_and_interval, bits, one.n_answers) for name, one, bits in self.models]

    def rows(self) -> list[tuple[str, str, str]]:
        """Return the models as text: name, accuracy, bits."""
        return [(name, one.interval, f"{bits:.3f}") for name, one, bits in self.models]

    @property
    def map_alone(self) -> ScoredModel:
        """The model without terms."""
        return self.models[0]

    @property
    def terms_alone(self) -> ScoredModel | None:
        """The model with the terms that were kept, and without a map; None if no term was kept."""
        return self.models[-2] if any(self.terms) else None

    @property
    def full(self) -> ScoredModel:
        """The model with the map and the terms that were kept."""
        return self.models[-1] if any(self.terms) else self.map_alone


class TermTrials:
    """Predictions of held-out answers by models with different terms.

    Parameters
    ----------
    answers
        Comparisons, and the same as whole answers.
    placed
        The whole answers.
    fits
        How to fit.
    first_map
        Returns a map fitted to some of the comparisons, at which all models start.
    tick
        Called after each fit.
    by, seed
        The unit to hold out, and the seed for the folds.
    """

    def __init__(
        self,
        answers: Comparisons,
        placed: PlacedAnswers,
        fits: TermFits,
        first_map: Callable[[NDArray[np.bool_]], Array],
        tick: Callable[[], None],
        *,
        by: str,
        seed: int,
    ) -> None:
        self._placed, self._fits, self._tick = placed, fits, tick
        unit = answers.groups(by)
        self.n_folds = min(FOLDS, int(unit.max()) + 1)
        fold = fold_of(unit, self.n_folds, seed, by)
        self._fold = fold[placed.choices.rows]
        self._starts = []
        for number in range(self.n_folds):
            self._starts.append(first_map(fold != number))
            tick()
        self.by_people = int(placed.is_present.sum()) >= FEWEST_PEOPLE
        self._unit = consecutive_numbers(placed.people if self.by_people else unit[placed.choices.rows])
        self._predictions: dict[tuple[Terms, bool], _Prediction] = {}

    def evidence(self, candidates: Terms) -> TermEvidence:
        """Find the terms that explain something."""
        alone, names = Terms(), candidates.names
        added = {name: self._gain(alone, alone._replace(**{name: True})) for name in names}
        terms, gains = alone, dict(added)
        while gains:
            best = max(gains, key=lambda name: gains[name].mean if _is_clear(gains[name]) else -np.inf)
            if not _is_clear(gains[best]):
                break
            terms = terms._replace(**{best: True})
            outside = [name for name in names if name not in terms.names]
            gains = {name: self._gain(terms, terms._replace(**{name: True})) for name in outside}
        beyond = {
            name: self._gain(terms._replace(**{name: False}), terms) if name in terms.names else gains[name]
            for name in names
        }
        models = [(alone, True), *((alone._replace(**{name: True}), True) for name in names)]
        if any(terms):
            models = [one for one in models if one != (terms, True)] + [(terms, False), (terms, True)]
        scored = tuple(self._scored(*model) for model in models)
        return TermEvidence(terms, scored, added, beyond, self.by_people)

    def _gain(self, before: Terms, after: Terms) -> BitsGain:
        one, other = self._predicted(before), self._predicted(after)
        return BitsGain.of(one.logs, other.logs, self._unit, self._placed.choices.weights)

    def _scored(self, terms: Terms, has_map: bool) -> ScoredModel:
        prediction, placed = self._predicted(terms, has_map), self._placed
        chosen = np.flatnonzero(~placed.is_tie)
        logs, right, unit = prediction.logs, prediction.right[chosen], consecutive_numbers(self._unit[chosen])
        accuracy = AnswerAccuracy.measured(placed.choices.take(chosen), right, unit, logs[chosen], overlap=OVERLAP)
        bits = float(np.average(-logs, weights=placed.choices.weights) / np.log(2))
        return ScoredModel(_name(terms, has_map), accuracy, bits)

    def _predicted(self, terms: Terms, has_map: bool = True) -> "_Prediction":
        """Return the predictions of a model for all answers, each from a fit without it."""
        key = (terms, has_map)
        if key not in self._predictions:
            self._predictions[key] = self._fitted(terms, has_map)
        return self._predictions[key]

    def _fitted(self, terms: Terms, has_map: bool) -> "_Prediction":
        placed, n_answers = self._placed, len(self._placed.choices)
        map_scores, offsets = np.zeros((2, len(placed.choices.pairs)))
        effects, tie_rates = np.zeros((n_answers, len(self._fits.places) + 4)), np.zeros(n_answers)
        for fold, start in enumerate(self._starts):
            train, test = placed.take(np.flatnonzero(self._fold != fold)), np.flatnonzero(self._fold == fold)
            fitted = self._fits.fit(train, terms, start, has_map=has_map)
            pairs, held_out = placed.choices.pairs_of_answers(test), placed.take(test)
            model = AnswerModel(
                held_out, fitted.model.design, fitted.model.spreads, self._fits.loss, n_dims=start.shape[1]
            )
            map_scores[pairs] = model.map_scores(fitted.x)
            offsets[pairs] = model.offsets(fitted.effects)
            effects[test], tie_rates[test] = fitted.effects[held_out.people], train.tie_rates[held_out.people]
            self._tick()
        own = dataclasses.replace(placed, people=np.arange(n_answers, dtype=np.int32), n_people=n_answers)
        return _Prediction.calibrated(own, map_scores, offsets, effects, terms, tie_rates)


class _Prediction(NamedTuple):
    """The log probability of each answer, and how far it was predicted correctly."""

    logs: Array
    right: Array

    @classmethod
    def calibrated(
        cls, answers: PlacedAnswers, map_scores: Array, offsets: Array, effects: Array, terms: Terms, tie_rates: Array
    ) -> "_Prediction":
        """Fit a factor of each kind of score to these answers; each answer has effects of its own."""
        weights = answers.choices.weights
        parts = {"map": map_scores, "offsets": offsets}
        factors = dict.fromkeys(parts, 0.0)  # their logarithms

        def scores(**changed: float) -> Array:
            logs = {**factors, **changed}
            return np.asarray(sum(np.exp(logs[name]) * part for name, part in parts.items()))

        def logs(**changed: float) -> Array:
            return outcomes(answers, scores(**changed), effects, terms, tie_rates).logs

        def cost(log_factor: float, name: str) -> float:
            return -float(np.average(logs(**{name: log_factor}), weights=weights))

        for name in [name for name, part in parts.items() if part.any()] * 2:  # optimise the factors in turn, twice
            search = minimize_scalar(cost, bounds=FACTORS, args=(name,), method="bounded", options={"xatol": 1e-2})
            factors[name] = float(search.x)
        choices = answers.choices
        return cls(logs(), correct_choices(choices, np.repeat(choices.signs, choices.sizes) * scores()))


def _is_clear(gain: BitsGain) -> bool:
    """Return whether the whole 95 % interval of a gain is positive."""
    return gain.is_significant and gain.low > 0


def _name(terms: Terms, has_map: bool) -> str:
    parts = [*(["map"] if has_map else []), *terms.names]
    return f"{parts[0]} alone" if len(parts) == 1 else " + ".join(parts)
