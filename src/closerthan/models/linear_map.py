"""Linear maps of features that predict answers: the objective and its minimisation.

Positions are ``x = W'(f - c)``, one per row of features f. The objective is the mean loss of the answers plus a ridge
penalty that pulls W towards a multiple of the identity (or towards 0)::

    L(W) = loss(x) + strength * |W - a E|^2 / (2 a^2 q),

where q is the number of columns of W, and a is the multiple with the lowest loss. The gradient follows from that of any
objective by the chain rule: ``dL/dW = F' dL/dX``.

W is found in the basis of the principal axes of the features, which changes neither the model nor the penalty. With
fewer objects than features, the answers tell nothing about other directions, so W has as many rows as there are
objects. E is the identity on the q leading axes. Features are measured in units of their root mean square length.
"""

import contextlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from closerthan.accuracy import SIMILARITIES
from closerthan.arrays import Array, inner, one_blas_thread
from closerthan.checks import ParameterError, whole
from closerthan.comparisons import Choices, Comparisons
from closerthan.losses import STE, DotProduct, Loss, loss_named
from closerthan.objective.cpu.choices import ChoiceRows, ChoiceSums
from closerthan.objective.cpu.objective import CPU
from closerthan.objective.protocol import MeanLoss, Point
from closerthan.solvers.quasi_newton import descend

__all__ = ["FittedMap", "MapSettings", "fitted_map"]

HELD_OUT = 0.2  # fraction of the answers (or objects) by which the strength of the penalty is chosen
STRENGTHS = tuple(10.0 ** (1 - number / 2) for number in range(15))  # values from 10 to 1e-6 to try
PATIENCE = 2  # weaker penalties in a row without a lower held-out loss, after which the search ends
ITERATIONS = 200
TOLERANCE = 1e-5  # relative decrease of the objective in an iteration below which a fit ends
COLLAPSED = 1e-3  # squared length of the weights, relative to the multiple of the identity, that counts as 0
LOG_SCALES = (-6.0, 6.0)  # interval in which the logarithm of the multiple of the identity is searched
TARGETS = ("identity", "zero")
MOST_RANK = 100  # number of dimensions unless the caller chooses it

Evaluate = Callable[[Array], tuple[float, Array]]


