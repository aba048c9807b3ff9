"""SVRG with any step rule: Algorithms 1 and 2 of the paper."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from closerthan.arrays import Array
from closerthan.checks import whole
from closerthan.objective.protocol import Capability, WithWalk
from closerthan.solvers.base import Monitor, Solver, State, StateKind, step_rule
from closerthan.solvers.steps import StabilizedBB, StepRule
from closerthan.solvers.visiting_order import SAMPLINGS, visits

__all__ = ["SVRG"]

WORTH_SHARING = 2**15  # comparisons of a batch


@dataclass(frozen=True)
class SVRG(Solver):
    """Stochastic variance-reduced gradient descent.

    In each epoch: the full gradient g at the snapshot; the step eta from the rule; then ``draws / batch_size`` steps
    ``x <- x - batch_size * eta * (mean over the batch of (grad f_q(x) - grad f_q(snapshot)) + g)``.

    Parameters
    ----------
    step
        The step rule: ``StabilizedBB()`` makes it SVRG-SBB, ``Constant()`` plain SVRG.
    batch_size
        Comparisons in a step; None: one, or a 32nd of the data where that is large enough to share among threads.
    draws
        Comparisons drawn in an epoch (the paper's m); None: as many as there are.
    sampling
        "shuffled": passes in random order; "uniform": independent draws, as in the paper.
    module_epochs
        Epochs in a module of Algorithm 2 (the paper's S). A module begins with the first step of the rule, at the
        output of the module before it. None: Algorithm 1.
    output
        "best": the best snapshot; "last": the last one; "random": one of all iterates, drawn uniformly, for which
        Theorem 2 is proven. With `module_epochs` it is also the output of each module: "random" is Algorithm 2 as
        printed; "best" (the default) and "last" let each module continue from the last iterate of the one before.

    Examples
    --------
    >>> SVRG(step=StabilizedBB(epsilon=0.025), batch_size=20).batch_size
    20
    """

    needs: ClassVar[frozenset[Capability]] = frozenset({"variance-reduced walk"})
    state_kinds: ClassVar[Mapping[str, StateKind]] = {
        "x": "map", "before": "map", "picked": "map", "epoch": "count"
    }  # fmt: skip

    step: StepRule = StabilizedBB()
    batch_size: int | None = None
    draws: int | None = None
    sampling: Literal["shuffled", "uniform"] = "shuffled"
    module_epochs: int | None = None
    output: Literal["best", "last", "random"] = "best"

    def __post_init__(self) -> None:
        for name in ("batch_size", "draws", "module_epochs"):
            if getattr(self, name) is not None:
                whole(name, getattr(self, name))
        if self.sampling not in SAMPLINGS:
            raise ValueError(f"unknown sampling {self.sampling!r}; known are: {', '.join(SAMPLINGS)}")
        if self.output not in ("best", "last", "random"):
            raise ValueError(f"unknown output {self.output!r}; known are: best, last, random")
        step_rule(self.step)

    def run(  # type: ignore[override]  # it needs more than a plain objective
        self, objective: WithWalk, start: Array, rng: np.random.Generator, monitor: Monitor, state: State | None = None
    ) -> Array | None:
        draws = self.draws or objective.n_terms
        batch_size = self.batch_size or default_batch_size(objective.n_terms, len(start))
        if batch_size > draws:
            raise ValueError(f"batch_size is {batch_size}, but an epoch has {draws} draws; choose a smaller batch")
        n_steps = draws // batch_size
        chunk = max(2048, start.size)

        state = state or {"x": start, "picked": start, "epoch": np.array(0)}
        now, before = objective.at(state["x"]), objective.at(state["before"]) if "before" in state else None
        epoch, picked = int(state["epoch"]), state["picked"]
        stop = monitor(now)
        while not stop:
            epoch_in_module = epoch % self.module_epochs if self.module_epochs else epoch
            if epoch_in_module == 0:
                before = None
            step = self.step(epoch, draws, now, before)
            parts = visits(self.sampling, rng, objective, draws, batch_size, chunk)
            walk = objective.walk(now, batch_size)
            # Reservoir sampling: after s epochs of a module each of them holds the pick with probability 1/s.
            picks = self.output == "random" and rng.random() * (epoch_in_module + 1) < 1
            pick = int(rng.integers(n_steps)) if picks else None
            drawn = 0
            for part in parts:
                drawn += len(part)
                steps_here = len(part) // batch_size
                if pick is not None and 0 <= pick < steps_here:
                    cut = (pick + 1) * batch_size
                    walk.take(part[:cut], batch_size * step)
                    picked = walk.x.copy()
                    part = part[cut:]
                if len(part):
                    walk.take(part, batch_size * step)
                if pick is not None:
                    pick -= steps_here
                if monitor.must_end():
                    break
            epoch += 1
            ends_module = self.module_epochs is not None and epoch % self.module_epochs == 0
            before, now = now, objective.at(picked if ends_module and self.output == "random" else walk.x)
            state = {"x": now.x, "before": before.x, "picked": picked, "epoch": np.array(epoch)}
            stop = monitor(now, step=step, gradients=objective.n_terms + 2 * drawn, state=state)
        return {"best": None, "last": now.x, "random": picked}[self.output]


def default_batch_size(n_terms: int, n_objects: int) -> int:
    """One comparison per step where data is small; a 32nd of it where that is large enough to share among threads."""
    batch_size = n_terms // 32
    return batch_size if batch_size >= max(WORTH_SHARING, 2 * n_objects) else 1
