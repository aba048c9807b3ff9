import numpy as np
import pytest
from scipy.io import savemat

from closerthan.datasets import Labelled, digits, labelled_file, synthetic_classes
from closerthan.metrics import retrieval


def test_triplets_have_an_object_of_the_same_class_and_one_of_another():
    labels = np.array([2, 0, 1, 0, 2, 1, 1, 0])
    objects = Labelled(np.zeros((8, 1)), labels)
    i, j, k = objects.comparisons(5_000, 0.0, np.random.default_rng(0)).rows.T
    assert (labels[i] == labels[j]).all()
    assert (labels[i] != labels[k]).all()
    assert (i != j).all()
    pairs = set(zip(i.tolist(), j.tolist(), strict=True)) | set(zip(i.tolist(), k.tolist(), strict=True))
    assert len(pairs) == 8 * 7


def test_exactly_the_requested_fraction_is_reversed():
    labels = np.repeat(np.arange(4), 5)
    rows = Labelled(np.zeros((20, 1)), labels).comparisons(1_000, 0.15, np.random.default_rng(0)).rows
    assert np.mean(labels[rows[:, 0]] != labels[rows[:, 1]]) == 0.15


def test_a_split_has_the_requested_number_of_each_class_and_no_object_twice():
    objects = Labelled(np.arange(60.0)[:, None], np.arange(60) % 3)
    train, test = objects.split(12, 8, np.random.default_rng(0))
    assert np.bincount(train.labels).tolist() == [12, 12, 12]
    assert np.bincount(test.labels).tolist() == [8, 8, 8]
    assert not set(train.features.ravel()) & set(test.features.ravel())
    assert (train.features.ravel() % 3 == train.labels).all()


def test_a_class_that_is_too_small_is_named():
    with pytest.raises(ValueError, match=r"class .*'b'.* has 2 objects; 2 \+ 1 are needed"):
        Labelled(np.zeros((5, 1)), np.array(["a", "a", "a", "b", "b"])).split(2, 1, np.random.default_rng(0))


def test_the_synthetic_classes_are_neither_trivial_nor_hopeless():
    train, test = synthetic_classes(seed=5).split(60, 40, np.random.default_rng(0))
    bare = retrieval(test.features, test.labels, train.features, train.labels).mean_average_precision
    assert 3 / 18 < bare < 0.6


def test_digits_have_enough_of_each_class_for_the_experiment():
    train, test = digits().split(60, 40, np.random.default_rng(0))
    assert (train.features.shape, test.features.shape) == ((600, 64), (400, 64))


@pytest.mark.parametrize("kind", ["npz", "mat"])
def test_features_are_read_from_a_file(tmp_path, kind):
    features, labels = np.eye(4), np.array([3, 3, 5, 5])
    path = tmp_path / f"images.{kind}"
    (np.savez if kind == "npz" else lambda where, **arrays: savemat(where, arrays))(
        path, features=features, labels=labels
    )
    objects = labelled_file(path)
    np.testing.assert_array_equal(objects.features, features)
    np.testing.assert_array_equal(objects.labels, labels)


def test_a_file_without_labels_is_an_error_that_lists_its_arrays(tmp_path):
    np.savez(tmp_path / "images.npz", features=np.eye(2), classes=[0, 1])
    with pytest.raises(ValueError, match="holds classes, features; it must hold the arrays 'features' and 'labels'"):
        labelled_file(tmp_path / "images.npz")
    with pytest.raises(ValueError, match=r"ends in '\.csv'"):
        labelled_file(tmp_path / "images.csv")
