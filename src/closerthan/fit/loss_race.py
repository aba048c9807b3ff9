"""loss="auto": choose the loss and the strength of its penalty by a race, evaluated on held-out answers.

No loss and no penalty is best for all data, so the answers decide. The candidates form a grid: t-STE with several
degrees of freedom, which lead to ste in the limit, by several strengths of the penalty. Along both of its directions
the held-out error falls and rises again, so most of the grid need not be fitted. In the first round, a pattern search
(Hooke and Jeeves 1961) moves from one candidate to the best of its neighbours until none of these is better. The best
candidates are compared again on another part of the answers, so that chance in one part does not decide (successive
halving; Jamieson and Talwalkar 2016).

In each round, all candidates start from the same map, fitted to the same part of the answers. A few iterations then
suffice, and no candidate has a luckier start than another. The parts do not depend on the seed of the fit, as in most
estimators with built-in cross-validation, so without a time limit two seeds choose the same candidate: several are
usually about as good as the best, and chance in the parts decides between them. Finally, short fits from several random
starts are made with the winner on all answers, and the best start is run to its end.

If the user chooses a solver other than polyak, the race still uses Polyak steps and L-BFGS, and the other solver runs
all starts of the winner to their end.
"""

import contextlib
import dataclasses
import functools
import math
import statistics
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array
from closerthan.checks import whole
from closerthan.comparisons import Comparisons
from closerthan.comparisons.grouping import AUTO, none_can_be_held_out
from closerthan.comparisons.questions import object_set_keys, splitmix64
from closerthan.fit.ctrl_c import CancelFlag, CtrlC
from closerthan.fit.fixed_loss import Inputs, Run, fit, identity, shape_distance
from closerthan.fit.likelihood import objective_of
from closerthan.fit.parallel import run_together, threads_for
from closerthan.fit.progress import compile_notice, trials_bar
from closerthan.messages import Message
from closerthan.metrics import kish_number, margins, proportion_standard_error, ratio_variance
from closerthan.objective.processes import SingleProcess
from closerthan.objective.protocol import require
from closerthan.registry import JsonObject
from closerthan.result import Candidate, Result, Start
from closerthan.settings import Settings
from closerthan.solvers import LBFGS, Polyak, Solver
from closerthan.solvers.polyak import MOST_FINISHED

# Ordered by how strongly answers that contradict the map pull at it; ste is t-STE with infinitely many degrees of
# freedom.
LOSS_GRID = ("ckl", "tste-1", "tste-2", "tste-4", "tste-8", "ste", "gnmds", "soe")
FEW_ANSWERS = (
    20  # comparisons per coordinate below which only tste and ste race: with few, chance may favour the others
)
PENALTY_GRID = (0.0001, 0.001, 0.01, 0.1, 1.0)
STRONG_PENALTIES = (2.0, 4.0)  # added for many answers; fitted only if the next weaker one is the best
# Comparisons from which strong penalties race (with fewer, chance may favour one, whose ellipses are far too small),
# and from which there is one round and one start, since rounds and starts agree.
MANY_ANSWERS = MOST_FINISHED
FIRST = (("tste-2", 0.1), ("ste", 0.1), ("gnmds", 0.1), ("soe", 0.1))  # the search begins at the best of these
COMMON = ("tste-2", 0.1)  # the candidate whose map all others start from
SURVIVORS = 5  # candidates that remain after each round
CLEARLY = 1.0  # standard errors by which a candidate must be behind to drop out, on the same answers
ROUNDS = 2
# Seed of the parts of the answers and of the maps that candidates start from, whatever the seed of the fit.
PARTS_SEED = 0
LONGER = 2  # fits are this many times as long in each further round; unfinished ones favour weak penalties
EPOCHS = 2  # epochs of the fit that all candidates start from, and of each short fit of the winner
LEAST_ITERATIONS = 8  # iterations of L-BFGS for each candidate, from the common map
MOST_ITERATIONS = 40  # the same with few answers; a weak penalty needs them to let the common map grow
CONVERGED = 1e-3  # tolerance that ends these iterations early; strong penalties need few of them
ITERATED = 80_000  # limit on iterations times comparisons of a candidate, which keeps the race short
CANDIDATE_EPOCHS = 3  # epochs of Polyak steps (one pass each), if there are too many comparisons for L-BFGS
MOST_DESCENDED = 20_000  # comparisons up to which candidates are fitted by L-BFGS
FITTED = 12_000  # comparisons to fit in each round; more would not change the choice
ENOUGH = 20  # comparisons per coordinate to fit, if that is more than FITTED
HELD_OUT = 0.25  # fraction of the answers in each round; with 0.1, chance matters more
MOST_HELD_OUT = 20_000  # number of comparisons; more would not improve the choice
WITHOUT_RACE = "ste"  # the loss if nothing can be held out
STARTS = 4  # starts of the winner, unless the user specifies a number or there are MANY_ANSWERS
MOST_DRAWN = 60_000_000  # comparisons from a file larger than memory, for all rounds; they are copied several times
USUAL_TRIALS = 30  # fits in a race, for the progress bar

