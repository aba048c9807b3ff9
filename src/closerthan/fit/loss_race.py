"""loss="auto": which loss suits these answers? A race between all of them, judged on held-out answers.

No loss wins everywhere, and the answers themselves can tell. In each round of the race, every loss that is still in it
is fitted to a part of the answers and judged on others that it did not see; a loss that is clearly behind drops out
(Maron and Moore 1994, "Hoeffding races").
The rounds use different parts, so that luck with one of them does not decide. Then the winner's random starts have a
short heat on all answers, and the best of them is run to its end.

A few epochs tell much with Polyak steps, and little with a slower solver. Where another one is asked for, Polyak steps
run the race, and the other solver all starts of the winner, to their end.
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

ROUNDS = 3  # fewer choose worse, more take longer and choose no better
EPOCHS = 3  # of each fit in a round, and of each start of the winner; after two, some losses are judged too soon
PER_COORDINATE = 5  # comparisons; where there are fewer, fits have more epochs, since each has fewer steps
FEWEST_FITTED = 100_000  # comparisons, of large files: with fewer, losses that gain from many would look too bad
ENOUGH = 20  # comparisons per coordinate to fit, of larger files still
HELD_OUT = 0.25  # of the answers, in each round; with a tenth, more is left to chance
MOST_HELD_OUT = 20_000  # comparisons: more would not make the judgement better
WITHOUT_RACE = "ste"  # where all comparisons belong together
STARTS = 2  # of the winner, unless the user says how many
MOST_DRAWN = 60_000_000  # comparisons of a file that is too large to be held: for all rounds, and copied several times
CLEARLY = 1.0  # standard errors behind the best; all are judged on the same answers, so that this is much


class Judged(NamedTuple):
    """A short fit of one loss: its history, and the held-out comparisons that its map gets wrong."""

    history: History
    wrong: NDArray[np.bool_]


Fit = Callable[..., Judged]  # fit(train, held_out, cancelled, loss=, seed=, length=, seconds=)


class _AllTogetherError(Exception):
    """All comparisons belong together: none can be held out."""


@dataclasses.dataclass(frozen=True)
class Choice:
    """How a race ended, and so what the last fit is to be.

    A checkpoint keeps it: a race that is cut short by a time limit may end otherwise when it is run again.
    """

    candidates: tuple[Candidate, ...]
    seed: int
    n_starts: int = 1
    best_start: int = 0
    ends: tuple[Start, ...] = ()  # of the heats

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Read what :func:`dataclasses.asdict` made of it, and JSON of that."""
        candidates = tuple(Candidate(*candidate) for candidate in data["candidates"])
        ends = tuple(Start(*end) for end in data["ends"])
        whole("seed", data["seed"], least=0)
        whole("n_starts", data["n_starts"])
        if candidates[0].loss not in LOSSES or data["best_start"] not in range(max(len(ends), 1)):
            raise ValueError("no such loss, or start")
        return cls(candidates, data["seed"], data["n_starts"], data["best_start"], ends)


