"""Groups of objects, from answers alone or on a map, with their number and how sure they are."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan.arrays import Array
from closerthan.checks import whole
from closerthan.comparisons import Comparisons, pairs_of
from closerthan.evaluate.cross_validation import folds
from closerthan.files.text import quoted
from closerthan.geometry import matrix_of
from closerthan.objects.comparison_tree import by_size, comparison_tree, cut
from closerthan.objects.similarities import answer_similarities
from closerthan.result import Result
from closerthan.saving import whole_file
from closerthan.wording import counted, percent

__all__ = ["Clustering", "cluster"]

METHODS = ("average", "spectral", "comparisons")
FOLDS = 5
HALVINGS = 5  # of the answers, to see whether two halves agree about the groups
CLEAR = 0.8  # adjusted Rand index from which on they do; clouds without groups reach about 0.5
DOUBT = 0.5  # of the maps: an object that is with its group on fewer is in doubt


@dataclass(frozen=True, repr=False, eq=False)
class Clustering:
    """Groups of objects.

    Attributes
    ----------
    labels
        The group of each object, from 0; the largest group first.
    method
        How they were found.
    tree
        The merges as SciPy's linkage matrix; None for "spectral", which makes no tree.
    names
        The objects' names, or None.
    errors
        Held-out error of each number of groups that was tried: the share of new answers that membership alone gets
        wrong (an object of one's own group is closer than one of another; what that leaves open counts as half).
    agreement
        Of the groups found from one half of the answers and those from the other: the adjusted Rand index (1: the
        same, 0: chance), a mean over five ways to halve them. NaN if the number of groups was given.
    together
        The share of the maps on which two objects are in one group; None without maps.
    guessed
        Whether the number of groups is a guess from a map alone, by the largest gap in its tree.
    """

    labels: NDArray[np.intp]
    method: str
    tree: Array | None = None
    names: tuple[str, ...] | None = None
    errors: dict[int, float] = field(default_factory=dict)
    agreement: float = float("nan")
    together: Array | None = None
    guessed: bool = False

    @property
    def n_clusters(self) -> int:
        """How many groups there are."""
        return int(self.labels.max()) + 1

    @property
    def is_clear(self) -> bool | None:
        """Whether two halves of the answers agree about the groups; None if the number of groups was given."""
        return None if np.isnan(self.agreement) else bool(self.agreement >= CLEAR)

    @property
    def groups(self) -> list[list[str]]:
        """The objects of each group, by name (or number)."""
        called = self.names or tuple(str(number) for number in range(len(self.labels)))
        return [[called[one] for one in np.flatnonzero(self.labels == group)] for group in range(self.n_clusters)]

    def __repr__(self) -> str:
        return f"Clustering({len(self.labels):,} objects in {counted(self.n_clusters, 'group')}, {self.in_words})"

    @property
    def in_words(self) -> str:
        """How sure the number of groups is."""
        if self.guessed:
            return "a guess by the largest gap in the tree: only answers can tell how many there are"
        if self.is_clear is None:
            return "as many as asked for"
        if self.is_clear:
            return f"a clear number: two halves of the answers agree to {percent(self.agreement, digits=0)}"
        return f"an unclear number: two halves of the answers agree to {percent(self.agreement, digits=0)} only"

    @property
    def advice(self) -> str:
        """What to do with the groups, in a sentence."""
        if self.guessed or self.is_clear is None:
            return "Whether there are so many is not known: let the answers tell the number before you rely on it."
        share = percent(self.agreement, digits=0)
        if self.is_clear:
            return f"Two halves of the answers find the same groups (agreement {share}): you may speak of them."
        return (
            f"Two halves of the answers find different groups (agreement {share}): describe the map as a whole, or ask "
            "more, before you speak of groups."
        )

    @property
    def sureness(self) -> Array | None:
        """Of each object, the mean share of the maps on which it is with another one of its group; None without maps.

        Of an object alone in its group: the share on which it is apart from the one that it is most often with.
        """
        if self.together is None:
            return None
        same = (self.labels[:, None] == self.labels) & ~np.eye(len(self.labels), dtype=bool)
        with_others = np.where(same, self.together, 0.0).sum(axis=1)
        company = same.sum(axis=1)
        others = np.where(np.eye(len(self.labels), dtype=bool), 0.0, self.together).max(axis=1)
        shares: Array = np.where(company > 0, with_others / np.maximum(company, 1), 1.0 - others)
        return shares

    @property
    def doubtful(self) -> NDArray[np.intp]:
        """Objects that are with their group on less than half of the maps."""
        sure = self.sureness
        found: NDArray[np.intp] = np.flatnonzero(np.zeros(0) if sure is None else sure < DOUBT)
        return found

    def to_csv(self, path: str | Path) -> None:
        """Write the group of each object, from 1, and how sure it is where that is known."""
        called = self.names or tuple(str(number) for number in range(len(self.labels)))
        sure = self.sureness
        cells = [""] * len(called) if sure is None else [f",{share:.3f}" for share in sure.tolist()]
        lines = [
            f"{quoted(name, ',')},{label + 1}{cell}"
            for name, label, cell in zip(called, self.labels.tolist(), cells, strict=True)
        ]
        with whole_file(path) as table:
            table.write("\n".join(["name,group" + ",sureness" * (sure is not None), *lines, ""]).encode())

    def plot(self, **options: Any) -> Any:
        """Draw the tree; options are those of :func:`closerthan.plotting.dendrogram_figure`."""
        from closerthan.plotting import dendrogram_figure

        if self.tree is None:
            raise ValueError(f'the method {self.method!r} makes no tree; choose "average" or "comparisons"')
        return dendrogram_figure(self.tree, self.names, n_clusters=self.n_clusters, **options)


def cluster(
    data: Comparisons | Result | ArrayLike,
    n_clusters: int | None = None,
    *,
    method: str = "average",
    answers: Comparisons | None = None,
    maps: Iterable[ArrayLike] | None = None,
    most: int = 8,
    seed: int = 0,
) -> Clustering:
    """Find groups of objects that answers call alike.

    Parameters
    ----------
    data
        Answers, which need no map; or a fit, for groups on its map.
    n_clusters
        How many groups. None: the number, up to ``most``, with which membership foretells held-out answers best; the
        result says whether it is a clear one. A map alone does not tell: without ``answers`` the largest gap between
        the heights of its merges is taken, and said to be a guess.
    method
        Of answers: "average", average linkage of :func:`~closerthan.objects.answer_similarities`; "spectral",
        scikit-learn's spectral clustering of the same; "comparisons", comparison-based average linkage
        (Ghoshdastidar et al. 2019). Of a map: "average" or "spectral", by its distances.
    answers
        Of a fit: those that it was made from, to find the number of groups with.
    maps
        Other maps of the same objects, such as replicates: the result then says how often two objects share a group.
    most
        The most groups to try.
    seed
        Decides what is held out, and starts "spectral".

    Examples
    --------
    >>> import closerthan as ct
    >>> rng = np.random.default_rng(0)
    >>> points = np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], 6, axis=0) + rng.normal(size=(18, 2))
    >>> found = ct.cluster(ct.datasets.simulated(points, 2000, seed=0))
    >>> found
    Clustering(18 objects in 3 groups, a clear number: two halves of the answers agree to 100 %)
    >>> found.groups[0]
    ['0', '1', '2', '3', '4', '5']
    """
    if method not in METHODS:
        raise ValueError(f"method is {method!r}; it can be {', '.join(METHODS)}")
    if isinstance(data, Result):
        if n_clusters is not None or answers is None:
            return _on_map(data, n_clusters, method, maps, most, seed)
        answers = Comparisons.of(answers)
        if answers.n_objects > len(data.embedding):
            raise ValueError(f"the answers are about {answers.n_objects} objects, the map about {len(data.embedding)}")
        # The number by the answers alone, which takes no further fits.
        by_answers = cluster(answers, method=method, most=most, seed=seed)
        found = _on_map(data, by_answers.n_clusters, method, maps, most, seed)
        return replace(found, errors=by_answers.errors, agreement=by_answers.agreement)
    if maps is not None or answers is not None:
        raise ValueError(
            f"{'answers' if maps is None else 'maps'} are given beside answers; these are for groups on a map: pass a "
            "fit first"
        )
    answers = Comparisons.of(data)
    tree = _tree(answers, method)
    if n_clusters is not None:
        labels = _labels(answers, tree, _checked(n_clusters, answers.n_objects), seed)
        return Clustering(labels, method, tree, answers.names)
    numbers = range(2, min(whole("most", most, least=2), answers.n_objects - 1) + 1)
    errors = _held_out_errors(answers, numbers, method, seed)
    best = min(errors, key=lambda number: (errors[number], number))
    labels = _labels(answers, tree, best, seed)
    return Clustering(labels, method, tree, answers.names, errors, _agreement_of_halves(answers, best, method, seed))


def _on_map(
    result: Result, n_clusters: int | None, method: str, maps: Iterable[ArrayLike] | None, most: int, seed: int
) -> Clustering:
    if method == "comparisons":
        raise ValueError('method is "comparisons", which is about answers; of a map it can be "average" or "spectral"')
    if len(result.embedding) < 2:
        raise ValueError("the map has one object; groups need at least two")
    number = n_clusters
    if number is None:
        if method == "spectral":
            raise ValueError("spectral clustering of a map needs a number of groups; say n_clusters, or pass answers")
        number = _widest_gap(_map_tree(result.embedding), whole("most", most, least=2))
    number = _checked(number, len(result.embedding))
    labels, tree = _map_labels(result.embedding, number, method, seed)
    together = None
    if maps is not None:
        n_maps, together = 0, np.zeros((len(labels), len(labels)))
        for one in maps:
            other = matrix_of("a map", one)
            if len(other) != len(labels):
                raise ValueError(f"one of the maps has {len(other)} objects, the fit {len(labels)}; they must agree")
            found, _ = _map_labels(other, number, method, seed)
            together += found[:, None] == found
            n_maps += 1
        if not n_maps:
            raise ValueError("there are no maps; pass at least one, or None")
        together /= n_maps
    return Clustering(labels, method, tree, result.names, together=together, guessed=n_clusters is None)


def _map_tree(x: Array) -> Array:
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import pdist

    tree: Array = linkage(pdist(x), "average")
    return tree


def _widest_gap(tree: Array, most: int) -> int:
    """The number of groups, from 2 to ``most``, that the tree keeps for the widest range of heights."""
    heights = np.concatenate([[0.0], tree[:, 2]])
    numbers = np.arange(2, min(most, len(tree)) + 1)
    if not len(numbers):
        return len(heights)  # two objects
    return int(numbers[np.argmax(heights[len(heights) - numbers + 1] - heights[len(heights) - numbers])])


def _map_labels(x: Array, number: int, method: str, seed: int) -> tuple[NDArray[np.intp], Array | None]:
    from scipy.spatial.distance import pdist, squareform

    if method == "average":
        tree = _map_tree(x)
        return cut(tree, number), tree
    apart = pdist(x)
    typical = float(np.median(apart)) or 1.0
    return _spectral(np.exp(-(squareform(apart / typical) ** 2)), number, seed), None


def _tree(answers: Comparisons, method: str) -> Array | None:
    if method == "spectral":
        return None
    if method == "comparisons":
        return comparison_tree(answers)
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    similar = answer_similarities(answers)
    apart = similar.max() - similar
    np.fill_diagonal(apart, 0.0)
    tree: Array = linkage(squareform(apart, checks=False), "average")
    return tree


def _labels(answers: Comparisons, tree: Array | None, number: int, seed: int) -> NDArray[np.intp]:
    if tree is not None:
        return cut(tree, number)
    similar = answer_similarities(answers)
    return _spectral(similar - similar.min(), number, seed)


def _spectral(affinity: Array, number: int, seed: int) -> NDArray[np.intp]:
    from sklearn.cluster import SpectralClustering

    found = SpectralClustering(number, affinity="precomputed", random_state=seed).fit_predict(affinity)
    return by_size(found)


def _held_out_errors(answers: Comparisons, numbers: range, method: str, seed: int) -> dict[int, float]:
    """The mean over folds of each number of groups."""
    errors = np.zeros(len(numbers))
    n_folds = min(FOLDS, int(answers.groups().max()) + 1)
    if n_folds < 2:
        raise ValueError("all answers are about the same objects, and none can tell a number of groups; say n_clusters")
    for train, test in folds(answers, n_folds, seed):
        tree = _tree(train, method)
        errors += [membership_error(test, _labels(train, tree, number, seed)) for number in numbers]
    return dict(zip(numbers, (errors / n_folds).tolist(), strict=True))


def _agreement_of_halves(answers: Comparisons, number: int, method: str, seed: int) -> float:
    from sklearn.metrics import adjusted_rand_score

    rng, scores = np.random.default_rng(seed), []
    for _ in range(HALVINGS):
        one, other = (_labels(half, _tree(half, method), number, seed) for half in answers.split(0.5, rng))
        scores.append(adjusted_rand_score(one, other))
    return float(np.mean(scores))


def membership_error(answers: Comparisons, labels: ArrayLike) -> float:
    """The share of answers that membership gets wrong: an object of one's own group is closer than another's.

    Examples
    --------
    >>> membership_error(Comparisons.from_triplets([[0, 1, 2], [0, 2, 1], [2, 0, 1], [1, 0, 2]]), [0, 0, 1])
    0.375
    """
    group = np.asarray(labels)
    (i, j), (l, k) = pairs_of(answers.rows)  # noqa: E741
    near, far = group[i] == group[j], group[l] == group[k]
    wrong = np.where(near == far, 0.5, np.where(far, 1.0, 0.0))
    return float(np.average(wrong, weights=answers.weights))


def _checked(n_clusters: int, n_objects: int) -> int:
    number = whole("n_clusters", n_clusters)
    if number > n_objects:
        raise ValueError(f"n_clusters is {number}; there are {n_objects} objects, so that it can be at most as many")
    return number
