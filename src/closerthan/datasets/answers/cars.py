"""Cars: which of three cars is the most central? Answers about 60 cars."""

from closerthan.comparisons import Comparisons
from closerthan.datasets.about import About
from closerthan.datasets.fetching import Remote
from closerthan.files import read_comparisons

__all__ = ["ABOUT", "REMOTE", "cars"]

REMOTE = Remote(
    "cars_most_central.csv",
    "https://raw.githubusercontent.com/mperrot/ComparisonHC/"
    "a61ffc9c6baf52e6424ff192ef33ec19ff2159c1/resources/car/survey_data.csv",
    "479eeb0252b6d4dcd9d80b6bbb20bc1d127c627857e2a8af7e0567d82afa0494",
    153_619,
    licence="MIT (ComparisonHC)",
)


def cars() -> Comparisons:
    """Load 7,097 answers to "which of these three cars is the most central?" about 60 cars, as two triplets each.

    The answer "c is central among a, b, c" says that a is closer to c than to b, and b closer to c than to a
    (Kleindessner & von Luxburg 2017). The names of the cars are their numbers in the file; response times are included.
    The file is downloaded when it is first needed, or read from the folder named by the environment variable
    ``CLOSERTHAN_DATA``.
    """
    return read_comparisons(REMOTE.path(), kind="most-central", numbering="1-based")


ABOUT = About(
    "cars",
    "most central of three cars",
    "7,097",
    60,
    REMOTE.licence,
    "Kleindessner & von Luxburg 2017; https://github.com/mperrot/ComparisonHC",
    cars,
    (REMOTE,),
)
