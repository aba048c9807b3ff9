"""Whole answers of several kinds in one set."""

from closerthan.comparisons import Comparisons

N_OBJECTS = 10


def some_answers(rng, weighted=False):
    """Odd one out, nearest of four and most central, about three or five objects each, in one set."""
    rows, numbers = [], []
    for number in range(90):
        i, j, k, l, m = rng.choice(N_OBJECTS, 5, replace=False)  # noqa: E741
        kind = number % 3
        odd = [(i, j, i, k), (i, j, j, k)]
        nearest = [(i, j, i, other) for other in (k, l, m)]
        central = [(i, k, j, k), (i, j, j, k)]
        rows += (odd, nearest, central)[kind]
        numbers += [number] * len((odd, nearest, central)[kind])
    answers = Comparisons.from_quadruplets(rows, answers=numbers, n_objects=N_OBJECTS)
    weights = rng.uniform(0.5, 2.0, 90)[numbers] if weighted else None
    return answers.replace(weights=weights)
