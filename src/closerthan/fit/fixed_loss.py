"""Fit with a fixed loss: run all starts, checkpoint them, return the best."""

import contextlib
import dataclasses
import functools
import inspect
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from closerthan import __version__
from closerthan.arrays import Array, inner
from closerthan.checks import ParameterError
from closerthan.comparisons import Comparisons
from closerthan.fit.ctrl_c import CancelFlag, CtrlC
from closerthan.fit.likelihood import objective_of
from closerthan.fit.monitor import Callback, FitState, Monitor
from closerthan.fit.parallel import run_together
from closerthan.fit.progress import compile_notice, progress_bar
from closerthan.fit.stopping import Limits
from closerthan.losses import Loss
from closerthan.objective.cpu.objective import CPU
from closerthan.objective.processes import Processes
from closerthan.objective.protocol import Device, State, require
from closerthan.registry import JsonObject
from closerthan.result import Result, Start
from closerthan.settings import Settings
from closerthan.solvers import Solver

START_SCALE = 0.1  # a random start is drawn from N(0, START_SCALE^2)


@dataclass(frozen=True)
class Inputs:
    """The data of a fit."""

    answers: Comparisons
    held_out: Comparisons | None = None  # the validation set, if it is not a fraction of the answers
    start: Array | None = None
    rng: np.random.Generator = field(default_factory=np.random.default_rng)


@dataclass(frozen=True)
class Run:
    """Options that do not change the map, unless a callback stops the fit."""

    device: Device = field(default_factory=CPU)
    callback: Callback | None = None
    progress: bool | str = False  # text is the name of the fit
    checkpoint: str | Path | None = None
    resume: bool = False
    choice: Mapping[str, Any] | None = None  # the choice of the loss, which the checkpoint stores
    ctrl_c: CtrlC = field(default_factory=CtrlC)
    deadline: float = math.inf  # a time on the clock of time.perf_counter()


class _SolverState(TypedDict, total=False):
    """Where a solver continues; empty at the beginning, and for solvers without a state."""

    state: State


def fit(inputs: Inputs, settings: Settings, run: Run) -> Result:
    """Fit a map with the fixed loss of the settings."""
    solver, answers = _solver(settings), inputs.answers
    train, held_out = _held_out(inputs, settings, run.device.processes)
    if not isinstance(settings.loss, Loss):
        raise ValueError(f"the loss is {settings.loss!r}; a fit needs a Loss object")
    rngs = inputs.rng.spawn(settings.random_starts)
    shape = answers.n_objects, settings.n_dims
    starts = [START_SCALE * rng.standard_normal(shape) for rng in rngs]
    if inputs.start is not None:
        starts = [inputs.start.copy()]
    limits = Limits.of(settings, run.deadline)
    cancelled = CancelFlag(run.ctrl_c.pressed)
    keeper, processes = None, run.device.processes
    fit_states: list[FitState | None] = [None] * len(starts)
    if run.checkpoint is not None:
        from closerthan.fit.checkpoint import Checkpoint, Fit

        is_resumable = "state" in inspect.signature(solver.run).parameters
        this_fit = Fit(
            identity(settings, run, train, held_out, inputs.start),
            shape,
            solver.state_kinds if is_resumable else None,
            run.choice,
        )
        if processes.rank == 0:
            keeper = Checkpoint(run.checkpoint, this_fit, rngs, resume=run.resume)
            fit_states = list(keeper.fit_states)
        fit_states, generators = processes.broadcast((fit_states, [rng.bit_generator.state for rng in rngs]))
        for rng, generator in zip(rngs, generators, strict=True):
            rng.bit_generator.state = generator
    n_done = sum(fit_state.epoch for fit_state in fit_states if fit_state is not None)

    monitors: list[Monitor] = []
    outputs: list[Any] = [None] * len(starts)
    with _interruptible(monitors, cancelled) as interrupted, contextlib.ExitStack() as stack:
        objective = stack.enter_context(objective_of(settings, run.device, train, held_out))
        if settings.likelihood == "answers" and not objective.has_surrogate_walk:  # where there is no difference, too
            settings = dataclasses.replace(settings, likelihood="comparisons")
        require(objective, type(solver).__name__, solver.needs)
        with compile_notice(run.progress), run.ctrl_c.raised_at_once():
            objective.prepare(solver.needs, settings.n_dims)
        watcher = stack.enter_context(progress_bar(run.progress, settings.most_epochs, n_done, run.deadline))
        listeners = tuple(listener for listener in (run.callback, watcher) if listener is not None)
        monitors += [Monitor(objective, limits, listeners, cancelled, processes=processes) for _ in starts]
        states: list[_SolverState] = [{} for _ in starts]
        for number, (monitor, fit_state) in enumerate(zip(monitors, fit_states, strict=True)):
            if keeper is not None:
                monitor.keep = keeper.keeper(number)
            if fit_state is not None:
                monitor.restored(fit_state)
                states[number] = {"state": fit_state.state}

        def run_solver(x: Array, rng: np.random.Generator, monitor: Monitor, state: _SolverState) -> Array | None:
            monitor.begin()
            return solver.run(objective, x, rng, monitor, **state)  # type: ignore[misc]  # not every solver has one

        jobs = [
            functools.partial(run_solver, x, rng, monitor, state)
            for x, rng, monitor, state in zip(starts, rngs, monitors, states, strict=True)
        ]
        outputs, early = run_together(jobs, run.device.parallel_starts(train), cancelled)
        if early:
            interrupted.set()
    if keeper is not None:
        keeper.write()

    ends = [_end(monitor) for monitor in monitors]
    winner = min(range(len(ends)), key=lambda number: ends[number].rank)
    best_monitor = monitors[winner]
    maps = [None if monitor.best is None else np.asarray(monitor.best) for monitor in monitors]
    ends = [
        end._replace(distance=0.0 if monitor is best_monitor else shape_distance(best, maps[winner]))
        for end, monitor, best in zip(ends, monitors, maps, strict=True)
    ]
    output, epoch = outputs[winner], best_monitor.history[-1].epoch
    if output is None or not np.isfinite(output).all():
        output, epoch = maps[winner], best_monitor.best_epoch
    if output is None:
        raise ValueError("the objective is not finite at the start; choose another start or loss")
    return Result(
        embedding=np.asarray(output),
        history=best_monitor.history,
        stopped_by="interrupted" if interrupted.is_set() else best_monitor.stopped_by,
        best_epoch=epoch,
        best_start=winner,
        starts=tuple(ends),
        settings=settings,
        names=answers.names,
    )


