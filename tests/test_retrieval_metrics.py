import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from closerthan.metrics import retrieval


@pytest.fixture
def scene():
    rng = np.random.default_rng(3)
    return rng.normal(size=(15, 3)), rng.integers(4, size=15), rng.normal(size=(40, 3)), np.arange(40) % 4


def test_the_mean_average_precision_agrees_with_scikit_learn(scene):
    queries, wanted, gallery, labels = scene
    expected = [
        average_precision_score(labels == label, -np.sum((gallery - query) ** 2, axis=1))
        for query, label in zip(queries, wanted, strict=True)
    ]
    assert retrieval(*scene).mean_average_precision == pytest.approx(np.mean(expected))


def test_precision_and_recall_count_the_nearest(scene):
    queries, wanted, gallery, labels = scene
    found = retrieval(*scene)
    for k in (1, 5, 40):
        hits = []
        for query, label in zip(queries, wanted, strict=True):
            nearest = np.argsort(np.sum((gallery - query) ** 2, axis=1))[:k]
            hits.append(np.sum(labels[nearest] == label))
        assert found.precision[k - 1] == pytest.approx(np.mean(hits) / k)
        assert found.recall[k - 1] == pytest.approx(np.mean(hits) / 10)


def test_separated_classes_are_retrieved_perfectly():
    places = np.repeat([[0.0], [10.0]], 5, axis=0) + np.linspace(0, 1, 10)[:, None]
    labels = np.repeat(["a", "b"], 5)
    found = retrieval(places, labels, places, labels)
    assert found.mean_average_precision == 1.0
    assert found.recall[4] == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0.0]], ["a", "b"], [[0.0]], ["a"]), "query_labels have shape"),
        (([[0.0]], ["a"], [[0.0, 1.0]], ["a"]), "1 dimensions, the gallery 2"),
        (([[0.0]], ["a"], [[0.0]], ["b"]), "is not in the gallery"),
    ],
)
def test_inconsistent_arguments_are_an_error(arguments, message):
    with pytest.raises(ValueError, match=message):
        retrieval(*arguments)
