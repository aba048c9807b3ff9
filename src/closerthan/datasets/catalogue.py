"""The list of data sets."""

from closerthan.datasets.about import Catalogue
from closerthan.datasets.cars import ABOUT as CARS
from closerthan.datasets.cfd36 import ABOUT as CFD36
from closerthan.datasets.eurodist import ABOUT as EURODIST
from closerthan.datasets.food100 import ABOUT as FOOD100
from closerthan.datasets.imagenet import ABOUT as IMAGENET
from closerthan.datasets.music import ABOUT as MUSIC
from closerthan.datasets.things import ABOUT as THINGS

__all__ = ["catalogue"]


def catalogue() -> Catalogue:
    """All data sets with a loader: what they are, their licence, and whether they are on this machine.

    A file is looked for in the folder that the environment variable ``CLOSERTHAN_DATA`` names and in the user's cache
    folder; otherwise it is downloaded when it is first needed, after its size was said, and checked.

    Examples
    --------
    >>> import closerthan as ct
    >>> sets = ct.datasets.list()
    >>> [one.name for one in sets]
    ['eurodist', 'cars', 'music', 'cfd36', 'food100', 'imagenet', 'things']
    >>> sets.named("cars").licence
    'MIT (ComparisonHC)'
    """
    return Catalogue((EURODIST, CARS, MUSIC, CFD36, FOOD100, IMAGENET, THINGS))
