"""Quality of the map of a running study: accuracy on random questions over time, ellipses, and verdicts on people."""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from closerthan.arrays import Array
from closerthan.collect.choosing.belief import Criterion
from closerthan.collect.choosing.quality import Assessment
from closerthan.collect.store.answers import chosen_answers, objects_of, picks_of
from closerthan.collect.store.database import Store
from closerthan.comparisons import Comparisons
from closerthan.comparisons.screen import Screen
from closerthan.evaluate.diagnostics import mentions
from closerthan.geometry import principal_axes, procrustes_rotation
from closerthan.metrics import error_interval
from closerthan.people.quality import assess_people
from closerthan.result import Result
from closerthan.settings import Budget, TimeOverError
from closerthan.uncertainty.alignment import align
from closerthan.uncertainty.ellipses import Ellipses
from closerthan.uncertainty.learning_curve import GUESSING, LearningCurve, learning_curve
from closerthan.uncertainty.replicates import replicate
from closerthan.wording import counted, percent_interval

__all__ = ["Accuracy", "accuracies", "assessed_people", "ellipses", "enough", "in_words", "live_curve", "plane"]

WINDOW = 150  # number of the latest random answers from which an accuracy is computed
FEWEST = 10  # minimum number of random answers for an accuracy
_POINTS = 30  # number of points of the curve over time
EARLY = 5  # answers per object below which there is no verdict
FOLDS = 5  # number of folds for the learning curve
REPLICATES = 100  # as in closerthan enough


class Accuracy(NamedTuple):
    """The accuracy of the map on the random questions in a time window.

    Attributes
    ----------
    at, answers
        Time of the last answer in the window, and the number of answers by that time, without those excluded since.
    accuracy, low, high
        Fraction of the answers that were predicted by the map in use at the time, and its 95 % interval.
    """

    at: float
    answers: int
    accuracy: float
    low: float
    high: float


def accuracies(store: Store, screen: Screen, condition: str = "") -> list[Accuracy]:
    """Return the accuracy at several times, each computed from at most ``WINDOW`` of the latest random answers.

    Each random answer is compared with the map in use when its question was drawn, which cannot have been fitted to it.
    If several options are picked, the accuracy is the mean fraction of right comparisons per answer; the interval still
    counts answers, since the comparisons of an answer are not independent.
    """
    predicted = [answer for answer in chosen_answers(store, ("random",), condition) if answer["map"] is not None]
    ends = np.unique(np.linspace(0, len(predicted), _POINTS + 1).round().astype(int)[1:]).tolist()
    used = sorted({place for end in ends for place in range(max(0, end - WINDOW), end)})  # all others are in no window
    maps = {version: _map(store, version) for version in {predicted[place]["map"] for place in used}}
    is_right: dict[int, float] = {}
    for place in used:
        answer = predicted[place]
        embedding, objects = maps[answer["map"]], objects_of(answer)
        if max(objects) < len(embedding):
            is_right[place] = _fraction_right(screen, objects, picks_of(answer), embedding)
    times = np.array([answer["at"] for answer in chosen_answers(store, condition=condition)])
    accuracies = []
    for end in ends:
        window = [is_right[place] for place in range(max(0, end - WINDOW), end) if place in is_right]
        if len(window) < FEWEST:
            continue
        accuracy = float(np.mean(window))
        low, high = error_interval(accuracy, len(window))
        at = predicted[end - 1]["at"]
        accuracies.append(Accuracy(at, int(np.searchsorted(times, at, "right")), accuracy, low, high))
    return accuracies


def _map(store: Store, version: int) -> Array:
    places = store.value("SELECT places FROM maps WHERE version = ?", version)
    return np.array(json.loads(places)) if places else np.empty((0, 0))


