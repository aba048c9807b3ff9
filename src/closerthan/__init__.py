"""closerthan: answers to "is i closer to j than to k?" go in, a map comes out.

>>> import closerthan as ct
>>> answers = [[0, 1, 2], [1, 0, 2], [2, 1, 0], [3, 2, 0], [0, 1, 3], [1, 2, 3]]
>>> result = ct.embed(answers, n_dims=1, seed=0)
>>> result.embedding.shape
(4, 1)
"""

import importlib
import sys
import types
from typing import Any

__version__ = "0.1.0"

# Public name -> the room that it lives in; each is imported when first used, so that `import closerthan` is light.
_ROOMS = {
    "Comparisons": "comparisons",
    "Loss": "losses",
    "LOSSES": "losses",
    "GNMDS": "losses",
    "CKL": "losses",
    "STE": "losses",
    "TSTE": "losses",
    "SOE": "losses",
    "Constant": "solvers.steps",
    "Decay": "solvers.steps",
    "BarzilaiBorwein": "solvers.steps",
    "StabilizedBB": "solvers.steps",
    "Solver": "solvers",
    "SOLVERS": "solvers",
    "Polyak": "solvers",
    "SVRG": "solvers",
    "SGD": "solvers",
    "Batch": "solvers",
    "Gram": "solvers",
    "LBFGS": "solvers",
    "History": "history",
    "Record": "history",
    "Result": "result",
    "embed": "fit.embedding",
    "OrdinalEmbedding": "estimator",
    "cross_validate": "evaluate.cross_validation",
    "triplet_error": "metrics",
    "margins": "metrics",
    "procrustes": "metrics",
    "retrieval": "metrics",
    "FeatureMap": "objects.from_features",
    "object_errors": "metrics",
    "error_interval": "metrics",
    "principal_axes": "geometry",
    "read_comparisons": "files",
    "write_report": "report",
}

_SUBPACKAGES = ("datasets", "files", "plotting")

__all__ = [*_ROOMS, *_SUBPACKAGES, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _SUBPACKAGES:
        return importlib.import_module(f"closerthan.{name}")
    if name not in _ROOMS:
        raise AttributeError(f"module 'closerthan' has no attribute {name!r}")
    found = getattr(importlib.import_module(f"closerthan.{_ROOMS[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])


class _Package(types.ModuleType):
    def __setattr__(self, name: str, value: Any) -> None:
        # Whoever imports the room `embed` would otherwise put the module where users find the function of that name.
        if not (name in _ROOMS and isinstance(value, types.ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
