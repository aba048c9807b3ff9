"""Observations of psiz: HDF5 files of trials in which a person chose the objects most similar to a query.

``stimulus_set`` has one row per trial: the query, the chosen objects (the most similar first if ``is_ranked``), and the
objects that were not chosen. A negative number (0 if ``mask_zero``) means no object.

A TrialDataset of psiz 0.8 stores the objects in presentation order, together with the index of the outcome in the
lexicographic order of all rankings of ``n_select`` positions. There, 0 means no object.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.comparisons.column_names import fits
from closerthan.files.formats.tables import Column, LoadedTable

__all__ = ["PsizTable"]

_MARK = "stimulus_set"


class PsizTable(LoadedTable):
    """Trials of psiz, read as questions "which objects are nearest to the anchor?".

    A ranked choice of two objects gives two rows of one answer: the first object is nearest of all, and the second is
    nearest of the others.
    """

    def __init__(self, path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
        arrays = {name: array for name, array in arrays.items() if array.size}
        if f"content/{_MARK}" in arrays:
            arrays = _observations(path, arrays)
        stimuli = arrays.get(_MARK)
        if stimuli is None or stimuli.ndim != 2 or stimuli.shape[1] < 3 or stimuli.dtype.kind not in "iu":
            content = ", ".join(f"{name} {array.shape}" for name, array in list(arrays.items())[:10]) or "nothing"
            raise ValueError(
                f"{path} holds {content}; the only HDF5 files that can be read are those that psiz saves as "
                f"RankObservations (with {_MARK}, one row of whole numbers per trial) or as TrialDataset"
            )
        if "rating" in arrays:
            raise ValueError(f"{path} contains psiz ratings, which are not comparisons")
        n_trials = len(stimuli)
        masked = bool(np.ravel(arrays.get("mask_zero", np.zeros(1)))[0])
        is_object = stimuli > 0 if masked else stimuli >= 0
        n_select = _per_trial(path, arrays, "n_select", n_trials, 1)
        ranked = _per_trial(path, arrays, "is_ranked", n_trials, 1).astype(bool)
        bad = (n_select < 1) | (n_select >= is_object[:, 1:].sum(axis=1)) | ~is_object[:, 0]
        if bad.any():
            row = int(np.argmax(bad))
            raise ValueError(
                f"{path}, trial {row}: {n_select[row]} of {int(is_object[row, 1:].sum())} objects are chosen; expected "
                "a query, at least one object that is chosen, and at least one that is not"
            )
        self._stimuli, self._is_object = stimuli, is_object
        trial, n_before = _questions(n_select, ranked)
        columns = self._columns(trial, n_before, n_select, ranked)
        if len(trial) > n_trials:
            columns.append(("answer_id", trial.astype(np.int64)))
        for name, title, default in (
            ("agent_id", "participant", 0), ("session_id", "participant", 0), ("rt_ms", "rt_ms", -1),
            ("weight", "weight", 1),
        ):  # fmt: skip
            if name in arrays and title not in dict(columns):
                values = _per_trial(path, arrays, name, n_trials, default)
                if (values != default).any():  # psiz writes the default if nothing was recorded
                    columns.append((title, values[trial]))
        super().__init__(path, "HDF5, observations of psiz", columns)

    def _columns(
        self, trial: NDArray[np.intp], n_before: NDArray[np.intp], n_select: NDArray[Any], ranked: NDArray[np.bool_]
    ) -> list[tuple[str, Any]]:
        numbers = np.unique(self._stimuli[self._is_object])
        labels = [*map(str, numbers.tolist()), ""]
        codes = np.where(self._is_object, np.searchsorted(numbers, self._stimuli), len(numbers))
        cells = codes.astype(np.int32)[trial]
        n_chosen = np.where(ranked, 1, n_select)[trial]
        # Objects chosen earlier are removed and the others move up, so lists have no gaps.
        place = np.arange(cells.shape[1] - 1)[None, :] + n_before[:, None] + 1
        options = np.take_along_axis(cells, np.minimum(place, cells.shape[1] - 1), axis=1)
        options[place >= cells.shape[1]] = len(labels) - 1
        chosen = np.where(np.arange(options.shape[1])[None, :] < n_chosen[:, None], options, len(labels) - 1)
        return [
            ("anchor", Column(cells[:, 0], labels)),
            *[(f"shown_{number + 1}", Column(options[:, number], labels)) for number in range(options.shape[1])],
            *[(f"chosen_{number + 1}", Column(chosen[:, number], labels)) for number in range(int(n_chosen.max()))],
        ]


def _observations(path: Path, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Convert the trials of a TrialDataset to the layout of RankObservations, with the chosen objects first."""
    content, outcome = (_text(arrays.get(f"{part}/class_name")) for part in ("content", "outcome"))
    if content != "RankSimilarity":
        raise ValueError(f"{path} holds trials of psiz of type {content}; only RankSimilarity trials are comparisons")
    if outcome != "SparseCategorical" or "outcome/index" not in arrays:
        raise ValueError(
            f"{path} holds trials of psiz without answers: their outcome is {outcome}; save a TrialDataset with a "
            "SparseCategorical outcome"
        )
    stimuli = arrays[f"content/{_MARK}"]
    if stimuli.dtype.kind not in "iu" or stimuli.ndim not in (2, 3) or stimuli.shape[-1] < 3 or (stimuli < 0).any():
        raise ValueError(f"{path}: {_MARK} has shape {stimuli.shape}; expected a row of whole numbers per trial")
    trials = stimuli.reshape(-1, stimuli.shape[-1]).astype(np.int64)
    n_select = _per_trial(path, {"n_select": arrays.get("content/n_select", np.ones(len(trials)))}, "n_select",
                          len(trials), 1).astype(np.int64)  # fmt: skip
    index = _per_trial(path, {"index": arrays["outcome/index"]}, "index", len(trials), 0).astype(np.int64)
    is_trial = trials[:, 0] > 0  # the other rows are padding
    ordered = trials.copy()
    for row in np.flatnonzero(is_trial).tolist():
        n_options = int((trials[row, 1:] > 0).sum())
        order = _ranking(int(index[row]), n_options, int(n_select[row]))
        if order is None:
            raise ValueError(
                f"{path}, trial {row}: the outcome is number {index[row]} of the rankings of {n_select[row]} of "
                f"{n_options} objects, which does not exist"
            )
        ordered[row, 1 : n_options + 1] = trials[row, 1:][order]
    result = {_MARK: ordered[is_trial], "n_select": n_select[is_trial], "mask_zero": np.ones(1)}
    for name, array in arrays.items():
        group = name.removeprefix("groups/")
        if name == "weight":
            result["weight"] = array.reshape(-1)[is_trial] if array.size == len(trials) else array
        elif group != name and fits("participant", group) and array.size == len(trials):
            result["agent_id"] = array.reshape(-1)[is_trial]
    return result


