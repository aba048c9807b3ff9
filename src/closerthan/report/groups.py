"""Content of the section on groups of objects: their members, their certainty and their tree."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from closerthan.objects.clusters import Clustering
from closerthan.plotting.canvas import names_of
from closerthan.registry import JsonObject
from closerthan.report.packing import packed, rounded
from closerthan.wording import counted, percent

__all__ = ["group_names", "groups_content"]

MOST_LEAVES = 300  # number of objects; a larger tree would be illegible
MOST_LISTED = 100  # members of a group that are listed


def group_names(groups: Clustering, x: NDArray[np.float64], names: Sequence[str] | None) -> list[str]:
    """Return a name for the group of each object: the number of the group, and its most central object.

    Examples
    --------
    >>> group_names(Clustering(np.array([0, 0, 0, 1]), "average"), np.array([[0.0], [1.0], [2.0], [9.0]]), None)
    ['1 (around 1)', '1 (around 1)', '1 (around 1)', '2 (around 3)']
    """
    all_names, central = names_of(names, len(x)), _central_objects(groups, x)
    return [f"{label + 1} (around {all_names[central[label]]})" for label in groups.labels.tolist()]


def groups_content(groups: Clustering, x: NDArray[np.float64]) -> JsonObject:
    """Return groups as plain lists and strings."""
    certainty = groups.certainty
    rows = []
    for label, central in enumerate(_central_objects(groups, x)):
        members = np.flatnonzero(groups.labels == label)
        rows.append(
            {
                "around": central,
                "members": members[:MOST_LISTED].tolist(),
                "more": max(len(members) - MOST_LISTED, 0),
                "certainty": None if certainty is None else percent(float(certainty[members].mean()), digits=0),
            }
        )
    return {
        "sentence": f"{counted(groups.n_clusters, 'group')}. {groups.advice}",
        "rows": rows,
        "doubtful": groups.doubtful[:MOST_LISTED].tolist(),
        "tree": _tree(groups),
    }


def _central_objects(groups: Clustering, x: NDArray[np.float64]) -> list[int]:
    """Return the object of each group that is nearest to the mean of the group."""
    if len(groups.labels) != len(x):
        raise ValueError(
            f"groups is a clustering of {len(groups.labels)} objects, but the map has {len(x)}; pass one of the same "
            "objects"
        )
    central = []
    for label in range(groups.n_clusters):
        members = np.flatnonzero(groups.labels == label)
        squared = np.sum((x[members] - x[members].mean(axis=0)) ** 2, axis=1)
        central.append(int(members[np.argmin(squared)]))
    return central


def _tree(groups: Clustering) -> JsonObject | None:
    if groups.tree is None or len(groups.labels) > MOST_LEAVES:
        return None
    return {"merges": packed(groups.tree[:, :2].astype(np.int64).ravel()), "heights": rounded(groups.tree[:, 2])}
