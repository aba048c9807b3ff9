"""Road distances between 21 European cities."""

import csv
from importlib import resources

import numpy as np

from closerthan.comparisons import Comparisons
from closerthan.datasets.about import About
from closerthan.datasets.distances import Distances

__all__ = ["ABOUT", "eurodist"]


def eurodist() -> Distances:
    """Road distances in km between 21 European cities (the ``eurodist`` table of R's datasets).

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


def _comparisons() -> Comparisons:
    return eurodist().comparisons()


ABOUT = About(
    "eurodist",
    "which city is closer to a third by road",
    "3,986",
    21,
    "facts",
    "the table eurodist of R's datasets",
    _comparisons,
)
