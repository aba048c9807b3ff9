"""SparseDimensions: sparse, non-negative dimensions of objects, with their accuracy and reproducibility."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from closerthan.arrays import Array
from closerthan.checks import ParameterError
from closerthan.dimensions.matching import SAME_DIMENSION
from closerthan.dimensions.options import SparseSettings
from closerthan.dimensions.penalty import PenaltyTried
from closerthan.evaluate.answer_accuracy import AnswerAccuracy
from closerthan.files.maps import write_map
from closerthan.messages import Message
from closerthan.saved_arrays import read_and_parse
from closerthan.saving import whole_csv, whole_file
from closerthan.settings import ENDED
from closerthan.wording import counted, html_table, joined, percent

__all__ = ["SparseDimensions"]

MOST_ROWS = 20  # dimensions in the table of a notebook
TOP = 6  # objects that describe a dimension in a table


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class SparseDimensions:
    """Result of :func:`closerthan.sparse_dimensions`.

    Attributes
    ----------
    weights
        (n_objects, n_dims) non-negative weight of each object on each dimension. Dimensions are sorted by their sum.
    names
        Names of the objects, or None.
    correlations
        (n_refits, n_dims) correlation of each dimension with its partner in each refit to resampled answers.
    penalty
        Strength of the L1 penalty.
    candidates
        The penalties tried, with the held-out bits per answer.
    accuracy
        Accuracy and bits on answers that were held out from a fit with the same penalty, with the noise ceiling.
    n_answers
        Number of whole answers.
    settings
        The settings.
    stopped_by
        The reason for an early end, "interrupted" (by Ctrl-C) or "time_limit"; otherwise "".
    """

    weights: Array
    names: tuple[str, ...] | None
    correlations: Array
    penalty: float
    candidates: tuple[PenaltyTried, ...]
    accuracy: AnswerAccuracy
    n_answers: int
    settings: SparseSettings
    stopped_by: str = ""

    @property
    def n_objects(self) -> int:
        """Number of objects."""
        return len(self.weights)

    @property
    def n_dims(self) -> int:
        """Number of dimensions."""
        return int(self.weights.shape[1])

    @property
    def n_refits(self) -> int:
        """Number of refits that were completed."""
        return len(self.correlations)

    @property
    def recurrence(self) -> Array:
        """For each dimension, the fraction of the refits in which it was found again (r > .8); NaN without refits."""
        if not self.n_refits:
            return np.full(self.n_dims, np.nan)
        return np.asarray((self.correlations > SAME_DIMENSION).mean(axis=0))

    @property
    def reproducibility(self) -> Array:
        """For each dimension, the median correlation with its partners in the refits; NaN without refits."""
        return np.median(self.correlations, axis=0) if self.n_refits else np.full(self.n_dims, np.nan)

    @property
    def is_reproducible(self) -> "np.ndarray[Any, np.dtype[np.bool_]]":
        """For each dimension, whether it was found again in most refits; False without refits."""
        return np.asarray(np.nan_to_num(self.recurrence) > 0.5)

    def reproducible(self) -> Self:
        """Return the dimensions that were found again in most refits.

        The accuracy and the penalties remain those of all dimensions.
        """
        keep = self.is_reproducible
        return dataclasses.replace(self, weights=self.weights[:, keep], correlations=self.correlations[:, keep])

    def name_of(self, number: int) -> str:
        """Return the name of an object, or its number."""
        return str(number) if self.names is None else self.names[number]

    def top(self, dimension: int, number: int = TOP) -> list[tuple[str, float]]:
        """Return the objects with the largest weights on a dimension, and these weights; only positive ones count.

        Dimensions are counted from 0.
        """
        if not 0 <= dimension < self.n_dims:
            raise ParameterError("dimension", dimension, f"it must be from 0 to {self.n_dims - 1}")
        return [(self.name_of(one), float(self.weights[one, dimension])) for one in self.top_objects(dimension, number)]

    def top_objects(self, dimension: int, number: int = TOP) -> list[int]:
        """Return the numbers of the objects with the largest weights on a dimension; only positive ones count."""
        column = self.weights[:, dimension]
        order = np.argsort(-column, kind="stable")[:number]
        return [int(one) for one in order if column[one] > 0]

    def similarities(self) -> Array:
        """Return the dot products of all pairs of objects."""
        return np.asarray(self.weights @ self.weights.T)

    @property
    def advice(self) -> list[str]:
        """Remarks about the dimensions, in sentences; empty if there are none."""
        sentences: list[str] = []
        if not self.n_dims and self.settings.penalty is None and self.stopped_by:
            ended = ENDED[self.stopped_by].capitalize()
            return [f"{ended} before a penalty was chosen, so there are no dimensions yet; let it run longer."]
        if not self.n_dims and self.settings.penalty is None:
            text = "No dimension predicts held-out answers clearly better than guessing"
            sentences.append(
                Message(
                    text,
                    "collect more answers, or pass {penalty} to see dimensions anyway",
                    penalty=float(f"{self.penalty / 2:.1g}"),
                )
            )
        elif not self.n_dims:
            smaller = float(f"{self.penalty / 2:.1g}")
            sentences.append(
                Message("The penalty is so large that no dimension remains", "pass {penalty}", penalty=smaller)
            )
        elif self.n_refits and not self.is_reproducible.all():
            n_others = self.n_dims - int(self.is_reproducible.sum())
            which = "it" if n_others == 1 else "them"
            sentences.append(
                f"{counted(n_others, 'dimension')} of {self.n_dims} did not reappear in most refits; do not interpret "
                f"{which}."
            )
        if self.n_dims and self.n_dims == self.settings.n_dims and self.settings.n_dims < self.n_objects:
            used = {1: "The only dimension is", 2: "Both dimensions are"}.get(
                self.n_dims, f"All {self.n_dims} dimensions are"
            )
            text = f"{used} in use, so there may be more"
            sentences.append(Message(text, "start with a larger {n_dims}", n_dims=2 * self.n_dims))
        if self.stopped_by:
            sentences.append(
                f"Incomplete: {ENDED[self.stopped_by]} after {self.n_refits} of {self.settings.n_refits} refits."
            )
        return sentences

    def __repr__(self) -> str:
        parts = [f"{self.n_objects:,} objects", counted(self.n_dims, "dimension")]
        if self.n_refits:
            parts.append(f"{int(self.is_reproducible.sum())} of them reproducible")
        held_out = f"{percent(self.accuracy.accuracy)} of held-out answers predicted"
        return f"SparseDimensions({', '.join(parts)}; {held_out})"

    def _repr_html_(self) -> str:
        return html_table(
            repr(self), ("dimension", "sum", "objects", "found again", "top"), self.rows()[:MOST_ROWS], self.n_dims
        )

    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """Return one row of text per dimension: number, sum, objects above 0, refits that found it, top objects."""
        counts = (self.correlations > SAME_DIMENSION).sum(axis=0) if self.n_refits else np.zeros(self.n_dims, dtype=int)
        return [
            (
                f"{k + 1}" + ("" if self.is_reproducible[k] or not self.n_refits else " ?"),
                f"{self.weights[:, k].sum():.1f}",
                f"{int((self.weights[:, k] > 0).sum()):,}",
                f"{counts[k]} of {self.n_refits}" if self.n_refits else "",
                joined([name for name, _ in self.top(k)]),
            )
            for k in range(self.n_dims)
        ]

    # ---- files -------------------------------------------------------------------------------------------------------

    def to_csv(self, path: str | Path) -> None:
        """Write the weights as a table, one row per object: its name and its weights."""
        write_map(self.weights, self.names, path)

    def table_to_csv(self, path: str | Path) -> None:
        """Write one line per dimension: sum, number of objects, reproducibility and top objects."""
        titles = ("dimension", "sum", "objects", "recurrence", "correlation", "reproducible", "top")
        whole_csv(
            path,
            titles,
            (
                (
                    k + 1,
                    float(self.weights[:, k].sum()),
                    int((self.weights[:, k] > 0).sum()),
                    float(self.recurrence[k]) if self.n_refits else "",
                    float(self.reproducibility[k]) if self.n_refits else "",
                    ("yes" if self.is_reproducible[k] else "no") if self.n_refits else "",
                    "; ".join(name for name, _ in self.top(k, 10)),
                )
                for k in range(self.n_dims)
            ),
        )

    def save(self, path: str | Path) -> None:
        """Save everything except the noise ceiling in an .npz file, which :meth:`load` reads."""
        about = {
            "penalty": self.penalty,
            "tried": [list(one) for one in self.candidates],
            "accuracy": {**dataclasses.asdict(self.accuracy), "ceilings": []},
            "n_answers": self.n_answers,
            "settings": self.settings.to_data(),
            "stopped_by": self.stopped_by,
            "names": None if self.names is None else list(self.names),
        }
        with whole_file(path) as file:
            np.savez_compressed(
                file,
                weights=self.weights,
                correlations=self.correlations,
                sparse_dimensions=np.frombuffer(json.dumps(about).encode("utf-8"), dtype=np.uint8),
            )

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read dimensions that :meth:`save` wrote."""
        return read_and_parse(path, "file of sparse dimensions", cls._parsed)

    @classmethod
    def _parsed(cls, arrays: Mapping[str, Any]) -> Self:
        about = json.loads(arrays["sparse_dimensions"].tobytes().decode("utf-8"))
        weights, names = np.asarray(arrays["weights"], dtype=np.float64), about["names"]
        if weights.ndim != 2 or not (weights >= 0).all():
            raise ValueError("its weights are not a table of numbers that are not negative")
        _check_names(names, len(weights))
        return cls(
            weights,
            None if names is None else tuple(names),
            np.asarray(arrays["correlations"], dtype=np.float64).reshape(-1, weights.shape[1]),
            float(about["penalty"]),
            tuple(PenaltyTried(*one) for one in about["tried"]),
            AnswerAccuracy(**{**about["accuracy"], "ceilings": ()}),
            int(about["n_answers"]),
            SparseSettings(**about["settings"]),
            str(about["stopped_by"]),
        )


def _check_names(names: Sequence[str] | None, n_objects: int) -> None:
    if names is not None and len(names) != n_objects:
        raise ValueError(f"it has {len(names):,} names for {n_objects:,} objects")
