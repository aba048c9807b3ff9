"""What the results of analyses look like in a console and in a notebook."""

import inspect
import re

import numpy as np
import pytest

import closerthan as ct

NAMES = [f"<b>{number}" for number in range(10)]
POINTS = np.random.default_rng(0).standard_normal((10, 2))
ROWS = ct.datasets.simulated(POINTS, 400, noise="ste", seed=0).rows
NAMED = [[NAMES[number] for number in row] for row in ROWS]
ANSWERS = ct.Comparisons.from_triplets(NAMED, people=np.arange(400) % 8)
QUICK = {"loss": "ste", "penalty": 0, "seed": 0, "epochs": 5}

RESULTS = {
    "Replicates": lambda: ct.replicate(ANSWERS, n_replicates=4, **QUICK),
    "LearningCurve": lambda: ct.learning_curve(ANSWERS, n_folds=2, **QUICK),
    "MapDifference": lambda: ct.compare_maps(
        ANSWERS.take(slice(200)), ANSWERS.take(slice(200, 400)), n_permutations=19, by="answers", **QUICK
    ),
    "PeopleAssessment": lambda: ct.assess_people(ANSWERS, rounds=1, **QUICK),
    "PeopleGroups": lambda: ct.group_people(ANSWERS, most_groups=2, **QUICK),
    "PeopleMaps": lambda: ct.embed_people(ANSWERS, 2, spread=0.3, **QUICK),
    "Clustering": lambda: ct.cluster(ANSWERS, 3),
    "Centrality": lambda: ct.centrality(ANSWERS),
    "Placement": lambda: ct.place([["<b>new", NAMES[0], NAMES[1]]], ct.embed(ANSWERS, **QUICK)),
    "Views": lambda: ct.embed_views(ANSWERS, 2, **QUICK),
    "HeldOutError": lambda: ct.held_out_error(ANSWERS, **QUICK),
    "Scores": lambda: ct.cross_validate(ANSWERS, n_folds=2, **QUICK),
    "LabelScores": lambda: ct.label_scores(ANSWERS, ["<b>", "c"] * 5),
    "History": lambda: ct.embed(ANSWERS, **QUICK).history,
    "Trials": lambda: ct.Trials(times=[0.5, 0.8]),
    "About": lambda: ct.datasets.list().named("eurodist"),
    "Distances": ct.datasets.eurodist,
    "Synthetic": lambda: ct.datasets.synthetic(5, 2, 10, 4),
    "PrincipalAxes": lambda: ct.geometry.principal_axes(POINTS),
    "ProcrustesFit": lambda: ct.metrics.procrustes(POINTS, POINTS),
    "Retrieval": lambda: ct.metrics.retrieval(POINTS, NAMES, POINTS, NAMES),
    "InnerLoop": lambda: ct.theory.inner_loop(1e-5, 1.0, 100),
}
# They have parameters and no content; scikit-learn or Python shows them.
NOT_SHOWN = {"AnswerKFold", "Loss", "ParameterError", "FeatureRegression"}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_has_a_short_repr_and_an_escaped_table(name):
    result = RESULTS[name]()
    assert re.fullmatch(rf"{name}\(.*\)", repr(result))
    assert len(repr(result)) < 200
    page = result._repr_html_()
    assert "<table>" in page
    assert "<b>" not in page


def test_ellipses_state_their_number_and_level():
    replicates = ct.replicate(ANSWERS, n_replicates=6, **QUICK)
    assert repr(replicates.ellipses(0.5)) == "Ellipses(10 objects in 2 dimensions, level 0.5, 6 replicates)"


def returned_classes():
    """Public classes except losses, solvers and step rules, whose repr is the call that makes them."""
    for module in (ct, *(getattr(ct, name) for name in ct._SUBPACKAGES if name not in ("losses", "solvers"))):
        for name in module.__all__:
            if inspect.isclass(getattr(module, name)) and name not in NOT_SHOWN:
                yield getattr(module, name)


@pytest.mark.parametrize("kind", list(returned_classes()), ids=lambda kind: f"{kind.__module__}.{kind.__name__}")
def test_every_public_object_shows_itself_in_a_notebook(kind):
    assert hasattr(kind, "_repr_html_")
    assert kind.__repr__ not in (object.__repr__, tuple.__repr__)


def test_a_representation_has_no_long_arrays():
    objects = ct.datasets.Labelled(POINTS, np.zeros(10))
    assert repr(objects) == "Labelled(features: array of shape (10, 2), labels: array of shape (10,))"
    assert "array of shape (10, 2)" in objects._repr_html_()


def test_the_catalogue_of_data_sets_is_a_table():
    assert ct.datasets.list()._repr_html_().count("<tr>") == len(ct.datasets.list()) + 1
