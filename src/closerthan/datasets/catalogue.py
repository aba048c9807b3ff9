"""The list of data sets."""

from closerthan.datasets.about import Catalogue
from closerthan.datasets.answers.cars import ABOUT as CARS
from closerthan.datasets.answers.cfd36 import ABOUT as CFD36
from closerthan.datasets.answers.food100 import ABOUT as FOOD100
from closerthan.datasets.answers.imagenet import ABOUT as IMAGENET
from closerthan.datasets.answers.music import ABOUT as MUSIC
from closerthan.datasets.answers.things import ABOUT as THINGS
from closerthan.datasets.eurodist import ABOUT as EURODIST

__all__ = ["catalogue"]


def catalogue() -> Catalogue:
    """Return descriptions of all data sets: their content, their licence and whether they are on this machine.

    Files are looked up in the folder named by the environment variable ``CLOSERTHAN_DATA`` and in the user's cache
    folder. Otherwise they are downloaded when they are first needed: the size is printed first, and the checksum is
    verified.

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
