"""Example data: real data sets, listed by :func:`list`, and generators of synthetic ones."""

from closerthan.datasets.about import About, Catalogue
from closerthan.datasets.cars import cars
from closerthan.datasets.catalogue import catalogue as list
from closerthan.datasets.cfd36 import cfd36
from closerthan.datasets.distances import Distances
from closerthan.datasets.eurodist import eurodist
from closerthan.datasets.food100 import food100
from closerthan.datasets.imagenet import imagenet
from closerthan.datasets.music import music
from closerthan.datasets.retrieval import Labelled, digits, labelled_file, synthetic_classes
from closerthan.datasets.simulated import simulated
from closerthan.datasets.synthetic import Synthetic, synthetic
from closerthan.datasets.things import things

__all__ = [
    "About",
    "Catalogue",
    "Distances",
    "Labelled",
    "Synthetic",
    "cars",
    "cfd36",
    "digits",
    "eurodist",
    "food100",
    "imagenet",
    "labelled_file",
    "list",
    "music",
    "simulated",
    "synthetic",
    "synthetic_classes",
    "things",
]
