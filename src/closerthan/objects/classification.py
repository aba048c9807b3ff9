"""Labels of objects: do the answers know them, and what label has an object that nobody labelled?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from closerthan.arrays import Array
from closerthan.checks import checked, whole
from closerthan.comparisons import Comparisons
from closerthan.metrics import share_standard_error
from closerthan.objects.triplet_kernels import triplet_kernel
from closerthan.wording import percent

__all__ = ["ComparisonClassifier", "LabelScores", "label_scores"]

NEIGHBOURS = 5
METHODS = ("svm", "neighbours")


@dataclass(frozen=True, repr=False, eq=False)
class LabelScores:
    """How well labels of objects agree with answers.

    Attributes
    ----------
    agreement
        Of the comparisons in which just one of the two compared objects has the anchor's label: the share in which it
        was called the nearer one. One half: the answers do not know the labels.
    standard_error
        Of the agreement.
    n_telling
        How many such comparisons there are.
    accuracy
        The share of the labelled objects whose label their nearest neighbours have, each object left out in turn.
    chance
        The accuracy of always saying the most frequent label.
    predicted
        What the neighbours say of each object; None where no answers are about it.
    """

    agreement: float
    standard_error: float
    n_telling: int
    accuracy: float
    chance: float
    predicted: tuple[Any, ...]

    def __repr__(self) -> str:
        return (
            f"LabelScores(agreement {percent(self.agreement)} ± {percent(self.standard_error)}, nearest neighbours "
            f"{percent(self.accuracy, digits=0)} right, chance {percent(self.chance, digits=0)})"
        )


@checked
def label_scores(
    answers: Comparisons | ArrayLike,
    labels: Sequence[Any] | Mapping[str, Any] | NDArray[Any],
    *,
    n_neighbours: int = NEIGHBOURS,
) -> LabelScores:
    """How well labels agree with answers, without a map.

    Parameters
    ----------
    answers
        Triplets.
    labels
        One per object, None where it is not known; or a mapping from names to labels.
    n_neighbours
        How many neighbours vote, by :func:`triplet_kernel`.

    Examples
    --------
    >>> import closerthan as ct
    >>> points = np.repeat([[0.0, 0.0], [3.0, 0.0]], 8, axis=0) + np.random.default_rng(0).normal(size=(16, 2))
    >>> ct.label_scores(ct.datasets.simulated(points, 2000, seed=0), ["cat"] * 8 + ["dog"] * 8)
    LabelScores(agreement 91.6 % ± 0.9 %, nearest neighbours 94 % right, chance 50 %)
    """
    given = Comparisons.of(answers)
    called = _labels_of(given, labels)
    known = np.array([label is not None for label in called])
    if not known.any():
        raise ValueError("no object has a label; pass at least two different ones")
    classes, code = np.unique(np.array([label for label in called if label is not None]), return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"all labels are {classes[0]!r}; pass at least two different ones")
    number = np.full(len(called), -1)
    number[known] = code
    kernel = triplet_kernel(given)  # says so if these are no triplets
    anchor, near, far = number[given.rows].T
    telling = (anchor >= 0) & (near >= 0) & (far >= 0) & ((anchor == near) != (anchor == far))
    weights = np.ones(len(given)) if given.weights is None else given.weights
    agreement, error = _share((anchor == near)[telling], weights[telling])
    np.fill_diagonal(kernel, -np.inf)  # nobody is a neighbour of its own
    votes = _votes(kernel[:, known], code, len(classes), whole("n_neighbours", n_neighbours))
    predicted = votes.argmax(axis=1)
    return LabelScores(
        agreement,
        error,
        int(telling.sum()),
        float(np.mean(predicted[known] == code)),
        float(np.bincount(code).max() / known.sum()),
        tuple(classes[label].item() if seen else None for label, seen in zip(predicted, given.mentioned, strict=True)),
    )


class ComparisonClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Labels for objects, learnt from the labels of others and answers about all of them.

    To scikit-learn an object is its number or its name, so that ``cross_val_score(classifier, numbers, labels)`` works.

    Parameters
    ----------
    answers
        Triplets about all objects, with labels and without.
    method
        "svm", a support vector machine on the triplet kernel; or "neighbours", a vote of the nearest by it.
    kind
        The kernel: "k1", "k2" or "both".
    C
        Of the support vector machine: how much a wrong label costs.
    n_neighbours
        How many vote.

    Examples
    --------
    >>> import closerthan as ct
    >>> points = np.repeat([[0.0, 0.0], [6.0, 0.0]], 8, axis=0) + np.random.default_rng(0).normal(size=(16, 2))
    >>> answers = ct.datasets.simulated(points, 2000, seed=0)
    >>> model = ct.ComparisonClassifier(answers).fit([0, 1, 14, 15], ["cat", "cat", "dog", "dog"])
    >>> model.predict([2, 3, 12]).tolist()
    ['cat', 'cat', 'dog']
    """

    def __init__(
        self,
        answers: Any,
        *,
        method: str = "svm",
        kind: str = "both",
        C: float = 1.0,
        n_neighbours: int = NEIGHBOURS,
    ) -> None:
        self.answers = answers
        self.method = method
        self.kind = kind
        self.C = C
        self.n_neighbours = n_neighbours

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from objects (their numbers or names) and their labels."""
        if self.method not in METHODS:
            raise ValueError(f"method is {self.method!r}; it can be {' or '.join(METHODS)}")
        given = Comparisons.of(self.answers)
        self.names_, self.n_objects_ = given.names, given.n_objects
        self.kernel_ = triplet_kernel(given, self.kind)
        self.objects_ = self._numbers(X)
        labels = np.asarray(y)
        if labels.shape != self.objects_.shape:
            raise ValueError(
                f"there are {len(self.objects_)} objects and labels of shape {labels.shape}; one per object"
            )
        self.classes_, self._code = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"all labels are {self.classes_[0]!r}; pass at least two different ones")
        if self.method == "svm":
            from sklearn.svm import SVC

            known = self.kernel_[np.ix_(self.objects_, self.objects_)]
            self.svm_ = SVC(C=self.C, kernel="precomputed").fit(known, self._code)
        else:
            whole("n_neighbours", self.n_neighbours)
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The labels of objects."""
        check_is_fitted(self)
        like = self.kernel_[np.ix_(self._numbers(X), self.objects_)]
        if self.method == "svm":
            code = self.svm_.predict(like)
        else:
            code = _votes(like, self._code, len(self.classes_), self.n_neighbours).argmax(axis=1)
        found: NDArray[Any] = self.classes_[code]
        return found

    def _numbers(self, X: ArrayLike) -> NDArray[np.intp]:
        objects = np.asarray(X)
        if objects.ndim == 2 and objects.shape[1] == 1:
            objects = objects[:, 0]
        if objects.ndim != 1:
            raise ValueError(f"objects have shape {objects.shape}; pass one number or name each")
        if objects.dtype.kind in "iu":
            if len(objects) and not 0 <= objects.min() <= objects.max() < self.n_objects_:
                raise ValueError(
                    f"objects are numbered {objects.min()} to {objects.max()}; there are {self.n_objects_}"
                )
            return objects.astype(np.intp)
        number = {name: place for place, name in enumerate(self.names_ or ())}
        missing = next((str(name) for name in objects if str(name) not in number), None)
        if missing is not None:
            raise ValueError(
                f"no answers are about {missing!r}; pass numbers of objects, or names that the answers have"
            )
        return np.array([number[str(name)] for name in objects], dtype=np.intp)


