"""Labels of objects: their agreement with answers, and a classifier for objects without labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from closerthan.arrays import Array
from closerthan.checks import ParameterError, checked, whole
from closerthan.comparisons import Comparisons
from closerthan.metrics import kish_number, proportion_standard_error
from closerthan.objects.triplet_kernels import triplet_kernel
from closerthan.representation import tabulated
from closerthan.signatures import readable
from closerthan.wording import percent

__all__ = ["ComparisonClassifier", "LabelScores", "label_scores"]

NEIGHBOURS = 5
METHODS = ("svm", "neighbours")


@tabulated
@dataclass(frozen=True, repr=False, eq=False)
class LabelScores:
    """Agreement of object labels with answers.

    Attributes
    ----------
    agreement
        Among the comparisons in which exactly one of the two compared objects has the anchor's label: the fraction in
        which that object is the nearer one. One half means that the answers are unrelated to the labels.
    standard_error
        Standard error of the agreement.
    n_informative
        Number of such comparisons.
    accuracy
        Leave-one-out accuracy of a k-nearest-neighbour classifier on the labelled objects.
    chance
        Accuracy of always predicting the most frequent label.
    predicted
        Label predicted by the neighbours of each object; None for an object without answers.
    """

    agreement: float
    standard_error: float
    n_informative: int
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
    """Measure the agreement of labels with answers, without a map.

    Parameters
    ----------
    answers
        Triplets.
    labels
        One label per object, None if it is unknown; or a mapping from names to labels.
    n_neighbours
        Number of neighbours that vote; similarities are those of :func:`triplet_kernel`.

    Examples
    --------
    >>> import closerthan as ct
    >>> points = np.repeat([[0.0, 0.0], [3.0, 0.0]], 8, axis=0) + np.random.default_rng(0).normal(size=(16, 2))
    >>> ct.label_scores(ct.datasets.simulated(points, 2000, seed=0), ["cat"] * 8 + ["dog"] * 8)
    LabelScores(agreement 91.6 % ± 0.9 %, nearest neighbours 94 % right, chance 50 %)
    """
    comparisons = Comparisons.of(answers)
    label_of = _labels_of(comparisons, labels)
    has_label = np.array([label is not None for label in label_of])
    if not has_label.any():
        raise ValueError("no object has a label; pass at least two different ones")
    classes, code = np.unique(np.array([label for label in label_of if label is not None]), return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"all labels are {classes[0]!r}; pass at least two different ones")
    number = np.full(len(label_of), -1)
    number[has_label] = code
    kernel = triplet_kernel(comparisons)  # raises an error for quadruplets
    anchor, near, far = number[comparisons.rows].T
    is_informative = (anchor >= 0) & (near >= 0) & (far >= 0) & ((anchor == near) != (anchor == far))
    weights = np.ones(len(comparisons)) if comparisons.weights is None else comparisons.weights
    agreement, error = _fraction((anchor == near)[is_informative], weights[is_informative])
    np.fill_diagonal(kernel, -np.inf)  # an object is not its own neighbour
    votes = _votes(kernel[:, has_label], code, len(classes), whole("n_neighbours", n_neighbours))
    predicted = votes.argmax(axis=1)
    return LabelScores(
        agreement,
        error,
        int(is_informative.sum()),
        float(np.mean(predicted[has_label] == code)),
        float(np.bincount(code).max() / has_label.sum()),
        tuple(
            classes[label].item() if has_answers else None
            for label, has_answers in zip(predicted, comparisons.mentioned, strict=True)
        ),
    )


@readable
class ComparisonClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classifier for objects, trained on the labels of other objects and answers about all of them.

    A sample is the number or the name of an object, so that ``cross_val_score(classifier, numbers, labels)`` works.

    Parameters
    ----------
    answers
        Triplets about all objects, with and without labels.
    method
        "svm", a support vector machine with the triplet kernel, or "neighbours", k-nearest neighbours by that kernel.
    kind
        The kernel: "k1", "k2" or "both".
    C
        Penalty of the support vector machine for misclassified objects.
    n_neighbours
        Number of neighbours.

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
        """Fit the classifier to objects (their numbers or names) and their labels."""
        if self.method not in METHODS:
            raise ParameterError("method", self.method, f"it can be {' or '.join(METHODS)}")
        comparisons = Comparisons.of(self.answers)
        self.names_, self.n_objects_ = comparisons.names, comparisons.n_objects
        self.kernel_ = triplet_kernel(comparisons, self.kind)
        self.objects_ = self._numbers(X)
        labels = np.asarray(y)
        if labels.shape != self.objects_.shape:
            raise ValueError(
                f"there are {len(self.objects_)} objects and labels of shape {labels.shape}; pass one label per object"
            )
        self.classes_, self._code = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"all labels are {self.classes_[0]!r}; pass at least two different ones")
        if self.method == "svm":
            from sklearn.svm import SVC

            kernel = self.kernel_[np.ix_(self.objects_, self.objects_)]
            self.svm_ = SVC(C=self.C, kernel="precomputed").fit(kernel, self._code)
        else:
            whole("n_neighbours", self.n_neighbours)
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the labels of objects."""
        check_is_fitted(self)
        kernel = self.kernel_[np.ix_(self._numbers(X), self.objects_)]
        if self.method == "svm":
            code = self.svm_.predict(kernel)
        else:
            code = _votes(kernel, self._code, len(self.classes_), self.n_neighbours).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[code]
        return labels

    def _numbers(self, X: ArrayLike) -> NDArray[np.intp]:
        objects = np.asarray(X)
        if objects.ndim == 2 and objects.shape[1] == 1:
            objects = objects[:, 0]
        if objects.ndim != 1:
            raise ValueError(f"objects have shape {objects.shape}; pass one number or name each")
        if objects.dtype.kind in "iu":
            if len(objects) and not 0 <= objects.min() <= objects.max() < self.n_objects_:
                raise ValueError(
                    f"objects are numbered from 0 to {self.n_objects_ - 1}; X contains {objects.min()} to "
                    f"{objects.max()}"
                )
            return objects.astype(np.intp)
        number = {name: place for place, name in enumerate(self.names_ or ())}
        missing = next((str(name) for name in objects if str(name) not in number), None)
        if missing is not None:
            raise ValueError(
                f"no answers are about {missing!r}; pass numbers of objects, or names that occur in the answers"
            )
        return np.array([number[str(name)] for name in objects], dtype=np.intp)


