"""What the map of a running study is worth: accuracy on random questions over time, spread of objects, and words."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from closerthan.arrays import Array
from closerthan.collect.choosing.belief import LOSS
from closerthan.collect.store.answers import chosen_answers
from closerthan.collect.store.database import Store
from closerthan.comparisons import Comparisons
from closerthan.geometry import principal_axes, procrustes_rotation
from closerthan.metrics import error_interval
from closerthan.people.quality import assess_people
from closerthan.uncertainty.alignment import align
from closerthan.uncertainty.ellipses import Ellipses
from closerthan.wording import counted, percent, percentage_points

__all__ = ["Accuracy", "accuracies", "assessed_people", "ellipses", "enough", "plane"]

WINDOW = 150  # random answers of which an accuracy is said
_POINTS = 30  # of the curve over time
_EARLY = 5  # answers per object, below which nothing is said
_WIDE = 0.08  # half an interval above it is too wide to say much
_RISE = 0.02  # more accuracy than this, from one window to the next, is worth waiting for


class Accuracy(NamedTuple):
    """Share of random questions that the map of their time predicted, with its 95 % interval, and when that was."""

    at: float
    answers: int
    share: float
    low: float
    high: float


def accuracies(store: Store, kind: str) -> list[Accuracy]:
    """The accuracy over time, each of (up to) so many of the latest random answers.

    Every random answer is predicted by the map that there was when it was asked, which cannot have seen it.
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
    found = []
    for end in np.unique(np.linspace(0, len(right), _POINTS + 1).round().astype(int)[1:]).tolist():
        window = [one for _, one in right[max(0, end - WINDOW) : end]]
        if len(window) < 10:
            continue
        share = float(np.mean(window))
        low, high = error_interval(share, len(window))
        at = right[end - 1][0]
        number = store.value("SELECT count(*) FROM answers WHERE at <= ?", at)
        found.append(Accuracy(at, number, share, low, high))
    return found


def _predicted(kind: str, x: Array) -> int:
    if kind == "closer":
        return int(np.argmin(((x[1:] - x[0]) ** 2).sum(axis=1)))
    # The odd one is not part of the closest pair.
    pairs = ((x[[1, 0, 0]] - x[[2, 2, 1]]) ** 2).sum(axis=1)
    return int(np.argmin(pairs))


def plane(embedding: Array, before: list[list[float]] | None) -> Array:
    """The two directions that are drawn: the principal axes, turned so that the picture looks like the one before."""
    rotation = principal_axes(embedding).rotation[:, :2]
    axes: Array = np.pad(rotation, ((0, 0), (0, 2 - rotation.shape[1])))
    if before:
        common = min(len(before), len(embedding))
        now, then = ((one[:common] - one[:common].mean(axis=0)) for one in (embedding @ axes, np.array(before)))
        axes = axes @ procrustes_rotation(now.T @ then)[0]
    return axes


def ellipses(maps: Sequence[Array], embedding: Array, axes: Array) -> list[list[float]]:
    """The 95 % ellipse of each object: half axes, and the angle of the long one in degrees."""
    aligned = align(np.array(maps), embedding, np.ones(len(embedding)), scaling=True)
    # Of the plane alone: few maps suffice for two dimensions, whatever the map has.
    flat = Ellipses.around(embedding @ axes, aligned @ axes, level=0.95).in_plane(np.eye(2))
    found: list[list[float]] = np.column_stack([flat.half_axes, flat.angles]).tolist()
    return found


def assessed_people(
    answers: Comparisons, n_dims: int, checks: Mapping[str, tuple[int, int]]
) -> dict[str, dict[str, Any]]:
    """Return lapse rate, verdict and reasons of each participant, as ``closerthan people`` gives them.

    A single participant cannot be assessed: each is judged by the map of the others.

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
        person.name: {"lapse": person.lapse_rate, "verdict": person.verdict, "reasons": person.reasons}
        for person in assess_people(answers, n_dims, loss=LOSS, checks=checks).people
    }


def enough(found: list[Accuracy], answers: int, objects: int) -> str:
    """Whether to go on asking, in words."""
    if answers < _EARLY * objects:
        return (
            f"Too early to say: {counted(answers, 'answer')} for {counted(objects, 'object')}; "
            f"look again at {_EARLY * objects:,}."
        )
    if not found or found[-1].high - found[-1].low > 2 * _WIDE:
        return "Too few random questions were answered to measure how good the map is. Go on."
    now = found[-1]
    interval = f"{percent(now.low, 0)} to {percent(now.high, 0)}"
    said = f"The map predicts {percent(now.share, 0)} of new random answers ({interval})"
    before = [one for one in found if one.answers <= now.answers * 2 / 3]
    if not before:
        return f"{said}. Go on until it no longer rises."
    rise = now.share - before[-1].share
    if rise > _RISE:
        more = f"{percentage_points(rise, 0)} points more than at {before[-1].answers:,} answers"
        return f"{said}, {more}: it still rises. Go on."
    return f"{said}, as at {before[-1].answers:,} answers: more answers change little. It is enough, or nearly."
