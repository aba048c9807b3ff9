"""THINGS: which of three things is the odd one out? 4.7 million answers about 1,854 things."""

from pathlib import Path

from closerthan.comparisons import Comparisons
from closerthan.datasets.about import About
from closerthan.datasets.fetching import Remote
from closerthan.files import read_comparisons

__all__ = ["ABOUT", "NAMES", "REMOTE", "things"]

_PUBLISHER = "an analysis of the data on GitHub"
_LICENCE = "CC0 (according to its paper)"

REMOTE = Remote(
    "triplets_large_final_correctednc_correctedorder.csv",
    "https://osf.io/h2smy/download",
    "68f2bbc330b17537881f81b1aa806fc2179b7accecc3a44d54fb25ae3de7f3e5",
    checksum_source=_PUBLISHER,
    licence=_LICENCE,
)
NAMES = Remote(
    "unique_id.txt",
    "https://osf.io/2y463/download",
    "e2e59d02197e89776034938e7a73940a0823cacac4b6084b56b1d8959816ff76",
    checksum_source=_PUBLISHER,
    licence=_LICENCE,
)
"""Names of the things, in the order of their numbers."""


def things() -> Comparisons:
    """Load 4.7 million answers to "which of these three is the odd one out?" about 1,854 things, as two triplets each.

    People and response times are included (Hebart et al. 2023). The file is separated by tabs and numbers the things
    from 1; their names are in a second file. Both are downloaded when they are first needed, or read from the folder
    named by the environment variable ``CLOSERTHAN_DATA``. If only the first is in that folder, the things are named by
    their numbers. This loader was not tested with these files: addresses and checksums are from a public repository.
    """
    without_names = REMOTE.here() is not None and NAMES.here() is None
    path = REMOTE.path()
    return read_comparisons(
        path,
        kind="odd-one-out",
        columns={"items": ["image1", "image2", "image3"], "odd": "choice"},
        names=None if without_names else _names(NAMES.path()),
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
