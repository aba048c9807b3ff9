"""Monitor: receives the reports of a solver and keeps the clock, the history, the best map and the stopping rules."""

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from closerthan.arrays import Array, inner
from closerthan.fit import stopping
from closerthan.fit.ctrl_c import CancelFlag
from closerthan.fit.stopping import Limits
from closerthan.history import NAN, History, Record
from closerthan.objective.processes import Processes, SingleProcess
from closerthan.objective.protocol import UNKNOWN, Map, MonitorObjective, Point, State

MARGIN = 1.25  # safety factor on the time that ending an epoch took, since other programs may use the processor

Callback = Callable[[Record, Array], Any]


class FitState(NamedTuple):
    """The state of a fit between two epochs, from which it can resume together with its random generator."""

    state: State  # the state of the solver
    history: History  # may grow later
    epoch: int
    best: Map
    best_epoch: int

    @property
    def records(self) -> list[Record]:
        """The history up to this state."""
        return [self.history[epoch] for epoch in range(self.epoch + 1)]


@dataclass
class Monitor:
    """Receives the report of a solver after each epoch, and returns True to stop it; the clock is paused meanwhile.

    A solver passes a :class:`~closerthan.objective.protocol.Point` if it has evaluated one anyway, and otherwise only
    the map, which is then evaluated here while the clock is paused. It may also pass its ``state``, or a function that
    returns it; ``keep`` is then called with a :class:`FitState`. After :meth:`restored`, the first report is ignored,
    since it repeats the last one of the earlier run.
    """

    objective: MonitorObjective[Any]
    limits: Limits
    listeners: tuple[Callback, ...] = ()
    cancelled: CancelFlag = field(default_factory=CancelFlag)
    keep: Callable[[FitState], None] | None = None
    processes: Processes = field(default_factory=SingleProcess)

    history: History = field(default_factory=History)
    best: Map | None = None
    best_epoch: int = 0
    stopped_by: str = "solver"

    _seconds: float = 0.0
    _gradients: int = 0
    _resumed: float = NAN
    _began: float = NAN
    _to_report: float = 0.0  # seconds from the end of an epoch to its record
    _cut: str | None = None  # why the current epoch was ended early

    def begin(self) -> None:
        """Start the clock, just before the solver starts."""
        self._began = time.perf_counter()

    def restored(self, fit_state: FitState) -> None:
        """Resume from the state of an earlier run."""
        self.history = History(fit_state.records)
        self.best, self.best_epoch = fit_state.best, fit_state.best_epoch
        self._seconds, self._gradients = self.history[-1].seconds, self.history[-1].gradients

    def __call__(
        self,
        now: Point[Map] | Array,
        *,
        step: float = NAN,
        gradients: int = 0,
        state: State | Callable[[], State] | None = None,
    ) -> bool:
        if len(self.history) and math.isnan(self._resumed):
            self._resumed = time.perf_counter()
            return False
        if len(self.history):
            self._seconds += time.perf_counter() - self._resumed
        self._gradients += gradients
        reported = time.perf_counter() if self._is_timed else 0.0
        point = now if isinstance(now, Point) else self.objective.at(now)
        record = Record(
            epoch=len(self.history),
            gradients=self._gradients,
            seconds=self._seconds,
            objective=float(point.value),
            gradient_norm=_norm(point),
            step=float(step),
            train_error=float(point.error),
            validation_error=self.objective.held_out_error(point.x),
        )
        self.history.append(record)
        if self._is_timed:
            # Before its first report, a solver evaluates the start and prepares its walk; ending an epoch takes about
            # as long
            evaluated = self.objective.evaluation_seconds if isinstance(now, Point) else 0.0
            first = record.epoch == 0 and not math.isnan(self._began)
            self._to_report = MARGIN * (time.perf_counter() - (self._began if first else reported - evaluated))
        if self._is_best(record):
            self.best, self.best_epoch = point.x.copy(), record.epoch
        # A copy, since a callback may keep or change the map.
        answers = [listener(record, np.array(point.x)) for listener in self.listeners]
        reason = self.processes.agree_to_stop(self._reason_to_stop(any(answer for answer in answers)))
        if reason:
            self.stopped_by = reason
            if reason == "interrupted":  # perhaps in another process
                self.cancelled.set()
        elif self.keep is not None and state is not None and self.best is not None:
            self.keep(
                FitState(state() if callable(state) else state, self.history, record.epoch, self.best, self.best_epoch)
            )
        self._resumed = time.perf_counter()
        return reason is not None

    def must_end(self) -> bool:
        """Return True if the current epoch must end early because the time is up or Ctrl-C was pressed.

        A solver may call it at any point of an epoch; it then reports its current map as after a complete epoch.
        """
        if self.cancelled.is_set():
            self._cut = "interrupted"
        elif self._is_timed and time.perf_counter() + self._to_report >= self.limits.deadline:
            self._cut = "time_limit"
        self._cut = self.processes.agree_to_stop(self._cut)
        return self._cut is not None

    @property
    def _is_timed(self) -> bool:
        return self.limits.deadline < math.inf

    @contextlib.contextmanager
    def paused(self) -> Iterator[float]:
        """Pause the clock between two reports; yields the seconds spent so far."""
        self._seconds += time.perf_counter() - self._resumed
        yield self._seconds
        self._resumed = time.perf_counter()

    def _is_best(self, record: Record) -> bool:
        if not math.isfinite(record.objective):
            return False
        return self.best is None or _rank(record) < _rank(self.history[self.best_epoch])

    def _reason_to_stop(self, stopped_by_callback: bool) -> str | None:
        if self.cancelled.is_set():
            return "interrupted"
        if stopped_by_callback:
            return "callback"
        if self._cut is not None:  # the other rules do not apply to a part of an epoch
            return self._cut
        if stopping.diverged(self.history, self.limits, self.objective.collapsed_objective):
            return "diverged"
        if stopping.no_longer_better(self.history, self.limits):
            return "validation"
        if stopping.converged(self.history, self.limits, self.objective.collapsed_objective):
            return "tolerance"
        if stopping.enough_epochs(self.history, self.limits):
            return "epochs"
        if self._is_timed and time.perf_counter() + self._to_report >= self.limits.deadline:
            return "time_limit"
        return None


def _norm(point: Point[Map]) -> float:
    return NAN if point.gradient is UNKNOWN else math.sqrt(inner(point.gradient, point.gradient))


def _rank(record: Record) -> tuple[float, ...]:
    """Return a sort key, lower is better: the validation error if there is one, then the objective.

    By chance, a random start may have a low error on few held-out answers, so any later epoch is preferred to it.
    """
    if math.isnan(record.validation_error):
        return (record.objective,)
    return record.epoch == 0, record.validation_error, record.objective
