"""Accuracy of the features of several models, aligned with people's answers."""

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from closerthan.evaluate.answer_accuracy import AnswerAccuracy
from closerthan.evaluate.repeats import NoiseCeiling
from closerthan.models.alignment import Alignment
from closerthan.models.scores import remarks_about
from closerthan.saving import whole_csv
from closerthan.wording import counted, html_table, percent, percent_range

__all__ = ["AlignedScores"]

TITLES = ("model", "answers", "unchanged", "aligned", "95 % interval", "bits")
"""Titles of :meth:`AlignedScores.rows`."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class AlignedScores(Mapping[str, Alignment]):
    """Alignments of several models or layers with the same answers, for a table and a bar chart.

    Attributes
    ----------
    alignments
        Results of :func:`align` by the name of the model.

    Examples
    --------
    >>> import numpy as np
    >>> import closerthan as ct
    >>> points = np.random.default_rng(0).normal(size=(20, 3))
    >>> answers = ct.datasets.simulated(points, 1000, noise="flip", level=0.1)
    >>> layers = {"layer 1": points[:, :1], "layer 2": points}
    >>> ct.AlignedScores({
    ...     name: ct.align(layer, answers, similarity="euclidean", n_folds=2) for name, layer in layers.items()
    ... })
    AlignedScores(2 models)
    """

    alignments: Mapping[str, Alignment]

    def __post_init__(self) -> None:
        if not any(alignment.held_out for alignment in self.alignments.values()):
            raise ValueError("no alignment has an accuracy; pass results of ct.align with n_folds of at least 2")

    def __getitem__(self, name: str) -> Alignment:
        return self.alignments[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.alignments)

    def __len__(self) -> int:
        return len(self.alignments)

    def __repr__(self) -> str:
        return f"AlignedScores({counted(len(self), 'model')})"

    def _repr_html_(self) -> str:
        return html_table(repr(self), TITLES, self.rows())

    @property
    def ceilings(self) -> tuple[NoiseCeiling, ...]:
        """Noise ceilings of the answers."""
        return next(iter(self.values())).ceilings

    @property
    def series(self) -> dict[str, dict[str, AnswerAccuracy]]:
        """Accuracy by kind of prediction and model: unchanged features, then aligned."""
        measured = {name: one.new_answers for name, one in self.items() if one.new_answers is not None}
        new = {name: one.new_objects for name, one in self.items() if one.new_objects is not None}
        series = {
            "unchanged features": {name: one.unchanged for name, one in measured.items()},
            "aligned, new answers": {name: one.aligned for name, one in measured.items()},
            "aligned, new objects": {name: one.aligned for name, one in new.items()},
        }
        return {title: scores for title, scores in series.items() if scores}

    @property
    def remarks(self) -> list[str]:
        """Sentences about the gain, the chance level, the noise ceilings, and answers that were left out."""
        gains = [
            f"{name}, {kind}: {one.verdict}."
            for name, alignment in self.items()
            for kind, one in alignment.held_out.items()
        ]
        gains += [
            f"{name}, new objects: not measured, because too few answers remain without those about held-out objects."
            for name, alignment in self.items()
            if alignment.new_objects is None and alignment.new_answers is not None
        ]
        measured = next(one for alignment in self.values() for one in alignment.held_out.values())
        left_out = {name: one.left_out for name, one in self.items()}
        return gains + remarks_about(measured.aligned, self.ceilings, left_out)

    def rows(self) -> list[tuple[str, ...]]:
        """Return the scores as text, for a table with the titles ``TITLES``."""
        return [
            (
                name,
                kind,
                percent(one.unchanged.accuracy),
                percent(one.aligned.accuracy),
                percent_range(one.aligned.low, one.aligned.high),
                f"{one.aligned.bits:.3f}",
            )
            for name, alignment in self.items()
            for kind, one in alignment.held_out.items()
        ]

    def to_csv(self, path: str | Path) -> None:
        """Write one line per model and kind of held-out answers."""
        titles = ("model", "held_out", "accuracy", "low", "high", "unchanged", "gain", "gain_low", "gain_high",
                  "p_value", "chance", "bits", "answers", "left_out", "rank", "towards", "strength")  # fmt: skip
        rows = [
            (
                name,
                kind,
                *one.aligned.accuracy_and_interval,
                one.unchanged.accuracy,
                *one.gain,
                one.aligned.chance,
                one.aligned.bits,
                one.aligned.n_answers,
                alignment.n_left_out,
                alignment.rank,
                alignment.towards,
                alignment.strength,
            )
            for name, alignment in self.items()
            for kind, one in alignment.held_out.items()
        ]
        whole_csv(path, titles, rows)

    def plot(self, *, title: str | None = None, ax: Any = None) -> Any:
        """Draw the accuracies as bars: see :func:`closerthan.plotting.accuracy_figure`."""
        from closerthan.plotting import accuracy_figure

        return accuracy_figure(self, title=title, ax=ax)
