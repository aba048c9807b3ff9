"""Positions for objects that are not on a map yet: from answers about them, from features, or from both.

All objects of the map keep their positions. The position x of a new object minimises ``sum of w * loss(near, far)``
over the answers about it, plus ``(x - m)' S^-1 (x - m) / 2``, the negative logarithm of a normal prior. Its mean m and
covariance S are those of the map, or predicted from features. The prior keeps an object with few answers from moving
arbitrarily far away. The loss is scaled so that it is log 2 at equal distances, like a negative log likelihood.
"""

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan.arrays import Array, frozen, one_blas_thread
from closerthan.checks import checked
from closerthan.comparisons import Comparisons
from closerthan.geometry import matrix_of
from closerthan.losses import Loss, loss_named
from closerthan.messages import value_error
from closerthan.metrics import object_errors
from closerthan.objective.cpu.objective import CPU
from closerthan.objects.from_features import FeatureRegression
from closerthan.objects.new_answers import NewAnswers, about_new_objects
from closerthan.objects.prior import Prior
from closerthan.registry import UserDefined
from closerthan.result import FittedPositions, Result
from closerthan.wording import counted, html_table, percent_if_known

__all__ = ["Placement", "place"]

MOST_CANDIDATES = 300  # positions of objects of the map that are tried as initial positions
MOST_STEPS = 100  # steps of one minimisation, which usually takes about ten
STEP = 0.2  # step of the finite differences for the curvature, relative to the size of the map
MOST_ROWS = 20  # objects in the table of a notebook
STARTS = 3  # best candidates from which the minimisation starts


@dataclass(frozen=True, repr=False, eq=False)
class Placement:
    """Result of :func:`place`: positions of new objects on a map.

    Attributes
    ----------
    places
        One row of coordinates per new object.
    covariances
        Covariance matrix of each position, p x p per new object. It reflects the uncertainty from the answers about
        this object only; the map is assumed to be exact.
    names
        Names of the new objects, or None; their numbers then follow those of the map.
    n_comparisons
        Number of comparisons about each new object.
    errors
        Fraction of these comparisons that the position gets wrong (NaN without comparisons).
    map_places, map_names
        Positions and names of the objects of the map.
    """

    places: Array
    covariances: Array
    names: tuple[str, ...] | None
    n_comparisons: NDArray[np.int64]
    errors: Array
    map_places: Array
    map_names: tuple[str, ...] | None

    def __repr__(self) -> str:
        new, dims = counted(len(self.places), "new object"), counted(self.places.shape[1], "dimension")
        return f"Placement({new} on a map of {len(self.map_places):,}, {dims})"

    @property
    def standard_errors(self) -> Array:
        """Standard error of each coordinate."""
        return np.sqrt(np.diagonal(self.covariances, axis1=1, axis2=2))

    def _repr_html_(self) -> str:
        first = len(self.map_places)
        names = self.names or [str(first + number) for number in range(len(self.places))]
        rows = [
            (name, f"{number:,}", percent_if_known(error), ", ".join(f"{x:.3g}" for x in place))
            for name, number, error, place in zip(names, self.n_comparisons, self.errors, self.places, strict=True)
        ]
        titles = ("object", "comparisons", "wrong", "position")
        return html_table(repr(self), titles, rows[:MOST_ROWS], len(rows))

    @property
    def embedding(self) -> Array:
        """Positions of all objects: those of the map, followed by the new ones."""
        return np.concatenate([self.map_places, self.places])

    @property
    def all_names(self) -> tuple[str, ...] | None:
        """Names of all objects, in the order of :attr:`embedding`."""
        return None if self.names is None or self.map_names is None else (*self.map_names, *self.names)


