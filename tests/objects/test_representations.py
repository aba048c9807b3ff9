"""What the results of analyses look like in a console and in a notebook."""

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
}


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