@dataclass(frozen=True)
class MapSettings:
    """Everything that determines a linear map.

    Attributes
    ----------
    rank
        Number of dimensions; None means as many as there are independent features, but at most 100.
    similarity
        "euclidean", "dot" or "cosine".
    loss
        The loss.
    towards
        What the penalty pulls the map towards: a multiple of the "identity", "zero", or "auto": whichever predicts
        held-out answers better ("identity" if the strength is fixed).
    strength
        Strength of the penalty; None means that it is chosen by held-out answers.
    hold_out
        What is held out to choose it: "answers" or "objects".
    standardize
        Whether all features are scaled to the same variance.
    seed
        Seed of the parts that are held out.
    """

    rank: int | None = None
    similarity: str = "cosine"
    loss: str | Loss = "ste"
    towards: str = "auto"
    strength: float | None = None
    hold_out: str = "answers"
    standardize: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value, choices in (
            ("similarity", self.similarity, SIMILARITIES),
            ("towards", self.towards, ("auto", *TARGETS)),
            ("hold_out", self.hold_out, ("answers", "objects")),
        ):
            if value not in choices:
                raise ParameterError(name, value, f"it must be one of {', '.join(choices)}")
        if not isinstance(loss_named(self.loss), STE) and self.similarity == "dot":
            rule = "with dot products it must be ste; choose cosine or euclidean for others"
            raise ParameterError("loss", self.loss, rule)
        if self.rank is not None:
            whole("rank", self.rank)

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets of the penalty to try."""
        return TARGETS if self.towards == "auto" else (self.towards,)


class FittedMap(NamedTuple):
    """A linear map.

    Attributes
    ----------
    centre
        Subtracted from the features.
    weights
        (n_features, rank): ``positions = (features - centre) @ weights``.
    towards, strength
        What the penalty pulls the map towards, and how strongly; infinite if the features are only scaled.
    candidates
        The held-out loss of each target and strength that was tried.
    """

    centre: Array
    weights: Array
    towards: str
    strength: float
    candidates: dict[tuple[str, float], float]

    def __call__(self, features: Array) -> Array:
        return (features - self.centre) @ self.weights


class _Basis(NamedTuple):
    """Principal axes of features: ``inputs = (features - centre) @ axes``."""

    centre: Array
    axes: Array

    @classmethod
    def of(cls, features: Array, *, centred: bool, standardize: bool) -> Self:
        centre = features.mean(axis=0) if centred else np.zeros(features.shape[1])
        unit = np.ones(features.shape[1])
        if standardize:
            spread = features.std(axis=0)
            unit = np.where(spread > 0, spread, 1.0)
        shifted = (features - centre) / unit
        _, sizes, axes = np.linalg.svd(shifted, full_matrices=False)
        is_used = sizes > sizes.max(initial=0.0) * max(shifted.shape) * np.finfo(float).eps
        if not is_used.any():
            raise ValueError("all features are the same; nothing can be learnt from them")
        length = math.sqrt(float(np.sum(shifted**2)) / len(shifted))
        return cls(centre, axes[is_used].T / unit[:, None] / length)

    def __call__(self, features: Array) -> Array:
        return np.ascontiguousarray((features - self.centre) @ self.axes)


class LinearMapObjective:
    """The penalised loss as a function of the weights."""

    collapsed_objective = math.nan

    def __init__(self, inputs: Array, loss: Evaluate, pull: float, target: Array) -> None:
        self._inputs, self._loss, self._pull, self._target = inputs, loss, pull, target

    def at(self, x: Array) -> Point:
        """Return the value and gradient at some weights."""
        value, gradient = self._loss(np.ascontiguousarray(self._inputs @ x))
        offset = x - self._target
        penalty = 0.5 * self._pull * inner(offset, offset)
        return Point(x, value + penalty, self._inputs.T @ gradient + self._pull * offset)


@contextlib.contextmanager
def loss_of_positions(answers: Comparisons, similarity: str, loss: Loss) -> Iterator[Evaluate]:
    """Yield a function that returns the mean loss of the answers and its gradient with respect to the positions.

    The loss of an answer is ``-log P`` by Luce's choice rule; that of a ranking or a set is the sum over its choices. A
    loss without a similarity is summed over comparisons instead.
    """

    of_similarity = on_a_sphere if similarity == "cosine" else lambda evaluate: evaluate

    if not loss.is_choice_rule:
        with CPU(n_threads=1).objective(answers, loss) as objective:

            def of_comparisons(x: Array) -> tuple[float, Array]:
                point = objective.at(x)
                return point.value, point.gradient

            yield of_similarity(of_comparisons)
        return
    choices = Choices.of(answers)
    weights = np.ones(choices.n_answers) if choices.weights is None else choices.weights
    by_choice = (weights / weights.sum())[choices.answers]
    with ChoiceSums(ChoiceRows.of(choices), DotProduct() if similarity == "dot" else loss, by_choice) as sums:
        yield of_similarity(lambda x: sums.counted_comparisons(x)[:2])


def on_a_sphere(evaluate: Evaluate) -> Evaluate:
    """Return a loss of the directions of positions, from a loss of positions.

    All positions are moved to the sphere whose radius R is their root mean square length. There the squared distance
    is ``2 R^2 (1 - cosine)``, so a loss of distances is one of cosines, with R as its scale.
    """

    def of_directions(x: Array) -> tuple[float, Array]:
        lengths = np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-150)
        units = x / lengths
        radius = math.sqrt(float(np.mean(lengths**2)))
        value, gradient = evaluate(radius * units)
        outward = np.einsum("ij,ij->i", gradient, units)
        along = (radius / lengths) * (gradient - outward[:, None] * units)
        return value, along + (float(outward.sum()) / (len(x) * radius)) * x

    return of_directions


def fitted_map(
    features: Array, answers: Comparisons, settings: MapSettings, is_cancelled: Callable[[], bool] = lambda: False
) -> FittedMap:
    """Fit a linear map to answers; ``features`` has one row for each object of the answers.

    Examples
    --------
    >>> import closerthan as ct
    >>> from closerthan.losses import STE
    >>> features = np.random.default_rng(0).normal(size=(30, 2))
    >>> answers = ct.datasets.simulated(features[:, :1], 2000, seed=0)
    >>> linear = fitted_map(features, answers, MapSettings(1, "euclidean", STE(), strength=1e-4))
    >>> bool(abs(linear.weights[0, 0]) > 50 * abs(linear.weights[1, 0]))
    True
    """
    tried: dict[tuple[str, float], float] = {}
    if settings.strength is None:
        train, held_out = _parts(answers, settings)
        tried = _held_out_losses(_Fit(features, train, settings, is_cancelled), features, held_out)
        towards, strength = min(tried, key=lambda one: tried[one])
    else:
        towards, strength = settings.targets[0], settings.strength
    fit = _Fit(features, answers, settings, is_cancelled)
    with fit.prepared():
        weights = fit.minimum(towards, strength, fit.target)
    return FittedMap(fit.basis.centre, fit.basis.axes @ weights, towards, strength, tried)


def _parts(answers: Comparisons, settings: MapSettings) -> tuple[Comparisons, Comparisons]:
    """Return the answers to fit, and those by which the strength of the penalty is chosen."""
    rng = np.random.default_rng(settings.seed)
    if settings.hold_out == "answers":
        return answers.split(HELD_OUT, rng)
    mentioned = np.flatnonzero(answers.mentioned)
    objects = rng.choice(mentioned, max(1, round(HELD_OUT * len(mentioned))), replace=False)
    is_held_out = about_any(answers, objects)
    if is_held_out.all():
        raise ValueError(
            "every answer mentions one of the objects that are held out to choose the penalty; "
            'hold answers out instead (hold_out="answers")'
        )
    return answers.take(~is_held_out), answers.take(is_held_out)


def about_any(answers: Comparisons, objects: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which rows belong to an answer that mentions one of these objects.

    Examples
    --------
    >>> odd_one_out = Comparisons.from_triplets([[0, 1, 2], [0, 1, 3], [0, 2, 3]], answers=[0, 0, 1])
    >>> about_any(odd_one_out, np.array([2])).tolist()
    [True, True, True]
    """
    rows = np.asarray(np.isin(answers.rows, objects).any(axis=1))
    if answers.answers is None:
        return rows
    is_hit = np.zeros(int(answers.answers.max(initial=0)) + 1, dtype=bool)
    is_hit[answers.answers[rows]] = True
    return is_hit[answers.answers]