@checked
def place(
    answers: Any = None,
    result: Result | FittedPositions | ArrayLike | None = None,
    *,
    loss: str | Loss | None = None,
    features: Mapping[str, ArrayLike] | ArrayLike | None = None,
    regression: FeatureRegression | None = None,
    seed: int = 0,
) -> Placement:
    """Place new objects on a map whose own objects keep their positions.

    Parameters
    ----------
    answers
        Triplets or quadruplets about the new objects. There may be several new objects, and they may be compared with
        each other. An object is new if the map does not have its name, or if its number is beyond the last one of the
        map. Answers that mention only objects of the map are ignored. Without answers, objects are placed by their
        features alone.
    result
        A fit, a result of :func:`align` with ``similarity="euclidean"``, or a map: an array, for which ``loss`` must be
        passed.
    loss
        The loss; by default that of the fit. The size of a map depends on its loss, so choose another one with care.
    features
        Features of the objects: a table with one row per object of the map, followed by one row per new object, or a
        mapping from names to rows. A regression predicts from them where new objects lie.
    regression
        The regression; by default ``FeatureRegression()``.
    seed
        Seed for the sample of initial places, which is drawn on maps with more than 300 objects.

    Examples
    --------
    >>> import closerthan as ct
    >>> cities = ct.datasets.eurodist()
    >>> answers = cities.comparisons()
    >>> without = (answers.rows != 8).all(axis=1)  # as if there were no answers about Gibraltar yet
    >>> result = ct.embed(ct.Comparisons.from_triplets(
    ...     [[answers.names[number] for number in row] for row in answers.rows[without]]), loss="soe", seed=0)
    >>> about = answers.rows[~without][::20]
    >>> placed = ct.place([[answers.names[number] for number in row] for row in about], result)
    >>> placed, placed.names
    (Placement(1 new object on a map of 20, 2 dimensions), ('Gibraltar',))
    >>> bool(placed.errors[0] < 0.1)
    True
    """
    if result is None or isinstance(answers, Result):
        raise ValueError("result must be a fit or a map; pass the answers first, as in place(answers, result)")
    map_places, names, own_loss = _map_of(result)
    table, new_names = _features_of(features, len(map_places), names)
    new = _new_answers(answers, len(map_places), names, new_names, table)
    if table is None:
        prior = Prior.of_map(map_places, new.n_new)
    else:
        prior = Prior.of_features(
            map_places, table[: len(map_places)], table[len(map_places) :], regression or FeatureRegression()
        )
    if not len(new.comparisons):
        covariances = np.tile(prior.covariance, (new.n_new, 1, 1))
        nothing = np.zeros(new.n_new, dtype=np.int64)
        return Placement(prior.means, covariances, new.names, nothing, np.full(new.n_new, np.nan), map_places, names)
    mentions = new.mentions
    unmentioned = np.flatnonzero(~mentions.any(axis=0))
    if len(unmentioned) and table is None:
        label = str(len(map_places) + unmentioned[0]) if new.names is None else repr(new.names[unmentioned[0]])
        raise ValueError(f"the new object {label} occurs in no answer; leave it out, or pass its features")
    chosen = _loss_of(loss, own_loss).in_dims(map_places.shape[1])
    rng = np.random.default_rng(seed)
    places, covariances = prior.means.copy(), np.empty((new.n_new, *prior.covariance.shape))
    with one_blas_thread():
        for group in _linked(mentions):
            rows = np.flatnonzero(mentions[:, group].any(axis=1))
            if not len(rows):
                covariances[group] = prior.covariance
                continue
            task = _Task(new.comparisons.take(rows), map_places, group, chosen, prior)
            places[group] = task.solve(rng)
            covariances[group] = task.covariances(places[group])
    errors = object_errors(new.comparisons, np.concatenate([map_places, places]))[len(map_places) :]
    return Placement(places, covariances, new.names, mentions.sum(axis=0), errors, map_places, names)


