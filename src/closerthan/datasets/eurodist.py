"""Road distances between 21 European cities."""

import csv
from importlib import resources

import numpy as np

from closerthan.arrays import Array
from closerthan.datasets.about import About
from closerthan.datasets.distances import Distances

__all__ = ["ABOUT", "eurodist", "north_up"]


def eurodist() -> Distances:
    """Return road distances in km between 21 European cities (the table ``eurodist`` of R's datasets).

    Examples
    --------
    >>> cities = eurodist()
    >>> cities.names[:3], cities.table.shape
    (('Athens', 'Barcelona', 'Brussels'), (21, 21))
    >>> cities.comparisons()
    Comparisons(3,986 triplets of 21 objects)
    """
    text = resources.files("closerthan.datasets").joinpath("eurodist.csv").read_text(encoding="utf-8")
    header, *rows = csv.reader(text.splitlines())
    return Distances(np.array([row[1:] for row in rows], dtype=np.float64), tuple(header[1:]))


def north_up(embedding: Array) -> Array:
    """Rotate and mirror a map of the cities so that Copenhagen is north of Rome, and Athens east of Lisbon.

    Comparisons determine a map only up to rotation and reflection; distances do not change.

    Examples
    --------
    >>> import closerthan as ct
    >>> x = north_up(ct.embed(eurodist().comparisons(), loss="ste", seed=0).embedding)
    >>> stockholm, athens = (eurodist().names.index(name) for name in ("Stockholm", "Athens"))
    >>> bool(x[stockholm, 1] > x[athens, 1])
    True
    """
    copenhagen, rome, athens, lisbon = (
        embedding[eurodist().names.index(name)] for name in ("Copenhagen", "Rome", "Athens", "Lisbon")
    )
    north = copenhagen - rome
    east = np.array([north[1], -north[0]])
    east *= np.sign(east @ (athens - lisbon))
    rotated: Array = embedding @ np.column_stack([east, north]) / np.linalg.norm(north)
    return rotated


ABOUT = About(
    "eurodist",
    "which city is closer to a third by road",
    "3,986",
    21,
    "facts",
    "the table eurodist of R's datasets",
    lambda: eurodist().comparisons(),
)
