"""closerthan: answers to "is i closer to j than to k?" go in, a map comes out.

>>> import closerthan as ct
>>> answers = [[0, 1, 2], [1, 0, 2], [2, 1, 0], [3, 2, 0], [0, 1, 3], [1, 2, 3]]
>>> result = ct.embed(answers, n_dims=1, seed=0)
>>> result.embedding.shape
(4, 1)
"""

import importlib
from typing import Any

__version__ = "0.1.0"

# Public name -> the module that it lives in; each is imported when first used, so that `import closerthan` is light.
_MODULES = {
    "AnswerKFold": "evaluate.splitter",
    "ComparisonClassifier": "objects.classification",
    "Comparisons": "comparisons",
    "History": "history",
    "Loss": "losses",
    "OrdinalEmbedding": "estimator",
    "Replicates": "uncertainty.replicates",
    "Result": "result",
    "Trials": "comparisons",
    "advice": "evaluate.advice",
    "assess_people": "people.quality",
    "centrality": "objects",
    "check_loss": "fit.loss_check",
    "choose_dims": "evaluate.dims",
    "choose_questions": "collect.choosing.information",
    "cluster": "objects",
    "compare_losses": "evaluate.losses",
    "compare_maps": "uncertainty.map_difference",
    "cross_validate": "evaluate.cross_validation",
    "embed": "fit.embedding",
    "embed_views": "objects",
    "group_people": "people.groups",
    "held_out_error": "evaluate.held_out",
    "label_scores": "objects.classification",
    "learning_curve": "uncertainty.learning_curve",
    "place": "objects",
    "processes": "objective.distributed.joining",
    "read_comparisons": "files",
    "replicate": "uncertainty.replicates",
    "triplet_error": "metrics",
    "triplet_kernel": "objects",
    "write_report": "report",
}

# Families of things, each in a module of its own: ct.losses.STE, ct.solvers.SVRG, ct.metrics.procrustes, ...
_SUBPACKAGES = (
    "datasets",
    "files",
    "geometry",
    "history",
    "losses",
    "metrics",
    "objects",
    "plotting",
    "solvers",
    "theory",
)

__all__ = [*_MODULES, *_SUBPACKAGES, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _SUBPACKAGES:
        return importlib.import_module(f"closerthan.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module 'closerthan' has no attribute {name!r}")
    found = getattr(importlib.import_module(f"closerthan.{_MODULES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
