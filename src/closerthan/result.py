"""Result: the map, how it came about, and what is needed to make it again."""

import dataclasses
import json
import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from closerthan.history import History, Record, record_of
from closerthan.saving import whole_file

__all__ = ["Result", "Start"]


class Candidate(NamedTuple):
    """A loss that took part in the race of ``loss="auto"``."""

    loss: str
    held_out_error: float  # mean over its rounds, at its best epoch
    best_epoch: int
    rounds: int
    overfits: bool  # clearly worse at the end of a fit than at its best epoch
    train_error: float = math.nan  # at the end of its last fit


class Start(NamedTuple):
    """How one of several starts ended."""

    objective: float
    train_error: float
    validation_error: float
    stopped_by: str

    @property
    def rank(self) -> tuple[float, float]:
        """Lower is better: the held-out error if there is one, then the objective."""
        none = math.isnan(self.validation_error)
        return (self.objective, 0.0) if none else (self.validation_error, self.objective)


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Result:
    """What :func:`closerthan.embed` returns.

    Attributes
    ----------
    embedding
        The map: one row of coordinates an object.
    history
        One record per epoch.
    stopped_by
        "epochs", "tolerance", "validation", "time_limit", "callback", "interrupted", "diverged", or "solver" if the
        solver found nothing more to do.
    best_epoch
        The epoch that the map is from (the last one, if the solver was told to return another map than the best).
    best_start, starts
        Which start won, and how each of them ended (with ``loss="auto"`` all but that one after a few epochs).
    settings
        What the fit was asked to do.
    names
        The objects' names, or None.
    candidates
        With ``loss="auto"``: the losses that raced, the best one first.

    Examples
    --------
    >>> import closerthan as ct
    >>> ct.embed([[0, 1, 2], [1, 0, 2], [2, 1, 0]], n_dims=1, solver="svrg-sbb", seed=0, epochs=5)
    Result(3 objects in 1 dimensions, training error 0.000, stopped by epochs after 5 epochs)
    """

    embedding: NDArray[np.float64]
    history: History
    stopped_by: str
    best_epoch: int
    best_start: int = 0
    starts: tuple[Start, ...] = ()
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    names: tuple[str, ...] | None = None
    candidates: tuple[Candidate, ...] = ()

    @property
    def record(self) -> Record:
        """The record of the epoch that the map is from."""
        return self.history[self.best_epoch]

    def __repr__(self) -> str:
        n_objects, n_dims = self.embedding.shape
        return (
            f"Result({n_objects:,} objects in {n_dims} dimensions, training error {self.record.train_error:.3f}, "
            f"stopped by {self.stopped_by} after {self.history[-1].epoch} epochs)"
        )

    def save(self, path: str | Path) -> None:
        """Write everything to one .npz file, whole or not at all; :meth:`load` reads it.

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
        about = {
            "stopped_by": self.stopped_by,
            "best_epoch": self.best_epoch,
            "best_start": self.best_start,
            "starts": self.starts,
            "settings": dict(self.settings),
            "names": self.names,
            "candidates": self.candidates,
        }
        columns = {f"history_{name}": getattr(self.history, name) for name in Record._fields}
        with whole_file(path) as file:
            np.savez_compressed(file, embedding=self.embedding, about=json.dumps(about), **columns)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what :meth:`save` wrote."""
        try:
            with open(path, "rb") as opened, np.load(opened, allow_pickle=False) as file:
                about = json.loads(str(file["about"]))
                rows = zip(*(file[f"history_{name}"].tolist() for name in Record._fields), strict=True)
                history = History(record_of(dict(zip(Record._fields, row, strict=True))) for row in rows)
                embedding = file["embedding"]
        except (KeyError, ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
            if isinstance(error, FileNotFoundError):
                raise
            raise ValueError(f"{path} is not a saved result: {error}") from None
        names = about.pop("names")
        starts = tuple(Start(*start) for start in about.pop("starts"))
        candidates = tuple(Candidate(*candidate) for candidate in about.pop("candidates"))
        return cls(embedding, history, starts=starts, names=names and tuple(names), candidates=candidates, **about)
