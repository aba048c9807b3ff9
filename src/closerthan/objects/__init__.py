"""Analyses of objects: placing new objects on a map, groups of objects, several views, and methods without a map.

``classification`` depends on scikit-learn and is therefore imported only on demand.
"""

from closerthan.objects.central_objects import Centrality, centrality
from closerthan.objects.clusters import Clustering, cluster
from closerthan.objects.from_features import FeatureRegression
from closerthan.objects.placing import Placement, place
from closerthan.objects.similarities import answer_similarities
from closerthan.objects.triplet_kernels import triplet_kernel
from closerthan.objects.views import Views, embed_views

__all__ = [
    "Centrality",
    "Clustering",
    "FeatureRegression",
    "Placement",
    "Views",
    "answer_similarities",
    "centrality",
    "cluster",
    "embed_views",
    "place",
    "triplet_kernel",
]