def choose_and_fit(inputs: Inputs, settings: Settings, run: Run) -> Result:
    """Let all losses race, then fit the winner to all answers. Where nothing can be held out, there is no race."""
    run = dataclasses.replace(run, device=run.device.for_all_losses())
    asked = {}
    if run.checkpoint is not None:
        asked = identity(settings, run, inputs.answers, inputs.held_out, inputs.start)
    choice, heats = _kept_choice(run, asked, settings.n_starts or STARTS), list[Result]()
    if choice is None:
        try:
            choice, heats = (
                _choose(inputs, settings, run)
                if isinstance(run.device.processes, SingleProcess)
                else _told(inputs, settings, run)
            )
        except _AllTogetherError:
            unit = inputs.answers.split_unit(settings.by)
            if unit in ("people", "blocks"):
                warnings.warn(
                    f"all answers are of one {'person' if unit == 'people' else 'block'}, which cannot be held out: "
                    f'the loss is "{WITHOUT_RACE}", without a race; pass by="answers" to hold out answers',
                    stacklevel=3,
                )
            return fit(inputs, settings.replace(loss=WITHOUT_RACE), run)
    loss, best = choice.candidates[0].loss, choice.best_start
    # From its beginning, so that the result's settings tell how to make the map again.
    final = settings.replace(loss=loss, seed=choice.seed, n_starts=choice.n_starts)
    run = dataclasses.replace(run, choice={"asked": asked, **dataclasses.asdict(choice)})
    result = fit(dataclasses.replace(inputs, rng=np.random.default_rng(final.seed)), final, run)
    in_haste = result.stopped_by in ("time_limit", "interrupted") and not settings.stops_by_held_out
    if heats and in_haste and not result.best_record.objective <= heats[best].best_record.objective:
        result = dataclasses.replace(heats[best], stopped_by=result.stopped_by)  # there was no time for more
    result = dataclasses.replace(result, candidates=choice.candidates)
    if not choice.ends:
        return result
    ends = list(choice.ends)
    ends[best] = result.starts[0]
    return dataclasses.replace(result, best_start=best, starts=tuple(ends))


def _told(inputs: Inputs, settings: Settings, run: Run) -> tuple[Choice, list[Result]]:
    """How the race ended in the process that leads, among its own answers: they are as good as others to judge by."""
    processes, choice = run.device.processes, None
    if processes.rank == 0 and len(inputs.answers):
        with contextlib.suppress(_AllTogetherError):
            choice, _ = _choose(inputs, settings, dataclasses.replace(run, device=run.device.local()))
    choice = processes.broadcast(choice)
    if choice is None:
        raise _AllTogetherError
    return choice, []


def _kept_choice(run: Run, asked: Mapping[str, Any], most_starts: int) -> Choice | None:
    """How the race ended whose winner is in the checkpoint that the fit goes on from."""
    if run.checkpoint is None or not run.resume:
        return None
    is_there = run.device.processes.rank == 0 and Path(run.checkpoint).exists()
    kept = run.device.processes.broadcast(choice_in(run.checkpoint) if is_there else None)
    if kept is None:
        return None
    try:
        was, choice = dict(kept["asked"]), Choice.from_data(kept)
        if choice.n_starts > most_starts:
            raise ValueError("nobody asked for so many starts")
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        raise ValueError(
            f"the checkpoint {run.checkpoint} is damaged: how the loss was chosen is not said; remove it to begin again"
        ) from None
    refuse_another(run.checkpoint, was, asked)
    return choice