class _Task:
    """New objects that are linked by answers and therefore placed jointly."""

    def __init__(self, comparisons: Comparisons, map_places: Array, group: NDArray[Any], loss: Loss, prior: Prior):
        n_on_map = len(map_places)
        mentioned, rows = np.unique(comparisons.rows, return_inverse=True)
        fixed = mentioned[mentioned < n_on_map]
        self.comparisons = comparisons.replace(
            rows=frozen(rows.reshape(comparisons.rows.shape).astype(np.int32)),
            n_objects=len(mentioned),
        )
        self.x = np.concatenate([map_places[fixed], prior.means[group]])
        self.map_places, self.loss, self.prior = map_places, loss, Prior(prior.means[group], prior.covariance)
        self.first = len(fixed)
        self.n_new = len(group)
        self.size = math.sqrt(float(np.trace(prior.covariance)) / len(prior.covariance))

    def solve(self, rng: np.random.Generator) -> Array:
        """Place one object after another, those most often compared with placed objects first; then all jointly."""
        numbers = self.comparisons.rows - self.first  # negative for objects of the map
        unplaced = list(range(self.n_new))
        places = self.prior.means.copy()
        while unplaced:
            waiting = np.isin(numbers, unplaced)
            # An object can be placed by the rows in which it is the only object without a position.
            about = {one: (numbers == one).any(axis=1) & ~(waiting & (numbers != one)).any(axis=1) for one in unplaced}
            one = max(unplaced, key=lambda number: int(about[number].sum()))
            unplaced.remove(one)
            if about[one].any():
                places[one] = self._placed_alone(one, np.flatnonzero(about[one]), places, rng)
            else:  # compared only with other unplaced objects: start at a random position
                places[one] = self.prior.sample(rng)[one]
        if self.n_new == 1:
            return places
        joint, _ = self._minimise(self.comparisons, places, np.arange(self.n_new))
        return joint

    def covariances(self, places: Array) -> Array:
        """Return the inverse of the curvature at these positions (Laplace's approximation), one block per object.

        The curvature is a finite difference over a wide step, because losses with a hinge have none at a point. No
        variance exceeds that of the prior.
        """
        n_numbers = places.size
        gradients = np.empty((2, n_numbers, n_numbers))
        with self._penalised_loss(self.comparisons, places, np.arange(self.n_new)) as (loss, flat):
            for axis in range(n_numbers):
                for side, sign in enumerate((-1, 1)):
                    moved = flat.copy()
                    moved[axis] += sign * STEP
                    gradients[side, axis] = loss(moved)[1]
        curvature = (gradients[1] - gradients[0]) / (2 * STEP)
        # The curvature is expressed in units in which the covariance of the prior is the identity.
        root = np.linalg.cholesky(self.prior.covariance) / self.size
        whitening = np.kron(np.eye(self.n_new), root)
        spread, axes = np.linalg.eigh(whitening.T @ (curvature + curvature.T) @ whitening / 2)
        joint_covariance = whitening @ (axes / np.maximum(spread, 1.0)) @ axes.T @ whitening.T
        n_dims = places.shape[1]
        blocks = joint_covariance.reshape(self.n_new, n_dims, self.n_new, n_dims)
        covariances: Array = self.size**2 * np.stack([blocks[one, :, one] for one in range(self.n_new)])
        return covariances

    def _placed_alone(self, one: int, rows: NDArray[Any], places: Array, rng: np.random.Generator) -> Array:
        """Return the best position of one object by these rows, with all other objects fixed."""
        part = self.comparisons.take(rows)
        candidates = self.map_places
        if len(candidates) > MOST_CANDIDATES:
            candidates = candidates[np.sort(rng.choice(len(candidates), MOST_CANDIDATES, replace=False))]
        candidates = np.concatenate([candidates, self.prior.means[[one]]])
        precision, unit = self.prior.precision, self._unit
        losses = np.empty(len(candidates))
        with CPU(n_threads=1).objective(part, self.loss) as objective:
            x = self.x.copy()
            x[self.first :] = places
            for number, candidate in enumerate(candidates):
                x[self.first + one] = candidate
                offset = candidate - self.prior.means[one]
                losses[number] = objective.value(x).value * part.total_weight / unit + offset @ precision @ offset / 2
        best: Array = places[one]
        lowest = math.inf
        for number in np.argsort(losses, kind="stable")[:STARTS]:
            start = places.copy()
            start[one] = candidates[number]
            end, loss = self._minimise(part, start, np.array([one]))
            if loss < lowest:
                best, lowest = end[one], loss
        return best

    @property
    def _unit(self) -> float:
        """The factor that scales the loss to log 2 at equal distances."""
        tie = float(self.loss.value(1.0, 1.0))
        return tie / math.log(2) if tie > 0 and math.isfinite(tie) else 1.0

    def _minimise(self, comparisons: Comparisons, start: Array, free: NDArray[Any]) -> tuple[Array, float]:
        """Minimise the penalised loss over the free objects; return all positions and the minimum."""
        from scipy.optimize import minimize

        places = start.copy()
        with self._penalised_loss(comparisons, start, free) as (loss, flat):
            options = {"maxiter": MOST_STEPS, "ftol": 1e-8}
            minimum = minimize(loss, flat, jac=True, method="L-BFGS-B", options=options)
        places[free] = self.size * minimum.x.reshape(len(free), -1)
        return places, float(minimum.fun)

    @contextlib.contextmanager
    def _penalised_loss(
        self, comparisons: Comparisons, places: Array, free: NDArray[Any]
    ) -> Iterator[tuple[Callable[[Array], tuple[float, Array]], Array]]:
        """Yield the penalised loss with its gradient, as a function of the free positions, and these positions.

        The function's argument is in units of the size of the map.
        """
        x, total = self.x.copy(), comparisons.total_weight
        x[self.first :] = places
        moving = self.first + free
        precision, unit = self.prior.precision, self._unit

        with CPU(n_threads=1).objective(comparisons, self.loss) as objective:

            def penalised_loss(flat: Array) -> tuple[float, Array]:
                x[moving] = self.size * flat.reshape(len(free), -1)
                point = objective.at(x)
                offsets = x[moving] - self.prior.means[free]
                pull = offsets @ precision
                value = total * point.value / unit + float(np.sum(pull * offsets)) / 2
                return value, (self.size * (total * point.gradient[moving] / unit + pull)).ravel()

            yield penalised_loss, places[free].ravel() / self.size


