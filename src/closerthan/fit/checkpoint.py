"""Checkpoint: a file from which a killed fit resumes, with the same final map as an uninterrupted fit."""

import hashlib
import json
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from closerthan.comparisons import Comparisons, array_bytes
from closerthan.comparisons.questions import splitmix64
from closerthan.fit.monitor import FitState
from closerthan.history import History, Record, record_of
from closerthan.objective.processes import SEVERAL, Processes, SingleProcess
from closerthan.saved_arrays import read_archive
from closerthan.saving import whole_file
from closerthan.solvers.base import StateKind

SECONDS = 2.0  # between two writes: at most this much work is lost if the process is killed
HASHED_ROWS = 2**20  # comparisons that are hashed in one step
WRITING_FRACTION = 0.05  # maximum fraction of the time spent on writing: large files are written less often


@dataclass(frozen=True)
class Fit:
    """The fit that a checkpoint belongs to.

    Parameters
    ----------
    identity
        The settings and a fingerprint of the data, as data for JSON; a checkpoint of another fit is rejected.
    shape
        The shape of the map.
    state_kinds
        The kinds of the arrays in the solver's state; None for a solver without a state, which starts afresh.
    choice
        The choice of the loss, if there was one, as data for JSON.
    """

    identity: Mapping[str, Any]
    shape: tuple[int, int]
    state_kinds: Mapping[str, StateKind] | None
    choice: Mapping[str, Any] | None = None


class Checkpoint:
    """The latest states of all starts of a fit, in one file that is replaced atomically.

    Starts are independent of each other, so the states in a file need not be from the same moment. A start without a
    state runs again from the beginning.

    Parameters
    ----------
    path
        The file.
    fit
        The fit that it belongs to.
    rngs
        The random generators of the starts.
    resume
        Whether to resume from the file, if it exists.
    seconds
        Minimum time between two writes.
    """

    def __init__(
        self,
        path: str | Path,
        fit: Fit,
        rngs: Sequence[np.random.Generator],
        *,
        resume: bool,
        seconds: float = SECONDS,
    ) -> None:
        self._path = Path(path)
        self._fit = fit
        self._rngs = rngs
        self._seconds = seconds
        self._next = time.monotonic() + seconds
        self._lock = threading.Lock()
        self.fit_states: list[FitState | None] = [None] * len(rngs)
        self._generators: list[Any] = [None] * len(rngs)
        if self._path.exists():
            if not resume:
                raise ValueError(f"the checkpoint {path} exists; resume from it, or remove it to begin again")
            self._read()
        else:
            self._write()  # fails before the fit if the file cannot be written

    def keeper(self, number: int) -> Callable[[FitState], None]:
        """Return a function that the monitor of a start calls with each state of the fit."""

        def keep(fit_state: FitState) -> None:
            generator = self._rngs[number].bit_generator.state
            with self._lock:
                self.fit_states[number], self._generators[number] = fit_state, generator
                if time.monotonic() >= self._next:
                    self._renew()

        return keep

    def write(self) -> None:
        """Write the last states now."""
        with self._lock:
            self._renew()

    def _renew(self) -> None:
        began = time.monotonic()
        try:
            self._write()
        except OSError as error:  # the fit itself must not be lost
            warnings.warn(
                f"the checkpoint {self._path} could not be written ({error}); the fit continues", stacklevel=2
            )
        ended = time.monotonic()
        self._next = ended + max(self._seconds, (ended - began) * (1 - WRITING_FRACTION) / WRITING_FRACTION)

    def _write(self) -> None:
        arrays: dict[str, Any] = {}
        starts: list[Any] = []
        for number, fit_state in enumerate(self.fit_states):
            if fit_state is None:
                starts.append(None)
                continue
            progress = {"epoch": fit_state.epoch, "best_epoch": fit_state.best_epoch}
            starts.append({"generator": self._generators[number], **progress})
            arrays |= {f"{number}.state.{name}": array for name, array in fit_state.state.items()}
            arrays[f"{number}.history"] = np.array(fit_state.records, dtype=np.float64)
            arrays[f"{number}.best"] = fit_state.best
        about = json.dumps({"fit": self._fit.identity, "starts": starts, "choice": self._fit.choice})
        with whole_file(self._path) as file:
            np.savez(file, about=np.array(about), **arrays)

    def _read(self) -> None:
        about, arrays = _contents(self._path)
        refuse_another(self._path, about["fit"], self._fit.identity)
        starts = about["starts"]
        if not isinstance(starts, list) or len(starts) != len(self._rngs):
            _damaged(self._path, "its number of starts differs from that of the fit")
        for number, start in enumerate(starts):
            if start is not None:
                head = f"{number}."
                of_start = {name.removeprefix(head): array for name, array in arrays.items() if name.startswith(head)}
                self.fit_states[number] = self._checked_state(start, of_start)
                self._generators[number] = start["generator"]

        for rng, generator in zip(self._rngs, self._generators, strict=True):
            if generator is not None:
                try:
                    rng.bit_generator.state = generator
                except Exception:  # NumPy raises errors of many types
                    _damaged(self._path, "the state of a random generator is invalid")

    def _checked_state(self, start: Any, arrays: Mapping[str, NDArray[Any]]) -> FitState:
        """Return the state of a fit from its arrays, which are checked because kernels do not check them."""
        if self._fit.state_kinds is None:
            _damaged(self._path, "it contains a solver state, but the solver has none")
        kinds = {"best": "map", **{f"state.{name}": kind for name, kind in self._fit.state_kinds.items()}}
        missing = {"history", *kinds} - set(arrays)
        if missing:
            _damaged(self._path, f"{min(missing)} is missing")
        rows = arrays["history"]
        if rows.ndim == 2 and rows.dtype == np.float64 and rows.shape[1] != len(Record._fields):
            raise ValueError(f"{self._path} is a checkpoint of another version of closerthan; begin again")
        if rows.dtype != np.float64 or rows.ndim != 2 or not len(rows):
            _damaged(self._path, f"its history has shape {rows.shape}")
        numbers, gradients = rows[:, 0], rows[:, 1]
        is_finite = np.isfinite(rows[:, : Record._fields.index("objective") + 1]).all()
        if not (is_finite and np.array_equal(numbers, np.arange(len(rows))) and gradients.min() >= 0):
            _damaged(self._path, "its history is not a sequence of epochs")
        if not isinstance(start, Mapping) or not {"generator", "epoch", "best_epoch"} <= set(start):
            _damaged(self._path, "the description of a start is incomplete")
        epoch, best_epoch = start["epoch"], start["best_epoch"]
        if epoch != len(rows) - 1 or type(best_epoch) is not int or not 0 <= best_epoch <= epoch:
            _damaged(
                self._path,
                f"its history has {len(rows) - 1} epochs, but the last is number {epoch} and the best {best_epoch}",
            )
        for name, kind in kinds.items():
            if not _is_valid(arrays[name], kind, self._fit.shape):
                _damaged(self._path, f"{name} is not a valid {kind} of this fit")
        records = [record_of(dict(zip(Record._fields, row, strict=True))) for row in rows.tolist()]
        state = {name.removeprefix("state."): arrays[name] for name in arrays if name.startswith("state.")}
        return FitState(state, History(records), len(records) - 1, arrays["best"], best_epoch)


