"""Resampling: refits to answers (or blocks of answers, or people) with random weights, or drawn with replacement.

Each person (or block, or answer) gets a random weight from the exponential distribution: the Bayesian bootstrap (Rubin
1981). Unlike drawing with replacement it leaves nobody out, so that no object loses all its answers. Many answers are
drawn with replacement (Efron 1979), which is faster. A replicate starts at the fitted map: it stays in its basin, and
is quick. What predicts new answers are other maps: see :class:`~closerthan.uncertainty.committee.Committee`.

How far replicates can be trusted is measured on simulated studies (a double bootstrap, Beran 1987): answers to the same
questions are drawn as the fitted map and the committee's calibration say, fitted from random starts and replicated.
There the truth, the fitted map, is known.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array, frozen
from closerthan.calibration import Calibration
from closerthan.checks import whole
from closerthan.comparisons import Comparisons, reversed_rows
from closerthan.comparisons.grouping import AUTO
from closerthan.evaluate.cross_validation import fold_of
from closerthan.fit.plan import FitPlan
from closerthan.fit.progress import compile_notice, trials_bar
from closerthan.metrics import log_odds
from closerthan.result import Result
from closerthan.solvers import Solver
from closerthan.uncertainty.bootstrap import bootstrap, bootstrap_scheme
from closerthan.uncertainty.committee import Committee, spread
from closerthan.uncertainty.refitter import Fitter, JobResults, Refitter

__all__ = ["Resampled", "replicate_refitter", "resample", "resampling_unit"]

FEWEST_PEOPLE = 5  # with fewer, blocks or answers are resampled unless people are asked for
FEWEST_MAPS = 2  # with fewer there is nothing to compare
FOLDS = 4  # parts of the answers, each predicted by maps of the others
FOLDS_OF_FEW = 10  # parts where answers are few: a map of three quarters of them would look too unsure
FEW = 50  # comparisons per coordinate
MAPS_PER_FOLD = 5
MOST_MEASURED = 20_000  # comparisons of a part that probabilities are calibrated by
MOST_FOR_SPREAD = 4_000  # comparisons that tell the spread of a map's log odds
STUDIES = 4  # simulated, to calibrate the probabilities of neighbours
REPLICATES_OF_STUDY = 25  # at most: four times 25 take as long as the 100 replicates of the study itself
MOST_SIMULATED = 200_000  # comparisons: with more, fits take too long to do them again
LOG_SLOPES = (-4.0, 2.0)  # bounds of a search: logarithms of the factor from a map's log odds to the committee's
LEAST = 1e-12  # probability whose logarithm is taken


@dataclasses.dataclass(frozen=True)
class Resampled:
    """What :func:`resample` found."""

    maps: Array  # (n_maps, n_objects, n_dims), not aligned
    committee: Committee
    simulated: Array | None  # (n_studies, n_maps, n_objects, n_dims): replicates of simulated studies, if there are any
    stopped_by: str  # "", or "interrupted" or "time_limit" if there were to be more maps


def resampling_unit(answers: Comparisons, by: str = AUTO) -> str:
    """Return the unit that is resampled: "people", "blocks" or "answers".

    Examples
    --------
    >>> resampling_unit(Comparisons.from_triplets([[0, 1, 2]]))
    'answers'
    """
    if by not in (AUTO, "people", "blocks", "answers"):
        raise ValueError(f'by is {by!r}; replicates resample "people", "blocks" or "answers"')
    n_people = answers.n_people
    if by == "people" and n_people is None:
        raise ValueError(
            'by="people" is asked for, but nothing says who gave the answers; pass people= with the comparisons, or '
            'by="answers"'
        )
    if by == "people" and n_people == 1:
        raise ValueError('by="people" is asked for, but all answers are of one person; pass by="answers"')
    if by == AUTO:
        by = "people" if n_people is not None and n_people >= FEWEST_PEOPLE else AUTO
    return answers.split_unit(by)


def resample(
    refitter: Refitter,
    result: Result,
    answers: Comparisons,
    n_maps: int,
    by: str,
    rng: np.random.Generator,
    *,
    progress: bool = False,
) -> Resampled:
    """Fit maps to resampled answers, others to parts of the answers, which predict, and to simulated studies."""
    whole("n_replicates", n_maps)
    settings = refitter.settings

    def redrawn(rng: np.random.Generator) -> Comparisons:
        return _resampled(answers, by, rng, result.embedding.size)

    with compile_notice(progress), refitter.device.objective(redrawn(rng), result.loss) as objective:
        if isinstance(settings.solver, Solver):
            objective.prepare(settings.solver.needs, settings.n_dims)
    fold_rng, *rngs = rng.spawn(n_maps + 1)
    study_rngs = rng.spawn(STUDIES)
    judged = _some(answers, MOST_FOR_SPREAD, fold_rng)

    def one(rng: np.random.Generator, fitted: Fitter) -> tuple[Array, float]:
        x = fitted(redrawn(rng), rng, result.embedding).embedding
        return x, spread(judged, x, result.loss)

    # Maps first: Ctrl-C keeps them, while a part of the folds is of no use.
    jobs: list[Callable[[Fitter], Any]] = [functools.partial(one, rng) for rng in rngs]
    jobs += _fold_jobs(result, answers, by, fold_rng)
    with trials_bar(progress, "replicates", len(jobs), 0) as tick:
        done = refitter.run(jobs, tick)
    maps, folds = [found for found in done.results[:n_maps] if found is not None], done.results[n_maps:]
    if done.stopped_by and len(maps) < FEWEST_MAPS:
        raise JobResults(done.results[:n_maps], done.stopped_by).error("replicates")
    if folds and all(found is not None for found in folds):
        committees, *columns = zip(*folds, strict=True)
        scores, weights, units = (np.concatenate(column) for column in columns)
        committee = Committee.merged(committees, scores, weights, units)
    else:
        committee = Committee(np.array([x for x, _ in maps]), np.array([size for _, size in maps]))
    simulated, stopped_by = None, done.stopped_by
    few = answers.on_disk is None and len(answers) <= MOST_SIMULATED
    if few and not stopped_by and committee.calibration is not None:
        studies = _study_jobs(result, answers, committee, by, min(n_maps, REPLICATES_OF_STUDY), study_rngs)
        with trials_bar(progress, "simulated studies", len(studies), 0) as tick:
            done = refitter.run(studies, tick)
        stopped_by = done.stopped_by
        simulated = None if stopped_by else np.stack(done.results)
    return Resampled(np.array([x for x, _ in maps]), committee, simulated, stopped_by)


def replicate_refitter(answers: Comparisons, plan: FitPlan, result: Result) -> Refitter:
    """Return the refitter of replicates: one start, no validation split, at most as many epochs as ``result`` took."""
    refitter = Refitter.of(answers, plan, result)
    stops_by_held_out = result.settings is not None and result.settings.stops_by_held_out
    epochs = result.best_epoch if stops_by_held_out else result.history[-1].epoch
    return dataclasses.replace(refitter, settings=refitter.settings.replicate(max(epochs, 1)))


def _resampled(answers: Comparisons, by: str, rng: np.random.Generator, n_coordinates: int) -> Comparisons:
    """Resample answers by the scheme that suits their number."""
    scheme = bootstrap_scheme(by, answers.n_answers, n_coordinates)
    return bootstrap(answers, rng, by=by, scheme=scheme)


def _some(answers: Comparisons, most: int, rng: np.random.Generator) -> Comparisons:
    """Return a random sample of ``most`` comparisons, or all of them if there are no more."""
    if len(answers) <= most:
        return answers
    return answers.take(_some_rows(np.arange(len(answers)), most, rng))


def _some_rows(rows: NDArray[Any], most: int, rng: np.random.Generator) -> NDArray[Any]:
    """Return a random sample of ``most`` of these rows, in their order, or all of them if there are no more."""
    return rows if len(rows) <= most else rows[np.sort(rng.choice(len(rows), most, replace=False))]


def _fold_jobs(
    result: Result, answers: Comparisons, by: str, rng: np.random.Generator
) -> list[Callable[[Fitter], tuple[Committee, Array, Array, NDArray[Any]]]]:
    """Jobs, one for each part of the answers: fit maps to the others; return these, and the part's scores and weights.

    The last array has, for each of the part's comparisons, the number of its group of dependent comparisons.
    """
    group = answers.groups(by)
    n_folds = FOLDS_OF_FEW if len(answers) < FEW * result.embedding.size else FOLDS
    n_folds = min(n_folds, (int(group.max()) + 1) // 2)
    if n_folds < 2:
        return []
    part = fold_of(group, n_folds, int(rng.integers(2**31)), by)
    # On a line random starts often end badly.
    starts = 2 if result.embedding.shape[1] == 1 else 1

    def one(number: int, rng: np.random.Generator, fitted: Fitter) -> tuple[Committee, Array, Array, NDArray[Any]]:
        train, judging = answers.take(part != number), _some_rows(np.flatnonzero(part == number), MOST_MEASURED, rng)
        held_out = answers.take(judging)
        judged = _some(train, MOST_FOR_SPREAD, rng)
        maps = [fitted(train, rng, starts=starts).embedding for _ in range(MAPS_PER_FOLD)]
        committee = Committee(np.array(maps), np.array([spread(judged, x, result.loss) for x in maps]))
        weights = np.ones(len(held_out)) if held_out.weights is None else held_out.weights
        return committee, committee.mean_log_odds(held_out, result.loss), weights, group[judging]

    return [functools.partial(one, number, child) for number, child in enumerate(rng.spawn(n_folds))]


def _study_jobs(
    result: Result,
    answers: Comparisons,
    committee: Committee,
    by: str,
    n_maps: int,
    rngs: list[np.random.Generator],
) -> list[Callable[[Fitter], Array]]:
    """For each generator a simulated study, of which ``n_maps`` replicates are made."""
    probability = _probability_on_map(result, answers, committee)
    # The fit itself was the best of several starts.
    starts = 4 if result.embedding.shape[1] == 1 else 2

    def one(rng: np.random.Generator, fitted: Fitter) -> Array:
        is_reversed = rng.random(len(answers)) >= probability
        rows = np.where(is_reversed[:, np.newaxis], reversed_rows(answers.rows), answers.rows)
        study = dataclasses.replace(answers, rows=frozen(np.ascontiguousarray(rows)))
        x = fitted(study, rng, starts=starts).embedding
        return np.array([
            fitted(_resampled(study, by, rng, x.size), rng, x).embedding for _ in range(n_maps)
        ])  # fmt: skip

    return [functools.partial(one, rng) for rng in rngs]


def _probability_on_map(result: Result, answers: Comparisons, committee: Committee) -> Array:
    """Return the probability of each answer on the fitted map.

    A map is more certain of the answers that it was fitted to than of new ones, so its log odds are multiplied by the
    slope under which they agree best with the committee's probabilities, which are calibrated on held-out answers. The
    lapse rate is that of the committee.
    """
    from scipy.optimize import minimize_scalar

    lapse = 0.0 if committee.calibration is None else committee.calibration.lapse
    some = _some(answers, MOST_MEASURED, np.random.default_rng(0))
    expected, odds = committee.probability(some, result.loss), log_odds(some, result.embedding, result.loss)

    def cross_entropy(log_slope: float) -> float:
        curve = Calibration(np.exp(log_slope), lapse=lapse)
        for_answer, against = (np.log(np.maximum(curve.probability(sign * odds), LEAST)) for sign in (1, -1))
        return -float(np.mean(expected * for_answer + (1 - expected) * against))

    slope = np.exp(minimize_scalar(cross_entropy, bounds=LOG_SLOPES, method="bounded").x)
    return Calibration(slope, lapse=lapse).probability(log_odds(answers, result.embedding, result.loss))
