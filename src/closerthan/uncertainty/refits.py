"""Refits: many fits of one kind, to parts of the answers or to other weights of them, on all cores."""

import dataclasses
import functools
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from closerthan.arrays import Array
from closerthan.comparisons import Comparisons
from closerthan.fit.ctrl_c import CtrlC, Wish
from closerthan.fit.embedding import embed
from closerthan.fit.fixed_loss import Inputs, Run, fit
from closerthan.fit.parallel import run_together, threads_for
from closerthan.objective.devices import device_named
from closerthan.objective.protocol import Device
from closerthan.result import Result
from closerthan.settings import ENDED, Settings, TimeOverError, check_share, starts_asked

__all__ = ["Done", "Fitter", "Refits"]


class Fitter(Protocol):
    """Fits a map to answers, as :class:`Refits` does; one that is ended early has no result, and its job none."""

    def __call__(
        self, answers: Comparisons, rng: np.random.Generator, start: Array | None = None, *, starts: int | None = None
    ) -> Result: ...


class Done(NamedTuple):
    """What jobs returned, None for those that were not done; and what ended them, if anything did."""

    results: list[Any]
    stopped_by: str = ""  # or "interrupted", "time_limit"

    def share(self, what: str) -> str:
        """How many are done, in words; empty if all are."""
        n_done = sum(result is not None for result in self.results)
        return f"{n_done:,} of {len(self.results):,} {what}" if self.stopped_by else ""

    def cut(self, what: str) -> BaseException:
        """What to raise where too little is done."""
        if self.stopped_by == "interrupted":
            return KeyboardInterrupt()
        return TimeOverError(f"the time limit was reached after {self.share(what)}; raise time_limit, or leave it out")


@dataclasses.dataclass(frozen=True)
class Refits:
    """How answers are fitted again: as all of them were, with the loss that was chosen then.

    Attributes
    ----------
    first
        The fit to all answers.
    settings
        Of the others.
    device
        Where each fit runs, on one thread.
    n_threads
        How many fits run at once.
    deadline
        When all fits together must have ended, by :func:`time.perf_counter`.
    """

    first: Result
    settings: Settings
    device: Device
    n_threads: int
    deadline: float

    @classmethod
    def of(
        cls,
        answers: Comparisons,
        n_dims: int,
        settings: Mapping[str, Any],
        *,
        seed: int | None,
        n_threads: int | None,
    ) -> Self:
        """Fit all answers; with ``loss="auto"`` the loss is chosen here, once."""
        given = sorted({"callback", "checkpoint", "resume", "start"} & settings.keys())
        if given:
            raise ValueError(f"{given[0]} is for one fit; here are many: leave it out")
        check_share(settings)
        began = time.perf_counter()
        device = device_named(settings.get("device", "cpu"), n_threads, len(answers))
        first = embed(answers, n_dims, seed=seed, **{**settings, "device": device})
        if first.stopped_by == "interrupted":
            raise KeyboardInterrupt
        assert first.settings is not None
        return cls.again(first, answers, first.settings.replace(**starts_asked(settings)), device, began)

    @classmethod
    def again(
        cls, first: Result, answers: Comparisons, settings: Settings, device: Device, began: float | None = None
    ) -> Self:
        """Of a fit that is there already. The time limit counts from when that began, or from now."""
        # Losses that raced share their kernels, which are compiled already.
        one_thread = (device.for_all_losses() if first.candidates else device).one_thread()
        deadline = settings.deadline(time.perf_counter() if began is None else began)
        return cls(first, settings, one_thread, threads_for(len(answers), device.threads), deadline)

    def together(self, jobs: Sequence[Callable[[Fitter], Any]], tick: Callable[[], None] = lambda: None) -> Done:
        """What the jobs return, each of which fits one or more maps; ``tick`` is called after each.

        Ctrl-C and the time limit end all of them: the fits that run are given up, and the others never begin.
        """
        with CtrlC() as ctrl_c:
            run = Run(self.device, ctrl_c=ctrl_c, deadline=self.deadline)
            late = Wish()

            def fitted(
                answers: Comparisons, rng: np.random.Generator, start: Array | None = None, *, starts: int | None = None
            ) -> Result:
                settings = self.settings if starts is None else self.settings.with_starts(starts)
                try:
                    result = fit(Inputs(answers, None, start, rng), settings, run)
                except KeyboardInterrupt:  # before its first epoch
                    raise _EndedEarly from None
                if result.stopped_by in ENDED:
                    raise _EndedEarly
                return result

            def one(job: Callable[[Fitter], Any]) -> Any:
                if time.perf_counter() >= self.deadline:
                    late.set()
                if late.is_set() or ctrl_c.pressed.is_set():
                    return None
                try:
                    result = job(fitted)
                except _EndedEarly:
                    late.set()
                    return None
                tick()
                return result

            results, interrupted = run_together(
                [functools.partial(one, job) for job in jobs], self.n_threads, Wish(ctrl_c.pressed)
            )
        return Done(results, "interrupted" if interrupted else "time_limit" if late.is_set() else "")

    def parts(self, parts: Sequence[Comparisons], seed: int | None, tick: Callable[[], None]) -> list[Result]:
        """A map of each part, in their order. Ctrl-C is raised, and so is the end of the time."""

        def one(part: Comparisons, fitted: Fitter) -> Result:
            return fitted(part, np.random.default_rng(seed))

        done = self.together([functools.partial(one, part) for part in parts], tick)
        if done.stopped_by:
            raise done.cut("fits")
        return done.results


class _EndedEarly(Exception):  # noqa: N818 - not an error
    """A fit was given up, by Ctrl-C or because the time limit was reached."""
