"""Result: a map with its history and the settings that reproduce it."""

import dataclasses
import html
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan.arrays import Array
from closerthan.checks import checked
from closerthan.comparisons import Comparisons
from closerthan.history import History, Record, record_of
from closerthan.losses import Loss
from closerthan.wording import counted, listed, percentage_points

if TYPE_CHECKING:
    from closerthan.calibration import Calibration, ChoiceCalibration
    from closerthan.settings import Settings

__all__ = ["Candidate", "FittedPositions", "Result", "Start"]

TIED = 1.96  # standard errors by which a loss must be behind the winner to be called worse
# Procrustes distance above which two maps are called different. Where the answers determine a map, two starts were at
# most 0.04 apart, even after a few epochs; where they do not, 0.1 to 0.8 (docs/measured/auto-starts.md).
DIFFERENT = 0.1


class Candidate(NamedTuple):
    """A loss with a penalty that took part in the race of ``loss="auto"``.

    Attributes
    ----------
    loss
        Name of the loss; tste-4 is t-STE with 4 degrees of freedom.
    held_out_error
        Mean held-out error over its rounds.
    rounds
        Number of rounds in which it was evaluated.
    train_error
        Training error at the end of its last fit.
    behind, standard_error
        By how much its held-out error exceeds the winner's on the same answers, and the standard error of that
        difference, computed over questions (or people), not comparisons; 0 for the winner, NaN if not measured.
    penalty
        Strength of its penalty.
    """

    loss: str
    held_out_error: float
    rounds: int
    train_error: float = math.nan
    behind: float = math.nan
    standard_error: float = math.nan
    penalty: float = 0.0

    @property
    def is_tied(self) -> bool:
        """True unless the race shows that this loss is worse than the winner (two-sided paired test at 5 %)."""
        return self.behind <= TIED * self.standard_error


class Start(NamedTuple):
    """The outcome of one of several random starts.

    ``distance`` is the Procrustes distance between its map and that of the best start, from 0 (same shape) to 1
    (nothing in common); NaN if it was not measured.
    """

    objective: float
    train_error: float
    validation_error: float
    stopped_by: str
    distance: float = math.nan

    @property
    def is_different(self) -> bool:
        """True if the shape of its map clearly differs from that of the best start."""
        return self.distance > DIFFERENT

    @property
    def rank(self) -> tuple[float, float]:
        """Sort key, lower is better: the validation error if there is one, then the objective."""
        none = math.isnan(self.validation_error)
        return (self.objective, 0.0) if none else (self.validation_error, self.objective)