def _held_out_losses(fit: "_Fit", features: Array, held_out: Comparisons) -> dict[tuple[str, float], float]:
    """Return the held-out loss for each target and strength, from strong to weak, until it no longer decreases."""
    tried: dict[tuple[str, float], float] = {}
    inputs = fit.basis(features)
    with fit.prepared(), loss_of_positions(held_out, fit.settings.similarity, fit.loss) as loss:
        for towards in fit.settings.targets:
            weights, losses = fit.target, list[float]()
            for strength in ((math.inf,) if towards == "identity" else ()) + STRENGTHS:
                weights = fit.minimum(towards, strength, weights)
                losses.append(loss(np.ascontiguousarray(inputs @ weights))[0])
                tried[towards, strength] = losses[-1]
                if inner(weights, weights) < COLLAPSED * inner(fit.target, fit.target):
                    weights = fit.target  # at 0, the gradient may vanish
                elif len(losses) - 1 - int(np.argmin(losses)) >= PATIENCE:
                    break
    return tried


class _Fit:
    """Fits to some answers, with penalties of several strengths."""

    def __init__(
        self, features: Array, answers: Comparisons, settings: MapSettings, is_cancelled: Callable[[], bool]
    ) -> None:
        self._answers, self.settings, self._is_cancelled = answers, settings, is_cancelled
        self.basis = _Basis.of(
            features[answers.mentioned], centred=settings.similarity == "euclidean", standardize=settings.standardize
        )
        self._inputs = self.basis(features)
        n_axes = self._inputs.shape[1]
        rank = min(n_axes, MOST_RANK) if settings.rank is None else settings.rank
        if rank > n_axes:
            raise ParameterError(
                "rank", rank, f"only {n_axes} features of the objects in the answers are independent, so lower it"
            )
        self.loss = loss_named(settings.loss).in_dims(rank)
        self._identity = np.eye(n_axes, rank)
        self.target = self._identity
        self._evaluate: Evaluate | None = None

    @contextlib.contextmanager
    def prepared(self) -> Iterator[None]:
        """Evaluate the loss within this context; the multiple of the identity is determined first."""
        from scipy.optimize import minimize_scalar

        with one_blas_thread(), loss_of_positions(self._answers, self.settings.similarity, self.loss) as evaluate:
            self._evaluate = evaluate

            def of_scale(log_scale: float) -> float:
                self._check()
                return evaluate(np.ascontiguousarray(math.exp(log_scale) * self._inputs @ self._identity))[0]

            grid = np.linspace(*LOG_SCALES, 13)
            best = float(grid[int(np.argmin([of_scale(one) for one in grid]))])
            optimum = minimize_scalar(of_scale, bounds=(best - 1, best + 1), method="bounded", options={"xatol": 0.02})
            self._scale = math.exp(optimum.x)
            self.target = self._scale * self._identity
            yield

    def minimum(self, towards: str, strength: float, start: Array) -> Array:
        """Return the weights with the lowest penalised loss."""
        if math.isinf(strength):
            return self.target
        assert self._evaluate is not None
        centre = self.target if towards == "identity" else np.zeros_like(self.target)
        pull = strength / (self._scale**2 * self.target.shape[1])
        objective: MeanLoss = LinearMapObjective(self._inputs, self._evaluate, pull, centre)
        values: list[float] = []

        def report(point: Point, evaluations: int) -> bool:  # noqa: ARG001
            values.append(point.value)
            if len(values) >= ITERATIONS:
                return True
            return len(values) > 3 and values[-4] - values[-1] < 3 * TOLERANCE * abs(values[-1])

        return descend(objective, objective.at(start), report, self._check).x

    def _check(self) -> bool:
        if self._is_cancelled():
            raise KeyboardInterrupt
        return False
