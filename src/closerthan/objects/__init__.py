"""More from the same answers: new objects on a map, groups, several views, and what needs no map."""

from closerthan.objects.from_features import FeatureRegression
from closerthan.objects.placing import Placement, place

__all__ = ["FeatureRegression", "Placement", "place"]