def _choose(inputs: Inputs, settings: Settings, run: Run) -> tuple[Choice, list[Result]]:
    """The race, and the heats of the winner's starts."""
    answers, rng, began = inputs.answers, inputs.rng, time.perf_counter()
    racer = settings.solver if isinstance(settings.solver, Polyak) else Polyak()
    n_starts = settings.n_starts or (STARTS if inputs.start is None and racer is settings.solver else 1)
    n_heats = n_starts if n_starts > 1 and racer is settings.solver else 0
    one_thread = run.device.one_thread()
    some = answers if answers.cheap_to_enumerate else answers.take(slice(FEWEST_FITTED))
    objective = one_thread.objective(some, LOSSES[WITHOUT_RACE]())
    with compile_notice(run.progress), objective, run.ctrl_c.raised_at_once():
        if isinstance(settings.solver, Solver):
            require(objective, type(settings.solver).__name__, settings.solver.needs)
        objective.prepare(racer.needs, settings.n_dims)

    label = f"{run.progress}: choosing the loss" if isinstance(run.progress, str) else "choosing the loss"
    with trials_bar(bool(run.progress), label, len(LOSSES) * ROUNDS + n_heats, 0) as tick:

        def short_fit(
            train: Comparisons, held_out: Comparisons | None, cancelled: CancelFlag, *, seconds: float, **short: Any
        ) -> Result:
            asked = settings.trial(judged=held_out is not None, solver=racer, **short)
            parts = Inputs(train, held_out, inputs.start, np.random.default_rng(asked.seed))
            by_then = time.perf_counter() + seconds
            result = fit(parts, asked, Run(one_thread, ctrl_c=CtrlC(cancelled), deadline=by_then))
            if result.stopped_by == "interrupted":  # a fit keeps what it has, but the choice is off
                raise KeyboardInterrupt
            tick()
            return result

        def judged_fit(train: Comparisons, held_out: Comparisons, cancelled: CancelFlag, **short: Any) -> Judged:
            result = short_fit(train, held_out, cancelled, **short)
            return Judged(result.history, ~(margins(held_out, result.embedding) > 0))

        half = began + (run.deadline - began) / 2
        contest = Contest(judged_fit, run.device.threads, half, run.ctrl_c.pressed)
        candidates = race(answers, settings.n_dims, contest, rng, settings.by)
        for _ in range(len(LOSSES) * ROUNDS - sum(candidate.rounds for candidate in candidates)):
            tick()  # fits that were not needed

        seeds = [int(seed) for seed in rng.integers(2**31, size=n_starts)]
        heats: list[Result] = []
        if n_heats:
            n_threads, cancelled = threads_for(len(answers), run.device.threads), CancelFlag(run.ctrl_c.pressed)
            # Half of what is left: the best of them needs some too.
            seconds = (run.deadline - time.perf_counter()) / 2 / math.ceil(n_heats / n_threads)
            short: dict[str, Any] = {"seconds": seconds, "loss": candidates[0].loss, "length": EPOCHS}
            jobs = [functools.partial(short_fit, answers, None, cancelled, seed=seed, **short) for seed in seeds]
            heats, interrupted = run_together(jobs, n_threads, cancelled)
            if interrupted:
                raise KeyboardInterrupt
    best = min(range(len(heats)), key=lambda number: heats[number].best_record.objective, default=0)
    ends = tuple(
        heat.starts[0]._replace(
            distance=shape_distance(heat.embedding, heats[best].embedding) if number != best else 0.0
        )
        for number, heat in enumerate(heats)
    )
    return Choice(candidates, seeds[best], 1 if heats else n_starts, best, ends), heats


@dataclasses.dataclass(frozen=True)
class Contest:
    """How a race is run: what fits a loss, by how many threads at once, and until when (of time.perf_counter())."""

    judged_fit: Fit
    n_threads: int
    until: float = math.inf
    pressed: CancelFlag = dataclasses.field(default_factory=CancelFlag)


