"""Data to try things on: one maker or loader per file."""

from closerthan.datasets.distances import Distances
from closerthan.datasets.eurodist import eurodist
from closerthan.datasets.simulated import simulated
from closerthan.datasets.synthetic import Synthetic, synthetic

__all__ = ["Distances", "Synthetic", "eurodist", "simulated", "synthetic"]