def _labels_of(answers: Comparisons, labels: Any) -> list[Any]:
    if isinstance(labels, Mapping):
        if answers.names is None:
            raise ValueError("labels have names, but the objects of the answers do not; pass one label per object")
        unknown = next((name for name in labels if str(name) not in answers.names), None)
        if unknown is not None:
            raise ValueError(f"there is a label for {unknown!r}, but no object has that name; remove it or rename it")
        by_name = {str(name): label for name, label in labels.items()}
        return [by_name.get(name) for name in answers.names]
    by_object = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    if len(by_object) != answers.n_objects:
        raise ValueError(
            f"there are {len(by_object)} labels for {answers.n_objects} objects; pass None for objects without labels"
        )
    return by_object


def _fraction(right: NDArray[np.bool_], weights: Array) -> tuple[float, float]:
    """Return a weighted fraction and its standard error."""
    if not len(right):
        return float("nan"), float("nan")
    fraction = float(np.average(right, weights=weights))
    return fraction, float(proportion_standard_error(fraction, kish_number(weights)))


def _votes(similarity: Array, code: NDArray[np.intp], n_classes: int, n_neighbours: int) -> Array:
    """Return k-nearest-neighbour votes per class; ties go to the class with the larger summed similarity."""
    number = min(n_neighbours, similarity.shape[1])
    nearest = np.argsort(-similarity, axis=1, kind="stable")[:, :number]
    strength = np.take_along_axis(similarity, nearest, axis=1)
    votes = np.zeros((len(similarity), n_classes))
    for place in range(number):
        rows = np.flatnonzero(np.isfinite(strength[:, place]))  # an object does not vote for itself
        votes[rows, code[nearest[rows, place]]] += 1 + strength[rows, place] / (4 * number)
    return votes
