"""Which car is the most central of three: answers of people about 60 cars."""

import csv

import numpy as np

from closerthan.comparisons import Comparisons
from closerthan.datasets.fetching import Remote

REMOTE = Remote(
    "cars_most_central.csv",
    "https://raw.githubusercontent.com/mperrot/ComparisonHC/"
    "a61ffc9c6baf52e6424ff192ef33ec19ff2159c1/resources/car/survey_data.csv",
    "479eeb0252b6d4dcd9d80b6bbb20bc1d127c627857e2a8af7e0567d82afa0494",
)


def cars() -> Comparisons:
    """Two triplets for each of 7,097 answers to "which of these three cars is the most central?" (60 cars).

    The answer "c is central among a, b, c" says that a is closer to c than to b, and b closer to c than to a
    (Kleindessner & von Luxburg 2017). Each car's name here is its number in the file. The file is downloaded when it
    is first needed, or read from the folder that the environment variable ``CLOSERTHAN_DATA`` names.
    """
    with open(REMOTE.path(), encoding="utf-8", newline="") as file:
        answers = [
            (int(row["chosen_center"]), *(int(row[f"triplet_object_{place}"]) for place in (1, 2, 3)))
            for row in csv.DictReader(file)
        ]
    rows = []
    for centre, *shown in answers:
        a, b = (car for car in shown if car != centre)
        rows += [(a, centre, b), (b, centre, a)]
    numbers, compact = np.unique(np.array(rows), return_inverse=True)
    return Comparisons.from_triplets(
        compact.reshape(-1, 3), names=[str(number) for number in numbers], answers=np.arange(len(rows)) // 2
    )