@contextlib.contextmanager
def _interruptible(monitors: Sequence[Monitor], cancelled: CancelFlag) -> Iterator[CancelFlag]:
    """Let Ctrl-C end a fit early with the best maps of its monitors; yields a flag to set after Ctrl-C.

    A KeyboardInterrupt, from a callback or a program with its own handler of Ctrl-C, has the same effect.
    """
    interrupted = CancelFlag()
    try:
        yield interrupted
    except KeyboardInterrupt:
        interrupted.set()
    finally:
        cancelled.set()  # in any case, no thread continues in the background
    if interrupted.is_set():
        if all(monitor.best is None for monitor in monitors):
            raise KeyboardInterrupt
        for monitor in monitors:
            if monitor.stopped_by == "solver":  # no other reason was recorded
                monitor.stopped_by = "interrupted"


def identity(settings: Settings, run: Run, *data: Comparisons | Array | None) -> JsonObject:
    """Return, as JSON data, everything that determines the bits of a fit."""
    from closerthan.fit.checkpoint import fingerprint

    return {
        **settings.decisive_data(),
        "data": fingerprint(*data, processes=run.device.processes),
        "version": __version__,
        "device": run.device.kind,
    }


def check_parts(answers: Comparisons, by: str, processes: Processes) -> None:
    """Raise an error if people are to be held out and the answers of a person are distributed over processes."""
    if by != "people" or processes.n == 1:
        return
    names = answers.person_names
    parts = processes.all_gather([str(one if names is None else names[one]) for one in answers.present_people()])
    number = Counter(name for part in parts for name in part)
    if number and max(number.values()) > 1:
        name, times = number.most_common(1)[0]
        raise ValueError(
            f'by="people" needs all answers of a person in one process, but those of {name!r} are in {times}; '
            "put the answers of a person into one file of a folder, or fit with one process"
        )


def _held_out(inputs: Inputs, settings: Settings, processes: Processes) -> tuple[Comparisons, Comparisons | None]:
    """Return the comparisons to fit, and those for early stopping."""
    if settings.validation_fraction is not None:
        check_parts(inputs.answers, settings.by, processes)
        if not len(inputs.answers):  # one of several processes may have none
            return inputs.answers, inputs.answers
        return inputs.answers.split(settings.validation_fraction, inputs.rng, by=settings.by)
    return inputs.answers, inputs.held_out


def _solver(settings: Settings) -> Solver:
    if not isinstance(settings.solver, Solver):
        raise ValueError(f"the solver is {settings.solver!r}; a fit needs a Solver object")
    return settings.solver


def first_map(start: ArrayLike, shape: tuple[int, int]) -> Array:
    """Return a copy of the start that the user passed; raise an error if it is not a map of this shape."""
    try:
        x = np.array(start, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise ParameterError("start", start, f"it must be an array of numbers of shape {shape}") from None
    if x.shape != shape:
        rule = f"it must have shape {shape}, one row per object"
        raise ParameterError("start", start, rule, problem=f"has shape {x.shape}")
    if not np.isfinite(x).all():
        row = int(np.argmin(np.isfinite(x).all(axis=1)))
        raise ParameterError("start", start, "all numbers must be finite", problem=f"has {x[row]} in row {row}")
    return x


def shape_distance(x: Array | None, reference: Array | None) -> float:
    """Return the Procrustes distance of two maps; NaN if it is not defined (all objects are in one place).

    It equals that of :func:`closerthan.metrics.procrustes` without aligning the maps, which takes a tenth of the time
    and matters for fits that take milliseconds.

    Examples
    --------
    >>> shape_distance(np.eye(3), -2 * np.eye(3)) < 1e-12, shape_distance(np.eye(3), np.zeros((3, 3)))
    (True, nan)
    """
    if x is None or reference is None:
        return math.nan
    x, reference = x - x.mean(axis=0), reference - reference.mean(axis=0)
    sizes = inner(x, x) * inner(reference, reference)
    if not 0 < sizes < math.inf:
        return math.nan
    in_common = float(np.linalg.svd(x.T @ reference, compute_uv=False).sum())
    return max(1.0 - in_common**2 / sizes, 0.0)


def _end(monitor: Monitor) -> Start:
    if monitor.best is None:
        return Start(math.inf, math.nan, math.nan, monitor.stopped_by)
    best = monitor.history[monitor.best_epoch]
    return Start(best.objective, best.train_error, best.validation_error, monitor.stopped_by)
