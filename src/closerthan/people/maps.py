"""PeopleMaps: a map for all people, and the weights with which each person stretches its dimensions."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array
from closerthan.checks import ParameterError, checked
from closerthan.history import History
from closerthan.objective.individuals import Spread
from closerthan.people.held_out_weights import Evidence
from closerthan.result import Result
from closerthan.saved_arrays import read_and_parse
from closerthan.saving import whole_csv, whole_file
from closerthan.settings import ENDED, Settings
from closerthan.wording import counted, first_few, html_table, p_value, percent

__all__ = ["PeopleMaps"]

FEW = 20  # with fewer answers, the weights of a person are mostly those of the prior
MOST_ROWS = 20  # people in the table of a notebook
MOST_NAMED = 10


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class PeopleMaps:
    """Result of :func:`closerthan.embed_people`.

    The distance of two objects for person w is ``sqrt(sum_k weights[w, k] * (x[i, k] - x[j, k])**2)``. Unlike those of
    an ordinary map, the axes cannot be rotated: each is a dimension that some people weigh more than others. The first
    axis has the largest variance.

    Attributes
    ----------
    embedding
        The map x, one row per object.
    weights
        The weights, one row per person; the mean over people is 1 for each dimension.
    low, high
        95 % intervals of the weights, given the map.
    people
        The names of the people, in the order of the rows of ``weights``.
    n_answers
        Number of answers of each person.
    spread
        Prior standard deviations of the log weights between people. If they are 0, all people have the same weights.
    reliability
        For each dimension, the correlation across people of relative weights (:attr:`relative_weights`) estimated from
        two halves of everyone's answers, adjusted to the full number of answers (Spearman-Brown). NaN if unknown.
    consistency_reliability
        The same for :attr:`consistency`.
    evidence
        Accuracy of one map and of individual weights on held-out answers; None if nothing was held out.
    names
        Names of the objects, or None.
    settings
        Settings of the fits.
    stopped_by
        "interrupted" or "time_limit" if not everything was completed; otherwise "".
    """

    embedding: Array
    weights: Array
    low: Array
    high: Array
    people: tuple[str, ...]
    n_answers: NDArray[np.int64]
    spread: Spread
    reliability: Array
    consistency_reliability: float
    evidence: Evidence | None = None
    names: tuple[str, ...] | None = None
    settings: Settings | None = None
    stopped_by: str = ""

    def __repr__(self) -> str:
        n_objects, n_dims = self.embedding.shape
        differ = "" if self.evidence is None else f": {self.verdict}"
        return f"PeopleMaps({len(self.people):,} people, {n_objects:,} objects, {counted(n_dims, 'dimension')}{differ})"

    def _repr_html_(self) -> str:
        return html_table(repr(self), self.titles, self.rows()[:MOST_ROWS], len(self.people))

    @property
    def titles(self) -> tuple[str, ...]:
        """Titles of :meth:`rows`."""
        return ("person", "answers", "consistency", *self.dimensions)

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Names of the dimensions."""
        return tuple(f"dimension {number + 1}" for number in range(self.embedding.shape[1]))

    def rows(self) -> list[tuple[str, ...]]:
        """Return the table of people as text: number of answers, consistency, and relative weights."""
        numbers = zip(self.people, self.n_answers.tolist(), self.consistency, self.relative_weights, strict=True)
        return [
            (name, f"{number:,}", f"{level:.2f}", *(f"{weight:.2f}" for weight in weights))
            for name, number, level, weights in numbers
        ]

    def dimension_rows(self, most: int = 3) -> list[tuple[str, str, str, str, str]]:
        """Return a table of the dimensions as text: name, share, reliability, and the objects at both ends."""
        names = [str(number) for number in range(len(self.embedding))] if self.names is None else self.names
        rows = []
        for title, share, reliability, axis in zip(
            self.dimensions, self.importance.tolist(), self.reliability.tolist(), self.embedding.T, strict=True
        ):
            order = np.argsort(axis, kind="stable")
            low, high = (", ".join(names[number] for number in end[:most]) for end in (order, order[::-1]))
            in_words = "" if np.isnan(reliability) else f"{reliability:.2f}"
            rows.append((title, percent(share, digits=0), in_words, low, high))
        return rows

    @property
    def consistency(self) -> Array:
        """The geometric mean of each person's weights: small if the answers vary at random."""
        return np.asarray(np.exp(np.log(self.weights).mean(axis=1)))

    @property
    def relative_weights(self) -> Array:
        """The weights divided by the person's consistency: how the person weighs a dimension relative to others."""
        return self.weights / self.consistency[:, None]

    @property
    def importance(self) -> Array:
        """The fraction of the variance of the map along each dimension, in descending order."""
        variance = self.embedding.var(axis=0)
        return np.asarray(variance / (variance.sum() or 1.0))

    @property
    def weights_differ(self) -> bool:
        """True if weights predict held-out answers significantly better than a consistency per person alone."""
        return self.evidence is not None and self.spread.weights > 0 and self.evidence.gain_of_weights.is_significant

    @property
    def consistencies_differ(self) -> bool:
        """True if a consistency per person predicts held-out answers significantly better than one map for all."""
        return self.evidence is not None and self.evidence.gain_of_consistency.is_significant

    @property
    def verdict(self) -> str:
        """The conclusion in a few words."""
        if self.evidence is None:
            return "not tested"
        if self.weights_differ:
            return "they weigh the dimensions differently"
        if self.consistencies_differ:
            return "they differ in consistency only"
        return "no evidence that they differ"

    @property
    def summary(self) -> str:
        """The conclusion in a table, beside the title "Weights of people"."""
        if self.evidence is None:
            return "not tested"
        if self.weights_differ:
            return "different"
        return "different only in consistency" if self.consistencies_differ else "no difference found"

    @property
    def sentences(self) -> list[str]:
        """The conclusions in words."""
        sentences = ["nothing was held out, so whether people differ was not tested"]
        if self.evidence is not None:
            sentences = [self._conclusion(self.evidence), self._control(self.evidence)]
        measured = self.reliability[np.isfinite(self.reliability)]
        if self.weights_differ and len(measured):
            sentences.append(
                f"the reliability of the relative weights is {np.median(measured):.2f} (median over "
                f"{counted(len(measured), 'dimension')}, from {measured.min():.2f} to {measured.max():.2f}): the "
                "correlation with weights estimated from the same number of other answers"
            )
        if not self.spread.weights:
            sentences.append("as all people have the same relative weights, the axes of the map have no meaning")
        few = [name for name, number in zip(self.people, self.n_answers, strict=True) if number < FEW]
        if few and any(self.spread):
            people = "1 person" if len(few) == 1 else f"{len(few):,} people"
            sentences.append(
                f"{people} gave fewer than {FEW} answers ({first_few(few, MOST_NAMED)}), which say little about "
                "weights: these are close to 1"
            )
        if self.stopped_by:
            sentences.append(f"{ENDED[self.stopped_by]}: these are the best map and weights so far")
        return sentences

    def _conclusion(self, evidence: Evidence) -> str:
        everybody = f"the {len(self.people):,} people"
        shared = evidence.one_map
        one = f"one map ({percent(shared.accuracy)} of held-out answers right, {shared.bits:.3f} bits)"
        own = f"({percent(evidence.weights.accuracy)} right, {evidence.weights.bits:.3f} bits)"
        if self.weights_differ:
            gain = evidence.gain_of_weights
            return (
                f"{everybody} weigh the dimensions differently: with individual weights, the map predicts new answers "
                f"better {own} than {one}; beyond differences in consistency, weights gain {gain.in_words}, "
                f"{p_value(gain.p_value)}"
            )
        if self.consistencies_differ:
            gain = evidence.gain_of_consistency
            return (
                f"{everybody} differ in how consistently they answer: a consistency for each person gains "
                f"{gain.in_words} over {one}, {p_value(gain.p_value)}; there is no evidence that they weigh the "
                "dimensions differently"
            )
        return (
            f"there is no evidence that {everybody} differ: with individual weights, the map does not predict new "
            f"answers significantly better {own} than {one}"
        )

    def _control(self, evidence: Evidence) -> str:
        gain = evidence.gain_of_permuted
        sentence = (
            "as a check, weights fitted after the people's names were shuffled among the answers "
            f"{'gain' if gain.mean > 0 else 'lose'} {abs(gain.mean):.3f} bits per answer compared with one map"
        )
        return (
            f"{sentence}, more than chance explains: do not rely on these results" if gain.is_significant else sentence
        )

    @checked
    def map_of(self, person: str) -> Array:
        """Return the map of one person: each axis is stretched by the square root of the person's weight.

        Parameters
        ----------
        person
            The name of the person.
        """
        if person not in self.people:
            rule = f"it must be one of {first_few(list(self.people), MOST_NAMED)}"
            raise ParameterError("person", person, rule)
        return np.asarray(self.embedding * np.sqrt(self.weights[self.people.index(person)]))

    @property
    def space(self) -> Result:
        """The people as points: a map whose coordinates are the logarithms of relative weights.

        It can be drawn like any map, and ``closerthan.cluster(maps.space)`` looks for groups of people.
        """
        return Result(np.log(self.relative_weights), History(()), "", 0, names=self.people)

    def to_csv(self, path: str | Path, groups: Sequence[int] | None = None) -> None:
        """Write one line per person: number of answers, consistency, and each weight with its interval.

        If ``groups`` has the number of each person's group, counted from 0, such as the labels of a clustering of
        :attr:`space`, the last column is the group, counted from 1.
        """
        titles = ["person", "answers", "consistency"]
        for number in range(self.weights.shape[1]):
            titles += [f"weight_{number + 1}", f"low_{number + 1}", f"high_{number + 1}"]
        rows = []
        for place, name in enumerate(self.people):
            numbers = np.stack([self.weights[place], self.low[place], self.high[place]], axis=1).ravel()
            cells = [f"{number:.6g}" for number in (self.consistency[place], *numbers)]
            rows.append([name, int(self.n_answers[place]), *cells])
        if groups is not None:
            titles.append("group")
            rows = [[*row, int(group) + 1] for row, group in zip(rows, groups, strict=True)]
        whole_csv(path, titles, rows)

    def to_frame(self) -> Any:
        """Return the weights as a pandas DataFrame, one row per person (pandas must be installed)."""
        try:
            import pandas
        except ImportError:
            raise ImportError("a DataFrame needs pandas: pip install pandas; or use weights and people") from None
        return pandas.DataFrame(self.weights.copy(), index=self.people, columns=list(self.dimensions))

    @checked
    def plot(self, *, dims: tuple[int, int] = (1, 2), title: str | None = None, ax: Any = None) -> Any:
        """Draw the people as points: see :func:`closerthan.plotting.weights_figure`."""
        from closerthan.plotting import weights_figure

        return weights_figure(self, dims=dims, title=title, ax=ax)

    @checked
    def save(self, path: str | Path) -> None:
        """Write everything to one .npz file, completely or not at all; :meth:`load` reads it."""
        about = {
            "people": self.people,
            "names": self.names,
            "spread": self.spread,
            "consistency_reliability": self.consistency_reliability,
            "evidence": None if self.evidence is None else self.evidence.to_data(),
            "settings": None if self.settings is None else self.settings.to_data(),
            "stopped_by": self.stopped_by,
        }
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        with whole_file(path) as file:
            np.savez_compressed(file, about=np.array(json.dumps(about)), **arrays)

    @classmethod
    @checked
    def load(cls, path: str | Path) -> Self:
        """Read a result that :meth:`save` wrote."""
        return read_and_parse(path, "saved map with individual weights", cls._from_arrays)

    @classmethod
    def _from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        about = json.loads(str(arrays["about"]))
        names, settings, evidence = about["names"], about["settings"], about["evidence"]
        loaded = cls(
            **{name: arrays[name] for name in _ARRAYS},
            people=tuple(about["people"]),
            spread=Spread(*about["spread"]),
            consistency_reliability=about["consistency_reliability"],
            evidence=None if evidence is None else Evidence.from_data(evidence),
            names=None if names is None else tuple(names),
            settings=None if settings is None else Settings.from_data(settings),
            stopped_by=about["stopped_by"],
        )
        shape = (len(loaded.people), loaded.embedding.shape[1])
        if any(array.shape != shape for array in (loaded.weights, loaded.low, loaded.high)):
            raise ValueError(f"its weights have shape {loaded.weights.shape}; expected {shape}")
        return loaded


_ARRAYS = ("embedding", "weights", "low", "high", "n_answers", "reliability")