def _map_of(result: Any) -> tuple[Array, tuple[str, ...] | None, Any]:
    if isinstance(result, Result):
        return result.embedding, result.names, None if result.settings is None else result.settings.loss
    if isinstance(result, FittedPositions):
        if result.similarity != "euclidean":
            raise value_error(
                f"the positions predict answers by {result.similarity}, but new objects are placed by distance",
                "align the features with {similarity}",
                similarity="euclidean",
            )
        return result.embedding, result.names, result.loss
    return matrix_of("the map", result), None, None


def _loss_of(loss: str | Loss | None, own: Any) -> Loss:
    if loss is None and isinstance(own, Loss):
        return own
    if loss is not None and loss != "auto":
        return loss_named(loss)
    if isinstance(own, UserDefined):
        raise value_error(f"the map was fitted with a loss of your own, {own.name}", "pass it as {loss}", loss=...)
    raise value_error("the loss of the map is not known", "pass it, as in {loss}", loss="ste")


def _features_of(
    features: Any, n_on_map: int, names: tuple[str, ...] | None
) -> tuple[Array | None, tuple[str, ...] | None]:
    """Return a table with the objects of the map first, and the names of the new objects if features have names."""
    if features is None:
        return None, None
    if not isinstance(features, Mapping):
        table = matrix_of("features", features)
        if len(table) <= n_on_map:
            raise ValueError(
                f"there are features of {len(table)} objects, but the map has {n_on_map}; pass one row for each of "
                "them, then one for each new object"
            )
        return table, None
    if names is None:
        raise ValueError("features have names, but the objects of the map do not; pass a table")
    missing = [name for name in names if name not in features]
    if missing:
        raise ValueError(f"the features of {missing[0]!r} are missing; they are needed for all objects of the map")
    new_names = tuple(name for name in features if name not in set(names))
    if not new_names:
        raise ValueError("there are features of the objects of the map only; add those of the new objects")
    return matrix_of("features", [features[name] for name in (*names, *new_names)]), new_names


def _new_answers(
    answers: Any, n_on_map: int, names: tuple[str, ...] | None, new_names: tuple[str, ...] | None, table: Array | None
) -> NewAnswers:
    """Return the answers about new objects; if there are features, these determine which objects are new."""
    if answers is None:
        if table is None:
            raise ValueError("there are neither answers nor features; a new object needs at least one of the two")
        n_new = len(table) - n_on_map
        if new_names is None and names is not None:
            new_names = tuple(str(n_on_map + number) for number in range(n_new))
        nothing = Comparisons(frozen(np.empty((0, 3), dtype=np.int32)), n_on_map + n_new)
        return NewAnswers(nothing, n_on_map, new_names)
    new = about_new_objects(answers, n_on_map, names)
    if table is None:
        return new
    n_new = len(table) - n_on_map
    if new_names is None:
        if new.n_new > n_new:
            raise ValueError(
                f"the answers are about {new.n_new} new objects, but there are features of {n_new}; pass one row each"
            )
        index = np.arange(new.n_new)
    else:
        missing = [name for name in new.names or () if name not in new_names]
        if missing:
            raise ValueError(f"the features of {missing[0]!r} are missing, but there are answers about it; add them")
        index = np.array([new_names.index(name) for name in new.names or ()])
    number = np.concatenate([np.arange(n_on_map), n_on_map + index]).astype(np.int32)
    rows = frozen(number[new.comparisons.rows])
    comparisons = new.comparisons.replace(rows=rows, n_objects=n_on_map + n_new)
    return NewAnswers(comparisons, n_on_map, new.names if new_names is None else new_names)


def _linked(mentions: NDArray[np.bool_]) -> list[NDArray[Any]]:
    """Return groups of new objects that are linked by answers."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    incidence = csr_array(mentions.astype(np.int32))
    n_groups, group = connected_components(incidence.T @ incidence, directed=False)
    return [np.flatnonzero(group == number) for number in range(n_groups)]
