"""Refitter: many fits with the same settings, to subsets or reweighted copies of the answers, on all cores."""

import dataclasses
import functools
import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from closerthan.arrays import Array
from closerthan.checks import ParameterError
from closerthan.comparisons import Comparisons
from closerthan.fit.ctrl_c import CancelFlag, CtrlC
from closerthan.fit.fixed_loss import Inputs, Run, fit
from closerthan.fit.forked import processes_for, run_forked
from closerthan.fit.likelihood import objective_of
from closerthan.fit.parallel import run_together, threads_for
from closerthan.fit.plan import FitPlan
from closerthan.losses import Loss
from closerthan.messages import Message
from closerthan.objective.cpu.objective import CPU
from closerthan.objective.devices import device_named
from closerthan.objective.protocol import Device
from closerthan.result import Result
from closerthan.settings import ENDED, Budget, Settings, TimeOverError
from closerthan.solvers import Solver

__all__ = ["Fitter", "JobResults", "Refitter", "StoppedEarly", "plan_refits"]

LARGEST_SEED = 2**31
TYPICAL = 2**15  # number of comparisons; a fit to this many uses the same kernels as a fit to more


class Fitter(Protocol):
    """The function that fits one map; :meth:`Refitter.run` passes it to each job.

    A fit that Ctrl-C or the time limit stops early ends its job, which then has no result.
    """

    def __call__(
        self, answers: Comparisons, rng: np.random.Generator, start: Array | None = None, *, starts: int | None = None
    ) -> Result: ...


class JobResults(NamedTuple):
    """Results of the jobs (None if a job was not completed), and the reason why some were not completed."""

    results: list[Any]
    stopped_by: str = ""  # "interrupted" or "time_limit" if some jobs were not completed

    def progress(self, noun: str) -> str:
        """Return the number of completed jobs in words, such as "3 of 28 fits"; empty if all were completed."""
        n_completed = sum(result is not None for result in self.results)
        return f"{n_completed:,} of {len(self.results):,} {noun}" if self.stopped_by else ""

    def error(self, noun: str) -> BaseException:
        """Return the exception to raise if too few jobs were completed to return anything."""
        if self.stopped_by == "interrupted":
            return KeyboardInterrupt()
        return TimeOverError(
            Message(f"the time limit was reached after {self.progress(noun)}", "raise {time_limit}, or leave it out")
        )


def plan_refits(
    answers: Comparisons,
    n_dims: int | None,
    settings: Settings | None,
    result: Result | None,
    options: Mapping[str, Any],
) -> FitPlan:
    """Return the fit plan for a function that refits subsets of the answers, from the arguments of that function.

    Without ``settings``, those of ``result`` are used with one start, and without its early stopping and time limit.
    The loss is that of ``result``.

    Examples
    --------
    >>> import closerthan as ct
    >>> answers = ct.datasets.eurodist().comparisons()
    >>> result = ct.embed(answers, 3, loss="soe", epochs=5, n_starts=2)
    >>> plan = plan_refits(answers, None, None, result, {"seed": 1})
    >>> plan.settings.n_dims, plan.settings.loss, plan.settings.random_starts, plan.settings.seed
    (3, SOE(margin=1.0), 1, 1)
    """
    if result is None:
        return FitPlan.of(settings, n_dims, options)
    n_objects, n_columns = result.embedding.shape
    if answers.n_objects != n_objects:
        raise ValueError(
            f"the answers are about {answers.n_objects} objects, the map of result has {n_objects}; pass the answers "
            "that it was fitted to"
        )
    if n_dims not in (None, n_columns):
        raise ParameterError("n_dims", n_dims, f"the map of result has {n_columns} dimensions; leave it out")
    if settings is None and result.settings is not None:
        settings = result.settings.for_refits()
    return FitPlan.of(settings, n_columns, {**options, "loss": result.loss})


