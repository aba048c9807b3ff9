"""Stochastic variance-reduced gradient descent (SVRG) with any step rule: Algorithms 1 and 2 of Ma et al.

The objective is a mean of one term per comparison, f(X) = (1/|Q|) sum_q f_q(X). A stochastic gradient step follows
the gradient of one term, which is cheap but noisy: the noise does not vanish at a minimum, so the step size has to.
SVRG (Johnson & Zhang 2013) removes the noise instead. Each epoch computes the full gradient g = grad f(Z) at a
snapshot Z, and each step from X draws a batch B of b comparisons and follows

    u = (1/b) sum_{q in B} (grad f_q(X) - grad f_q(Z)) + g,        X <- X - b eta u.

The direction u is an unbiased estimate of grad f(X) whose variance tends to 0 as X and Z approach the same
stationary point, so the step size eta may stay constant. An epoch makes m/b steps, m being ``draws``, and costs
|Q| + 2m term gradients for any batch size. The map at its end is the next snapshot.

The step size comes from a rule (:mod:`closerthan.solvers.steps`). Barzilai & Borwein (1988) estimate the curvature
from two successive snapshots, with dx = Z_s - Z_{s-1} and dy = g_s - g_{s-1}; Tan et al. (2016) use the estimate
in SVRG,

    eta_s = (1/m) |dx|^2 / <dx, dy>,

but where f is not convex, <dx, dy> can be zero or negative. Ma et al. stabilise the denominator (SVRG-SBB),

    eta_s = (1/m) |dx|^2 / (|<dx, dy>| + eps |dx|^2),

so that 1/(L + eps) <= m eta_s <= 1/eps if every f_q is L-smooth. For eps large enough relative to L and b/m, the
expected squared gradient norm at a random iterate decreases like 1/(number of steps); if f also satisfies the
Polyak-Lojasiewicz inequality, restarting the algorithm every S epochs (Algorithm 2, ``module_epochs``) converges
linearly for S large enough. :mod:`closerthan.theory` computes these bounds. Reddi et al. (2016) analyse SVRG on
non-convex functions.

With b = 1, only the rows of the drawn comparison depend on the draw; all others move by -eta g. The kernel
(:func:`closerthan.compiled.kernels.svrg.svrg_steps`) keeps count of that common move and applies it when a row is read,
so that a step costs O(n_dims) and not O(n_objects n_dims).

References
----------
- J. Barzilai, J. M. Borwein: Two-point step size gradient methods. IMA Journal of Numerical Analysis 8, 1988.
- R. Johnson, T. Zhang: Accelerating stochastic gradient descent using predictive variance reduction. NIPS 2013.
- C. Tan, S. Ma, Y.-H. Dai, Y. Qian: Barzilai-Borwein step size for stochastic gradient descent. NIPS 2016.
- S. J. Reddi, A. Hefny, S. Sra, B. Poczos, A. Smola: Stochastic variance reduction for nonconvex optimization.
  ICML 2016.
- K. Ma, J. Zeng, J. Xiong, Q. Xu, X. Cao, W. Liu, Y. Yao: Fast stochastic ordinal embedding with variance reduction
  and adaptive step size. IEEE Transactions on Knowledge and Data Engineering.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from closerthan.arrays import Array
from closerthan.checks import whole
from closerthan.objective.protocol import Capability, WithWalk
from closerthan.signatures import readable
from closerthan.solvers.base import Solver, SolverMonitor, State, StateKind, step_rule
from closerthan.solvers.steps import StabilizedBB, StepRule
from closerthan.solvers.visiting_order import SAMPLINGS, visits

__all__ = ["SVRG"]

LEAST_SHARED_BATCH = 2**15  # number of comparisons above which several threads speed up a batch


@readable
@dataclass(frozen=True)
class SVRG(Solver):
    """Stochastic variance-reduced gradient descent.

    Each epoch computes the full gradient g at the snapshot and the step size eta by the rule, then makes
    ``draws / batch_size`` steps
    ``x <- x - batch_size * eta * (mean over the batch of (grad f_q(x) - grad f_q(snapshot)) + g)``.

    Parameters
    ----------
    step
        The step rule: ``StabilizedBB()`` gives SVRG-SBB, ``Constant()`` plain SVRG.
    batch_size
        Number of comparisons per step. None means 1, or 1/32 of the data where such batches are large enough to be
        divided among threads.
    draws
        Number of comparisons drawn per epoch (the paper's m). None means the number of comparisons in the data.
    sampling
        "shuffled": passes over the data in random order; "uniform": independent draws, as in the paper.
    module_epochs
        Number of epochs per module of Algorithm 2 (the paper's S). A module starts from the output of the previous
        module, with the rule's first step. None means Algorithm 1.
    output
        "best": the best snapshot; "last": the last snapshot; "random": an iterate drawn uniformly from all of them,
        the one that Theorem 2 is about. With `module_epochs`, it is also the output of each module: "random" is
        Algorithm 2 as printed, whereas "best" (the default) and "last" continue from the last iterate of the previous
        module.

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
            raise ValueError(f"unknown sampling {self.sampling!r}; choose from: {', '.join(SAMPLINGS)}")
        if self.output not in ("best", "last", "random"):
            raise ValueError(f"unknown output {self.output!r}; choose from: best, last, random")
        step_rule(self.step)

    def run(  # type: ignore[override]  # requires a capability, see needs
        self,
        objective: WithWalk,
        start: Array,
        rng: np.random.Generator,
        monitor: SolverMonitor,
        state: State | None = None,
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
            # Reservoir sampling: after s epochs of a module, the pick lies in each of them with probability 1/s.
            replaces_pick = self.output == "random" and rng.random() * (epoch_in_module + 1) < 1
            pick = int(rng.integers(n_steps)) if replaces_pick else None
            n_drawn = 0
            for part in parts:
                n_drawn += len(part)
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
            stop = monitor(now, step=step, gradients=objective.n_terms + 2 * n_drawn, state=state)
        return {"best": None, "last": now.x, "random": picked}[self.output]


def default_batch_size(n_terms: int, n_objects: int) -> int:
    """Return 1 for small data, or 1/32 of the data if such batches are worth dividing among threads."""
    batch_size = n_terms // 32
    return batch_size if batch_size >= max(LEAST_SHARED_BATCH, 2 * n_objects) else 1
