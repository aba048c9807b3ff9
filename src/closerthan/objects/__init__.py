"""More from the same answers: new objects on a map, groups, several views, and what needs no map."""

from closerthan.objects.clusters import Clustering, cluster
from closerthan.objects.from_features import FeatureRegression
from closerthan.objects.placing import Placement, place
from closerthan.objects.similarities import answer_similarities
from closerthan.objects.views import Views, embed_views

__all__ = [
    "Clustering",
    "FeatureRegression",
    "Placement",
    "Views",
    "answer_similarities",
    "cluster",
    "embed_views",
    "place",
]
