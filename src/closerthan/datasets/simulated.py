"""Simulated answers about points with known positions."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, ndtr

from closerthan.arrays import Array
from closerthan.checks import checked, number, whole
from closerthan.comparisons import Comparisons, reversed_rows
from closerthan.datasets.synthetic import draw_answers, squared_distances
from closerthan.geometry import matrix_of
from closerthan.losses import CKL, TSTE


@checked
def simulated(
    points: ArrayLike,
    n_answers: int,
    *,
    noise: str = "none",
    level: float | None = None,
    quadruplets: bool = False,
    names: Sequence[str] | None = None,
    seed: int | np.random.Generator | None = 0,
) -> Comparisons:
    """Simulate noisy answers to random questions about points.

    Parameters
    ----------
    points
        Coordinates of the objects, one row per object.
    n_answers
        Number of questions; the objects of a question are distinct and drawn at random.
    noise
        Noise model, a name from ``NOISES``. "none": all answers are right. "flip": each answer is wrong with
        probability ``level`` (0.1 by default). "distance": both distances are perceived with a normal error, whose
        standard deviation is ``level`` (0.1 by default) times the root mean square distance of the points. "ste",
        "tste" and "ckl": answers follow the probability model of that loss with its default parameters, so that they
        are wrong more often where the two distances differ little.
    level
        Amount of noise, for "flip" and "distance".
    quadruplets
        Whether to ask which of two pairs is closer, instead of which of two objects is closer to a third.
    names
        Names of the objects.
    seed
        Seed of the random number generator, or the generator.

    Examples
    --------
    >>> import closerthan as ct
    >>> points = [[0.0], [1.0], [3.0], [7.0]]
    >>> answers = ct.datasets.simulated(points, 1000, noise="flip", level=0.2, seed=0)
    >>> bool(abs(ct.triplet_error(answers, points) - 0.2) < 0.05)
    True
    """
    x = matrix_of("points", points)
    if len(x) < 3 + quadruplets:
        raise ValueError(f"there are {len(x)} points; a question is about {3 + quadruplets} different ones")
    n_answers = whole("n_answers", n_answers)
    if noise not in NOISES:
        raise ValueError(f"unknown noise {noise!r}; choose from: {', '.join(NOISES)}")
    if level is None:
        level = 0.1
    elif noise not in ("flip", "distance"):
        raise ValueError(f"noise {noise!r} has no level; leave it out, or choose flip or distance")
    most = 0.5 if noise == "flip" else np.inf
    number("level", level, lambda value: 0 <= value <= most, "not be negative, nor above 0.5 for flip")

    rng = np.random.default_rng(seed)
    rows = draw_answers(x, n_answers, quadruplets, rng)
    if noise == "distance":
        level *= float(np.sqrt(2 * x.var(axis=0).sum() * len(x) / (len(x) - 1)))
    error_probability = NOISES[noise]
    for start in range(0, n_answers, 1 << 18):
        part = rows[start : start + (1 << 18)]
        near, far = squared_distances(x, part)
        wrong = rng.random(len(part)) < error_probability(near, far, level, x.shape[1])
        part[wrong] = reversed_rows(part[wrong])
    return Comparisons.of(rows, n_objects=len(x), names=names)


def _none(near: Array, far: Array, level: float, n_dims: int) -> Any:
    return 0.0


def _flip(near: Array, far: Array, level: float, n_dims: int) -> Any:
    return level


def _distance(near: Array, far: Array, level: float, n_dims: int) -> Any:
    return ndtr((np.sqrt(near) - np.sqrt(far)) / (np.sqrt(2) * level)) if level else 0.0


def _ste(near: Array, far: Array, level: float, n_dims: int) -> Any:
    return expit(near - far)


def _tste(near: Array, far: Array, level: float, n_dims: int) -> Any:
    alpha = TSTE().in_dims(n_dims).alpha
    return expit((alpha + 1) / 2 * (np.log(alpha + near) - np.log(alpha + far)))


def _ckl(near: Array, far: Array, level: float, n_dims: int) -> Any:
    mu = CKL().mu
    return (near + mu) / (near + far + 2 * mu)


NOISES: dict[str, Callable[[Array, Array, float, int], Any]] = {
    "none": _none,
    "flip": _flip,
    "distance": _distance,
    "ste": _ste,
    "tste": _tste,
    "ckl": _ckl,
}
"""Noise models: the probability of a wrong answer as a function of the smaller and the larger squared distance."""
