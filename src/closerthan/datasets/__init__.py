"""Data to try things on: one maker or loader per file."""

from closerthan.datasets.cars import cars
from closerthan.datasets.distances import Distances
from closerthan.datasets.eurodist import eurodist
from closerthan.datasets.music import music
from closerthan.datasets.retrieval import Labelled, digits, labelled_file, synthetic_classes
from closerthan.datasets.simulated import simulated
from closerthan.datasets.synthetic import Synthetic, synthetic

__all__ = [
    "Distances",
    "Labelled",
    "Synthetic",
    "cars",
    "digits",
    "eurodist",
    "labelled_file",
    "music",
    "simulated",
    "synthetic",
    "synthetic_classes",
]
