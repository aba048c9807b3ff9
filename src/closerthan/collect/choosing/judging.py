"""Quality of the map of a running study: accuracy on random questions over time, ellipses, and verdicts on people."""

import json
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from closerthan.arrays import Array
from closerthan.collect.choosing.belief import LOSS
from closerthan.collect.choosing.quality import Assessment
from closerthan.collect.store.answers import chosen_answers
from closerthan.collect.store.database import Store
from closerthan.comparisons import Comparisons
from closerthan.evaluate.diagnostics import mentions
from closerthan.geometry import principal_axes, procrustes_rotation
from closerthan.metrics import error_interval
from closerthan.people.quality import assess_people
from closerthan.uncertainty.alignment import align
from closerthan.uncertainty.ellipses import Ellipses
from closerthan.wording import counted, percent, percentage_points

__all__ = ["Accuracy", "accuracies", "assessed_people", "ellipses", "enough", "plane"]

WINDOW = 150  # number of the latest random answers from which an accuracy is computed
FEWEST = 10  # minimum number of random answers for an accuracy
_POINTS = 30  # number of points of the curve over time
_EARLY = 5  # answers per object below which there is no verdict
_WIDE = 0.08  # maximum half-width of an informative interval
_RISE = 0.02  # increase of the accuracy from one window to the next that is worth waiting for


class Accuracy(NamedTuple):
    """The accuracy of the map on the random questions in a time window.

    Attributes
    ----------
    at, answers
        Time of the last answer in the window, and the number of all answers by then.
    accuracy, low, high
        Fraction of the answers that were predicted by the map in use at the time, and its 95 % interval.
    """

    at: float
    answers: int
    accuracy: float
    low: float
    high: float


def accuracies(store: Store, kind: str) -> list[Accuracy]:
    """Return the accuracy at several times, each computed from at most ``WINDOW`` of the latest random answers.

    Each random answer is compared with the map in use when its question was drawn, which cannot have been fitted to it.
    """
    maps: dict[int, Array] = {}
    right: list[tuple[float, bool]] = []
    for answer in chosen_answers(store, ("random",)):
        version = answer["map"]
        if version is not None and version not in maps:
            places = store.value("SELECT places FROM maps WHERE version = ?", version)
            maps[version] = np.array(json.loads(places)) if places else np.empty((0, 0))
        objects = (answer["first"], answer["second"], answer["third"])
        if version is not None and max(objects) < len(maps[version]):
            right.append((answer["at"], _predicted(kind, maps[version][list(objects)]) == answer["choice"]))
    accuracies = []
    for end in np.unique(np.linspace(0, len(right), _POINTS + 1).round().astype(int)[1:]).tolist():
        window = [one for _, one in right[max(0, end - WINDOW) : end]]
        if len(window) < FEWEST:
            continue
        accuracy = float(np.mean(window))
        low, high = error_interval(accuracy, len(window))
        at = right[end - 1][0]
        number = store.value("SELECT count(*) FROM answers WHERE at <= ?", at)
        accuracies.append(Accuracy(at, number, accuracy, low, high))
    return accuracies


def _predicted(kind: str, x: Array) -> int:
    if kind == "closer":
        return int(np.argmin(((x[1:] - x[0]) ** 2).sum(axis=1)))
    # The odd one out is not part of the closest pair.
    pairs = ((x[[1, 0, 0]] - x[[2, 2, 1]]) ** 2).sum(axis=1)
    return int(np.argmin(pairs))


def plane(embedding: Array, before: list[list[float]] | None) -> Array:
    """Return the two axes of the drawing: principal axes, rotated to resemble the previous drawing."""
    rotation = principal_axes(embedding).rotation[:, :2]
    axes: Array = np.pad(rotation, ((0, 0), (0, 2 - rotation.shape[1])))
    if before:
        common = min(len(before), len(embedding))
        now, then = ((one[:common] - one[:common].mean(axis=0)) for one in (embedding @ axes, np.array(before)))
        axes = axes @ procrustes_rotation(now.T @ then)[0]
    return axes


def ellipses(answers: Comparisons, maps: Array, embedding: Array, axes: Array) -> list[list[float]]:
    """Return the 95 % ellipse of each object: half axes, and the angle of the longer one in degrees.

    Maps are aligned as in :func:`closerthan.replicate`: objects count by their number of answers.
    """
    aligned = align(maps, embedding, mentions(answers).astype(np.float64), scaling=True)
    # Ellipses are computed in the plane, for which a few maps suffice whatever the dimension of the map.
    flat = Ellipses.around(embedding @ axes, aligned @ axes, level=0.95).in_plane(np.eye(2))
    rows: list[list[float]] = np.column_stack([flat.half_axes, flat.angles]).tolist()
    return rows


def assessed_people(answers: Comparisons, n_dims: int, checks: Mapping[str, tuple[int, int]]) -> dict[str, Assessment]:
    """Return the lapse rate, verdict and reasons of each participant, as ``closerthan people`` prints them.

    Each participant is judged by the map of the others, so a single participant cannot be assessed.

    Parameters
    ----------
    answers
        All answers of the study, with the participants' numbers as their names.
    n_dims
        Number of dimensions of the maps.
    checks
        For each participant, the number of check questions asked and passed.
    """
    if (answers.n_people or 0) < 2:
        return {}
    return {
        person.name: {"lapse": round(person.lapse_rate, 4), "verdict": person.verdict, "reasons": person.reasons}
        for person in assess_people(answers, n_dims, loss=LOSS, checks=checks).people
    }


def enough(accuracies: list[Accuracy], answers: int, objects: int) -> str:
    """Return advice in words on whether to continue the study."""
    if answers < _EARLY * objects:
        return (
            f"Too early to say: {counted(answers, 'answer')} for {counted(objects, 'object')}; "
            f"look again at {_EARLY * objects:,} answers."
        )
    if not accuracies or accuracies[-1].high - accuracies[-1].low > 2 * _WIDE:
        return "Too few random questions have been answered to measure the accuracy. Keep collecting answers."
    now = accuracies[-1]
    interval = f"95 % interval {percent(now.low, 0)} to {percent(now.high, 0)}"
    sentence = f"The map predicts {percent(now.accuracy, 0)} of new random answers ({interval})"
    before = [one for one in accuracies if one.answers <= now.answers * 2 / 3]
    if not before:
        return f"{sentence}. Keep collecting answers until the accuracy no longer rises."
    rise = now.accuracy - before[-1].accuracy
    if rise > _RISE:
        more = f"{percentage_points(rise, 0)} percentage points more than at {before[-1].answers:,} answers"
        return f"{sentence}, {more}. The accuracy is still rising: keep collecting answers."
    return (
        f"{sentence}, no clear increase since {before[-1].answers:,} answers. More answers would change little: "
        "the study has enough, or nearly enough, answers."
    )
