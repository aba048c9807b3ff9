"""Fits to resampled answers: replicates, the committee that predicts new answers, and simulated studies.

Answers, blocks of answers or people are resampled (:mod:`closerthan.uncertainty.bootstrap`). A replicate starts at the
fitted map, stays in its basin of attraction and converges quickly. New answers are predicted by other maps, which have
random starts: see :class:`~closerthan.uncertainty.committee.Committee`.

The reliability of replicates is measured on simulated studies (a double bootstrap, Beran 1987): answers to the same
questions are drawn with the probabilities of the fitted map, calibrated like the committee's, fitted from random
starts, and replicated. The fitted map is the known truth of these studies.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array, frozen
from closerthan.calibration import Calibration
from closerthan.checks import ParameterError, whole
from closerthan.comparisons import Comparisons, reversed_rows
from closerthan.comparisons.grouping import AUTO
from closerthan.evaluate.answer_accuracy import imply_several_comparisons
from closerthan.evaluate.cross_validation import fold_of
from closerthan.fit.plan import FitPlan
from closerthan.fit.progress import compile_notice, trials_bar
from closerthan.metrics import log_odds
from closerthan.result import Result
from closerthan.uncertainty.bootstrap import bootstrap, bootstrap_scheme
from closerthan.uncertainty.committee import Committee, spread
from closerthan.uncertainty.drawn_answers import AnswersToDraw
from closerthan.uncertainty.refitter import Fitter, JobResults, Refitter

__all__ = [
    "CommitteeFolds",
    "ResampledFits",
    "calibration_on_map",
    "replicate_refitter",
    "resample",
    "resampled",
    "resampling_unit",
]

FEWEST_PEOPLE = 5  # with fewer people, blocks or answers are resampled by default
FEWEST_MAPS = 2  # smallest number of maps that can be compared
FOLDS = 4  # folds of the answers, each predicted by maps fitted to the others
FOLDS_OF_FEW = 10  # folds if there are few answers: a map of only three quarters of them would be underconfident
FEW = 50  # comparisons per coordinate below which answers count as few
MAPS_PER_FOLD = 5
MOST_MEASURED = 20_000  # comparisons of a fold on which probabilities are calibrated
PER_THREAD = 2_000  # comparisons that a thread predicts at a time
MOST_FOR_SPREAD = 4_000  # comparisons from which the spread of a map's log odds is estimated
STUDIES = 4  # simulated studies, to calibrate the probabilities of neighbours
REPLICATES_OF_STUDY = 25  # at most; 4 x 25 replicates take as long as the usual 100 of the real answers
MOST_SIMULATED = 200_000  # with more comparisons, simulated studies would take too long
LOG_SLOPES = (-4.0, 2.0)  # search interval for the logarithm of the slope from a map's log odds to the committee's
LEAST = 1e-12  # lower bound of probabilities before their logarithm is taken


@dataclasses.dataclass(frozen=True)
class ResampledFits:
    """Result of :func:`resample`.

    Attributes
    ----------
    maps
        The replicates, (n_maps, n_objects, n_dims), not aligned.
    committee
        The maps that predict new answers.
    simulated
        Replicates of simulated studies, (n_studies, n_maps, n_objects, n_dims), or None.
    stopped_by
        "interrupted" or "time_limit" if the computation ended early, otherwise "".
    """

    maps: Array
    committee: Committee
    simulated: Array | None
    stopped_by: str


def resampling_unit(answers: Comparisons, by: str = AUTO) -> str:
    """Return the resampling unit that ``by`` stands for: "people", "blocks" or "answers".

    Examples
    --------
    >>> resampling_unit(Comparisons.from_triplets([[0, 1, 2]]))
    'answers'
    """
    if by not in (AUTO, "people", "blocks", "answers"):
        raise ParameterError("by", by, 'replicates resample "people", "blocks" or "answers"')
    n_people = answers.n_people
    if by == "people" and n_people is None:
        way_out = "pass people= with the comparisons, or {by}"
        raise ParameterError("by", by, "it is not known who gave the answers", way_out, by="answers")
    if by == "people" and n_people == 1:
        raise ParameterError("by", by, "all answers are from one person", "pass {by}", by="answers")
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
) -> ResampledFits:
    """Fit replicates to resampled answers, a committee to folds of the answers, and replicates of simulated studies."""
    whole("n_replicates", n_maps)

    def redrawn(rng: np.random.Generator) -> Comparisons:
        return resampled(answers, by, rng, result.embedding.size)

    with compile_notice(progress):
        refitter.prepare(redrawn(rng))
    fold_rng, *rngs = rng.spawn(n_maps + 1)
    study_rngs = rng.spawn(STUDIES)
    sample = _sample_comparisons(answers, MOST_FOR_SPREAD, fold_rng)

    def one(rng: np.random.Generator, fit_map: Fitter) -> tuple[Array, float]:
        x = fit_map(redrawn(rng), rng, result.embedding).embedding
        return x, spread(sample, x, result.loss)

    # Every job is a single fit, so that all cores have work until the end. Replicates come first: after Ctrl-C those
    # completed are kept, while an incomplete committee is of no use.
    folds = CommitteeFolds.draw(result, answers, by, fold_rng)
    jobs: list[Callable[[Fitter], Any]] = [functools.partial(one, rng) for rng in rngs]
    jobs += folds.fits()
    with trials_bar(progress, "replicates", len(jobs), 0) as tick:
        outcome = refitter.run(jobs, tick)
    maps, fold_maps = [one for one in outcome.results[:n_maps] if one is not None], outcome.results[n_maps:]
    if outcome.stopped_by and len(maps) < FEWEST_MAPS:
        raise JobResults(outcome.results[:n_maps], outcome.stopped_by).error("replicates")
    committee, stopped_by = None, outcome.stopped_by
    if fold_maps and not stopped_by:
        scored = refitter.run(folds.scores(fold_maps), n_processes=0)  # no fits, so quick
        stopped_by = scored.stopped_by
        if not stopped_by:
            committees, *columns = zip(*scored.results, strict=True)
            scores, weights, units = (np.concatenate(column) for column in columns)
            committee = Committee.merged(committees, scores, weights, units)
    if committee is None:
        committee = Committee(np.array([x for x, _ in maps]), np.array([size for _, size in maps]))
    simulated = None
    few = answers.cheap_to_enumerate and len(answers) <= MOST_SIMULATED
    if few and not stopped_by and committee.calibration is not None:
        n_each = min(n_maps, REPLICATES_OF_STUDY)
        calibration = calibration_on_map(result, answers, committee, refitter.n_threads)
        draw = _drawing(result, answers, calibration)
        with trials_bar(progress, "simulated studies", STUDIES * (1 + n_each), 0) as tick:
            studies = refitter.run(_study_jobs(result, draw, by, n_each, study_rngs), tick)
            stopped_by = studies.stopped_by
            if not stopped_by:
                outcome = refitter.run([job for study in studies.results for job in study], tick)
                stopped_by = outcome.stopped_by
        if not stopped_by:
            simulated = np.array(outcome.results).reshape(STUDIES, n_each, *result.embedding.shape)
    return ResampledFits(np.array([x for x, _ in maps]), committee, simulated, stopped_by)


def replicate_refitter(answers: Comparisons, plan: FitPlan, result: Result) -> Refitter:
    """Return the refitter of replicates: one start, no validation split, at most as many epochs as ``result`` took."""
    refitter = Refitter.of(answers, plan, result)
    stops_by_held_out = result.settings is not None and result.settings.stops_by_held_out
    epochs = result.best_epoch if stops_by_held_out else result.history[-1].epoch
    return dataclasses.replace(refitter, settings=refitter.settings.replicate(max(epochs, 1)))


def resampled(answers: Comparisons, by: str, rng: np.random.Generator, n_coordinates: int) -> Comparisons:
    """Resample answers by the scheme that suits their number."""
    scheme = bootstrap_scheme(by, answers.n_answers, n_coordinates)
    return bootstrap(answers, rng, by=by, scheme=scheme)


def _sample_comparisons(answers: Comparisons, most: int, rng: np.random.Generator) -> Comparisons:
    """Return a random sample of at most ``most`` comparisons."""
    if len(answers) <= most:
        return answers
    return answers.take(_sample_rows(np.arange(len(answers)), most, rng))


def _sample_rows(rows: NDArray[Any], most: int, rng: np.random.Generator) -> NDArray[Any]:
    """Return a random sample of at most ``most`` of these rows, in their original order."""
    return rows if len(rows) <= most else rows[np.sort(rng.choice(len(rows), most, replace=False))]


@dataclasses.dataclass(frozen=True)
class CommitteeFolds:
    """Folds of the answers: several maps are fitted to all other folds and predict the answers of a fold."""

    result: Result
    answers: Comparisons
    groups: NDArray[Any]  # groups of dependent comparisons
    fold_of_row: NDArray[Any]
    rngs: list[np.random.Generator]  # one per fold

    @classmethod
    def draw(cls, result: Result, answers: Comparisons, by: str, rng: np.random.Generator) -> Self:
        """Divide the answers into folds; there are no folds if there are too few groups of answers."""
        groups = answers.groups(by)
        n_folds = FOLDS_OF_FEW if len(answers) < FEW * result.embedding.size else FOLDS
        n_folds = min(n_folds, (int(groups.max()) + 1) // 2)
        if n_folds < 2:
            return cls(result, answers, groups, np.zeros(len(answers), np.int64), [])
        fold_of_row = fold_of(groups, n_folds, int(rng.integers(2**31)), by)
        return cls(result, answers, groups, fold_of_row, rng.spawn(n_folds))

    def fits(self) -> list[Callable[[Fitter], Array]]:
        """Return one job per map, fold by fold."""
        # In one dimension random starts often end in poor local optima.
        starts = 2 if self.result.embedding.shape[1] == 1 else 1

        def one(number: int, rng: np.random.Generator, fit_map: Fitter) -> Array:
            return fit_map(self._others(number), rng, starts=starts).embedding

        return [
            functools.partial(one, number, _twin(rng, place * starts))
            for number, rng in enumerate(self.rngs)
            for place in range(MAPS_PER_FOLD)
        ]

    def scores(self, maps: Sequence[Array]) -> list[Callable[[Fitter], tuple[Committee, Array, Array, NDArray[Any]]]]:
        """Return one job per fold, which scores its comparisons with the maps fitted to the other folds.

        A job returns the committee of these maps and, for each comparison of the fold, its score, its weight and the
        number of its group of dependent comparisons.
        """
        loss = self.result.loss

        def one(number: int, _: Fitter) -> tuple[Committee, Array, Array, NDArray[Any]]:
            rng, own = self.rngs[number], np.array(maps[number * MAPS_PER_FOLD : (number + 1) * MAPS_PER_FOLD])
            rows = _sample_rows(np.flatnonzero(self.fold_of_row == number), MOST_MEASURED, rng)
            held_out, sample = self.answers.take(rows), _sample_comparisons(self._others(number), MOST_FOR_SPREAD, rng)
            committee = Committee(own, np.array([spread(sample, x, loss) for x in own]))
            weights = np.ones(len(held_out)) if held_out.weights is None else held_out.weights
            return committee, committee.mean_log_odds(held_out, loss), weights, self.groups[rows]

        return [functools.partial(one, number) for number in range(len(self.rngs))]

    def _others(self, number: int) -> Comparisons:
        return self.answers.take(self.fold_of_row != number)


def _drawing(
    result: Result, answers: Comparisons, calibration: Calibration
) -> Callable[[np.random.Generator], Comparisons]:
    """Return a function that draws answers to the same questions with the probabilities of the fitted map."""
    if imply_several_comparisons(answers):
        return AnswersToDraw.on_map(result, answers, slope=calibration.slope, lapse=calibration.lapse).drawn
    probability = calibration.probability(log_odds(answers, result.embedding, result.loss))
    return functools.partial(_drawn_comparisons, answers, probability)


def _drawn_comparisons(answers: Comparisons, probability: Array, rng: np.random.Generator) -> Comparisons:
    is_reversed = rng.random(len(answers)) >= probability
    rows = np.where(is_reversed[:, np.newaxis], reversed_rows(answers.rows), answers.rows)
    return answers.replace(rows=frozen(np.ascontiguousarray(rows)))


def _study_jobs(
    result: Result,
    draw: Callable[[np.random.Generator], Comparisons],
    by: str,
    n_maps: int,
    rngs: list[np.random.Generator],
) -> list[Callable[[Fitter], list[Callable[[Fitter], Array]]]]:
    """Return one job per generator, which simulates a study, fits it and returns the jobs of its ``n_maps`` replicates.

    ``draw`` returns the answers of a study. Replicates are resampled one after another from the same random stream, so
    each job has its own generator.
    """
    # The map of the real answers is the best of several starts, too.
    starts = 4 if result.embedding.shape[1] == 1 else 2

    def one(rng: np.random.Generator, fit_map: Fitter) -> list[Callable[[Fitter], Array]]:
        study = draw(rng)
        x = fit_map(study, rng, starts=starts).embedding
        jobs: list[Callable[[Fitter], Array]] = []
        for place in range(n_maps):
            jobs.append(functools.partial(_study_replicate, study, by, x, _twin(rng, place)))
            resampled(study, by, rng, x.size)  # advances the generator to the next replicate
        return jobs

    return [functools.partial(one, rng) for rng in rngs]


def _study_replicate(study: Comparisons, by: str, x: Array, rng: np.random.Generator, fit_map: Fitter) -> Array:
    """Return a replicate of a simulated study, whose map is ``x``; a job that can be sent to another process."""
    return fit_map(resampled(study, by, rng, x.size), rng, x).embedding


def _twin(rng: np.random.Generator, n_skipped: int) -> np.random.Generator:
    """Return a generator of the same numbers that skips ``n_skipped`` children when it spawns."""
    sequence: Any = rng.bit_generator.seed_seq
    n_spawned = sequence.n_children_spawned + n_skipped
    same = np.random.SeedSequence(sequence.entropy, spawn_key=sequence.spawn_key, n_children_spawned=n_spawned)
    twin = np.random.Generator(type(rng.bit_generator)(same))
    twin.bit_generator.state = rng.bit_generator.state
    return twin


def calibration_on_map(result: Result, answers: Comparisons, committee: Committee, n_threads: int = 1) -> Calibration:
    """Return the calibration of the log odds of the fitted map.

    A map is more certain of the answers that it was fitted to than of new ones, so its log odds are multiplied by the
    slope under which they agree best with the committee's probabilities, which are calibrated on held-out answers. The
    lapse rate is that of the committee.
    """
    from scipy.optimize import minimize_scalar

    lapse = 0.0 if committee.calibration is None else committee.calibration.lapse
    sample = _sample_comparisons(answers, MOST_MEASURED, np.random.default_rng(0))
    parts = [sample.take(slice(first, first + PER_THREAD)) for first in range(0, len(sample), PER_THREAD)]
    with ThreadPoolExecutor(n_threads) as pool:
        expected = np.concatenate(list(pool.map(lambda part: committee.probability(part, result.loss), parts)))
    odds = log_odds(sample, result.embedding, result.loss)

    def cross_entropy(log_slope: float) -> float:
        curve = Calibration(np.exp(log_slope), lapse=lapse)
        for_answer, against = (np.log(np.maximum(curve.probability(sign * odds), LEAST)) for sign in (1, -1))
        return -float(np.mean(expected * for_answer + (1 - expected) * against))

    slope = np.exp(minimize_scalar(cross_entropy, bounds=LOG_SLOPES, method="bounded").x)
    return Calibration(slope, lapse=lapse)
