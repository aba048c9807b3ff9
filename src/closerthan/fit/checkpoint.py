"""Checkpoint: a file from which a fit that was killed goes on, to the same map as if it had not been."""

import hashlib
import json
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from closerthan.comparisons import Comparisons
from closerthan.fit.monitor import FitState
from closerthan.history import History, Record, record_of
from closerthan.saving import remove_drafts, whole_file

SECONDS = 2.0  # between two writings: what a kill may cost


class Checkpoint:
    """The last states of all starts of a fit, in one file that is only ever replaced as a whole.

    Starts do not depend on each other, so that the states in a file need not be of the same time. A start without one
    is run again from its beginning.

    Parameters
    ----------
    path
        The file.
    fit
        What the fit was asked to do and with what data, as JSON can say it: a file of another fit is refused.
    rngs
        The random generators of the starts.
    resume
        Whether to go on from the file, if there is one.
    seconds
        The least time between two writings.
    """

    def __init__(
        self,
        path: str | Path,
        fit: Mapping[str, Any],
        rngs: Sequence[np.random.Generator],
        *,
        resume: bool,
        seconds: float = SECONDS,
    ) -> None:
        self._path = Path(path)
        self._fit = json.loads(json.dumps(fit))
        self._rngs = rngs
        self._seconds = seconds
        self._written = time.monotonic()
        self._lock = threading.Lock()
        self.fit_states: list[FitState | None] = [None] * len(rngs)
        self._generators: list[Any] = [None] * len(rngs)
        if self._path.exists():
            if not resume:
                raise ValueError(f"the checkpoint {path} exists; resume from it, or remove it to begin again")
            self._read()
        else:
            self._write()  # a place that cannot be written to is better known before the fit than after it

    def keeper(self, number: int) -> Callable[[FitState], None]:
        """What the monitor of a start is to call with each state of the fit."""

        def keep(fit_state: FitState) -> None:
            generator = self._rngs[number].bit_generator.state
            with self._lock:
                self.fit_states[number], self._generators[number] = fit_state, generator
                if time.monotonic() - self._written >= self._seconds:
                    self._renew()

        return keep

    def write(self) -> None:
        """Write the last states now."""
        with self._lock:
            self._renew()

    def _renew(self) -> None:
        try:
            self._write()
        except OSError as error:  # no reason to lose the fit itself
            warnings.warn(f"the checkpoint {self._path} could not be written ({error}); the fit goes on", stacklevel=2)
            self._written = time.monotonic()

    def _write(self) -> None:
        arrays: dict[str, Any] = {}
        starts: list[Any] = []
        for number, fit_state in enumerate(self.fit_states):
            if fit_state is None:
                starts.append(None)
                continue
            starts.append({"generator": self._generators[number], "best_epoch": fit_state.best_epoch})
            arrays |= {f"{number}.state.{name}": array for name, array in fit_state.state.items()}
            arrays[f"{number}.history"] = np.array(fit_state.records, dtype=np.float64)
            arrays[f"{number}.best"] = fit_state.best
        about = json.dumps({"fit": self._fit, "starts": starts})
        with whole_file(self._path) as file:
            np.savez(file, about=np.array(about), **arrays)
        self._written = time.monotonic()

    def _read(self) -> None:
        try:
            with np.load(self._path, allow_pickle=False) as file:
                about = json.loads(str(file["about"]))
                arrays = {name: file[name] for name in file.files}
            fit, starts = about["fit"], about["starts"]
        except (KeyError, ValueError, OSError) as error:
            raise ValueError(f"{self._path} is not a checkpoint: {error}") from None
        other = [name for name in self._fit | fit if self._fit.get(name) != fit.get(name)]
        if other:
            changes = "; ".join(
                f"{name} was {_said(fit.get(name))} and is {_said(self._fit.get(name))}" for name in other
            )
            raise ValueError(f"the checkpoint {self._path} is of another fit ({changes}); give each fit its own file")
        for number, start in enumerate(starts):
            if start is None:
                continue
            rows = arrays[f"{number}.history"]
            if rows.shape[1] != len(Record._fields):
                raise ValueError(f"{self._path} is a checkpoint of another version of closerthan; begin again")
            records = [record_of(dict(zip(Record._fields, row, strict=True))) for row in rows.tolist()]
            head = f"{number}.state."
            state = {name.removeprefix(head): array for name, array in arrays.items() if name.startswith(head)}
            best = arrays[f"{number}.best"]
            self.fit_states[number] = FitState(state, History(records), len(records) - 1, best, start["best_epoch"])
            self._generators[number] = self._rngs[number].bit_generator.state = start["generator"]
        remove_drafts(self._path)


def _said(value: Any) -> str:
    """A setting in a message.

    Examples
    --------
    >>> _said({"name": "tste", "alpha": 1.0}), _said(None)
    ('tste (alpha 1.0)', 'none')
    """
    if not isinstance(value, dict):
        return "none" if value is None else str(value)
    given = value["parameters"] if value.get("own") else {name: one for name, one in value.items() if name != "name"}
    inner = ", ".join(f"{name} {_said(one)}" for name, one in given.items())
    return str(value.get("name", value)) + (f" ({inner})" if inner else "")


def fingerprint(*parts: Comparisons | np.ndarray[Any, Any] | None) -> str:
    """A short text that differs where the data differs.

    Examples
    --------
    >>> fingerprint(np.array([1, 2]), None) == fingerprint(np.array([1, 2]), None)
    True
    >>> fingerprint(np.array([1, 2]), None) == fingerprint(np.array([2, 1]), None)
    False
    """
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        arrays = (part.rows, part.weights, part.answers, part.people) if isinstance(part, Comparisons) else (part,)
        for array in arrays:
            digest.update(repr(None if array is None else (array.shape, array.dtype.str)).encode())
            if array is not None:
                digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
