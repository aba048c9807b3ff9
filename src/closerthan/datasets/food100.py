"""Which food tastes more like another: answers of people about 100 pictures of food."""

from closerthan.comparisons import Comparisons
from closerthan.datasets.about import About
from closerthan.datasets.fetching import Remote
from closerthan.files import read_comparisons

__all__ = ["ABOUT", "REMOTE", "food100"]

# The address is a mirror that cblearn names; the first one, at vision.cornell.edu, is no longer there.
REMOTE = Remote(
    "food100-dataset.zip",
    "https://osf.io/download/6aa16bb1813a28b1e43f09bb/",
    "18f5e210174dfdbf6a7b4ed7538cf8ba53fd65e0cbe193519231b8ab4ea8fc62",
    vouched="cblearn",
)


def food100() -> Comparisons:
    """190,376 triplets: the taste of a food is more like this one than like that one (100 pictures).

    People chose several of many pictures; each choice became several triplets, and which are from one choice is not
    known (Wilber, Kwak & Belongie 2014). The archive, which holds the pictures too, is downloaded when it is first
    needed, or read from the folder that the environment variable ``CLOSERTHAN_DATA`` names. We have not seen it: its
    address, shape and checksum are those that cblearn publishes. Its authors call the pictures
    copyrighted material under fair use.
    """
    return read_comparisons(
        REMOTE.path(),
        variable="food100-dataset/all-triplets.csv",
        header=False,
        delimiter=";",
        kind="triplet",
        self_pairs="drop",
    )


ABOUT = About(
    "food100",
    "which food tastes more like a third",
    "190,376",
    100,
    REMOTE.licence,
    "Wilber, Kwak & Belongie 2014; https://osf.io/tqpmw/",
    food100,
    (REMOTE,),
)