Cell = tuple[Any, float]  # a loss, by its name if it has one, and the strength of its penalty


class ShortFit(NamedTuple):
    """A short fit of one candidate: its training error, and the held-out comparisons that its map gets wrong."""

    train_error: float
    wrong: NDArray[np.bool_]


@dataclasses.dataclass(frozen=True)
class Grid:
    """The candidates of a race.

    Examples
    --------
    >>> grid = Grid(("tste-1", "ste"), (0.1, 1.0, 3.0))
    >>> grid.neighbours(("ste", 0.1))
    [('tste-1', 0.1), ('ste', 1.0)]
    >>> grid.nearest(("tste-2", 0.1)), Grid(("soe",), (0.3,)).nearest(("ste", 1.0))
    (('tste-1', 0.1), ('soe', 0.3))
    """

    losses: tuple[Any, ...] = LOSS_GRID
    penalties: tuple[float, ...] = PENALTY_GRID

    @classmethod
    def of(cls, settings: Settings, n_comparisons: int, n_objects: int) -> Self:
        """Return the grid for a number of comparisons and objects; the settings may fix the loss or the penalty."""
        per_coordinate = n_comparisons / (n_objects * settings.n_dims)
        losses: tuple[Any, ...] = LOSS_GRID if per_coordinate >= FEW_ANSWERS else LOSS_GRID[1:-2]
        penalties = PENALTY_GRID + (STRONG_PENALTIES if n_comparisons >= MANY_ANSWERS else ())
        if not settings.is_auto:
            losses, penalties = (settings.loss_name or settings.loss,), (0.0, *penalties)
        fixed = isinstance(settings.penalty, float)
        return cls(losses, (settings.penalty_strength,) if fixed else penalties)

    def neighbours(self, cell: Cell) -> list[Cell]:
        """Return the candidates next to a candidate, in both directions."""
        row, column = self.losses.index(cell[0]), self.penalties.index(cell[1])
        places = ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1))
        return [
            (self.losses[i], self.penalties[j])
            for i, j in places
            if i in range(len(self.losses)) and j in range(len(self.penalties))
        ]

    @property
    def first(self) -> list[Cell]:
        """The candidates that are compared first; the search begins at the best of them."""
        candidates = [self.nearest(cell) for cell in FIRST if cell[0] in self.losses]
        return candidates or [self.nearest(COMMON)]

    def nearest(self, cell: Cell) -> Cell:
        """Return a candidate, with the first loss or penalty of the grid in place of one that the grid lacks."""
        loss, penalty = cell
        return (
            loss if loss in self.losses else self.losses[0],
            penalty if penalty in self.penalties else self.penalties[0],
        )


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
    ends: tuple[Start, ...] = ()  # outcomes of the short fits

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Return the choice from the JSON data of :func:`dataclasses.asdict`."""
        candidates = tuple(Candidate(*candidate) for candidate in data["candidates"])
        ends = tuple(Start(*end) for end in data["ends"])
        whole("seed", data["seed"], least=0)
        whole("n_starts", data["n_starts"])
        if data["best_start"] not in range(max(len(ends), 1)):
            raise ValueError("there is no such start")
        return cls(candidates, data["seed"], data["n_starts"], data["best_start"], ends)

    def final_settings(self, settings: Settings) -> Settings:
        """Return the settings of the final fit, from those of the race.

        The final fit starts from the beginning, so that the settings of the result reproduce the map. A loss that did
        not have to be chosen is left as it is, since a user-defined one has no name.
        """
        winner = self.candidates[0]
        loss = winner.loss if settings.is_auto else settings.loss
        return settings.replace(loss=loss, penalty=winner.penalty, seed=self.seed, n_starts=self.n_starts)


def choose_and_fit(inputs: Inputs, settings: Settings, run: Run) -> Result:
    """Let all candidates race and fit the winner to all answers; there is no race if nothing can be held out."""
    if settings.is_auto:
        run = dataclasses.replace(run, device=run.device.for_all_losses())
    elif settings.penalty is None and _are_plenty(inputs.answers, settings, run):
        return fit(inputs, settings.replace(penalty=0.0), run)
    this_fit: JsonObject = {}
    if run.checkpoint is not None:
        this_fit = identity(settings, run, inputs.answers, inputs.held_out, inputs.start)
    choice, trials = _choice_in_checkpoint(run, this_fit, settings), list[Result]()
    if choice is None:
        try:
            choice, trials = (
                _choose(inputs, settings, run)
                if isinstance(run.device.processes, SingleProcess)
                else _broadcast_choice(inputs, settings, run)
            )
        except _OneGroupError:
            message = none_can_be_held_out(inputs.answers.split_unit(settings.by))
            if isinstance(message, Message):  # it says how answers can be held out
                consequence = f'the loss is "{WITHOUT_RACE}"' if settings.is_auto else "the penalty is 0"
                problem = f"{message.problem}: {consequence}, and no others are compared"
                warnings.warn(message.with_problem(problem), stacklevel=3)
            loss = WITHOUT_RACE if settings.is_auto else settings.loss
            return fit(inputs, settings.replace(loss=loss, penalty=settings.penalty_strength), run)
    final, best = choice.final_settings(settings), choice.best_start
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


def _are_plenty(answers: Comparisons, settings: Settings, run: Run) -> bool:
    """Return True for large data, where a penalty hardly changes the map and choosing it would take long."""
    n_terms = sum(run.device.processes.all_gather(len(answers)))
    return n_terms >= max(MOST_FINISHED, FEW_ANSWERS * answers.n_objects * settings.n_dims)


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


def _choice_in_checkpoint(run: Run, this_fit: Mapping[str, Any], settings: Settings) -> Choice | None:
    """Return the choice in the checkpoint to resume from; None without one."""
    if run.checkpoint is None or not run.resume:
        return None
    from closerthan.fit.checkpoint import choice_in, refuse_another

    is_there = run.device.processes.rank == 0 and Path(run.checkpoint).exists()
    saved = run.device.processes.broadcast(choice_in(run.checkpoint) if is_there else None)
    if saved is None:
        return None
    try:
        was, choice = dict(saved["asked"]), Choice.from_data(saved)
        choice.final_settings(settings)  # raises an error if its loss or its penalty is invalid
        if choice.n_starts > (settings.n_starts or STARTS):
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
    n_starts = settings.n_starts or (
        STARTS if len(answers) < MANY_ANSWERS and inputs.start is None and racer is settings.solver else 1
    )
    n_trials = n_starts if n_starts > 1 and racer is settings.solver else 0
    one_thread = run.device.one_thread()
    grid = Grid.of(settings, len(answers), answers.n_objects)
    some = answers if answers.cheap_to_enumerate else answers.take(slice(FITTED))
    objective = objective_of(settings.replace(loss=grid.losses[0], penalty=1.0), one_thread, some)
    with compile_notice(run.progress), objective, run.ctrl_c.raised_at_once():
        if isinstance(settings.solver, Solver):
            require(objective, type(settings.solver).__name__, settings.solver.needs)
        objective.prepare(racer.needs, settings.n_dims)

    label = f"{run.progress}: choosing the loss" if isinstance(run.progress, str) else "choosing the loss"
    with trials_bar(bool(run.progress), label, USUAL_TRIALS + n_trials, 0) as tick:

        def short_fit(
            train: Comparisons, cell: Cell, cancelled: CancelFlag, seconds: float, start: Array | None, **short: Any
        ) -> Result:
            loss, penalty = cell
            trial = settings.trial(loss=loss, penalty=penalty, **short)
            parts = Inputs(train, None, start, np.random.default_rng(trial.seed))
            deadline = time.perf_counter() + seconds
            result = fit(parts, trial, Run(one_thread, ctrl_c=CtrlC(cancelled), deadline=deadline))
            if result.stopped_by == "interrupted":  # the fit returned a map, but no loss is chosen
                raise KeyboardInterrupt
            tick()
            return result

        setup = RaceSetup(
            functools.partial(short_fit, solver=racer),
            functools.partial(short_fit, solver=LBFGS(), tolerance=CONVERGED),
            functools.partial(short_fit, solver=dataclasses.replace(racer, passes=1)),
            grid,
            run.device.threads,
            began + (run.deadline - began) / 2,
            run.ctrl_c.pressed,
        )
        race = Race(setup, settings.n_dims, inputs.start)
        candidates = race.run(answers, np.random.default_rng(PARTS_SEED), settings.by)
        seeds = [int(seed) for seed in rng.integers(2**31, size=n_starts)]
        trials: list[Result] = []
        if n_trials:
            n_threads, cancelled = threads_for(len(answers), run.device.threads), CancelFlag(run.ctrl_c.pressed)
            # Half of the remaining time; the other half is for the final fit.
            seconds = (run.deadline - time.perf_counter()) / 2 / math.ceil(n_trials / n_threads)
            winner = candidates[0].loss if settings.is_auto else settings.loss, candidates[0].penalty
            length = min(EPOCHS, settings.epochs)
            jobs = [
                functools.partial(
                    short_fit, answers, winner, cancelled, seconds, None, seed=seed, length=length, solver=racer
                )
                for seed in seeds
            ]
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


def candidate_iterations(n_comparisons: int) -> int:
    """Return the number of iterations of L-BFGS for each candidate.

    Examples
    --------
    >>> candidate_iterations(400), candidate_iterations(4_000), candidate_iterations(18_000)
    (40, 20, 8)
    """
    return min(max(ITERATED // n_comparisons, LEAST_ITERATIONS), MOST_ITERATIONS)


@dataclasses.dataclass(frozen=True)
class RaceSetup:
    """The setup of a race: functions that fit, the candidates, the number of threads, and the deadline.

    ``from_scratch``, ``refine`` and ``refine_many`` (comparisons) fit a candidate. They are called as ``fit(train,
    cell, cancelled, seconds, start, seed=, length=)``, where the length is the number of epochs.
    """

    from_scratch: Callable[..., Result]
    refine: Callable[..., Result]
    refine_many: Callable[..., Result]
    grid: Grid
    n_threads: int
    until: float = math.inf
    pressed: CancelFlag = dataclasses.field(default_factory=CancelFlag)


class Race:
    """A race: the rounds so far, and the errors of each candidate."""

    def __init__(self, setup: RaceSetup, n_dims: int, start: Array | None = None) -> None:
        self._setup = setup
        self._n_dims = n_dims
        self._start = start
        self.rounds: list[Round] = []
        self._train_errors: dict[Cell, float] = {}

    def run(self, answers: Comparisons, rng: np.random.Generator, by: str = AUTO) -> tuple[Candidate, ...]:
        """Return all candidates that were fitted, the best one first."""
        grid, alive = self._setup.grid, list[Cell]()
        parts = _parts(answers, self._n_dims, rng, by, fitted=FITTED, most_held_out=MOST_HELD_OUT)
        for number, (train, held_out, group) in enumerate(parts):
            this_round = _RoundInProgress(self._setup, (train, held_out), int(rng.integers(2**31)), LONGER**number)
            this_round.fit_common_map(self._start)
            if number == 0:
                best = this_round.best_of(grid.first)
                while (better := this_round.best_of([best, *grid.neighbours(best)])) != best:
                    best = better
            else:
                this_round.best_of(alive)
                if time.perf_counter() >= self._setup.until:
                    break  # fits that were cut short are less informative than those of earlier rounds
            self._train_errors |= {cell: one.train_error for cell, one in this_round.short_fits.items()}
            wrong = {cell: one.wrong for cell, one in this_round.short_fits.items()}
            self.rounds.append(Round.of(wrong, group, held_out.weights))
            if number == ROUNDS - 1 or time.perf_counter() >= self._setup.until:
                break
            alive = _promising(self.rounds, wrong)[:SURVIVORS]
            if len(alive) == 1:
                break
        return table(self.rounds, self._train_errors)


class _RoundInProgress:
    """Fits candidates to a part of the answers, all from the same map, and evaluates them on another part."""

    def __init__(self, setup: RaceSetup, parts: tuple[Comparisons, Comparisons], seed: int, longer: int) -> None:
        self._setup = setup
        self._train, self._held_out = parts
        self._seed = seed
        self._longer = longer
        self._map: Array | None = None
        self.short_fits: dict[Cell, ShortFit] = {}

    def fit_common_map(self, start: Array | None) -> None:
        """Fit the map that all candidates start from."""
        cell, cancelled = self._setup.grid.nearest(COMMON), CancelFlag(self._setup.pressed)
        fit_it = functools.partial(self._setup.from_scratch, seed=self._seed, length=EPOCHS)
        job = functools.partial(fit_it, self._train, cell, cancelled, self._seconds(1), start)
        (result,) = self._together([job], cancelled)
        self._map = result.embedding

    def best_of(self, cells: Iterable[Cell]) -> Cell:
        """Return the candidate with the lowest held-out error; those that have not been fitted yet are fitted."""
        cells = list(cells)
        new = [cell for cell in cells if cell not in self.short_fits]
        n_train = len(self._train)
        fit_it, length = self._setup.refine_many, CANDIDATE_EPOCHS
        if n_train < MOST_DESCENDED:
            fit_it, length = self._setup.refine, candidate_iterations(n_train)
        fit_it = functools.partial(fit_it, seed=self._seed, length=self._longer * length)
        cancelled = CancelFlag(self._setup.pressed)
        # All candidates get the same time, so that none has fewer epochs than the others.
        seconds = self._seconds(math.ceil(len(new) / threads_for(n_train, self._setup.n_threads)))
        jobs = [functools.partial(fit_it, self._train, cell, cancelled, seconds, self._map) for cell in new]
        for cell, result in zip(new, self._together(jobs, cancelled), strict=True):
            wrong = ~(margins(self._held_out, result.embedding) > 0)
            self.short_fits[cell] = ShortFit(float(result.best_record.train_error), wrong)
        return min(cells, key=self._error)

    def _error(self, cell: Cell) -> float:
        return float(np.average(self.short_fits[cell].wrong, weights=self._held_out.weights))

    def _seconds(self, n_waves: int) -> float:
        """Divide the remaining time by the number of fits in succession."""
        return (self._setup.until - time.perf_counter()) / max(n_waves, 1)

    def _together(self, jobs: Sequence[Callable[[], Result]], cancelled: CancelFlag) -> list[Result]:
        if not jobs:
            return []
        results, interrupted = run_together(jobs, threads_for(len(self._train), self._setup.n_threads), cancelled)
        if interrupted:
            raise KeyboardInterrupt
        return results


class Round(NamedTuple):
    """Weights of the held-out comparisons of a round, summed over independent groups (questions or people)."""

    wrong: Mapping[Cell, NDArray[Any]]  # for each candidate that was fitted in this round
    total: NDArray[Any]

    @classmethod
    def of(
        cls, wrong: Mapping[Cell, NDArray[np.bool_]], group: NDArray[Any], weights: NDArray[np.float64] | None
    ) -> Self:
        """Sum over groups; ``wrong`` are the held-out comparisons that the map of each candidate gets wrong."""
        summed = {
            cell: np.bincount(group, mistakes if weights is None else mistakes * weights)
            for cell, mistakes in wrong.items()
        }
        return cls(summed, np.bincount(group, weights))

    def error(self, cell: Cell) -> float:
        """Return the held-out error of a candidate in this round."""
        return float(self.wrong[cell].sum() / self.total.sum())


def table(rounds: Sequence[Round], train_errors: Mapping[Cell, float]) -> tuple[Candidate, ...]:
    """Return all candidates of some rounds, the best one first.

    Candidates that dropped out were evaluated on fewer answers; they are ranked behind the others.
    """
    n_rounds = {cell: sum(cell in one.wrong for one in rounds) for cell in train_errors}
    ranked = sorted(train_errors, key=lambda cell: (-n_rounds[cell], _mean_error(rounds, cell)))
    return tuple(_candidate(rounds, cell, ranked[0], train_errors[cell]) for cell in ranked)


def _mean_error(rounds: Sequence[Round], cell: Cell) -> float:
    """Return the mean held-out error of a candidate over its rounds."""
    return statistics.fmean(one.error(cell) for one in rounds if cell in one.wrong)


def _promising(rounds: Sequence[Round], cells: Iterable[Cell]) -> list[Cell]:
    """Return the candidates that are not clearly worse than the best one, which comes first."""
    errors = {cell: _mean_error(rounds, cell) for cell in cells}
    best, *others = sorted(errors, key=errors.__getitem__)
    judged = sum(kish_number(one.total) for one in rounds)
    threshold = errors[best] + CLEARLY * proportion_standard_error(errors[best], judged)
    return [best, *(cell for cell in others if errors[cell] <= threshold)]


def _candidate(rounds: Sequence[Round], cell: Cell, winner: Cell, train_error: float) -> Candidate:
    """Describe a candidate, compared with the winner on the answers on which both were evaluated.

    The difference of two errors on the same answers is a ratio of sums over independent groups (see
    :func:`~closerthan.metrics.ratio_variance`); no group is in two rounds. Each round has a different common map, whose
    effect a single round does not show, so the variance is at least that between rounds.
    """
    loss, penalty = cell
    name = loss if isinstance(loss, str) else type(loss).__name__
    both = [one for one in rounds if cell in one.wrong]
    differences = [one.wrong[cell] - one.wrong[winner] for one in both]
    difference, total = np.concatenate(differences), np.concatenate([one.total for one in both])
    variance = ratio_variance(difference, total)
    if len(both) > 1:
        by_round = [float(part.sum() / one.total.sum()) for part, one in zip(differences, both, strict=True)]
        variance = max(variance, statistics.variance(by_round) / len(both))
    return Candidate(
        name,
        _mean_error(rounds, cell),
        len(both),
        train_error,
        float(difference.sum() / total.sum()),
        math.sqrt(variance) if cell != winner else 0.0,
        penalty,
    )


def _parts(
    answers: Comparisons,
    n_dims: int,
    rng: np.random.Generator,
    by: str = AUTO,
    *,
    fitted: int,
    most_held_out: int,
) -> Iterator[tuple[Comparisons, Comparisons, NDArray[Any]]]:
    """Yield for each round the comparisons to fit, those to evaluate on, and the groups of the latter.

    No comparison is evaluated in two rounds. From a large file, only as many are drawn as are needed to distinguish
    losses, and rounds are disjoint. Groups (see :meth:`Comparisons.groups`) are not split.
    """
    by = answers.split_unit(by)
    enough = max(fitted, ENOUGH * answers.n_objects * n_dims)
    n_rounds = ROUNDS
    if len(answers) >= MANY_ANSWERS:  # it evaluates on as many comparisons as several rounds would
        n_rounds, most_held_out = 1, ROUNDS * most_held_out
    answers = answers.in_memory(min(n_rounds * (most_held_out + enough), MOST_DRAWN), rng)
    if answers.weights is not None and not answers.weights.all():  # rows without weight
        answers = answers.take(answers.weights > 0)
    n_held_out = max(1, min(round(HELD_OUT * len(answers)), most_held_out))
    n_train = min(len(answers) - n_held_out, enough)
    n_drawn = min(n_rounds * (n_held_out + n_train), len(answers))
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
    for number in range(n_rounds):
        begin = number * (len(answers) // n_rounds)
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
        number_of = np.cumsum(held_out) - 1  # numbered without gaps, so that arrays of sums over groups are short
        yield answers.take(train[group]), answers.take(judged), number_of[group[judged]]


def _sample(answers: Comparisons, fraction: float, rng: np.random.Generator) -> Comparisons:
    """Return about this fraction of the questions of a large file, without sorting them; all if they are few."""
    salt = rng.integers(2**64, dtype=np.uint64)
    keys = splitmix64(object_set_keys(answers.rows, answers.n_objects, answers.answers) ^ salt)
    is_drawn = keys < np.uint64(fraction * 2.0**64)
    has_two_questions = is_drawn.any() and keys[is_drawn].min() < keys[is_drawn].max()
    return answers.take(is_drawn) if has_two_questions else answers
