"""Resampling: the same fit again, to answers (or people) that were drawn anew.

Each person (or answer) gets a random weight from the exponential distribution: the Bayesian bootstrap (Rubin 1981).
Unlike drawing with replacement it leaves nobody out, so that no object loses all its answers. Many answers are drawn
with replacement (Efron 1979), which is faster. A replicate starts at the fitted map: it stays in its basin, and is
quick. What predicts new answers are other maps: see :class:`~closerthan.uncertainty.committee.Committee`.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from closerthan.arrays import Array
from closerthan.checks import whole
from closerthan.comparisons import Comparisons
from closerthan.evaluate.cross_validation import fold_of
from closerthan.fit.progress import compile_notice, trials_bar
from closerthan.fit.settings import Settings
from closerthan.result import Result
from closerthan.solvers import Solver
from closerthan.uncertainty.committee import Committee, spread
from closerthan.uncertainty.refits import Done, Fitter, Refits

__all__ = ["Resampled", "resample", "settings_of_one", "unit"]

FEWEST_PEOPLE = 5  # with fewer, answers are resampled unless people are asked for
FEWEST_MAPS = 2  # with fewer there is nothing to compare
FOLDS = 4  # parts of the answers, each predicted by maps of the others
FOLDS_OF_FEW = 10  # parts where answers are few: a map of three quarters of them would look too unsure
FEW = 50  # comparisons per coordinate
# Answers per coordinate from which on they are drawn with replacement: in three quarters of the time, maps spread 3 %
# more than by weights; with 15 answers, 20 %.
MANY = 50
MAPS_PER_FOLD = 5
MOST_MEASURED = 20_000  # comparisons of a part that probabilities are calibrated by
MOST_FOR_SPREAD = 4_000  # comparisons that tell the spread of a map's log odds


@dataclasses.dataclass(frozen=True)
class Resampled:
    """What :func:`resample` found."""

    maps: Array  # (n_maps, n_objects, n_dims), not aligned
    committee: Committee
    stopped_by: str  # "", or "interrupted" or "time_limit" if there were to be more maps


def unit(answers: Comparisons, by: str | None) -> str:
    """What is resampled: "people" or "answers".

    Examples
    --------
    >>> unit(Comparisons.from_triplets([[0, 1, 2]]), None)
    'answers'
    """
    if by not in (None, "people", "answers"):
        raise ValueError(f'by is {by!r}; replicates resample "people" or "answers"')
    n_people = answers.n_people
    if by == "people" and n_people is None:
        raise ValueError(
            'by="people" is asked for, but nothing says who gave the answers; pass people= with the comparisons, or '
            'by="answers"'
        )
    if by == "people" and n_people == 1:
        raise ValueError('by="people" is asked for, but all answers are of one person; pass by="answers"')
    if by is None:
        return "people" if n_people is not None and n_people >= FEWEST_PEOPLE else "answers"
    return by


def resample(
    refits: Refits,
    answers: Comparisons,
    n_maps: int,
    by: str,
    rng: np.random.Generator,
    *,
    progress: bool = False,
) -> Resampled:
    """Fit so many maps to resampled answers, and others to parts of the answers, which predict."""
    whole("n_replicates", n_maps)
    result, settings = refits.first, refits.settings

    def redrawn(rng: np.random.Generator) -> Comparisons:
        return _resampled(answers, by, rng, result.embedding.size)

    with compile_notice(progress), refits.device.objective(redrawn(rng), result.loss) as objective:
        if isinstance(settings.solver, Solver):
            objective.prepare(settings.solver.needs, settings.n_dims)
    fold_rng, *rngs = rng.spawn(n_maps + 1)
    judged = _some(answers, MOST_FOR_SPREAD, fold_rng)

    def one(rng: np.random.Generator, fitted: Fitter) -> tuple[Array, float]:
        x = fitted(redrawn(rng), rng, result.embedding).embedding
        return x, spread(judged, x, result.loss)

    # Maps first: Ctrl-C keeps them, while a part of the folds is of no use.
    jobs: list[Callable[[Fitter], Any]] = [functools.partial(one, rng) for rng in rngs]
    jobs += _fold_jobs(result, answers, by, fold_rng)
    with trials_bar(progress, "replicates", len(jobs), 0) as tick:
        done = refits.together(jobs, tick)
    maps, folds = [found for found in done.results[:n_maps] if found is not None], done.results[n_maps:]
    if done.stopped_by and len(maps) < FEWEST_MAPS:
        raise Done(done.results[:n_maps], done.stopped_by).cut("replicates")
    if folds and all(found is not None for found in folds):
        committees, scores, weights = zip(*folds, strict=True)
        committee = Committee.together(committees, np.concatenate(scores), np.concatenate(weights))
    else:
        committee = Committee(np.array([x for x, _ in maps]), np.array([size for _, size in maps]))
    return Resampled(np.array([x for x, _ in maps]), committee, done.stopped_by)


def settings_of_one(result: Result) -> Settings:
    """Those of the fit, but for what held answers out: all answers are fitted, for no more epochs than there."""
    assert result.settings is not None
    most = result.best_epoch if result.settings.stops_by_held_out else result.history[-1].epoch
    return result.settings.replicate(max(most, 1))


def _resampled(answers: Comparisons, by: str, rng: np.random.Generator, n_coordinates: int) -> Comparisons:
    """The same rows with other weights: one draw for each person, or each answer. Many answers: drawn with replacement.

    Where an object has many answers it does not lose all of them, and a fit without weights takes less time.
    """
    group = answers.people if by == "people" else answers.answers
    n_groups = len(answers) if group is None else int(group.max()) + 1
    if by == "answers" and n_groups >= MANY * n_coordinates:
        times = np.bincount(rng.integers(n_groups, size=n_groups), minlength=n_groups)
        return answers.take(np.repeat(np.arange(len(answers)), times if group is None else times[group]))
    drawn = rng.exponential(size=n_groups)
    return answers.weighted(drawn if group is None else drawn[group])


def _some(answers: Comparisons, most: int, rng: np.random.Generator) -> Comparisons:
    """So many of the comparisons, at random, if there are more."""
    if len(answers) <= most:
        return answers
    return answers.take(np.sort(rng.choice(len(answers), most, replace=False)))


def _fold_jobs(
    result: Result, answers: Comparisons, by: str, rng: np.random.Generator
) -> list[Callable[[Fitter], tuple[Committee, Array, Array]]]:
    """For each part of the answers: maps of the others, the scores that they give it, and its weights."""
    group = answers.groups(by)
    n_folds = FOLDS_OF_FEW if len(answers) < FEW * result.embedding.size else FOLDS
    n_folds = min(n_folds, (int(group.max()) + 1) // 2)
    if n_folds < 2:
        return []
    part = fold_of(group, n_folds, int(rng.integers(2**31)), by)
    # On a line random starts often end badly.
    starts = 2 if result.embedding.shape[1] == 1 else 1

    def one(number: int, rng: np.random.Generator, fitted: Fitter) -> tuple[Committee, Array, Array]:
        train, held_out = answers.take(part != number), _some(answers.take(part == number), MOST_MEASURED, rng)
        judged = _some(train, MOST_FOR_SPREAD, rng)
        maps = [fitted(train, rng, starts=starts).embedding for _ in range(MAPS_PER_FOLD)]
        committee = Committee(np.array(maps), np.array([spread(judged, x, result.loss) for x in maps]))
        weights = np.ones(len(held_out)) if held_out.weights is None else held_out.weights
        return committee, committee.mean_log_odds(held_out, result.loss), weights

    return [functools.partial(one, number, child) for number, child in enumerate(rng.spawn(n_folds))]
