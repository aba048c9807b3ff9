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

# Module of each public name. It is imported when the name is first used, so that `import closerthan` is fast.
_MODULES = {
    "AlignedScores": "models.aligned_scores",
    "Alignment": "models.alignment",
    "AnswerAccuracy": "evaluate.answer_accuracy",
    "AnswerEffects": "people.effects",
    "AnswerKFold": "evaluate.splitter",
    "Calibration": "calibration",
    "Centrality": "objects",
    "Clustering": "objects",
    "ComparisonClassifier": "objects.classification",
    "Comparisons": "comparisons",
    "DimsChoice": "evaluate.dims",
    "FeatureAligner": "models.aligner",
    "FeatureScores": "models.scores",
    "Gain": "evaluate.cross_validation",
    "HeldOutError": "evaluate.held_out",
    "History": "history",
    "LabelScores": "objects.classification",
    "LearningCurve": "uncertainty.learning_curve",
    "Loss": "losses",
    "LossComparison": "evaluate.losses",
    "MapDifference": "uncertainty.map_difference",
    "OrdinalEmbedding": "estimator",
    "ParameterError": "checks",
    "PeopleAssessment": "people.quality",
    "PeopleGroups": "people.groups",
    "PeopleMaps": "people.maps",
    "Placement": "objects",
    "Replicates": "uncertainty.replicates",
    "Result": "result",
    "Scale": "scaling.difference_scaling",
    "Scores": "evaluate.cross_validation",
    "Settings": "settings",
    "SparseDimensions": "dimensions.result",
    "Trials": "comparisons",
    "Views": "objects",
    "advice": "evaluate.advice",
    "align": "models.alignment",
    "answer_accuracy": "evaluate.answer_accuracy",
    "answer_effects": "people.answer_effects",
    "answers_from": "models.answers",
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
    "embed_people": "people.individuals",
    "embed_views": "objects",
    "group_people": "people.groups",
    "held_out_error": "evaluate.held_out",
    "label_scores": "objects.classification",
    "learning_curve": "uncertainty.learning_curve",
    "match_dimensions": "dimensions.matching",
    "place": "objects",
    "processes": "objective.distributed.joining",
    "read_comparisons": "files",
    "replicate": "uncertainty.replicates",
    "scale": "scaling.difference_scaling",
    "score_features": "models.scores",
    "sparse_dimensions": "dimensions.fitting",
    "triplet_error": "metrics",
    "triplet_kernel": "objects",
    "write_report": "report",
}

# Public modules, such as ct.losses with ct.losses.STE.
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
    value = getattr(importlib.import_module(f"closerthan.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
