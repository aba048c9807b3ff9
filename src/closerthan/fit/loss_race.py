"""loss="auto": choose the loss by a race between all losses, which are evaluated on held-out answers.

No loss is best for all data, so the answers decide. In each round of the race, every remaining loss is fitted to a part
of the answers and evaluated on others; a loss that is clearly worse than the best one drops out (Maron and Moore 1994,
"Hoeffding races"). Rounds use different parts, so that chance in one of them does not decide. Then short fits from
several random starts are made with the winner on all answers, and the best start is run to its end.

A few epochs are informative with Polyak steps, but not with a slower solver. If the user chooses another solver, the
race still uses Polyak steps, and the other solver runs all starts of the winner to their end.
"""

import contextlib
import dataclasses
import functools
import math
import statistics
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from closerthan.checks import whole
from closerthan.comparisons import Comparisons
from closerthan.comparisons.grouping import AUTO
from closerthan.comparisons.questions import object_set_keys, splitmix64
from closerthan.fit.checkpoint import choice_in, refuse_another
from closerthan.fit.ctrl_c import CancelFlag, CtrlC
from closerthan.fit.fixed_loss import Inputs, Run, fit, identity, shape_distance
from closerthan.fit.parallel import run_together, threads_for
from closerthan.fit.progress import compile_notice, trials_bar
from closerthan.history import History
from closerthan.losses import LOSSES
from closerthan.metrics import kish_number, margins, proportion_standard_error, ratio_variance
from closerthan.objective.processes import SingleProcess
from closerthan.objective.protocol import require
from closerthan.result import Candidate, Result, Start
from closerthan.settings import Settings
from closerthan.solvers import Polyak, Solver

ROUNDS = 3  # with fewer, the choice is worse; with more, it takes longer and is no better
EPOCHS = 3  # of each fit in a round and of each short fit of the winner; two are too few for some losses
PER_COORDINATE = 5  # comparisons; with fewer, fits run for more epochs, since each epoch has fewer steps
FEWEST_FITTED = 100_000  # comparisons from large files; with fewer, losses that need many answers would look worse
ENOUGH = 20  # comparisons per coordinate to fit, if that is more than FEWEST_FITTED
HELD_OUT = 0.25  # fraction of the answers in each round; with 0.1, chance matters more
MOST_HELD_OUT = 20_000  # comparisons; more would not improve the choice
WITHOUT_RACE = "ste"  # the loss if nothing can be held out
STARTS = 2  # of the winner, unless the user specifies a number
MOST_DRAWN = 60_000_000  # comparisons from a file larger than memory, for all rounds; they are copied several times
CLEARLY = 1.0  # standard errors; enough, since all losses are evaluated on the same answers


class Judged(NamedTuple):
    """A short fit of one loss: its history, and the held-out comparisons that its map gets wrong."""

    history: History
    wrong: NDArray[np.bool_]


Fit = Callable[..., Judged]  # fit(train, held_out, cancelled, loss=, seed=, length=, seconds=)


class _OneGroupError(Exception):
    """All comparisons are in one group, so none can be held out."""


