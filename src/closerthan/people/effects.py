"""AnswerEffects: the map, and what influences answers besides it."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from closerthan.arrays import Array
from closerthan.comparisons.positions import position_name
from closerthan.metrics import NORMAL_95
from closerthan.objective.answer_terms import Design, PlacedAnswers, Terms
from closerthan.people.held_out_terms import ScoredModel, TermEvidence
from closerthan.result import Result
from closerthan.saving import whole_csv
from closerthan.wording import counted, html_table, listed, p_value, percent

__all__ = ["AnswerEffects", "Effect", "Repetition"]

MOST_ROWS = 20  # people in the table of a notebook

MEANINGS = {
    "positions": "a preference for positions on the screen",
    "repetition": "repetition of the position chosen last",
    "ties": "ties where both pairs are about as close",
    "lapses": "lapses of attention",
}
"""The terms in words."""


class Effect(NamedTuple):
    """A parameter of a person.

    Attributes
    ----------
    name
        Its name.
    meaning
        Its meaning in words.
    term
        The term that it belongs to.
    """

    name: str
    meaning: str
    term: str


class Repetition(NamedTuple):
    """The frequency with which people chose the same position as in the answer before.

    Attributes
    ----------
    fraction, chance
        The fraction of the answers that follow another one, and its expectation for random choices; NaN if unknown.
    n_answers
        Number of answers that follow another one with a known position.
    """

    fraction: float
    chance: float
    n_answers: int

    @classmethod
    def of(cls, answers: PlacedAnswers) -> "Repetition":
        """Count the repetitions."""
        choices = answers.choices
        chosen = answers.repeats[choices.starts[:-1]][choices.first_choices]
        counted_answers = answers.follows & ~answers.is_tie
        number = int(counted_answers.sum())
        if not number:
            return cls(np.nan, np.nan, 0)
        chance = float((1.0 / answers.n_options[counted_answers]).mean())
        return cls(float(chosen[counted_answers].mean()), chance, number)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class AnswerEffects:
    """Result of :func:`closerthan.answer_effects`.

    Attributes
    ----------
    result
        The map that was estimated jointly with the terms.
    effects
        The parameters of a person (:class:`Effect`), of the terms that were kept. Preferences for positions and
        repetition are log odds: what they add to the score of an option. The preference for the left side is that
        for the right side with the opposite sign, and preferences for three or more positions have the sum 0. "tie" is
        Davidson's nu, and "lapse" the rate of lapses.
    values, low, high
        These parameters of each person, one row per person, with 95 % intervals, given the map and the spreads.
    typical, typical_low, typical_high
        The same for a typical person, the centre of the population.
    people
        The names of the people, in the order of the rows of ``values``.
    n_answers
        Number of answers of each person, with ties.
    spreads
        For each term, the standard deviation between people, of log odds, of log nu, or of the logit of the rate.
    evidence
        What each term explains (:class:`~closerthan.people.held_out_terms.TermEvidence`).
    repetition
        How often positions were repeated.
    n_ties
        Number of ties.
    knows_people
        Whether the answers say who gave them; otherwise all count as those of one person.
    note
        Why positions were ignored, or "".
    """

    result: Result
    effects: tuple[Effect, ...]
    values: Array
    low: Array
    high: Array
    typical: Array
    typical_low: Array
    typical_high: Array
    people: tuple[str, ...]
    n_answers: NDArray[np.int64]
    spreads: Terms
    evidence: TermEvidence
    repetition: Repetition
    n_ties: int = 0
    knows_people: bool = True
    note: str = ""

    @classmethod
    def of(
        cls,
        design: Design,
        *,
        parameters: tuple[Array, Array],
        covariances: tuple[Array, Array],
        **about: object,
    ) -> "AnswerEffects":
        """Return the result, from the parameters of the population and of each person, and their covariances."""
        described = _described(design)
        rows = np.array([row for _, row, _ in described]).reshape(len(described), design.n_parameters)
        curves = [curve for _, _, curve in described]
        values: dict[str, Array] = {}
        for name, number, covariance in zip(("typical", "values"), parameters, covariances, strict=True):
            centre = number @ rows.T
            half = NORMAL_95 * np.sqrt(np.einsum("kq,...qr,kr->...k", rows, covariance, rows))
            for part, linear in (("", centre), ("low", centre - half), ("high", centre + half)):
                values[_title(name, part)] = _curved(linear, curves)
        return cls(effects=tuple(effect for effect, _, _ in described), **values, **about)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        n_objects, n_dims = self.result.embedding.shape
        who = f"{counted(len(self.people), 'person').replace('persons', 'people')}, " if self.knows_people else ""
        about = f"{who}{n_objects:,} objects, {counted(n_dims, 'dimension')}"
        return f"AnswerEffects({about}: {self.verdict})"

    def _repr_html_(self) -> str:
        return html_table(repr(self), self.titles, self.rows()[:MOST_ROWS], len(self.people))

    @property
    def terms(self) -> tuple[str, ...]:
        """The names of the terms that explain held-out answers."""
        return self.evidence.terms.names

    @property
    def verdict(self) -> str:
        """The conclusion in a few words."""
        return self.summary if self.terms else "no term explains answers beyond the map"

    @property
    def summary(self) -> str:
        """The conclusion in a table, beside the title "Effects besides the map"."""
        return listed(self.terms) if self.terms else "none found"

    @property
    def titles(self) -> tuple[str, ...]:
        """Titles of :meth:`rows`."""
        return ("person", "answers", *(effect.name for effect in self.effects))

    def rows(self) -> list[tuple[str, ...]]:
        """Return the table of people as text, the typical person last."""
        people = [
            (name, f"{number:,}", *self._cells(row))
            for name, number, row in zip(self.people, self.n_answers.tolist(), self.values, strict=True)
        ]
        return [*people, ("typical", "", *self._cells(self.typical))] if len(people) > 1 else people

    def _cells(self, row: Array) -> list[str]:
        return [
            percent(value) if effect.term == "lapses" else f"{value:.2f}" if effect.term == "ties" else f"{value:+.2f}"
            for effect, value in zip(self.effects, row.tolist(), strict=True)
        ]

    @property
    def sentences(self) -> list[str]:
        """The conclusions in words."""
        sentences = [self._conclusion(), *self._about_terms()]
        if self.repetition.n_answers:
            sentences.append(
                f"{percent(self.repetition.fraction)} of {self.repetition.n_answers:,} answers repeat the position "
                f"chosen before; random choices would repeat {percent(self.repetition.chance)}"
            )
        if not self.knows_people:
            sentences.append("the answers do not say who gave them, so they are treated as those of one person")
        elif not self.evidence.by_people:
            sentences.append(
                f"as there are {'few people' if len(self.people) > 1 else 'answers of one person only'}, the intervals "
                "hold for new questions to the same people, not for other people"
            )
        if "lapses" in self.terms:
            sentences.append(
                "a lapse is an answer that the map does not explain: people who see the objects in another way seem to "
                "have many, and closerthan people tells them from careless ones"
            )
        return [*sentences, self.note] if self.note else sentences

    def _conclusion(self) -> str:
        alone, full, terms = self.evidence.map_alone, self.evidence.full, self.evidence.terms_alone
        if terms is None:
            return f"no term explains answers beyond the map ({_score(alone)})"
        words = listed([MEANINGS[name] for name in self.terms])
        places = {"positions", "repetition"} & {*self.terms}  # the other terms predict no choice by themselves
        return (
            f"answers depend on more than the map: with {words}, held-out answers are more probable "
            f"({_score(full)}) than with the map alone ({_score(alone)})"
            + (f"; without the map, {percent(terms.accuracy.accuracy)} would be right" if places else "")
        )

    def _about_terms(self) -> list[str]:
        sentences = []
        for name, gain in self.evidence.beyond.items():
            if name in self.terms:
                sentences.append(f"{name}: {gain.in_words} are gained, {p_value(gain.p_value)}")
            else:
                sentences.append(f"{name}: left out, since a gain of {gain.in_words} is no evidence")
        return sentences

    def to_csv(self, path: str | Path) -> None:
        """Write one line per person: the number of answers, and each parameter with its 95 % interval."""
        titles = ["person", "answers"]
        for effect in self.effects:
            name = effect.name.replace(" ", "_")
            titles += [name, f"{name}_low", f"{name}_high"]
        rows = []
        for place, name in enumerate(self.people):
            numbers = np.stack([self.values[place], self.low[place], self.high[place]], axis=1).ravel()
            rows.append([name, int(self.n_answers[place]), *(f"{number:.6g}" for number in numbers)])
        whole_csv(path, titles, rows)

    def terms_to_csv(self, path: str | Path) -> None:
        """Write one line per term: whether it was kept, and its gains in bits per held-out answer."""
        parts, titles = ("bits", "low", "high", "p"), ["term", "kept"]
        titles += [f"{gain}_{part}" for gain in ("added_to_map", "beyond_others") for part in parts]
        rows = [
            [name, "yes" if name in self.terms else "no"]
            + [f"{number:.6g}" for gain in (added, self.evidence.beyond[name]) for number in gain]
            for name, added in self.evidence.added.items()
        ]
        whole_csv(path, titles, rows)


def _score(model: ScoredModel) -> str:
    return f"{percent(model.accuracy.accuracy)} right, {model.bits:.3f} bits per answer"


def _title(name: str, part: str) -> str:
    return name if not part else part if name == "values" else f"{name}_{part}"


def _curved(values: Array, curves: list[Callable[[Array], Array]]) -> Array:
    columns = [curve(column) for curve, column in zip(curves, np.moveaxis(values, -1, 0), strict=True)]
    return np.stack(columns, axis=-1) if columns else values[..., :0]


def _described(design: Design) -> list[tuple[Effect, Array, Callable[[Array], Array]]]:
    """Return the parameters to report: each is a monotone function of a linear combination of those of the model."""
    basis = design.basis
    described: list[tuple[Effect, Array, Callable[[Array], Array]]] = []
    if design.terms.positions:
        for number, (size, place) in enumerate(design.places):
            name = position_name(place, size)
            meaning = f"log odds of choosing {name} in a question that the map leaves undecided"
            if size != 2:
                described.append((Effect(name, meaning + ", minus their mean", "positions"), basis[:, number], _same))
            elif place == 0 and (2, 1) in design.places:
                other = basis[:, design.places.index((2, 1))]
                described.append((Effect(name, meaning, "positions"), basis[:, number] - other, _same))
    if design.terms.repetition:
        effect = Effect("repetition", "log odds that an option gains at the position chosen last", "repetition")
        described.append((effect, basis[:, -4], _same))
    if design.terms.ties:
        meaning = "Davidson's nu: odds of a tie against either answer if both pairs are equally close"
        effect = Effect("tie", meaning, "ties")
        described.append((effect, basis[:, -3], _exp))
    if design.terms.lapses:
        described.append((Effect("lapse", "rate of answers at random", "lapses"), basis[:, -2], expit))
    return described


def _exp(values: Array) -> Array:
    return np.asarray(np.exp(values))


def _same(values: Array) -> Array:
    return values
