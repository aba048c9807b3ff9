"""embed(): the front door, where all parts meet."""

import dataclasses
import functools
import math
import threading
import time
from collections.abc import Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from closerthan import __version__
from closerthan.arrays import Array
from closerthan.checks import whole
from closerthan.comparisons import Comparisons
from closerthan.fit import loss_race
from closerthan.fit.checkpoint import Checkpoint, fingerprint
from closerthan.fit.monitor import Callback, Monitor
from closerthan.fit.parallel import run_together
from closerthan.fit.progress import progress_bar
from closerthan.fit.stopping import Limits
from closerthan.grouping import check_by
from closerthan.losses import Loss, loss_named
from closerthan.objective.cpu import CPU
from closerthan.objective.devices import device_named
from closerthan.objective.protocol import require
from closerthan.result import Result, Start
from closerthan.solvers import Solver, solver_named

__all__ = ["embed"]

AUTO_STARTS = 2  # when the loss is chosen for the user, so are the starts
START_SCALE = 0.1  # a random start is drawn from N(0, START_SCALE^2)


def embed(
    comparisons: Comparisons | ArrayLike,
    n_dims: int = 2,
    *,
    loss: str | Loss = "ste",
    solver: str | Solver = "polyak",
    start: ArrayLike | None = None,
    seed: int | np.random.Generator | None = None,
    epochs: int = 100,
    tolerance: float | None = 1e-3,
    validation: float | Comparisons | ArrayLike | None = None,
    by: str = "answers",
    time_limit: float | None = None,
    callback: Callback | None = None,
    progress: bool = False,
    n_starts: int | None = None,
    n_threads: int | None = None,
    device: str | CPU = "cpu",
    checkpoint: str | Path | None = None,
    resume: bool = False,
) -> Result:
    """Find a map that agrees with comparisons.

    Parameters
    ----------
    comparisons
        :class:`Comparisons`, or an (m, 3) or (m, 4) array of triplets or quadruplets.
    n_dims
        Dimensions of the map.
    loss
        A name from ``LOSSES`` or a :class:`Loss`; "auto" lets all losses race on held-out answers first, and keeps
        the table of candidates in the result. It may also run fewer of the ``epochs``.
    solver
        A name from ``SOLVERS`` or a solver object such as ``SVRG(batch_size=20)``.
    start
        The first map, (n_objects, n_dims); drawn at random if not given.
    seed
        Makes everything random repeatable, to the bit, for any number of threads.
    epochs
        The most epochs to run.
    tolerance
        Stop when three epochs lower the best objective by less than this share of all that the map has gained so far
        (over one with all objects in one place); None: never.
    validation
        Stop early by the error on held-out comparisons, and return the map that was best on them: a share of the
        answers to hold out at random, or comparisons of the same objects.
    by
        What is held out whole, by ``validation`` and ``loss="auto"``: "answers" (with all answers about the same
        objects), "people", or "comparisons", single ones.
    time_limit
        Seconds after which to return the best map so far; an epoch that has begun is run to its end (from a random
        start the first one has more passes, where answers are few).
    callback
        Called as ``callback(record, embedding)`` after each epoch (from several threads if there are several starts);
        returning something true stops that start.
    progress
        Show a progress bar.
    n_starts
        Random starts, run in parallel; the best is kept. None: one, or two with ``loss="auto"`` (of which only the
        most promising one is run to its end).
    n_threads
        Threads to use; None: one per core.
    device
        Where to compute: "cpu", or a device object such as ``closerthan.objective.cpu.CPU(least_part=1000)``.
    checkpoint
        A file to keep the state of the fit in, renewed every few seconds; it needs a seed. A fit that was killed goes
        on from it, to the same map, bit for bit. lbfgs, whose state is inside SciPy, begins again (to the same map).
    resume
        Go on from the checkpoint if it exists.

    Returns
    -------
    Result
        The best snapshot seen (by held-out error if there is one, otherwise by objective) and its history. Ctrl-C
        ends the fit early and returns the same, with ``stopped_by="interrupted"``; while "auto" is still choosing,
        there is nothing to return, and it is raised.

    Examples
    --------
    >>> import closerthan as ct
    >>> distances = ct.datasets.eurodist()
    >>> result = ct.embed(distances.comparisons(), n_dims=2, seed=0)
    >>> result.embedding.shape
    (21, 2)
    >>> bool(result.record.train_error < 0.1)
    True
    """
    answers = Comparisons.of(comparisons)
    n_dims = whole("n_dims", n_dims, least=1)
    epochs = whole("epochs", epochs, least=0)
    given_starts, n_starts = n_starts, whole("n_starts", 1 if n_starts is None else n_starts, least=1)
    place = device_named(device, n_threads)
    check_by(by, answers.people if isinstance(validation, Real) or _is_auto(loss) else ())
    if tolerance is not None and not tolerance >= 0:
        raise ValueError(f"tolerance is {tolerance}; it must not be negative (None: never stop by it)")
    if time_limit is not None and not time_limit > 0:
        raise ValueError(f"time_limit is {time_limit}; it must be a positive number of seconds")
    if start is not None and n_starts > 1:
        raise ValueError(f"a start is given, so n_starts={n_starts} cannot draw others; leave one of the two out")
    if resume and checkpoint is None:
        raise ValueError("there is no checkpoint to resume from; pass checkpoint=FILE")
    if checkpoint is not None and not isinstance(seed, Integral):
        raise ValueError(f"seed is {seed!r}; a fit with a checkpoint needs a whole number, to be repeatable")
    if _is_auto(loss):
        return loss_race.choose_and_embed(
            embed,
            answers,
            n_dims,
            {
                "solver": solver,
                "start": start,
                "seed": seed,
                "epochs": epochs,
                "tolerance": tolerance,
                "validation": validation,
                "by": by,
                "time_limit": time_limit,
                "callback": callback,
                "progress": progress,
                "n_starts": given_starts or (AUTO_STARTS if start is None else 1),
                "device": place,
                "checkpoint": checkpoint,
                "resume": resume,
            },
        )
    chosen_loss = loss_named(loss).in_dims(n_dims)
    chosen_solver = solver_named(solver)
    deadline = math.inf if time_limit is None else time.perf_counter() + time_limit

    root = np.random.default_rng(seed)
    train, held_out = _held_out(answers, validation, by, root)
    rngs = root.spawn(n_starts)
    starts = _starts(start, (answers.n_objects, n_dims), rngs)
    limits = Limits(epochs, tolerance, deadline)
    cancelled = threading.Event()
    settings = {
        "n_dims": n_dims,
        "loss": repr(chosen_loss),
        "solver": repr(chosen_solver),
        "seed": int(seed) if isinstance(seed, Integral) else None,
        "epochs": epochs,
        "tolerance": None if tolerance is None else float(tolerance),
        "validation": float(validation) if isinstance(validation, Real) else held_out is not None,
        "by": by,
        "time_limit": None if time_limit is None else float(time_limit),
        "n_starts": n_starts,
    }
    keeper = None
    if checkpoint is not None:
        fit = {name: value for name, value in settings.items() if name != "time_limit"}
        fit |= {"data": fingerprint(train, held_out, None if start is None else starts[0]), "version": __version__}
        fit |= {"device": repr(dataclasses.replace(place, n_threads=None))}  # bits do not depend on their number
        keeper = Checkpoint(checkpoint, fit, rngs, resume=resume)
    done = 0 if keeper is None else sum(moment.epoch for moment in keeper.moments if moment is not None)

    with (
        progress_bar(progress, epochs, n_starts, done, deadline) as watcher,
        place.objective(train, chosen_loss, held_out) as objective,
    ):
        listeners = tuple(listener for listener in (callback, watcher) if listener is not None)
        require(objective, type(chosen_solver).__name__, chosen_solver.needs)
        objective.prepare(chosen_solver.needs, n_dims)
        monitors = [Monitor(objective, limits, listeners, cancelled) for _ in starts]
        states: list[dict[str, Any]] = [{} for _ in starts]
        if keeper is not None:
            for number, (monitor, moment) in enumerate(zip(monitors, keeper.moments, strict=True)):
                monitor.keep = keeper.keeper(number)
                if moment is not None:
                    monitor.restored(moment)
                    states[number] = {"state": moment.state}
        jobs = [
            functools.partial(chosen_solver.run, objective, x, rng, monitor, **state)
            for x, rng, monitor, state in zip(starts, rngs, monitors, states, strict=True)
        ]
        outputs = _run(jobs, monitors, place.threads, cancelled)
        if keeper is not None:
            keeper.write()

    ends = [_end(monitor) for monitor in monitors]
    winner = min(range(n_starts), key=lambda number: ends[number].rank)
    won = monitors[winner]
    output, epoch = outputs[winner], won.history[-1].epoch
    if output is None or not np.isfinite(output).all():
        output, epoch = won.best, won.best_epoch
    if output is None:
        raise ValueError("the objective is not finite at the start; choose another start or loss")
    return Result(
        embedding=output,
        history=won.history,
        stopped_by=won.stopped_by,
        best_epoch=epoch,
        best_start=winner,
        starts=tuple(ends),
        settings=settings,
        names=answers.names,
    )


