"""Resampling: the same fit again, to answers (or people) that were drawn anew.

Each person (or answer) gets a random weight from the exponential distribution: the Bayesian bootstrap (Rubin 1981).
Unlike drawing with replacement it leaves nobody out, so that no object loses all its answers. Rows are shared by all
replicates; only weights differ. A replicate starts at the fitted map: it stays in its basin, and is quick.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array
from closerthan.calibration import Calibration
from closerthan.checks import whole
from closerthan.comparisons import Comparisons
from closerthan.evaluate.cross_validation import fold_of
from closerthan.fit.ctrl_c import CtrlC, Wish
from closerthan.fit.fixed_loss import Inputs, Run, fit
from closerthan.fit.parallel import run_together
from closerthan.fit.progress import compile_notice, trials_bar
from closerthan.fit.settings import Settings
from closerthan.metrics import log_odds
from closerthan.objective.protocol import Device
from closerthan.result import Result
from closerthan.solvers import Solver

__all__ = ["Refits", "refit", "unit"]

FEWEST_PEOPLE = 5  # with fewer, answers are resampled unless people are asked for
FOLDS = 4  # parts of the answers, each predicted by maps of the others: what probabilities are calibrated by
FOLDS_OF_FEW = 10  # parts where answers are few: a map of three quarters of them would look too unsure
FEW = 50  # comparisons per coordinate
MAPS_PER_FOLD = 5
MOST_MEASURED = 20_000  # comparisons of a part that probabilities are calibrated by
MOST_FOR_SPREAD = 4_000  # comparisons that tell the spread of a map's log odds


@dataclasses.dataclass(frozen=True)
class Refits:
    """What :func:`refit` found."""

    maps: Array  # (n_maps, n_objects, n_dims), not aligned
    spreads: Array  # of each map's log odds
    calibration: Calibration | None
    interrupted: bool


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


def refit(
    result: Result,
    answers: Comparisons,
    n_maps: int,
    by: str,
    rng: np.random.Generator,
    *,
    device: Device,
    progress: bool = False,
) -> Refits:
    """Fit so many maps to resampled answers, and calibrate their predictions on answers that were held out."""
    whole("n_replicates", n_maps)
    settings = _settings_of_one(result)
    # Losses that raced share their kernels, which are compiled already.
    one_thread = (device.for_all_losses() if result.candidates else device).one_thread()
    with compile_notice(progress), one_thread.objective(_weighted(answers, by, rng), result.loss) as objective:
        if isinstance(settings.solver, Solver):
            objective.prepare(settings.solver.needs, settings.n_dims)
    fold_rng, *rngs = rng.spawn(n_maps + 1)
    judged = _some(answers, MOST_FOR_SPREAD, fold_rng)
    fold_jobs = _fold_jobs(result, answers, by, fold_rng)
    with CtrlC() as ctrl_c, trials_bar(progress, "replicates", n_maps + len(fold_jobs), 0) as tick:
        run = Run(one_thread, ctrl_c=ctrl_c)

        def refitted(train: Comparisons, start: Array | None, rng: np.random.Generator) -> Result:
            # On a line random starts often end badly, and with them all maps of a fold.
            asked = settings if start is not None else settings.replace(n_starts=2 if settings.n_dims == 1 else 1)
            return fit(Inputs(train, None, start, rng), asked, run)

        def one(rng: np.random.Generator) -> tuple[Array, float] | None:
            found = refitted(_weighted(answers, by, rng), result.embedding, rng)
            if found.stopped_by == "interrupted":  # it keeps what it has, but is not done
                return None
            tick()
            return found.embedding, _spread(judged, found.embedding, result)

        def fold(job: Callable[..., Any]) -> Any:
            scores = job(refitted)
            tick()
            return None if ctrl_c.pressed.is_set() else scores

        # Maps first: Ctrl-C keeps them, while a part of the folds is of no use.
        jobs = [functools.partial(one, rng) for rng in rngs] + [functools.partial(fold, job) for job in fold_jobs]
        done, interrupted = run_together(jobs, device.threads, Wish(ctrl_c.pressed))
    maps, folds = [found for found in done[:n_maps] if found is not None], done[n_maps:]
    calibration = None
    if folds and all(found is not None for found in folds):
        scores, weights = (np.concatenate(column) for column in zip(*folds, strict=True))
        calibration = Calibration.fitted(scores, weights)
    shape = (len(maps), *result.embedding.shape)
    return Refits(
        np.array([x for x, _ in maps]).reshape(shape),
        np.array([spread for _, spread in maps]),
        calibration,
        interrupted,
    )


def _settings_of_one(result: Result) -> Settings:
    """Those of the fit, but for what held answers out: all answers are fitted, for no more epochs than there."""
    assert result.settings is not None
    epochs = result.best_epoch if result.settings.validation is not None else result.history[-1].epoch
    return result.settings.replace(
        n_starts=1, validation=None, by="answers", epochs=max(epochs, 1), time_limit=None, seed=None
    )


def _weighted(answers: Comparisons, by: str, rng: np.random.Generator) -> Comparisons:
    """The same rows with other weights: one draw for each person, or each answer."""
    group = answers.people if by == "people" else answers.answers
    n_groups = len(answers) if group is None else int(group.max()) + 1
    drawn = rng.exponential(size=n_groups)
    weights: NDArray[np.float64] = drawn if group is None else drawn[group]
    return dataclasses.replace(answers, weights=weights if answers.weights is None else weights * answers.weights)


def _spread(judged: Comparisons, x: Array, result: Result) -> float:
    """The root mean square of a map's log odds, by which maps of any size count the same."""
    return float(np.sqrt(np.mean(log_odds(judged, x, result.loss) ** 2))) or 1.0


def _some(answers: Comparisons, most: int, rng: np.random.Generator) -> Comparisons:
    """So many of the comparisons, at random, if there are more."""
    if len(answers) <= most:
        return answers
    return answers.take(np.sort(rng.choice(len(answers), most, replace=False)))


def _fold_jobs(result: Result, answers: Comparisons, by: str, rng: np.random.Generator) -> list[Callable[..., Any]]:
    """For each part of the answers: the scores that maps of the other parts give it, and its weights."""
    group = answers.groups(by)
    n_folds = FOLDS_OF_FEW if len(answers) < FEW * result.embedding.size else FOLDS
    n_folds = min(n_folds, (int(group.max()) + 1) // 2)
    if n_folds < 2:
        return []
    part = fold_of(group, n_folds, int(rng.integers(2**31)), by)

    def scores(number: int, rng: np.random.Generator, refitted: Callable[..., Result]) -> tuple[Array, Array]:
        train, held_out = answers.take(part != number), _some(answers.take(part == number), MOST_MEASURED, rng)
        judged = _some(train, MOST_FOR_SPREAD, rng)
        start = refitted(train, None, rng).embedding
        total = np.zeros(len(held_out))
        for _ in range(MAPS_PER_FOLD):
            x = refitted(_weighted(train, by, rng), start, rng).embedding
            total += log_odds(held_out, x, result.loss) / _spread(judged, x, result)
        return total / MAPS_PER_FOLD, np.ones(len(held_out)) if held_out.weights is None else held_out.weights

    return [functools.partial(scores, number, child) for number, child in enumerate(rng.spawn(n_folds))]