def race(
    answers: Comparisons, n_dims: int, contest: Contest, rng: np.random.Generator, by: str = AUTO
) -> tuple[Candidate, ...]:
    """Return all losses as candidates, the best one first."""
    fits: dict[str, list[History]] = {loss: [] for loss in LOSSES}
    rounds: list[Round] = []
    standing = list(LOSSES)
    judged = 0.0  # effective number of held-out comparisons so far
    for train, held_out, group in _parts(answers, n_dims, rng, by):
        seed = int(rng.integers(2**31))
        longer = math.ceil(PER_COORDINATE * answers.n_objects * n_dims / len(train))
        n_threads = threads_for(len(train), contest.n_threads)
        # As much time for each, so that none is judged by fewer epochs than others.
        seconds = (contest.until - time.perf_counter()) / math.ceil(len(standing) / n_threads)
        short: dict[str, Any] = {"seed": seed, "length": longer * EPOCHS, "seconds": seconds}
        cancelled = CancelFlag(contest.pressed)
        jobs = [
            functools.partial(contest.judged_fit, train, held_out, cancelled, loss=loss, **short) for loss in standing
        ]
        ended, interrupted = run_together(jobs, n_threads, cancelled)
        if interrupted:
            raise KeyboardInterrupt
        out_of_time = time.perf_counter() >= contest.until
        if out_of_time and judged:
            break  # fits that were cut short say less than those of the rounds before
        for loss, one in zip(standing, ended, strict=True):
            fits[loss].append(one.history)
        wrong = {loss: one.wrong for loss, one in zip(standing, ended, strict=True)}
        rounds.append(Round.of(wrong, group, held_out.weights))
        judged += kish_number(rounds[-1].total)
        errors = {loss: _summary(loss, fits[loss]).held_out_error for loss in standing}
        best = min(errors.values())
        bar = best + CLEARLY * proportion_standard_error(best, judged)
        standing = [loss for loss in standing if errors[loss] <= bar]
        if len(standing) == 1 or out_of_time:
            break
    ranked = [_summary(loss, fits[loss]) for loss in LOSSES]
    # Those that dropped out were judged on fewer answers; they stay behind those that did not.
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
    """Compare a loss with the winner on the answers that both were judged by.

    The difference of two errors on the same answers is a ratio of sums over independent groups (see
    :func:`~closerthan.metrics.ratio_variance`); no group is in two rounds. Each round has other random starts, and a
    single round does not show how much these matter, so the variance is at least the one between rounds.
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
    """For each round: comparisons to fit, others to judge by, which no other round judges by, and the groups of these.

    As many as it takes to tell losses apart, not all of a large file; of such a one, rounds have nothing in common.
    What belongs together (see :meth:`Comparisons.groups`) is on one side.
    """
    by = answers.split_unit(by)
    enough = max(FEWEST_FITTED, ENOUGH * answers.n_objects * n_dims)
    answers = answers.in_memory(min(ROUNDS * (MOST_HELD_OUT + enough), MOST_DRAWN), rng)
    if answers.weights is not None and not answers.weights.all():  # what counts for nothing cannot judge
        answers = answers.take(answers.weights > 0)
    n_held_out = max(1, min(round(HELD_OUT * len(answers)), MOST_HELD_OUT))
    n_train = min(len(answers) - n_held_out, enough)
    n_drawn = min(ROUNDS * (n_held_out + n_train), len(answers))
    if n_drawn < len(answers) and by == "answers":
        answers = _sample(answers, n_drawn / len(answers), rng)
    group = answers.groups(by)
    sizes = np.bincount(group)
    if len(sizes) < 2:
        raise _AllTogetherError
    # Groups stand in a circle in random order; a group is where its first comparison is.
    order = rng.permutation(len(sizes))
    place = np.empty(len(sizes), dtype=np.int64)
    place[order] = np.cumsum(sizes[order]) - sizes[order]
    for number in range(ROUNDS):
        begin = number * (len(answers) // ROUNDS)
        ahead = (place - begin) % len(answers)
        held_out = ahead < n_held_out
        if not held_out.any():  # there are few, large groups
            held_out[np.argmin(ahead)] = True
        elif held_out.all():
            held_out[np.argmax(ahead)] = False
        train = ~held_out & (ahead < n_held_out + n_train)
        if not train.any():
            train = ~held_out
        judged = np.flatnonzero(held_out[group])
        number_of = np.cumsum(held_out) - 1  # without gaps, which keeps sums over groups short
        yield answers.take(train[group]), answers.take(judged), number_of[group[judged]]


def _sample(answers: Comparisons, share: float, rng: np.random.Generator) -> Comparisons:
    """About this share of the questions of a large file, found without sorting them."""
    salt = rng.integers(2**64, dtype=np.uint64)
    keys = splitmix64(object_set_keys(answers.rows, answers.n_objects, answers.answers) ^ salt)
    return answers.take(keys < np.uint64(share * 2.0**64))


def _summary(loss: str, fits: list[History]) -> Candidate:
    curves = [history.validation_error for history in fits]
    # A fit that stopped early stays where it stopped.
    places = np.arange(max(len(curve) for curve in curves))
    mean = np.mean([curve[np.minimum(places, len(curve) - 1)] for curve in curves], axis=0)
    return Candidate(loss, float(mean[1:].min(initial=mean[-1])), len(fits), float(fits[-1].train_error[-1]))
