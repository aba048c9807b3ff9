"""Faces: which of two faces is more similar to a third? Answers of 39 people about 36 faces."""

from closerthan.comparisons import Comparisons
from closerthan.datasets.about import About
from closerthan.datasets.fetching import Remote
from closerthan.files import read_comparisons

__all__ = ["ABOUT", "REMOTE", "cfd36"]

REMOTE = Remote(
    "cfd36_people.csv",
    "https://raw.githubusercontent.com/Knowledge-and-Concepts-Lab/tripletTools/"
    "28ea745f52c68ea73d9d88910acc17b1001963c3/inst/extdata/cfd36_triplets_individual.csv",
    "988c0652433e79d288096edc7b5148274d7e24a8db09d31c32440c3f2cd6b58f",
    3_983_700,
    licence="MIT (tripletTools)",
)


def cfd36() -> Comparisons:
    """Load 37,234 answers of 39 people to "which of these two faces is more like this one?" about 36 faces.

    The faces are from the Chicago Face Database, the answers from the R package tripletTools. People,
    response times and sides are included. The file has 39,468 rows, of which 2,234 are catch trials and are left out.
    It is downloaded when it is first needed, or read from the folder named by the environment variable
    ``CLOSERTHAN_DATA``.
    """
    return read_comparisons(REMOTE.path())


ABOUT = About(
    "cfd36",
    "which face is more like a third; people, times, sides",
    "37,234",
    36,
    REMOTE.licence,
    "https://github.com/Knowledge-and-Concepts-Lab/tripletTools",
    cfd36,
    (REMOTE,),
)
