"""ImageNet: which two of eight pictures are most similar to a ninth? Answers about ImageNet's validation pictures."""

from typing import Literal

from closerthan.checks import ParameterError, checked
from closerthan.comparisons import Comparisons
from closerthan.datasets.about import About
from closerthan.datasets.fetching import Remote
from closerthan.files import read_comparisons

__all__ = ["ABOUT", "REMOTES", "imagenet"]

REMOTES = {
    "0.1": Remote(
        "imagenet_similarity_obs-118.hdf5",
        "https://osf.io/download/ej6sz/",
        "d8a51e689ebd10c7c8a22eb9a52b16a7f18a8d205f4bce434bdaea5ad0d4fe61",
        checksum_source="cblearn",
        licence="CC BY 4.0",
    ),
    "0.2": Remote(
        "imagenet_similarity_obs-195.hdf5",
        "https://osf.io/download/x6dht/",
        "2b4b22c1c5f425eea774e88fded389e188adc4424ba4eb9ca307a5ea732a3d76",
        checksum_source="cblearn",
        licence="CC BY 4.0",
    ),
}
"""The file of each version."""


@checked
def imagenet(version: Literal["0.1", "0.2"] = "0.1") -> Comparisons:
    """Load 25,273 answers: which two of eight pictures are most similar to a ninth, the most similar first.

    An answer yields 13 triplets: the first choice is nearer than the seven other pictures, the second is nearer than
    the six that were not chosen (Roads & Love 2021). Version 0.1 has a picture of each of ImageNet's 1,000 classes;
    version 0.2 has 384,277 answers about 50,000 pictures. The names of the pictures are their numbers in the file. The
    extra ``closerthan[files]`` is required.

    The file is downloaded when it is first needed, or read from the folder named by the environment variable
    ``CLOSERTHAN_DATA``. This loader was not tested with the file: its address, layout and checksum are those published
    by cblearn.
    """
    if version not in REMOTES:
        raise ParameterError("version", version, f"choose from: {', '.join(REMOTES)}")
    return read_comparisons(REMOTES[version].path(), self_pairs="drop", numbering="names")


ABOUT = About(
    "imagenet",
    "two of eight pictures most like a ninth, ranked",
    "25,273",
    1_000,
    REMOTES["0.1"].licence,
    "Roads & Love 2021; https://osf.io/7f96y/",
    imagenet,
    (REMOTES["0.1"],),
)
