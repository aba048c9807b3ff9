"""Example data: real data sets, listed by :func:`list`, and generators of synthetic ones."""

from closerthan.datasets.about import About, Catalogue
from closerthan.datasets.answers.cars import cars
from closerthan.datasets.answers.cfd36 import cfd36
from closerthan.datasets.answers.food100 import food100
from closerthan.datasets.answers.imagenet import imagenet
from closerthan.datasets.answers.music import music
from closerthan.datasets.answers.things import things
from closerthan.datasets.catalogue import catalogue as list
from closerthan.datasets.distances import Distances
from closerthan.datasets.eurodist import eurodist
from closerthan.datasets.retrieval import Labelled, digits, labelled_file, synthetic_classes
from closerthan.datasets.simulated import simulated
from closerthan.datasets.synthetic import Synthetic, synthetic

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
