"""Rules by which the next questions are chosen: ours, and those that it is measured against."""

import math
from collections.abc import Callable

import numba
import numpy as np
from numpy.typing import NDArray

import closerthan as ct
from closerthan.collect.choosing import FEWEST, PAIRS, Questions, fitted_map, replicates
from closerthan.losses import loss_named
from closerthan.objective.information import uncertainty

Rows = NDArray[np.int64]
Score = Callable[[ct.Comparisons, int, Rows, np.random.Generator], NDArray[np.float64]]


def maps_of(answers: ct.Comparisons, n_dims: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Replicates, as choose_questions fits them."""
    loss = loss_named("tste").in_dims(n_dims)
    return replicates(answers, fitted_map(answers, n_dims, loss, rng), loss, rng)


def by_uncertainty(answers: ct.Comparisons, n_dims: int, rows: Rows, rng: np.random.Generator) -> NDArray[np.float64]:
    """How unsure the answer is, be it that maps differ or that it is a toss-up."""
    return uncertainty("closer", rows, maps_of(answers, n_dims, rng), loss_named("tste").in_dims(n_dims))


def by_arr(answers: ct.Comparisons, n_dims: int, rows: Rows, rng: np.random.Generator) -> NDArray[np.float64]:
    """The information of Tamuz et al. (2011), by which Salmon's ARR takes the best question of each anchor in turn.

    The anchor may be at the place of any object, with the probability that its own answers give that place; how much
    would the answer tell about which? All other objects stay where the map has them.
    """
    x = fitted_map(answers, n_dims, loss_named("tste").in_dims(n_dims), rng)
    alpha = float(max(n_dims - 1, 1))
    squares = ((x[:, np.newaxis] - x) ** 2).sum(axis=2)
    logs = -(alpha + 1) / 2 * np.log1p(squares / alpha)
    posterior = np.zeros((len(x), len(x)))
    for begin in range(0, len(answers.rows), 2000):
        i, j, k = answers.rows[begin : begin + 2000].T
        np.add.at(posterior, i, -np.logaddexp(0, logs[:, k] - logs[:, j]).T)
    posterior = np.exp(posterior - posterior.max(axis=1, keepdims=True))
    posterior /= posterior.sum(axis=1, keepdims=True)
    out = np.empty(len(rows))
    _arr_information(rows, logs, posterior, out)
    return out


@numba.njit(cache=True)
def _arr_information(rows, logs, posterior, out):
    for q in range(len(rows)):
        i, j, k = rows[q]
        mean = entropy = 0.0
        for place in range(len(logs)):
            weight = posterior[i, place]
            if weight > 1e-9:
                p = 1.0 / (1.0 + math.exp(min(logs[place, k] - logs[place, j], 700.0)))
                mean += weight * p
                if 0.0 < p < 1.0:
                    entropy -= weight * (p * math.log(p) + (1.0 - p) * math.log(1.0 - p))
        out[q] = -mean * math.log(mean) - (1.0 - mean) * math.log(1.0 - mean) - entropy if 0.0 < mean < 1.0 else 0.0


def chosen(answers: ct.Comparisons | None, n_objects: int, n_dims: int, rng: np.random.Generator) -> Rows:
    """Ours: one question for each anchor."""
    return ct.choose_questions(answers, n_objects, n_dims=n_dims, n_objects=n_objects, seed=int(rng.integers(2**31)))


def random(answers: ct.Comparisons | None, n_objects: int, n_dims: int, rng: np.random.Generator) -> Rows:  # noqa: ARG001
    """Any question."""
    return Questions("closer", n_objects).draw(rng.integers(n_objects, size=n_objects), 1, rng)[:, 0]


def best_of_each_anchor(score: Score) -> Callable[..., Rows]:
    """Anchors in random order, for each the best of as many random pairs as ours looks at."""

    def sampler(answers: ct.Comparisons | None, n_objects: int, n_dims: int, rng: np.random.Generator) -> Rows:
        if answers is None or len(answers) < FEWEST * n_objects * n_dims:
            return random(answers, n_objects, n_dims, rng)
        pairs = Questions("closer", n_objects).draw(rng.permutation(n_objects), PAIRS, rng)
        scores = score(answers, n_dims, pairs.reshape(-1, 3), rng).reshape(pairs.shape[:2])
        return pairs[np.arange(n_objects), scores.argmax(axis=1)]

    return sampler


SAMPLERS = {
    "random": random,
    "chosen": chosen,
    "uncertain": best_of_each_anchor(by_uncertainty),
    "ARR": best_of_each_anchor(by_arr),
}