def _ranking(number: int, n_options: int, n_chosen: int) -> list[int] | None:
    """Return the option positions, chosen ones first, of the ranking with this index; None if it does not exist.

    Examples
    --------
    >>> [_ranking(number, 3, 2) for number in (0, 1, 5, 6)]
    [[0, 1, 2], [0, 2, 1], [2, 1, 0], None]
    """
    if not 1 <= n_chosen < n_options or not 0 <= number < math.perm(n_options, n_chosen):
        return None
    remaining, chosen = list(range(n_options)), []
    for place in range(n_chosen):
        which, number = divmod(number, math.perm(n_options - place - 1, n_chosen - place - 1))
        chosen.append(remaining.pop(which))
    return chosen + remaining


def _text(array: NDArray[Any] | None) -> str:
    return "None" if array is None else str(array.reshape(-1)[0])


def _questions(n_select: NDArray[Any], ranked: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the trial of each question, and the number of objects chosen before it."""
    rows = np.where(ranked, n_select, 1).astype(np.intp)
    trial = np.repeat(np.arange(len(rows)), rows)
    return trial, np.arange(len(trial)) - np.repeat(np.cumsum(rows) - rows, rows)


def _per_trial(
    path: Path, arrays: Mapping[str, NDArray[Any]], name: str, n_trials: int, default: float
) -> NDArray[Any]:
    values = np.ravel(arrays[name]) if name in arrays else np.full(n_trials, default)
    if values.shape != (n_trials,) or values.dtype.kind not in "biuf" or not np.isfinite(values).all():
        raise ValueError(f"{path}: {name} has {values.size:,} values; expected a finite number for each of "
                         f"{n_trials:,} trials")  # fmt: skip
    return values if values.dtype.kind == "f" else values.astype(np.int64)