def _labels_of(answers: Comparisons, labels: Any) -> list[Any]:
    if isinstance(labels, Mapping):
        if answers.names is None:
            raise ValueError("labels are given by name, but the answers have no names; pass one label per object")
        unknown = next((name for name in labels if str(name) not in answers.names), None)
        if unknown is not None:
            raise ValueError(f"there is a label of {unknown!r}, but no object has that name; remove it or rename it")
        by_name = {str(name): label for name, label in labels.items()}
        return [by_name.get(name) for name in answers.names]
    given = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    if len(given) != answers.n_objects:
        raise ValueError(
            f"there are {len(given)} labels for {answers.n_objects} objects; pass None where there is none"
        )
    return given


def _share(right: NDArray[np.bool_], weights: Array) -> tuple[float, float]:
    if not len(right):
        return float("nan"), float("nan")
    share = float(np.average(right, weights=weights))
    number = float(weights.sum() ** 2 / np.sum(weights**2))
    return share, float(share_standard_error(share, number))


def _votes(like: Array, code: NDArray[np.intp], n_classes: int, n_neighbours: int) -> Array:
    """Votes of each object's nearest for each class; of as many votes the class that is more alike wins."""
    number = min(n_neighbours, like.shape[1])
    nearest = np.argsort(-like, axis=1, kind="stable")[:, :number]
    strength = np.take_along_axis(like, nearest, axis=1)
    votes = np.zeros((len(like), n_classes))
    for place in range(number):
        able = np.isfinite(strength[:, place])  # an object does not vote for itself
        rows = np.flatnonzero(able)
        votes[rows, code[nearest[rows, place]]] += 1 + strength[rows, place] / (4 * number)
    return votes