@dataclasses.dataclass(frozen=True)
class Refitter:
    """Fits many maps in parallel, all with the same settings.

    Attributes
    ----------
    settings
        Settings of each fit; the loss is fixed.
    device
        Device of each fit, which uses one thread.
    n_threads
        Number of fits that run at the same time in threads.
    n_comparisons
        Number of comparisons of a typical fit.
    n_cores
        Number of fits that run at the same time in forked processes, if these are faster.
    budget
        The time that all fits share.
    seed
        Seed for folds and starts: that of the settings, or a random one if they have none.
    """

    settings: Settings
    device: Device
    n_threads: int
    n_comparisons: int
    n_cores: int
    budget: Budget
    seed: int

    @classmethod
    def of(cls, answers: Comparisons, plan: FitPlan, result: Result | None = None) -> Self:
        """Return a refitter that uses the loss and the penalty of a fit to all answers.

        Without such a ``result``, all answers are fitted here if the loss or the penalty is still to be chosen.
        """
        device = device_named(plan.device, plan.n_threads, len(answers))
        seed = plan.settings.seed
        if seed is None:
            seed = int(np.random.default_rng().integers(LARGEST_SEED))
        if result is None and plan.settings.must_choose:
            result = dataclasses.replace(plan, device=device).fit(answers)
        settings = plan.settings.with_default_starts(1)
        if result is not None:
            settings = settings.replace(loss=result.loss, penalty=result.penalty)
            if result.runner_up:  # the kernels of losses that raced are compiled already
                device = device.for_all_losses()
        one_thread = device.one_thread()
        n_cores = device.threads if isinstance(one_thread, CPU) and _is_picklable(settings) else 1
        n_threads = threads_for(len(answers), device.threads)
        refitter = cls(settings, one_thread, n_threads, len(answers), n_cores, plan.budget, seed)
        if n_cores > 1:
            refitter.prepare(answers.take(slice(TYPICAL)))
        return refitter

    def prepare(self, answers: Comparisons) -> None:
        """Compile the kernels for such answers, so that forked processes need not compile them again."""
        with objective_of(self.settings, self.device, answers) as objective:
            if isinstance(self.settings.solver, Solver):
                objective.prepare(self.settings.solver.needs, self.settings.n_dims)

    @property
    def loss(self) -> Loss:
        """The loss of each fit."""
        assert isinstance(self.settings.loss, Loss)
        return self.settings.loss

    def run(
        self,
        jobs: Sequence[Callable[[Fitter], Any]],
        tick: Callable[[], None] = lambda: None,
        *,
        n_processes: int | None = None,
    ) -> JobResults:
        """Run jobs, each of which fits one or more maps, and call ``tick`` after each.

        They run in ``n_processes`` forked processes, or in threads if it is 0; by default, the faster way is chosen.
        Both give the same results, but with processes the results must be picklable, and other side effects of a job
        are lost.

        Ctrl-C and the time limit stop all of them: fits that are running are discarded, and no other job begins.
        """
        if n_processes is None:
            n_processes = processes_for(len(jobs), self.n_comparisons, self.n_cores)
        with CtrlC() as ctrl_c:
            run = Run(self.device, ctrl_c=ctrl_c, deadline=self.budget.deadline)
            timed_out = CancelFlag()

            def fit_map(
                answers: Comparisons, rng: np.random.Generator, start: Array | None = None, *, starts: int | None = None
            ) -> Result:
                settings = self.settings if starts is None else self.settings.with_starts(starts)
                try:
                    result = fit(Inputs(answers, None, start, rng), settings, run)
                except KeyboardInterrupt:  # Ctrl-C before its first epoch
                    raise StoppedEarly from None
                if result.stopped_by in ENDED:
                    raise StoppedEarly
                return result

            def one(job: Callable[[Fitter], Any]) -> Any:
                if self.budget.is_over or timed_out.is_set() or ctrl_c.pressed.is_set():
                    return None
                try:
                    return job(fit_map)
                except StoppedEarly:
                    return None

            def completed(result: Any) -> None:
                if result is None:
                    timed_out.set()
                else:
                    tick()

            def in_thread(job: Callable[[Fitter], Any]) -> Any:
                result = one(job)
                completed(result)
                return result

            cancelled = CancelFlag(ctrl_c.pressed)
            if n_processes:
                here = [functools.partial(one, job) for job in jobs]
                results, interrupted = run_forked(here, n_processes, cancelled, completed)
            else:
                here = [functools.partial(in_thread, job) for job in jobs]
                results, interrupted = run_together(here, self.n_threads, cancelled)
        return JobResults(results, "interrupted" if interrupted else "time_limit" if timed_out.is_set() else "")

    def fit_each(
        self,
        subsets: Sequence[Comparisons],
        tick: Callable[[], None] = lambda: None,
        *,
        seed: int | None = None,
    ) -> list[Result]:
        """Fit a map to each subset of the answers, all from the same seed.

        Ctrl-C raises KeyboardInterrupt; when the time limit is reached, TimeOverError is raised.
        """
        seed = self.seed if seed is None else seed

        def one(subset: Comparisons, fit_map: Fitter) -> Result:
            return fit_map(subset, np.random.default_rng(seed))

        outcome = self.run([functools.partial(one, subset) for subset in subsets], tick)
        if outcome.stopped_by:
            raise outcome.error("fits")
        return outcome.results


def _is_picklable(settings: Settings) -> bool:
    """Return False for the settings of fits whose results cannot be pickled, such as a loss defined in a function."""
    try:
        pickle.dumps(settings)
    except (AttributeError, TypeError, pickle.PicklingError):
        return False
    return True


class StoppedEarly(Exception):  # noqa: N818 - not an error
    """A fit was stopped by Ctrl-C or by the time limit, so there is nothing to return."""