def _run(jobs: Sequence[Any], monitors: Sequence[Monitor], threads: int, cancelled: threading.Event) -> list[Any]:
    """Run all starts; on Ctrl-C let each end at its next epoch, and go on with what there is."""

    def run(job: Any, monitor: Monitor) -> Any:
        try:
            return job()
        except KeyboardInterrupt:
            monitor.stopped_by = "interrupted"
            raise

    jobs = [functools.partial(run, job, monitor) for job, monitor in zip(jobs, monitors, strict=True)]
    outputs, interrupted = run_together(jobs, threads, cancelled)
    if interrupted and all(monitor.best is None for monitor in monitors):
        raise KeyboardInterrupt
    for monitor in monitors if interrupted else ():
        if not len(monitor.history):  # it never began
            monitor.stopped_by = "interrupted"
    return outputs


def _held_out(
    answers: Comparisons, validation: Any, by: str, rng: np.random.Generator
) -> tuple[Comparisons, Comparisons | None]:
    if validation is None:
        return answers, None
    if isinstance(validation, Real) and not isinstance(validation, bool):
        if not 0 < float(validation) < 1:
            raise ValueError(f"validation is {validation}; a share to hold out lies between 0 and 1")
        return answers.split(float(validation), rng, by=by)
    if not isinstance(validation, Comparisons):
        validation = Comparisons.of(validation, n_objects=answers.n_objects, unmentioned="ignore")
    if validation.n_objects > answers.n_objects:
        raise ValueError(
            f"the validation set speaks of {validation.n_objects} objects, the comparisons of {answers.n_objects}; "
            "pass n_objects when you make the comparisons"
        )
    return answers, validation


def _is_auto(loss: Any) -> bool:
    return isinstance(loss, str) and loss == "auto"


def _starts(start: ArrayLike | None, shape: tuple[int, int], rngs: Sequence[np.random.Generator]) -> list[Array]:
    if start is None:
        return [START_SCALE * rng.standard_normal(shape) for rng in rngs]
    given = np.array(start, dtype=np.float64, order="C")
    if given.shape != shape:
        raise ValueError(f"the start has shape {given.shape}; expected {shape}, one row an object")
    if not np.isfinite(given).all():
        row = int(np.argmin(np.isfinite(given).all(axis=1)))
        raise ValueError(f"row {row} of the start is {given[row]}; all its numbers must be finite")
    return [given]


def _end(monitor: Monitor) -> Start:
    if monitor.best is None:
        return Start(math.inf, math.nan, math.nan, monitor.stopped_by)
    best = monitor.history[monitor.best_epoch]
    return Start(best.objective, best.train_error, best.validation_error, monitor.stopped_by)
