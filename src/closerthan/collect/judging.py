"""What the map of a running study is worth: accuracy on random questions over time, spread of objects, and words."""

import json
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array
from closerthan.collect.answers import chosen_answers
from closerthan.collect.choosing import closer_probability
from closerthan.collect.store import Store
from closerthan.comparisons import Comparisons
from closerthan.geometry import principal_axes
from closerthan.metrics import error_interval, procrustes
from closerthan.wording import counted, percent

__all__ = ["Accuracy", "accuracies", "drawn_places", "enough", "lapse_rates", "spreads"]

WINDOW = 150  # random answers of which an accuracy is said
_POINTS = 30  # of the curve over time
_EARLY = 5  # answers per object, below which nothing is said
_WIDE = 0.08  # half an interval above it is too wide to say much
_RISE = 0.02  # more accuracy than this, from one window to the next, is worth waiting for
_LAPSES, _LOOKS = 1.0, 9.0  # as if so many answers had been seen of everybody before
_ROUNDS = 20
_SURE = 5.99  # of a chi-squared distribution with two degrees of freedom, 95 % lie below


class Accuracy(NamedTuple):
    """Share of random questions that the map of their time foretold, with its 95 % interval, and when that was."""

    at: float
    answers: int
    share: float
    low: float
    high: float


def accuracies(store: Store, kind: str) -> list[Accuracy]:
    """The accuracy over time, each of (up to) so many of the latest random answers.

    Every random answer is foretold by the map that there was when it was asked, which cannot have seen it.
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
            right.append((answer["at"], _foretold(kind, maps[version][list(objects)]) == answer["choice"]))
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


def _foretold(kind: str, x: Array) -> int:
    if kind == "closer":
        return int(np.argmin(((x[1:] - x[0]) ** 2).sum(axis=1)))
    # The odd one is not part of the closest pair.
    pairs = ((x[[1, 0, 0]] - x[[2, 2, 1]]) ** 2).sum(axis=1)
    return int(np.argmin(pairs))


def drawn_places(embedding: Array) -> Array:
    """Where to draw each object: the first two principal axes."""
    x = principal_axes(embedding).coordinates[:, :2]
    return np.pad(x, ((0, 0), (0, 2 - x.shape[1])))


def spreads(maps: list[Array], drawn: Array, embedding: Array) -> list[list[float]]:
    """The 95 % ellipse of each object: half axes and the angle of the first, in radians."""
    if not maps:
        return []
    axes = principal_axes(embedding)
    centre = embedding.mean(axis=0)
    clouds = []
    for one in maps:
        aligned = procrustes(one, embedding).aligned  # the size of a drawing means nothing
        turned = ((aligned - centre) @ axes.rotation)[:, :2]
        clouds.append(np.pad(turned, ((0, 0), (0, 2 - turned.shape[1]))))
    away = np.array(clouds) - drawn
    found = []
    for number in range(len(drawn)):
        covariance: NDArray[Any] = away[:, number].T @ away[:, number] / len(maps)
        sizes, directions = np.linalg.eigh(covariance)
        half = np.sqrt(np.maximum(sizes[::-1], 0) * _SURE)
        found.append([float(half[0]), float(half[1]), float(np.arctan2(directions[1, 1], directions[0, 1]))])
    return found


def lapse_rates(answers: Comparisons, embedding: Array) -> dict[str, float]:
    """How often each person answered without looking: ``P(answer) = (1 - l) P(map says so) + l / 2``, by EM.

    The map knows everybody's answers; with many people that matters little.
    """
    assert answers.people is not None
    assert answers.person_names is not None
    likely = closer_probability(embedding, *answers.rows.T)
    number = np.bincount(answers.people, minlength=len(answers.person_names))
    rates = np.full(len(number), 0.1)
    for _ in range(_ROUNDS):
        lapsed = rates[answers.people] / 2
        lapsed = lapsed / (lapsed + (1 - rates[answers.people]) * likely)
        sums = np.bincount(answers.people, weights=lapsed, minlength=len(number))
        rates = (_LAPSES + sums) / (_LAPSES + _LOOKS + number)
    return dict(zip(answers.person_names, rates.tolist(), strict=True))


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
    said = f"The map foretells {percent(now.share, 0)} of new random answers ({interval})"
    before = [one for one in found if one.answers <= now.answers * 2 / 3]
    if not before:
        return f"{said}. Go on until it no longer rises."
    rise = now.share - before[-1].share
    if rise > _RISE:
        return f"{said}, {100 * rise:.0f} points more than at {before[-1].answers:,} answers: it still rises. Go on."
    return f"{said}, as at {before[-1].answers:,} answers: more answers change little. It is enough, or nearly."
