"""Groups of objects as the page shows them: their members, how sure they are, and their tree."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.objects.clusters import Clustering
from closerthan.report.packing import packed, rounded
from closerthan.wording import counted, percent

__all__ = ["group_names", "groups_content"]

MOST_LEAVES = 300  # of a tree that can be read
MOST_LISTED = 100  # members of a group


def group_names(groups: Clustering, x: NDArray[np.float64], names: Sequence[str] | None) -> list[str]:
    """What to call the group of each object: its number, and the object in its middle.

    Examples
    --------
    >>> group_names(Clustering(np.array([0, 0, 0, 1]), "average"), np.array([[0.0], [1.0], [2.0], [9.0]]), None)
    ['1 (around 1)', '1 (around 1)', '1 (around 1)', '2 (around 3)']
    """
    called = [str(number) for number in range(len(x))] if names is None else names
    middles = _middles(groups, x)
    return [f"{label + 1} (around {called[middles[label]]})" for label in groups.labels.tolist()]


def groups_content(groups: Clustering, x: NDArray[np.float64]) -> dict[str, Any]:
    """Groups as plain lists and texts."""
    sure = groups.sureness
    rows = []
    for label, middle in enumerate(_middles(groups, x)):
        members = np.flatnonzero(groups.labels == label)
        rows.append(
            {
                "around": middle,
                "members": members[:MOST_LISTED].tolist(),
                "more": max(len(members) - MOST_LISTED, 0),
                "sure": None if sure is None else percent(float(sure[members].mean()), digits=0),
            }
        )
    return {
        "sentence": f"{counted(groups.n_clusters, 'group')}. {groups.advice}",
        "rows": rows,
        "doubtful": groups.doubtful[:MOST_LISTED].tolist(),
        "tree": _tree(groups),
    }


def _middles(groups: Clustering, x: NDArray[np.float64]) -> list[int]:
    """Of each group, the object that is nearest to the mean of its places."""
    if len(groups.labels) != len(x):
        raise ValueError(f"the groups are of {len(groups.labels)} objects, the map has {len(x)}; they must agree")
    found = []
    for label in range(groups.n_clusters):
        members = np.flatnonzero(groups.labels == label)
        apart = np.sum((x[members] - x[members].mean(axis=0)) ** 2, axis=1)
        found.append(int(members[np.argmin(apart)]))
    return found


def _tree(groups: Clustering) -> dict[str, Any] | None:
    if groups.tree is None or len(groups.labels) > MOST_LEAVES:
        return None
    return {"merges": packed(groups.tree[:, :2].astype(np.int64).ravel()), "heights": rounded(groups.tree[:, 2])}
