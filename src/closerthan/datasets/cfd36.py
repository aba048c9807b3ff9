"""Which of two faces is more like a third: answers of 39 people about 36 faces."""

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
    """37,234 answers "which of these two faces is more like this one?" by 39 people about 36 faces.

    The faces are from the Chicago Face Database, the answers from the R package tripletTools; who gave them, how
    quickly and on which side is kept. The file has 39,468 rows: 2,234 are catch trials, which are left out. It is
    downloaded when it is first needed, or read from the folder that the environment variable ``CLOSERTHAN_DATA`` names.
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
