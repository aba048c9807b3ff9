"""Which musicians are alike: answers of visitors of a web page about 400 artists."""

import numpy as np

from closerthan.comparisons import Comparisons
from closerthan.datasets.about import About
from closerthan.datasets.fetching import Remote

__all__ = ["ABOUT", "REMOTE", "music"]

REMOTE = Remote(
    "music_triplets.mat",
    "https://raw.githubusercontent.com/alphaprime/Stabilized_Stochastic_BB/"
    "ad67e56e2d47df5719cd30abc3181d0537a1f6a3/Data/Music/music_triplets.mat",
    "ce7b33bbb208ea9e441f2860d59574a98272a0d110fc1b4d9e96d4c88d59b313",
    16_607,
)


def music() -> Comparisons:
    """9,090 answers "artist i is more like j than like k" about 400 artists.

    From the aset400 survey (Ellis et al. 2002), cleaned of contradictions by van der Maaten & Weinberger (2012). The
    file has 9,107 rows; 17 of them compare an artist with itself and are dropped (``dropped`` counts them). Its numbers
    go up to 412, of which 400 occur; each artist's name here is its number in the file. The file is downloaded when it
    is first needed, or read from the folder that the environment variable ``CLOSERTHAN_DATA`` names.
    """
    from scipy.io import loadmat

    numbers, rows = np.unique(loadmat(REMOTE.path())["triplets"].astype(np.int64), return_inverse=True)
    names = [str(number) for number in numbers]
    return Comparisons.from_triplets(rows.reshape(-1, 3), names=names, self_pairs="drop")


ABOUT = About(
    "music",
    "which artist is more like a third",
    "9,090",
    400,
    REMOTE.licence,
    "Ellis et al. 2002; https://github.com/alphaprime/Stabilized_Stochastic_BB",
    music,
    (REMOTE,),
)
