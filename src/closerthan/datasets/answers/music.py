"""Music: which artists are similar? Answers of visitors to a web page about 400 artists."""

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
    """Load 9,090 answers of the form "artist i is more like j than like k" about 400 artists.

    They are from the aset400 survey (Ellis et al. 2002); van der Maaten & Weinberger (2012) removed contradictions. The
    file has 9,107 rows, of which 17 compare an artist with itself and are dropped (see the attribute ``dropped``). Of
    the numbers up to 412, 400 occur in the file; they serve as the names of the artists. The file is downloaded when it
    is first needed, or read from the folder named by the environment variable ``CLOSERTHAN_DATA``.
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
