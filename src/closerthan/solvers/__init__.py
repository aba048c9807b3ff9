"""Solvers, one per module. A solver is a frozen object with a method ``run(objective, start, rng, monitor)``.

The code of a solver follows its algorithm as published. A solver reports each snapshot to the monitor with
``if monitor(now, ...): return``; clocks, progress bars, checkpoints, stopping rules and the choice of the best
snapshot are the monitor's concern.
"""

import importlib
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from closerthan.registry import resolve
from closerthan.solvers.base import Solver

if TYPE_CHECKING:
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

# Module of each class. It is imported when the class is first used, because most fits use one solver.
_MODULES = {
    "BarzilaiBorwein": "steps",
    "Batch": "batch",
    "Constant": "steps",
    "Decay": "steps",
    "Gram": "gram",
    "Hogwild": "hogwild",
    "LBFGS": "lbfgs",
    "Polyak": "polyak",
    "SGD": "sgd",
    "SVRG": "svrg",
    "StabilizedBB": "steps",
    "StepRule": "steps",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'closerthan.solvers' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"closerthan.solvers.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


def _create(name: str, step: str | None = None, **parameters: float) -> Solver:
    """Create a solver of the class ``name``; ``step`` is the class of its step rule, whose parameters follow."""
    rule = {} if step is None else {"step": __getattr__(step)(**parameters)}
    solver: Solver = __getattr__(name)(**rule)
    return solver


SOLVERS: dict[str, Callable[[], Solver]] = {
    "polyak": partial(_create, "Polyak"),
    "hogwild": partial(_create, "Hogwild"),
    "svrg-sbb": partial(_create, "SVRG", "StabilizedBB"),
    "svrg-sbb0": partial(_create, "SVRG", "StabilizedBB", epsilon=0.0),
    "svrg-bb": partial(_create, "SVRG", "BarzilaiBorwein"),
    "svrg": partial(_create, "SVRG", "Constant"),
    "sgd": partial(_create, "SGD"),
    "batch": partial(_create, "Batch"),
    "gram": partial(_create, "Gram"),
    "lbfgs": partial(_create, "LBFGS"),
}


def solver_named(solver: str | Solver | type[Solver]) -> Solver:
    """Return the solver for a name, a class or an instance.

    Examples
    --------
    >>> solver_named("svrg-sbb0").step
    StabilizedBB(epsilon=0.0, first=None, per_object=0.1, longest=0.25)
    """
    return resolve(solver, SOLVERS, Solver, "solver")  # type: ignore[type-abstract]
