"""Road distances between 21 European cities."""

import csv
from importlib import resources

import numpy as np

from closerthan.datasets.distances import Distances


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
