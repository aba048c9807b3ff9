"""Objects that are not on the map yet."""

from closerthan.objects.from_features import FeatureRegression

__all__ = ["FeatureRegression"]
