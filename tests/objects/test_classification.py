import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import SVC

import closerthan as ct

TRUTH = np.repeat(["cat", "dog", "owl"], 10)
POINTS = np.repeat([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]], 10, axis=0) + np.random.default_rng(0).normal(size=(30, 2))


@pytest.fixture(scope="module")
def answers():
    return ct.datasets.simulated(
        POINTS, 8000, noise="flip", level=0.1, names=[f"o{number}" for number in range(30)], seed=0
    )


def test_agreement_counts_informative_comparisons(answers):
    telling = right = 0
    for i, j, k in answers.rows.tolist():
        if (TRUTH[i] == TRUTH[j]) != (TRUTH[i] == TRUTH[k]):
            telling += 1
            right += TRUTH[i] == TRUTH[j]
    found = ct.label_scores(answers, TRUTH)
    assert found.n_informative == telling
    assert found.agreement == pytest.approx(right / telling)
    assert found.agreement == pytest.approx(0.9, abs=0.03)
    assert found.standard_error == pytest.approx(np.sqrt(found.agreement * (1 - found.agreement) / telling))


def test_neighbours_are_those_of_the_kernel(answers):
    kernel = ct.triplet_kernel(answers)
    found = ct.label_scores(answers, TRUTH, n_neighbours=1)
    for one in range(30):
        others = [other for other in range(30) if other != one]
        assert found.predicted[one] == TRUTH[max(others, key=lambda other: kernel[one, other])]
    assert found.accuracy == np.mean(np.array(found.predicted) == TRUTH)
    assert found.accuracy > 0.9
    assert found.chance == pytest.approx(1 / 3)


def test_labels_that_mean_nothing_score_no_more_than_chance(answers):
    shuffled = np.random.default_rng(1).permutation(TRUTH)
    found = ct.label_scores(answers, shuffled)
    assert found.accuracy < 0.6
    assert abs(found.agreement - 0.5) < 0.1


def test_labels_may_be_missing_or_given_by_name(answers):
    by_name = {f"o{number}": TRUTH[number] for number in range(0, 30, 2)}
    some = [TRUTH[number] if number % 2 == 0 else None for number in range(30)]
    one, other = ct.label_scores(answers, by_name), ct.label_scores(answers, some)
    assert one.predicted == other.predicted
    assert one.agreement == other.agreement
    assert np.mean(np.array(one.predicted) == TRUTH) > 0.9


@pytest.mark.parametrize("method", ["svm", "neighbours"])
def test_a_classifier_is_one_of_scikit_learn(answers, method):
    model = ct.ComparisonClassifier(answers, method=method)
    assert cross_val_score(model, np.arange(30), TRUTH, cv=5).mean() > 0.9
    model.fit([f"o{number}" for number in range(0, 30, 2)], TRUTH[::2])
    assert model.score(np.arange(1, 30, 2)[:, None], TRUTH[1::2]) > 0.9
    assert set(model.classes_) == {"cat", "dog", "owl"}


def test_its_settings_can_be_searched(answers):
    search = GridSearchCV(ct.ComparisonClassifier(answers), {"kind": ["k1", "k2"], "C": [1.0, 10.0]}, cv=3)
    assert search.fit(np.arange(30), TRUTH).best_score_ > 0.9


def test_svm_is_that_of_the_kernel(answers):
    kernel, train, test = ct.triplet_kernel(answers, "k1"), np.arange(0, 30, 2), np.arange(1, 30, 2)
    expected = SVC(C=3.0, kernel="precomputed").fit(kernel[np.ix_(train, train)], TRUTH[train])
    model = ct.ComparisonClassifier(answers, kind="k1", C=3.0).fit(train, TRUTH[train])
    np.testing.assert_array_equal(model.predict(test), expected.predict(kernel[np.ix_(test, train)]))


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda a: ct.label_scores(a, ["x"]), "there are 1 labels for 30 objects"),
        (lambda a: ct.label_scores(a, ["x"] * 30), "all labels are"),
        (lambda a: ct.label_scores(a, [None] * 30), "no object has a label"),
        (lambda a: ct.label_scores(a, {"nobody": "x"}), "there is a label for 'nobody'"),
        (lambda a: ct.label_scores(a.rows, {"o1": "x"}), "the objects of the answers do not"),
        (lambda a: ct.ComparisonClassifier(a, method="tree").fit([0, 1], ["x", "y"]), "it can be svm or neighbours"),
        (lambda a: ct.ComparisonClassifier(a).fit([0, 1], ["x"]), "pass one label per object"),
        (lambda a: ct.ComparisonClassifier(a).fit([0, 1], ["x", "x"]), "all labels are"),
        (lambda a: ct.ComparisonClassifier(a).fit([0, 99], ["x", "y"]), "numbered from 0 to 29; X contains 0 to 99"),
        (lambda a: ct.ComparisonClassifier(a).fit(["o1", "zoo"], ["x", "y"]), "no answers are about 'zoo'"),
        (lambda a: ct.ComparisonClassifier(a).fit(np.zeros((2, 2)), ["x", "y"]), "objects have shape"),
    ],
)
def test_bad_labels_are_errors_that_say_why(answers, act, message):
    with pytest.raises(ValueError, match=message):
        act(answers)