def _fraction_right(screen: Screen, objects: Sequence[int], picks: Sequence[int], embedding: Array) -> float:
    """Return the fraction of the comparisons of an answer that a map predicts; 1 or 0 if there is only one choice.

    Ties are split, so that a map in which all objects coincide has the accuracy of chance.
    """
    i, near, far = np.array(screen.comparisons(objects, picks)).T
    gap = ((embedding[i] - embedding[far]) ** 2).sum(axis=1) - ((embedding[i] - embedding[near]) ** 2).sum(axis=1)
    if screen.picks_several:
        return float(np.where(gap == 0, 0.5, gap > 0).mean())
    return float((gap >= 0).all() / (1 + np.sum(gap == 0)))


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
    """Return the 95 % ellipse of each object: semi-axes, and the angle of the longer one in degrees.

    Maps are aligned as in :func:`closerthan.replicate`: each object is weighted by its number of answers.
    """
    aligned = align(maps, embedding, mentions(answers).astype(np.float64), scaling=True)
    # Ellipses are computed in the plane, for which a few maps suffice whatever the dimension of the map.
    flat = Ellipses.around(embedding @ axes, aligned @ axes, level=0.95).in_plane(np.eye(2))
    rows: list[list[float]] = np.column_stack([flat.half_axes, flat.angles]).tolist()
    return rows


def assessed_people(
    answers: Comparisons, n_dims: int, criterion: Criterion, checks: Mapping[str, tuple[int, int]]
) -> dict[str, Assessment]:
    """Return the lapse rate, verdict and reasons of each participant, as ``closerthan people`` prints them.

    Each participant is judged by the map of the others, so a single participant cannot be assessed.

    Parameters
    ----------
    answers
        All answers of the study, with the participants' numbers as their names.
    n_dims
        Number of dimensions of the maps.
    criterion
        The loss and the penalty of the maps, which the default fit chose.
    checks
        For each participant, the number of check questions asked and passed.
    """
    if (answers.n_people or 0) < 2:
        return {}
    return {
        person.name: {
            "lapse": round(person.lapse_rate, 4) if person.lapse_determined else None,
            "verdict": person.verdict,
            "reasons": person.reasons,
        }
        for person in assess_people(
            answers, n_dims, loss=criterion.loss, penalty=criterion.penalty, checks=checks
        ).people
    }


def live_curve(answers: Comparisons, result: Result, time_limit: float | None = None) -> LearningCurve:
    """Return the learning curve of ``closerthan enough``, with the loss and the settings of the live map.

    Unsettled objects are counted only if the answers would otherwise be called enough, because replicates take time.
    """
    budget = Budget.of(time_limit)
    curve = learning_curve(answers, result=result, n_folds=FOLDS, time_limit=time_limit)
    if curve.verdict != "enough":
        return curve
    replicates = replicate(answers, n_replicates=REPLICATES, result=result, time_limit=budget.seconds_left)
    return curve.with_replicates(replicates)


def enough(answers: Comparisons, result: Result, time_limit: float | None = None) -> str:
    """Return advice in words on whether to continue the study, by the rule of ``closerthan enough``."""
    if answers.n_answers < EARLY * answers.n_objects:
        return (
            f"Too early to say: {counted(answers.n_answers, 'answer')} for {counted(answers.n_objects, 'object')}; "
            f"look again at {EARLY * answers.n_objects:,} answers."
        )
    try:
        curve = live_curve(answers, result, time_limit)
    except TimeOverError:
        return "Not measured: with this many answers it takes too long here. Export them, and run closerthan enough."
    except ValueError as error:  # for example, four objects make only four sets of three
        return f"Not measured: {error}."
    return in_words(curve)


def in_words(curve: LearningCurve) -> str:
    """Return the verdict of a learning curve in one or two sentences."""
    if curve.is_chance:
        now = curve.now
        how = "Hardly" if now.high < 0.5 else "No" if now.error > GUESSING else "Not clearly"
        return (
            f"{how} better than chance: the map predicts {percent_interval(1 - now.error, 1 - now.high, 1 - now.low)} "
            "of new answers. Check the question and the participants; or there are still far too few answers."
        )
    return " ".join(f"{text[0].upper()}{text[1:]}." for text in (curve.sentences()[0], curve.advice))
