"""Answers of simulated people about points that are known."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan.checks import checked, number, whole
from closerthan.comparisons import Comparisons, reversed_rows
from closerthan.datasets.synthetic import questions, squared_distances
from closerthan.geometry import matrix_of
from closerthan.losses import CKL, TSTE

Array = NDArray[np.float64]


@checked
def simulated(
    points: ArrayLike,
    n_answers: int,
    *,
    noise: str = "none",
    level: float | None = None,
    quadruplets: bool = False,
    names: Sequence[str] | None = None,
    seed: int | np.random.Generator | None = None,
) -> Comparisons:
    """Random questions about points, with more or less noisy answers.

    Parameters
    ----------
    points
        Where the objects are, one row per object.
    n_answers
        How many questions to ask; the objects of a question are different ones, drawn at random.
    noise
        How people err, a name from ``NOISES``:
        "none": never;
        "flip": with the same probability ``level`` (0.1) for every question;
        "distance": they see both distances with a normal error, whose standard deviation is ``level`` (0.1) times the
        root mean square distance of the points;
        "ste", "tste", "ckl": they follow the model of that loss with its usual parameters, and err more often where
        the two distances differ little: the smaller the distances, the noisier.
    level
        How much, for "flip" and "distance".
    quadruplets
        Ask which of two pairs is closer, instead of which of two objects is closer to a third.
    names
        The objects' names.
    seed
        Makes the questions and the answers repeatable.

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
        raise ValueError(f"unknown noise {noise!r}; known are: {', '.join(NOISES)}")
    if level is None:
        level = 0.1
    elif noise not in ("flip", "distance"):
        raise ValueError(f"noise {noise!r} has no level; leave it out, or choose flip or distance")
    most = 0.5 if noise == "flip" else np.inf
    number("level", level, lambda it: 0 <= it <= most, "not be negative, nor above 0.5 for flip")

    rng = np.random.default_rng(seed)
    rows = questions(x, n_answers, quadruplets, rng)
    if noise == "distance":
        level *= float(np.sqrt(2 * x.var(axis=0).sum() * len(x) / (len(x) - 1)))
    chance = NOISES[noise]
    for start in range(0, n_answers, 1 << 18):
        part = rows[start : start + (1 << 18)]
        near, far = squared_distances(x, part)
        err = rng.random(len(part)) < chance(near, far, level, x.shape[1])
        part[err] = reversed_rows(part[err])
    return Comparisons.of(rows, n_objects=len(x), names=names)


def _none(near: Array, far: Array, level: float, n_dims: int) -> Any:
    return 0.0


def _flip(near: Array, far: Array, level: float, n_dims: int) -> Any:
    return level


def _distance(near: Array, far: Array, level: float, n_dims: int) -> Any:
    from scipy.special import ndtr

    return ndtr((np.sqrt(near) - np.sqrt(far)) / (np.sqrt(2) * level)) if level else 0.0


def _ste(near: Array, far: Array, level: float, n_dims: int) -> Any:
    from scipy.special import expit

    return expit(near - far)


def _tste(near: Array, far: Array, level: float, n_dims: int) -> Any:
    from scipy.special import expit

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
"""How people err: the probability of a wrong answer, given the two squared distances (near is the smaller one)."""
