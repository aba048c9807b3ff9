"""Which of three things is the odd one out: 4.7 million answers about 1,854 things."""

from pathlib import Path

from closerthan.comparisons import Comparisons
from closerthan.datasets.about import About
from closerthan.datasets.fetching import Remote
from closerthan.files import read_comparisons

__all__ = ["ABOUT", "NAMES", "REMOTE", "things"]

_WHO = "an analysis of the data on GitHub"
_LICENCE = "CC0 (says its paper)"

REMOTE = Remote(
    "triplets_large_final_correctednc_correctedorder.csv",
    "https://osf.io/h2smy/download",
    "68f2bbc330b17537881f81b1aa806fc2179b7accecc3a44d54fb25ae3de7f3e5",
    vouched=_WHO,
    licence=_LICENCE,
)
NAMES = Remote(
    "unique_id.txt",
    "https://osf.io/2y463/download",
    "e2e59d02197e89776034938e7a73940a0823cacac4b6084b56b1d8959816ff76",
    vouched=_WHO,
    licence=_LICENCE,
)
"""The things' names, in the order of their numbers."""


def things() -> Comparisons:
    """Two triplets for each of 4.7 million answers to "which of these three things is the odd one out?" (1,854 things).

    Who answered, and how quickly, is kept (Hebart et al. 2023). The file has tabs between columns and numbers things
    from 1; their names are in a file of their own. Both are downloaded when the first is needed; from the folder that
    the environment variable ``CLOSERTHAN_DATA`` names either is read, and without the second, things are called by
    their numbers. We have not seen these files: their addresses and checksums are from a public repository.
    """
    alone = REMOTE.here() is not None and NAMES.here() is None
    path = REMOTE.path()
    return read_comparisons(
        path,
        kind="odd-one-out",
        columns={"items": ["image1", "image2", "image3"], "odd": "choice"},
        names=None if alone else _names(NAMES.path()),
        numbering="1-based",
        self_pairs="drop",
        missing="drop",
    )


def _names(path: Path) -> list[str]:
    return [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


ABOUT = About(
    "things",
    "odd one out of three things; people, times",
    "4.7 million",
    1_854,
    _LICENCE,
    "Hebart et al. 2023; https://osf.io/f5rn6/",
    things,
    (REMOTE, NAMES),
)