class FittedPositions:
    """Positions of objects, the similarity that predicts answers from them, and the loss that they were fitted with."""

    embedding: Array
    names: tuple[str, ...] | None
    similarity: str
    loss: Loss


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Result:
    """The result of :func:`closerthan.embed`.

    Attributes
    ----------
    embedding
        The map: one row of coordinates per object.
    history
        One record per epoch.
    stopped_by
        Why the fit stopped: "epochs", "tolerance", "validation", "time_limit", "callback", "interrupted", "diverged",
        or "solver" if the solver itself ended.
    best_epoch
        The epoch of the map (the last one, if the solver was configured to return a map other than the best).
    best_start, starts
        Number of the best start, and the outcome of each start (with ``loss="auto"``, the others ran for a few epochs
        only).
    settings
        The :class:`closerthan.Settings` that reproduce the map (with ``loss="auto"``, those of the winner).
    names
        Names of the objects, or None.
    candidates
        The losses and penalties that were compared on held-out answers, the best one first; empty if both were given.
    calibration
        Converts log odds of comparisons to probabilities, fitted on held-out answers (see
        :func:`closerthan.held_out_error`); None if there is none.
    answer_calibration
        Converts log similarities to probabilities of whole answers, such as "c is the odd one of three"; None if there
        is none.

    Examples
    --------
    >>> import closerthan as ct
    >>> ct.embed([[0, 1, 2], [1, 0, 2], [2, 1, 0]], n_dims=1, loss="ste", solver="svrg-sbb", seed=0, epochs=5)
    Result(3 objects in 1 dimension, loss ste, training error 0.000, stopped by epochs after 5 epochs)
    """

    embedding: NDArray[np.float64]
    history: History
    stopped_by: str
    best_epoch: int
    best_start: int = 0
    starts: tuple[Start, ...] = ()
    settings: "Settings | None" = None
    names: tuple[str, ...] | None = None
    candidates: tuple[Candidate, ...] = ()
    calibration: "Calibration | None" = None
    answer_calibration: "ChoiceCalibration | None" = None

    @property
    def best_record(self) -> Record:
        """The record of the epoch from which the map was taken."""
        return self.history[self.best_epoch]

    def __repr__(self) -> str:
        n_objects, n_dims = self.embedding.shape
        parts = (
            f"{n_objects:,} objects in {counted(n_dims, 'dimension')}",
            f"loss {self.loss_name}"
            + (f" with penalty {self.penalty:g}" if self.penalty else "")
            + (f" ({self.choice_in_words})" if self.choice_in_words else ""),
            f"training error {self.best_record.train_error:.3f}",
            f"stopped by {self.stopped_by} after {counted(self.history[-1].epoch, 'epoch')}",
        )
        return f"Result({', '.join(parts)})"

    @property
    def loss_name(self) -> str:
        """Name of the loss, or of its class if the user defined it.

        With ``loss="auto"``, it is that of the winner, as in the table of candidates: "tste-1", even where "tste" would
        mean the same.
        """
        if self.settings is None:
            return "unknown"
        if self.candidates:
            return self.candidates[0].loss
        return self.settings.loss_name or str(self.settings.loss_data["name"])

    @property
    def penalty(self) -> float:
        """Strength of the penalty that the map was fitted with."""
        return 0.0 if self.settings is None else self.settings.penalty_strength

    @property
    def runner_up(self) -> Candidate | None:
        """With ``loss="auto"``, the best candidate with a loss other than the winner's; otherwise None."""
        return next((one for one in self.candidates if one.loss != self.candidates[0].loss), None)

    @property
    def comparable_errors(self) -> tuple[float, ...]:
        """The winner's held-out error plus, for each candidate, the difference between the two on the same answers.

        Candidates that dropped out were evaluated on fewer answers, which may have been easier or harder, so their
        ``held_out_error`` cannot be compared with the winner's.
        """
        return tuple(self.candidates[0].held_out_error + self._behind(one) for one in self.candidates)

    @property
    def margin_of_choice(self) -> float | None:
        """With ``loss="auto"``, by how much the runner-up is behind the winner on the same answers; otherwise None."""
        return None if self.runner_up is None else self._behind(self.runner_up)

    def _behind(self, candidate: Candidate) -> float:
        """Return how far a candidate is behind the winner; early versions did not measure it on the same answers."""
        is_missing = math.isnan(candidate.behind)
        return candidate.held_out_error - self.candidates[0].held_out_error if is_missing else candidate.behind

    @property
    def tied_losses(self) -> tuple[str, ...]:
        """With ``loss="auto"``, the other losses that are not significantly worse than the winner."""
        tied = dict.fromkeys(candidate.loss for candidate in self.candidates[1:] if candidate.is_tied)
        return tuple(loss for loss in tied if loss != self.candidates[0].loss)

    @property
    def choice_in_words(self) -> str | None:
        """With ``loss="auto"``, the margin of the winner, or the losses that it is tied with; otherwise None."""
        if self.runner_up is None or self.margin_of_choice is None:
            return None
        if self.tied_losses:
            return f"tied with {listed(self.tied_losses)}"
        return f"{percentage_points(self.margin_of_choice, 2)} percentage points ahead of {self.runner_up.loss}"

    @property
    def close_starts(self) -> tuple[Start, ...]:
        """The better half of the starts other than the best one, whose maps compete with it."""
        others = [start for number, start in enumerate(self.starts) if number != self.best_start]
        measured = sorted((start for start in others if not math.isnan(start.distance)), key=lambda start: start.rank)
        return tuple(measured[: math.ceil(len(measured) / 2)])

    @property
    def different_starts(self) -> tuple[Start, ...]:
        """The close starts whose maps differ clearly from the best one, if these are more than half; otherwise none.

        Bad starts are common and harmless. If most of the good ones disagree, the answers hardly determine the map.
        """
        different = tuple(start for start in self.close_starts if start.is_different)
        return different if 2 * len(different) > len(self.close_starts) else ()

    @checked
    def probability(self, rows: Comparisons | ArrayLike) -> NDArray[np.float64]:
        """Return the probability that a new answer agrees with each row, a triplet or a quadruplet.

        With a ``calibration``, probabilities are calibrated. Without one they are those of the loss: ste, tste and ckl
        model probabilities, which are overconfident if there are few answers; gnmds and soe have none.

        Examples
        --------
        >>> import closerthan as ct
        >>> result = ct.embed(ct.datasets.eurodist().comparisons(), loss="ste", seed=0)
        >>> athens, lisbon, rome = (result.names.index(city) for city in ("Athens", "Lisbon", "Rome"))
        >>> bool(result.probability([[athens, rome, lisbon]])[0] > 0.99)
        True
        """
        from closerthan.calibration import Calibration
        from closerthan.metrics import log_odds

        if self.calibration is None and not self.loss.is_likelihood:
            raise ValueError(
                f"the loss {self.loss_name} has no probabilities of its own; set calibration= to that of "
                "held_out_error, or make replicates"
            )
        odds = log_odds(self.questions(rows), self.embedding, self.loss)
        return (self.calibration or Calibration()).probability(odds)

    @checked
    def questions(self, rows: Comparisons | ArrayLike) -> Comparisons:
        """Return rows as comparisons of the objects of this map, by their names or numbers."""
        if isinstance(rows, Comparisons):
            if rows.n_objects > len(self.embedding):
                raise ValueError(f"the rows are about {rows.n_objects} objects, the map has {len(self.embedding)}")
            return rows
        about: dict[str, Any] = {"n_objects": len(self.embedding)}
        if self.names is not None and np.asarray(rows).dtype.kind not in "iu":
            about = {"names": self.names}
        return Comparisons.of(rows, unmentioned="ignore", **about)

    @property
    def loss(self) -> Loss:
        """The loss that the map was fitted with."""
        loss = None if self.settings is None else self.settings.loss
        if not isinstance(loss, Loss):
            raise ValueError(f"the loss {self.loss_name} is a class that cannot be loaded; fit again to use it")
        return loss

    def _repr_html_(self) -> str:
        """Return the map as a small picture with its error and its loss, for a notebook."""
        from closerthan.plotting.notebook import small_map

        return f"<div><p>{html.escape(repr(self))}</p>{small_map(self.embedding, self.names)}</div>"

    def plot(self, **options: Any) -> Any:
        """Draw the map as a matplotlib figure; the options are those of :func:`closerthan.plotting.map_figure`.

        ``figure.savefig("map.pdf")`` writes it to a file; PNG (with ``dpi=300``) and SVG are possible, too.

        Examples
        --------
        >>> import closerthan as ct
        >>> result = ct.embed(ct.datasets.eurodist().comparisons(), loss="soe", seed=0)
        >>> result.plot(title="21 cities").axes[0].get_title(loc="left")
        '21 cities'
        """
        from closerthan.plotting import map_figure

        return map_figure(self, **options)

    def to_frame(self) -> Any:
        """Return the map as a pandas DataFrame with one row per object, indexed by name if there are names.

        Examples
        --------
        >>> import closerthan as ct
        >>> result = ct.embed(ct.datasets.eurodist().comparisons(), loss="soe", seed=0)
        >>> list(result.to_frame().columns), result.to_frame().index[0]
        (['x1', 'x2'], 'Athens')
        """
        try:
            import pandas
        except ImportError:
            raise ImportError("a DataFrame needs pandas: pip install pandas; or use embedding and names") from None
        columns = [f"x{number + 1}" for number in range(self.embedding.shape[1])]
        return pandas.DataFrame(self.embedding.copy(), columns=columns, index=self.names)

    @checked
    def save(self, path: str | Path) -> None:
        """Write everything to one .npz file, completely or not at all; :meth:`load` reads it.

        Examples
        --------
        >>> import closerthan as ct, tempfile, pathlib
        >>> result = ct.embed([[0, 1, 2], [1, 0, 2], [2, 1, 0]], n_dims=1, seed=0, epochs=5)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result.save(pathlib.Path(folder) / "fit.npz")
        ...     again = ct.Result.load(pathlib.Path(folder) / "fit.npz")
        >>> bool((again.embedding == result.embedding).all())
        True
        """
        from closerthan.saving import whole_file

        with whole_file(path) as file:
            np.savez_compressed(file, **self.to_arrays())

    def to_arrays(self) -> dict[str, Any]:
        """Return everything as arrays; one of them is JSON text."""
        about = {
            "stopped_by": self.stopped_by,
            "best_epoch": self.best_epoch,
            "best_start": self.best_start,
            "starts": self.starts,
            "settings": None if self.settings is None else self.settings.to_data(),
            "names": self.names,
            "candidates": self.candidates,
            "calibration": None if self.calibration is None else self.calibration.to_data(),
            "answer_calibration": self.answer_calibration and dataclasses.asdict(self.answer_calibration),
        }
        columns = {f"history_{name}": getattr(self.history, name) for name in Record._fields}
        return {"embedding": self.embedding, "about": np.array(json.dumps(about)), **columns}

    @classmethod
    @checked
    def load(cls, path: str | Path) -> Self:
        """Read a result that :meth:`save` wrote."""
        from closerthan.saved_arrays import read_and_parse

        return read_and_parse(path, "saved result", cls.from_arrays)

    @classmethod
    @checked
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """Return the result from the arrays of :meth:`to_arrays`; inconsistent parts are an error."""
        from closerthan.calibration import Calibration, ChoiceCalibration
        from closerthan.settings import Settings

        about = json.loads(str(arrays["about"]))
        rows = zip(*(arrays[f"history_{name}"].tolist() for name in Record._fields), strict=True)
        history = History(record_of(dict(zip(Record._fields, row, strict=True))) for row in rows)
        settings, names = about["settings"], about["names"]
        loaded = cls(
            arrays["embedding"],
            history,
            stopped_by=about["stopped_by"],
            best_epoch=about["best_epoch"],
            best_start=about["best_start"],
            starts=tuple(Start(*start) for start in about["starts"]),
            settings=None if settings is None else Settings.from_data(settings),
            names=None if names is None else tuple(names),
            candidates=tuple(Candidate(*candidate) for candidate in about["candidates"]),
            calibration=Calibration.from_data(about.get("calibration")),
            answer_calibration=ChoiceCalibration.from_data(about.get("answer_calibration")),
        )
        loaded._check()
        return loaded

    def _check(self) -> None:
        """Raise an error unless all parts are consistent."""
        shape, kind = self.embedding.shape, self.embedding.dtype
        if kind != np.float64 or len(shape) != 2 or not np.isfinite(self.embedding).all():
            raise ValueError(f"its map has type {kind} and shape {shape}; expected a table of finite float64 numbers")
        if self.settings is not None and shape[1] != self.settings.n_dims:
            raise ValueError(f"its map has {shape[1]} dimensions, its settings have {self.settings.n_dims}")
        texts = (self.stopped_by, *(self.names or ()), *(start.stopped_by for start in self.starts))
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("a name or another text is not a string")
        if self.names is not None and len(self.names) != len(self.embedding):
            raise ValueError(f"it has {len(self.names)} names for {len(self.embedding)} objects")
        if self.best_epoch not in range(len(self.history)) or self.best_start not in range(max(len(self.starts), 1)):
            raise ValueError(f"its best epoch, {self.best_epoch}, or best start, {self.best_start}, does not exist")
        numbers = [number for start in self.starts for number in (*start[:3], start.distance)]
        numbers += [number for candidate in self.candidates for number in candidate[1:]]
        if not all(isinstance(number, int | float) for number in numbers):
            raise ValueError("the errors of a start or of a candidate are not numbers")
        if not all(isinstance(candidate.loss, str) for candidate in self.candidates):
            raise ValueError("the name of a candidate is not a string")
