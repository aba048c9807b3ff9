"""Features that cannot be used, in all functions that take features."""

import numpy as np
import pytest

import closerthan as ct

FEATURES = np.random.default_rng(0).normal(size=(12, 3))
ANSWERS = ct.answers_from(FEATURES, 200, similarity="euclidean")
FUNCTIONS = {
    "features": [ct.score_features, lambda *args, **options: ct.align(*args, n_folds=0, **options)],
    "model": [ct.answers_from],
}
with_function = pytest.mark.parametrize(
    ("parameter", "function"), [(name, one) for name, functions in FUNCTIONS.items() for one in functions]
)


def with_entry(value):
    features = FEATURES.copy()
    features[3, 1] = value
    return features


@with_function
@pytest.mark.parametrize(
    ("features", "message"),
    [
        (with_entry(np.nan), "has nan in row 3, column 1; features must be finite numbers"),
        (with_entry(-np.inf), "has -inf in row 3, column 1; features must be finite numbers"),
        (FEATURES[:, 0], r"has shape \(12,\); it must have one row of numbers per object"),
        (FEATURES[None], r"has shape \(1, 12, 3\)"),
        (FEATURES[:, :0], r"has shape \(12, 0\)"),
        (FEATURES[:5], "has 5 rows; the answers are about 12 objects"),
        (FEATURES + 1j, "it must be a table of real numbers"),
        ([["red"]] * 12, "it must be a table of real numbers"),
        ([[1.0], [1.0, 2.0]] * 6, "it must be a table of real numbers"),
        (FEATURES * 1e200, r"has numbers up to .*e\+200; the largest must be from 1e-100 to 1e\+100"),
        (FEATURES * 1e-200, "has numbers up to .*e-20"),
    ],
)
def test_features_that_cannot_be_used_are_errors(parameter, function, features, message):
    with pytest.raises(ValueError, match=f"^{parameter} .*{message}"):
        function(features, ANSWERS)


@with_function
@pytest.mark.parametrize(
    ("names", "message"), [(["a"], "one for each of 12 objects"), (["a"] * 12, "the name 'a' occurs twice")]
)
def test_names_must_be_different_and_one_per_row(parameter, function, names, message):
    assert parameter in FUNCTIONS
    with pytest.raises(ValueError, match=message):
        function(FEATURES, ANSWERS, names=names)


@with_function
def test_answers_about_objects_with_other_names_are_an_error(parameter, function):
    assert parameter in FUNCTIONS
    people = ct.Comparisons.from_triplets([["ant", "bee", "cat"], ["bee", "ant", "cat"]])
    with pytest.raises(ValueError, match="the answers are about ant, bee, cat, and the features about n0, n1, n2"):
        function(FEATURES, people, names=[f"n{number}" for number in range(12)])


def test_the_model_with_bad_features_is_named():
    with pytest.raises(ValueError, match=r"^features\['second'\] has nan"):
        ct.score_features({"first": FEATURES, "second": with_entry(np.nan)}, ANSWERS)


def test_a_constant_feature_changes_nothing():
    constant = np.column_stack([FEATURES, np.ones(12)])
    options = {"similarity": "euclidean", "n_folds": 0, "strength": 0.1, "towards": "identity"}
    one, other = (ct.align(features, ANSWERS, **options) for features in (FEATURES, constant))
    np.testing.assert_allclose(other.embedding, one.embedding, atol=1e-6)
    with pytest.raises(ValueError, match="all features are the same"):
        ct.align(np.ones((12, 2)), ANSWERS, **options)
