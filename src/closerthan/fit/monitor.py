"""Monitor: what a solver reports to. A clock, the history, the best snapshot and the stop rules."""

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
from closerthan.objective.protocol import Map, MonitorObjective, Point, State

MARGIN = 1.25  # times what ending an epoch took last: other programs may need the processor too

Callback = Callable[[Record, Array], Any]


class FitState(NamedTuple):
    """Where a fit is between two epochs: what it takes, beside its random generator, to go on from there."""

    state: State  # the solver's
    history: History  # it may grow later
    epoch: int
    best: Map
    best_epoch: int

    @property
    def records(self) -> list[Record]:
        """The history up to this state."""
        return [self.history[epoch] for epoch in range(self.epoch + 1)]


@dataclass
class Monitor:
    """Called with each snapshot; true means stop. The clock stands still while it looks.

    A solver hands over a :class:`~closerthan.objective.protocol.Point` if it needed the value anyway, and just the map
    if it did not: then they are evaluated here, off the clock. With it may come the solver's ``state``, or how to get
    it: then :class:`FitState` is handed to ``keep``. A monitor that was :meth:`restored` takes the first report as the
    one that it already has.
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
    _cut: str | None = None  # why the epoch that runs was told to end early

    def begin(self) -> None:
        """The solver is about to begin."""
        self._began = time.perf_counter()

    def restored(self, fit_state: FitState) -> None:
        """Go on from where an earlier run was."""
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
        asked = time.perf_counter() if self._is_timed else 0.0
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
            # Until its first report, a solver evaluates the start and prepares its walk: to end an epoch takes as long.
            evaluated = self.objective.evaluation_seconds if isinstance(now, Point) else 0.0
            first = record.epoch == 0 and not math.isnan(self._began)
            self._to_report = MARGIN * (time.perf_counter() - (self._began if first else asked - evaluated))
        if self._is_best(record):
            self.best, self.best_epoch = point.x.copy(), record.epoch
        # A copy: a callback may keep the map, or change it, and the solver goes on with its own.
        wishes = [listener(record, np.array(point.x)) for listener in self.listeners]
        reason = self.processes.agree_to_stop(self._reason_to_stop(any(wish for wish in wishes)))
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
        """Whether an epoch is to end before it is complete: the time is up, or Ctrl-C was pressed.

        A solver may ask at any point of an epoch. If so, it reports the map that it has, as after a whole epoch.
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
        """Look at something between two snapshots, off the clock; yields the seconds spent until now."""
        self._seconds += time.perf_counter() - self._resumed
        yield self._seconds
        self._resumed = time.perf_counter()

    def _is_best(self, record: Record) -> bool:
        if not math.isfinite(record.objective):
            return False
        return self.best is None or _rank(record) < _rank(self.history[self.best_epoch])

    def _reason_to_stop(self, called_off: bool) -> str | None:
        if self.cancelled.is_set():
            return "interrupted"
        if called_off:
            return "callback"
        if self._cut is not None:  # what the other rules would say of a part of an epoch means nothing
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
    return math.sqrt(inner(point.gradient, point.gradient))


def _rank(record: Record) -> tuple[float, ...]:
    """Lower is better: held-out error if there is one, then the objective.

    A random start may look good on a few held-out answers by luck; any epoch that ran is preferred to it.
    """
    if math.isnan(record.validation_error):
        return (record.objective,)
    return record.epoch == 0, record.validation_error, record.objective