@dataclasses.dataclass(frozen=True)
class Choice:
    """The outcome of a race, which determines the final fit.

    It is saved in a checkpoint, since a race that a time limit cut short may end differently when it is repeated.
    """

    candidates: tuple[Candidate, ...]
    seed: int
    n_starts: int = 1
    best_start: int = 0
    ends: tuple[Start, ...] = ()  # of the short fits

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Return the choice from the JSON data of :func:`dataclasses.asdict`."""
        candidates = tuple(Candidate(*candidate) for candidate in data["candidates"])
        ends = tuple(Start(*end) for end in data["ends"])
        whole("seed", data["seed"], least=0)
        whole("n_starts", data["n_starts"])
        if candidates[0].loss not in LOSSES or data["best_start"] not in range(max(len(ends), 1)):
            raise ValueError("there is no such loss or start")
        return cls(candidates, data["seed"], data["n_starts"], data["best_start"], ends)


def choose_and_fit(inputs: Inputs, settings: Settings, run: Run) -> Result:
    """Let all losses race and fit the winner to all answers; there is no race if nothing can be held out."""
    run = dataclasses.replace(run, device=run.device.for_all_losses())
    this_fit = {}
    if run.checkpoint is not None:
        this_fit = identity(settings, run, inputs.answers, inputs.held_out, inputs.start)
    choice, trials = _choice_in_checkpoint(run, this_fit, settings.n_starts or STARTS), list[Result]()
    if choice is None:
        try:
            choice, trials = (
                _choose(inputs, settings, run)
                if isinstance(run.device.processes, SingleProcess)
                else _broadcast_choice(inputs, settings, run)
            )
        except _OneGroupError:
            unit = inputs.answers.split_unit(settings.by)
            if unit in ("people", "blocks"):
                warnings.warn(
                    f"all answers are from one {'person' if unit == 'people' else 'block'}, so none can be held out: "
                    f'the loss is "{WITHOUT_RACE}", without a race; pass by="answers" to hold out answers',
                    stacklevel=3,
                )
            return fit(inputs, settings.replace(loss=WITHOUT_RACE), run)
    loss, best = choice.candidates[0].loss, choice.best_start
    # The final fit starts from the beginning, so that the settings of the result reproduce the map.
    final = settings.replace(loss=loss, seed=choice.seed, n_starts=choice.n_starts)
    run = dataclasses.replace(run, choice={"asked": this_fit, **dataclasses.asdict(choice)})
    result = fit(dataclasses.replace(inputs, rng=np.random.default_rng(final.seed)), final, run)
    was_cut = result.stopped_by in ("time_limit", "interrupted") and not settings.stops_by_held_out
    if trials and was_cut and not result.best_record.objective <= trials[best].best_record.objective:
        result = dataclasses.replace(
            trials[best], stopped_by=result.stopped_by
        )  # there was no time to find a better map
    result = dataclasses.replace(result, candidates=choice.candidates)
    if not choice.ends:
        return result
    ends = list(choice.ends)
    ends[best] = result.starts[0]
    return dataclasses.replace(result, best_start=best, starts=tuple(ends))


def _broadcast_choice(inputs: Inputs, settings: Settings, run: Run) -> tuple[Choice, list[Result]]:
    """Run the race in the process of rank 0, on its own answers, and broadcast the choice."""
    processes, choice = run.device.processes, None
    if processes.rank == 0 and len(inputs.answers):
        with contextlib.suppress(_OneGroupError):
            choice, _ = _choose(inputs, settings, dataclasses.replace(run, device=run.device.local()))
    choice = processes.broadcast(choice)
    if choice is None:
        raise _OneGroupError
    return choice, []


def _choice_in_checkpoint(run: Run, this_fit: Mapping[str, Any], most_starts: int) -> Choice | None:
    """Return the choice in the checkpoint to resume from; None without one."""
    if run.checkpoint is None or not run.resume:
        return None
    is_there = run.device.processes.rank == 0 and Path(run.checkpoint).exists()
    saved = run.device.processes.broadcast(choice_in(run.checkpoint) if is_there else None)
    if saved is None:
        return None
    try:
        was, choice = dict(saved["asked"]), Choice.from_data(saved)
        if choice.n_starts > most_starts:
            raise ValueError("there are more starts than requested")
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        raise ValueError(
            f"the checkpoint {run.checkpoint} is damaged: its choice of a loss cannot be read; remove it to begin again"
        ) from None
    refuse_another(run.checkpoint, was, this_fit)
    return choice


def _choose(inputs: Inputs, settings: Settings, run: Run) -> tuple[Choice, list[Result]]:
    """Run the race and the short fits of the winner."""
    answers, rng, began = inputs.answers, inputs.rng, time.perf_counter()
    racer = settings.solver if isinstance(settings.solver, Polyak) else Polyak()
    n_starts = settings.n_starts or (STARTS if inputs.start is None and racer is settings.solver else 1)
    n_trials = n_starts if n_starts > 1 and racer is settings.solver else 0
    one_thread = run.device.one_thread()
    some = answers if answers.cheap_to_enumerate else answers.take(slice(FEWEST_FITTED))
    objective = one_thread.objective(some, LOSSES[WITHOUT_RACE]())
    with compile_notice(run.progress), objective, run.ctrl_c.raised_at_once():
        if isinstance(settings.solver, Solver):
            require(objective, type(settings.solver).__name__, settings.solver.needs)
        objective.prepare(racer.needs, settings.n_dims)

    label = f"{run.progress}: choosing the loss" if isinstance(run.progress, str) else "choosing the loss"
    with trials_bar(bool(run.progress), label, len(LOSSES) * ROUNDS + n_trials, 0) as tick:

        def short_fit(
            train: Comparisons, held_out: Comparisons | None, cancelled: CancelFlag, *, seconds: float, **short: Any
        ) -> Result:
            trial = settings.trial(judged=held_out is not None, solver=racer, **short)
            parts = Inputs(train, held_out, inputs.start, np.random.default_rng(trial.seed))
            deadline = time.perf_counter() + seconds
            result = fit(parts, trial, Run(one_thread, ctrl_c=CtrlC(cancelled), deadline=deadline))
            if result.stopped_by == "interrupted":  # the fit has a map, but there will be no choice
                raise KeyboardInterrupt
            tick()
            return result

        def judged_fit(train: Comparisons, held_out: Comparisons, cancelled: CancelFlag, **short: Any) -> Judged:
            result = short_fit(train, held_out, cancelled, **short)
            return Judged(result.history, ~(margins(held_out, result.embedding) > 0))

        half = began + (run.deadline - began) / 2
        setup = RaceSetup(judged_fit, run.device.threads, half, run.ctrl_c.pressed)
        candidates = race(answers, settings.n_dims, setup, rng, settings.by)
        for _ in range(len(LOSSES) * ROUNDS - sum(candidate.rounds for candidate in candidates)):
            tick()  # fits that were not needed

        seeds = [int(seed) for seed in rng.integers(2**31, size=n_starts)]
        trials: list[Result] = []
        if n_trials:
            n_threads, cancelled = threads_for(len(answers), run.device.threads), CancelFlag(run.ctrl_c.pressed)
            # Half of the remaining time; the other half is for the final fit.
            seconds = (run.deadline - time.perf_counter()) / 2 / math.ceil(n_trials / n_threads)
            short: dict[str, Any] = {"seconds": seconds, "loss": candidates[0].loss, "length": EPOCHS}
            jobs = [functools.partial(short_fit, answers, None, cancelled, seed=seed, **short) for seed in seeds]
            trials, interrupted = run_together(jobs, n_threads, cancelled)
            if interrupted:
                raise KeyboardInterrupt
    best = min(range(len(trials)), key=lambda number: trials[number].best_record.objective, default=0)
    ends = tuple(
        trial.starts[0]._replace(
            distance=shape_distance(trial.embedding, trials[best].embedding) if number != best else 0.0
        )
        for number, trial in enumerate(trials)
    )
    return Choice(candidates, seeds[best], 1 if trials else n_starts, best, ends), trials


@dataclasses.dataclass(frozen=True)
class RaceSetup:
    """How a race is run: the function that fits a loss, the number of threads, and the deadline."""

    judged_fit: Fit
    n_threads: int
    until: float = math.inf
    pressed: CancelFlag = dataclasses.field(default_factory=CancelFlag)


def race(
    answers: Comparisons, n_dims: int, setup: RaceSetup, rng: np.random.Generator, by: str = AUTO
) -> tuple[Candidate, ...]:
    """Return all losses as candidates, the best one first."""
    fits: dict[str, list[History]] = {loss: [] for loss in LOSSES}
    rounds: list[Round] = []
    remaining = list(LOSSES)
    judged = 0.0  # effective number of held-out comparisons so far
    for train, held_out, group in _parts(answers, n_dims, rng, by):
        seed = int(rng.integers(2**31))
        longer = math.ceil(PER_COORDINATE * answers.n_objects * n_dims / len(train))
        n_threads = threads_for(len(train), setup.n_threads)
        # All losses get the same time, so that none has fewer epochs than the others.
        seconds = (setup.until - time.perf_counter()) / math.ceil(len(remaining) / n_threads)
        short: dict[str, Any] = {"seed": seed, "length": longer * EPOCHS, "seconds": seconds}
        cancelled = CancelFlag(setup.pressed)
        jobs = [
            functools.partial(setup.judged_fit, train, held_out, cancelled, loss=loss, **short) for loss in remaining
        ]
        ended, interrupted = run_together(jobs, n_threads, cancelled)
        if interrupted:
            raise KeyboardInterrupt
        out_of_time = time.perf_counter() >= setup.until
        if out_of_time and judged:
            break  # fits that were cut short are less informative than those of earlier rounds
        for loss, one in zip(remaining, ended, strict=True):
            fits[loss].append(one.history)
        wrong = {loss: one.wrong for loss, one in zip(remaining, ended, strict=True)}
        rounds.append(Round.of(wrong, group, held_out.weights))
        judged += kish_number(rounds[-1].total)
        errors = {loss: _summary(loss, fits[loss]).held_out_error for loss in remaining}
        best = min(errors.values())
        threshold = best + CLEARLY * proportion_standard_error(best, judged)
        remaining = [loss for loss in remaining if errors[loss] <= threshold]
        if len(remaining) == 1 or out_of_time:
            break
    ranked = [_summary(loss, fits[loss]) for loss in LOSSES]
    # Losses that dropped out were evaluated on fewer answers; they are ranked behind the others.
    winner, *others = sorted(ranked, key=lambda candidate: (-candidate.rounds, candidate.held_out_error))
    compared = (_compared(candidate, winner.loss, rounds) for candidate in others)
    return winner._replace(behind=0.0, standard_error=0.0), *compared


class Round(NamedTuple):
    """Held-out weights of a round of the race, summed over groups (questions or people) that are independent."""

    wrong: Mapping[str, NDArray[Any]]  # for each loss that is still in the race
    total: NDArray[Any]

    @classmethod
    def of(
        cls, wrong: Mapping[str, NDArray[np.bool_]], group: NDArray[Any], weights: NDArray[np.float64] | None
    ) -> Self:
        """Sum over groups; ``wrong`` are the held-out comparisons that the map of each loss gets wrong."""
        summed = {
            loss: np.bincount(group, mistakes if weights is None else mistakes * weights)
            for loss, mistakes in wrong.items()
        }
        return cls(summed, np.bincount(group, weights))


def _compared(candidate: Candidate, winner: str, rounds: Sequence[Round]) -> Candidate:
    """Compare a loss with the winner on the answers on which both were evaluated.

    The difference of two errors on the same answers is a ratio of sums over independent groups (see
    :func:`~closerthan.metrics.ratio_variance`); no group is in two rounds. Each round has different random
    starts, whose effect a single round does not show, so the variance is at least that between rounds.
    """
    both = [one for one in rounds if candidate.loss in one.wrong]
    differences = [one.wrong[candidate.loss] - one.wrong[winner] for one in both]
    difference, total = np.concatenate(differences), np.concatenate([one.total for one in both])
    variance = ratio_variance(difference, total)
    if len(both) > 1:
        by_round = [float(part.sum() / one.total.sum()) for part, one in zip(differences, both, strict=True)]
        variance = max(variance, statistics.variance(by_round) / len(both))
    return candidate._replace(behind=float(difference.sum() / total.sum()), standard_error=math.sqrt(variance))


def _parts(
    answers: Comparisons, n_dims: int, rng: np.random.Generator, by: str = AUTO
) -> Iterator[tuple[Comparisons, Comparisons, NDArray[Any]]]:
    """Yield for each round the comparisons to fit, those to evaluate on, and the groups of the latter.

    No comparison is evaluated in two rounds. From a large file, only as many are drawn as are needed to distinguish
    losses, and rounds are disjoint. Groups (see :meth:`Comparisons.groups`) are not split.
    """
    by = answers.split_unit(by)
    enough = max(FEWEST_FITTED, ENOUGH * answers.n_objects * n_dims)
    answers = answers.in_memory(min(ROUNDS * (MOST_HELD_OUT + enough), MOST_DRAWN), rng)
    if answers.weights is not None and not answers.weights.all():  # rows without weight
        answers = answers.take(answers.weights > 0)
    n_held_out = max(1, min(round(HELD_OUT * len(answers)), MOST_HELD_OUT))
    n_train = min(len(answers) - n_held_out, enough)
    n_drawn = min(ROUNDS * (n_held_out + n_train), len(answers))
    if n_drawn < len(answers) and by == "answers":
        answers = _sample(answers, n_drawn / len(answers), rng)
    group = answers.groups(by)
    sizes = np.bincount(group)
    if len(sizes) < 2:
        raise _OneGroupError
    # Groups are arranged on a circle in random order; the position of a group is that of its first comparison.
    order = rng.permutation(len(sizes))
    place = np.empty(len(sizes), dtype=np.int64)
    place[order] = np.cumsum(sizes[order]) - sizes[order]
    for number in range(ROUNDS):
        begin = number * (len(answers) // ROUNDS)
        ahead = (place - begin) % len(answers)
        held_out = ahead < n_held_out
        if not held_out.any():  # there are only a few large groups
            held_out[np.argmin(ahead)] = True
        elif held_out.all():
            held_out[np.argmax(ahead)] = False
        train = ~held_out & (ahead < n_held_out + n_train)
        if not train.any():
            train = ~held_out
        judged = np.flatnonzero(held_out[group])
        number_of = np.cumsum(held_out) - 1  # without gaps, which keeps sums over groups short
        yield answers.take(train[group]), answers.take(judged), number_of[group[judged]]


def _sample(answers: Comparisons, fraction: float, rng: np.random.Generator) -> Comparisons:
    """Return about this fraction of the questions of a large file, without sorting them."""
    salt = rng.integers(2**64, dtype=np.uint64)
    keys = splitmix64(object_set_keys(answers.rows, answers.n_objects, answers.answers) ^ salt)
    return answers.take(keys < np.uint64(fraction * 2.0**64))


def _summary(loss: str, fits: list[History]) -> Candidate:
    curves = [history.validation_error for history in fits]
    # A fit that stopped early keeps its last error.
    places = np.arange(max(len(curve) for curve in curves))
    mean = np.mean([curve[np.minimum(places, len(curve) - 1)] for curve in curves], axis=0)
    return Candidate(loss, float(mean[1:].min(initial=mean[-1])), len(fits), float(fits[-1].train_error[-1]))
