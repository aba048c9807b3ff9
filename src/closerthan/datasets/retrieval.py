"""Features and class labels of objects: the data of the retrieval experiment."""

from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from closerthan.checks import checked, number, whole
from closerthan.comparisons import Comparisons, reversed_rows
from closerthan.representation import shows_fields

N_HIDDEN = 40  # dimensions in which the synthetic classes differ


@shows_fields
class Labelled(NamedTuple):
    """Features, one row per object, and class labels."""

    features: NDArray[np.float64]
    labels: NDArray[Any]

    @property
    def n_classes(self) -> int:
        """Number of distinct classes."""
        return len(np.unique(self.labels))

    @checked
    def split(self, n_train: int, n_test: int, rng: np.random.Generator) -> tuple[Self, Self]:
        """Return two disjoint random subsets with ``n_train`` and ``n_test`` objects of each class.

        Examples
        --------
        >>> objects = Labelled(np.arange(10.0)[:, None], np.repeat(["a", "b"], 5))
        >>> train, test = objects.split(3, 2, np.random.default_rng(0))
        >>> train.labels.tolist(), test.labels.tolist()
        (['a', 'a', 'a', 'b', 'b', 'b'], ['a', 'a', 'b', 'b'])
        """
        train, test = [], []
        for label in np.unique(self.labels):
            members = np.flatnonzero(self.labels == label)
            if len(members) < n_train + n_test:
                raise ValueError(
                    f"class {label!r} has {len(members)} objects; {n_train} + {n_test} are needed: add some, or "
                    "leave it out"
                )
            members = rng.permutation(members)
            train.append(members[:n_train])
            test.append(members[n_train : n_train + n_test])
        return self._take(np.concatenate(train)), self._take(np.concatenate(test))

    def _take(self, rows: NDArray[np.int64]) -> Self:
        return type(self)(self.features[rows], self.labels[rows])

    @checked
    def comparisons(self, n_rows: int, flipped: float, rng: np.random.Generator) -> Comparisons:
        """Return random triplets (i, j, k), i and j of one class and k of another; a fraction ``flipped`` is reversed.

        Examples
        --------
        >>> objects = Labelled(np.zeros((4, 1)), np.array([0, 0, 1, 1]))
        >>> rows = objects.comparisons(20, 0.0, np.random.default_rng(0)).rows
        >>> bool((rows[:, 0] // 2 == rows[:, 1] // 2).all() and (rows[:, 0] // 2 != rows[:, 2] // 2).all())
        True
        """
        whole("n_rows", n_rows)
        number("flipped", flipped, lambda share: 0 <= share <= 1, "lie between 0 and 1")
        _, label = np.unique(self.labels, return_inverse=True)
        by_class = np.argsort(label, kind="stable")
        sizes = np.bincount(label)
        if len(sizes) < 2 or sizes.min() < 2:
            raise ValueError("triplets need at least 2 classes of at least 2 objects; add objects or leave a class out")
        first = np.cumsum(sizes) - sizes
        rank = np.empty_like(by_class)
        rank[by_class] = np.arange(len(by_class))
        i = rng.integers(len(label), size=n_rows)
        start, size = first[label[i]], sizes[label[i]]
        # by_class lists one class after the other: j is another object of i's class, k an object of another class.
        same_class = start + (rank[i] - start + 1 + rng.integers(size - 1)) % size
        other_class = (start + size + rng.integers(len(label) - size)) % len(label)
        rows = np.column_stack([i, by_class[same_class], by_class[other_class]])
        wrong = rng.permutation(n_rows)[: round(flipped * n_rows)]
        rows[wrong] = reversed_rows(rows[wrong])
        return Comparisons.from_triplets(rows, n_objects=len(label))


@checked
def synthetic_classes(
    n_classes: int = 18,
    n_each: int = 100,
    n_features: int = 1600,
    *,
    separation: float = 0.6,
    seed: int | np.random.Generator | None = 0,
) -> Labelled:
    """Generate overlapping classes with the shape of the paper's image features.

    Each object has 40 hidden coordinates drawn from N(centre of its class, I), with centres drawn from
    N(0, separation^2 I). The features are random linear combinations of the tanh of the hidden coordinates, plus noise
    with the standard deviation of the signal. ``separation`` controls the overlap of the classes; ``python -m
    reproduction table2`` shows how well the features alone retrieve with the default.

    Examples
    --------
    >>> synthetic_classes(n_classes=3, n_each=4, n_features=20, seed=0).features.shape
    (12, 20)
    """
    for name, size in (("n_classes", n_classes), ("n_each", n_each), ("n_features", n_features)):
        whole(name, size)
    rng = np.random.default_rng(seed)
    centres = separation * rng.standard_normal((n_classes, N_HIDDEN))
    labels = np.repeat(np.arange(n_classes), n_each)
    hidden = np.tanh(centres[labels] + rng.standard_normal((len(labels), N_HIDDEN)))
    mixture = rng.standard_normal((N_HIDDEN, n_features)) / np.sqrt(N_HIDDEN)
    signal = hidden @ mixture
    return Labelled(signal + signal.std() * rng.standard_normal(signal.shape), labels)


def digits() -> Labelled:
    """Return scikit-learn's 1,797 images of handwritten digits: 64 features, 10 classes.

    Examples
    --------
    >>> digits().n_classes
    10
    """
    from sklearn.datasets import load_digits

    images = load_digits()
    return Labelled(np.asarray(images.data, dtype=np.float64), np.asarray(images.target))


@checked
def labelled_file(path: str | Path) -> Labelled:
    """Read a .npz or .mat file with the arrays ``features`` and ``labels``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(Path(folder) / "images.npz", features=np.eye(3), labels=["a", "b", "b"])
    ...     labelled_file(Path(folder) / "images.npz").n_classes
    2
    """
    path = Path(path)
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
    elif path.suffix == ".mat":
        from scipy.io import loadmat

        try:
            arrays = loadmat(path)
        except NotImplementedError:
            raise ValueError(f"{path} is a MATLAB 7.3 file; save it with -v7, or as .npz") from None
    else:
        raise ValueError(f"{path} ends in {path.suffix!r}; features come in a .npz or .mat file")
    for name in ("features", "labels"):
        if name not in arrays:
            contents = ", ".join(sorted(key for key in arrays if not key.startswith("__"))) or "nothing"
            raise ValueError(f"{path} holds {contents}; it must hold the arrays 'features' and 'labels'")
    features = np.asarray(arrays["features"], dtype=np.float64)
    labels = np.asarray(arrays["labels"]).ravel()
    if features.ndim != 2 or len(features) != len(labels) or not np.isfinite(features).all():
        raise ValueError(
            f"{path} has features of shape {features.shape} and {len(labels)} labels; "
            "expected finite features, one row per object, and one label each"
        )
    return Labelled(features, labels)
