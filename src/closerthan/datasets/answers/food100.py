"""Food: which food tastes more like another? Answers about 100 pictures of food."""

from closerthan.comparisons import Comparisons
from closerthan.datasets.about import About
from closerthan.datasets.fetching import Remote
from closerthan.files import read_comparisons

__all__ = ["ABOUT", "REMOTE", "food100"]

# The address is a mirror listed by cblearn; the original, at vision.cornell.edu, no longer exists.
REMOTE = Remote(
    "food100-dataset.zip",
    "https://osf.io/download/6aa16bb1813a28b1e43f09bb/",
    "18f5e210174dfdbf6a7b4ed7538cf8ba53fd65e0cbe193519231b8ab4ea8fc62",
    checksum_source="cblearn",
)


def food100() -> Comparisons:
    """Load 190,376 triplets that compare the taste of foods on 100 pictures.

    People chose several of many pictures, and each choice became several triplets (Wilber, Kwak & Belongie 2014); the
    file does not say which triplets are from one choice. The archive, which also holds the pictures, is downloaded when
    it is first needed, or read from the folder named by the environment variable ``CLOSERTHAN_DATA``. This loader was
    not tested with the archive: its address, layout and checksum are those published by cblearn. The authors call the
    pictures copyrighted material under fair use.
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
