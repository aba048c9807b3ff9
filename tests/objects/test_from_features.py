import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from closerthan.objects.from_features import FeatureRegression, mean_squared_distance


def test_the_width_is_one_over_the_mean_squared_distance_between_different_rows():
    features = np.random.default_rng(0).normal(size=(7, 3))
    pairs = [np.sum((a - b) ** 2) for i, a in enumerate(features) for j, b in enumerate(features) if i != j]
    assert mean_squared_distance(features) == pytest.approx(np.mean(pairs))


def test_a_map_that_is_shifted_is_learnt_as_the_same_map_shifted():
    rng = np.random.default_rng(0)
    features, places, new = rng.normal(size=(20, 4)), rng.normal(size=(20, 2)), rng.normal(size=(5, 4))
    here = FeatureRegression().fit(features, places)(new)
    there = FeatureRegression().fit(features, places + 100)(new)
    np.testing.assert_allclose(there, here + 100)


def test_centred_places_give_scikit_learns_kernel_ridge():
    rng = np.random.default_rng(1)
    features, places, new = rng.normal(size=(20, 4)), rng.normal(size=(20, 2)), rng.normal(size=(5, 4))
    places -= places.mean(axis=0)
    model = KernelRidge(alpha=0.3, kernel="rbf", gamma=0.2).fit(features, places)
    np.testing.assert_allclose(FeatureRegression(ridge=0.3, width=0.2).fit(features, places)(new), model.predict(new))


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: FeatureRegression(ridge=0.0), "ridge is 0.0; it must be positive"),
        (lambda: FeatureRegression()([[1.0]]), "is not fitted yet"),
        (lambda: FeatureRegression().fit([[1.0], [2.0]], [[0.0]]), "features of 2 objects and places of 1"),
        (lambda: FeatureRegression().fit([[1.0], [1.0]], [[0.0], [1.0]]), "all features are the same"),
        (lambda: FeatureRegression().fit([[1.0], [np.nan]], [[0.0], [1.0]]), "finite numbers"),
    ],
)
def test_bad_features_are_errors_that_say_why(act, message):
    with pytest.raises(ValueError, match=message):
        act()