def _is_valid(array: NDArray[Any], kind: StateKind | str, shape: tuple[int, int]) -> bool:
    shapes = {"map": shape, "Gram matrix": (shape[0], shape[0])}
    if array.shape != shapes.get(kind, ()):
        return False
    if kind == "count":
        return bool(array.dtype == np.int64 and 0 <= array < 2**53)
    if array.dtype != np.float64:
        return False
    return bool(np.isfinite(array).all()) if kind in shapes else not np.isnan(array)


def choice_in(path: str | Path) -> Any:
    """Return the choice of the loss in a checkpoint, as it was passed to :class:`Fit`; None without one."""
    return _contents(Path(path))[0].get("choice")


def written_by_several(path: str | Path) -> bool:
    """Return True if several processes wrote a checkpoint."""
    return str(_contents(Path(path))[0]["fit"].get("device", "")).endswith(SEVERAL)


def _contents(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    arrays = read_archive(path, "checkpoint")
    try:
        about = json.loads(str(arrays.pop("about")))
    except (KeyError, ValueError, RecursionError):
        about = None
    if not (isinstance(about, dict) and isinstance(about.get("fit"), dict) and "starts" in about):
        raise ValueError(f"{path} is not a checkpoint: it does not describe its fit")
    return about, arrays


def _damaged(path: Path, how: str) -> NoReturn:
    raise ValueError(f"the checkpoint {path} is damaged: {how}; remove it to begin again")


def refuse_another(path: str | Path, was: Mapping[str, Any], identity: Mapping[str, Any]) -> None:
    """Raise an error if a file belongs to another fit."""
    now = json.loads(json.dumps(identity))
    other = [name for name in now | was if now.get(name) != was.get(name)]
    if other:
        changes = "; ".join(
            f"{name} was {_in_words(was.get(name))} and is {_in_words(now.get(name))}" for name in other
        )
        raise ValueError(f"the checkpoint {path} belongs to another fit ({changes}); use a separate file for each fit")


def _in_words(value: Any) -> str:
    """Return a setting as text for a message.

    Examples
    --------
    >>> _in_words({"name": "tste", "alpha": 1.0}), _in_words(None)
    ('tste (alpha 1.0)', 'none')
    """
    if not isinstance(value, dict):
        return "none" if value is None else str(value)
    own = bool(value.get("own"))
    parameters = value["parameters"] if own else {name: one for name, one in value.items() if name != "name"}
    inner = ", ".join(f"{name} {_in_words(one)}" for name, one in parameters.items())
    return str(value.get("name", value)) + (f" ({inner})" if inner else "")


def fingerprint(*parts: Comparisons | np.ndarray[Any, Any] | None, processes: Processes = SingleProcess()) -> str:  # noqa: B008
    """Return a short hash of data.

    With several processes, it covers the comparisons of all processes, however they are distributed among them.

    Examples
    --------
    >>> fingerprint(np.array([1, 2]), None) == fingerprint(np.array([1, 2]), None)
    True
    >>> fingerprint(np.array([1, 2]), None) == fingerprint(np.array([2, 1]), None)
    False
    """
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        if isinstance(part, Comparisons) and not isinstance(processes, SingleProcess):
            sums = processes.all_gather((len(part), _sum_of_rows(part)))
            digest.update(repr([sum(column) % 2**64 for column in zip(*sums, strict=True)]).encode())
            continue
        for block in part.byte_blocks() if isinstance(part, Comparisons) else array_bytes(part):
            digest.update(block)
    return digest.hexdigest()


def _sum_of_rows(comparisons: Comparisons) -> int:
    """Return the sum of the hashes of all rows, which does not depend on their order."""
    total = 0
    for first in range(0, len(comparisons), HASHED_ROWS):
        rows = comparisons.rows[first : first + HASHED_ROWS]
        keys = np.zeros(len(rows), np.uint64)
        for column in rows.T:
            keys = splitmix64(keys ^ column.astype(np.uint64))
        if comparisons.weights is not None:
            keys = splitmix64(keys ^ comparisons.weights[first : first + HASHED_ROWS].view(np.uint64))
        total += int(keys.sum())
    return total % 2**64
