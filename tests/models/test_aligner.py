"""The aligner as a scikit-learn transformer."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks

import closerthan as ct

# scikit-learn's checks compare X with labels, one for each row. Here y holds answers about the rows.
NOT_ANSWERS = {
    "check_requires_y_none": "its message about a missing y has other words",
    "check_supervised_y_2d": "a column of labels holds no answers",
}


class WithAnswers(ct.FeatureAligner):
    """An aligner whose y is replaced by answers according to X, so that scikit-learn's checks can fit it."""

    def fit(self, X, y=None):
        return super().fit(X, answers_by(X) if y is not None and np.asarray(y).ndim == 1 else y)

    def score(self, X, y=None):
        return super().score(X, answers_by(X))


def answers_by(X):
    """Answers according to the features; [] if these are no features, so that they cause the error."""
    try:
        table = np.asarray(X, dtype=float)
    except (TypeError, ValueError):
        return []
    is_usable = table.ndim == 2 and table.size and len(table) >= 3 and np.isfinite(table).all()
    return ct.answers_from(table, 60, similarity="euclidean", temperature=1.0) if is_usable else []


def test_scikit_learns_checks_hold():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = estimator_checks.check_estimator(
            WithAnswers(n_components=1, similarity="euclidean", towards="identity", strength=0.1),
            expected_failed_checks=NOT_ANSWERS,
            on_fail=None,
            on_skip=None,
        )
    failed = {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    assert not failed


@pytest.fixture
def features():
    return np.random.default_rng(0).normal(size=(30, 4))


@pytest.fixture
def answers(features):
    return ct.answers_from(features[:, :2], 600, similarity="euclidean", temperature=0.5)


def test_it_finds_the_same_map_as_align(features, answers):
    model = ct.FeatureAligner(similarity="euclidean", strength=0.1).fit(features, answers)
    same = ct.align(features, answers, similarity="euclidean", strength=0.1, n_folds=0)
    assert np.array_equal(model.transform(features), same.embedding)
    assert model.score(features, answers) == ct.answer_accuracy(answers, same.embedding).accuracy
    assert list(model.get_feature_names_out()[:2]) == ["featurealigner0", "featurealigner1"]


def test_it_works_in_a_pipeline_and_can_be_copied(features, answers):
    model = make_pipeline(StandardScaler(), ct.FeatureAligner(2, strength=0.1)).fit(features, answers)
    assert model.transform(features).shape == (30, 2)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).transform(features), model.transform(features))
    assert clone(model[-1]).n_components == 2


def test_errors_are_in_terms_of_the_estimator(features, answers):
    with pytest.raises(NotFittedError):
        ct.FeatureAligner().transform(features)
    with pytest.raises(ValueError, match="y holds people's answers"):
        ct.FeatureAligner().fit(features)
    with pytest.raises(ValueError, match="n_components is 0"):
        ct.FeatureAligner(0).fit(features, answers)
