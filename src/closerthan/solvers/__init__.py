"""Solvers, one per module. A solver is a frozen object with a method ``run(objective, start, rng, monitor)``.

The code of a solver follows its algorithm as published. A solver reports each snapshot to the monitor with
``if monitor(now, ...): return``; clocks, progress bars, checkpoints, stopping rules and the choice of the best
snapshot are the monitor's concern.
"""

from collections.abc import Callable

from closerthan.registry import resolve
from closerthan.solvers.base import Solver
from closerthan.solvers.batch import Batch
from closerthan.solvers.gram import Gram
from closerthan.solvers.hogwild import Hogwild
from closerthan.solvers.lbfgs import LBFGS
from closerthan.solvers.polyak import Polyak
from closerthan.solvers.sgd import SGD
from closerthan.solvers.steps import BarzilaiBorwein, Constant, Decay, StabilizedBB, StepRule
from closerthan.solvers.svrg import SVRG

__all__ = [
    "LBFGS",
    "SGD",
    "SOLVERS",
    "SVRG",
    "BarzilaiBorwein",
    "Batch",
    "Constant",
    "Decay",
    "Gram",
    "Hogwild",
    "Polyak",
    "Solver",
    "StabilizedBB",
    "StepRule",
    "solver_named",
]

SOLVERS: dict[str, Callable[[], Solver]] = {
    "polyak": Polyak,
    "hogwild": Hogwild,
    "svrg-sbb": lambda: SVRG(step=StabilizedBB()),
    "svrg-sbb0": lambda: SVRG(step=StabilizedBB(epsilon=0.0)),
    "svrg-bb": lambda: SVRG(step=BarzilaiBorwein()),
    "svrg": lambda: SVRG(step=Constant()),
    "sgd": SGD,
    "batch": Batch,
    "gram": Gram,
    "lbfgs": LBFGS,
}


def solver_named(solver: str | Solver | type[Solver]) -> Solver:
    """Return the solver for a name, a class or an instance.

    Examples
    --------
    >>> solver_named("svrg-sbb0").step
    StabilizedBB(epsilon=0.0, first=None, per_object=0.1, longest=0.25)
    """
    return resolve(solver, SOLVERS, Solver, "solver")  # type: ignore[type-abstract]
