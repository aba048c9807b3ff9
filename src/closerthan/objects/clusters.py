"""Groups of objects, from answers or on a map, with a test of their number and separation."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan.arrays import Array
from closerthan.checks import ParameterError, checked, whole
from closerthan.comparisons import Comparisons
from closerthan.files.formats.text.delimited_text import quoted
from closerthan.fit.progress import trials_bar
from closerthan.geometry import matrix_of
from closerthan.objects.comparison_tree import by_size, comparison_tree, cut
from closerthan.objects.silhouettes import count_groups, same_number
from closerthan.objects.similarities import answer_similarities
from closerthan.result import Result
from closerthan.saving import whole_file
from closerthan.settings import FitOptions, Settings, lists_options
from closerthan.uncertainty.refitter import Refitter, plan_refits
from closerthan.wording import counted, html_table, percent

__all__ = ["Clustering", "cluster"]

MOST_NAMED = 10  # objects of each group in the table of a notebook
METHODS = ("average", "ward", "spectral", "comparisons")
LOSS = "ste"  # default loss of the maps on which the number of groups is found
MOST = 8  # default of the largest number of groups
HALVINGS = 5  # random halvings of the answers; the number of groups is counted again on the ten resulting maps
MOST_COUNTED = 20  # maps passed by the caller on which the number of groups is counted again
STABLE = 0.8  # fraction of these maps that must show the same number; docs/measured/group-numbers.md
DOUBT = 0.5  # an object that is with its group on a smaller fraction of the maps is in doubt


@dataclass(frozen=True, repr=False, eq=False)
class Clustering:
    """Result of :func:`cluster`: groups of objects.

    Attributes
    ----------
    labels
        The group of each object, numbered from 0, the largest group first.
    method
        The clustering method.
    tree
        The merges as SciPy's linkage matrix; None for "spectral", which makes no tree.
    names
        Names of the objects, or None.
    co_membership
        For each pair of objects, the fraction of the maps on which both are in the same group; None without maps.
    silhouettes
        Mean silhouette on the map for each number of groups that was tried (1: groups far apart, 0: no groups). Empty
        if the caller chose the number of groups, or if there are fewer than four objects.
    reference
        95 % quantile of the highest silhouettes on simulated maps of the same shape without gaps; NaN without
        ``silhouettes``.
    same_number
        The fraction of other maps on which the same number of groups has the highest silhouette. The other maps are
        fitted to halves of the answers, or are the ``maps`` that were passed. NaN if there are none, or if the caller
        chose the number of groups.
    number_was_given
        Whether the caller chose the number of groups.
    """

    labels: NDArray[np.intp]
    method: str
    tree: Array | None = None
    names: tuple[str, ...] | None = None
    co_membership: Array | None = None
    silhouettes: dict[int, float] = field(default_factory=dict)
    reference: float = float("nan")
    same_number: float = float("nan")
    number_was_given: bool = True

    @property
    def n_clusters(self) -> int:
        """The number of groups."""
        return int(self.labels.max()) + 1

    @property
    def is_clear(self) -> bool | None:
        """True if the silhouette exceeds the reference for maps without gaps; None if the caller chose the number."""
        if self.number_was_given:
            return None
        return bool(self.silhouettes) and self.silhouettes[self.n_clusters] > self.reference

    @property
    def number_is_stable(self) -> bool | None:
        """True if most maps fitted to other answers show the same number of groups; None if there are no such maps."""
        return None if np.isnan(self.same_number) else self.same_number >= STABLE

    @property
    def groups(self) -> list[list[str]]:
        """The objects of each group, by name (or number)."""
        names = self.names or tuple(str(number) for number in range(len(self.labels)))
        return [[names[one] for one in np.flatnonzero(self.labels == group)] for group in range(self.n_clusters)]

    def __repr__(self) -> str:
        return f"Clustering({len(self.labels):,} objects in {counted(self.n_clusters, 'group')}, {self.in_words})"

    def _repr_html_(self) -> str:
        sizes = np.bincount(self.labels)
        rows = [
            (str(number + 1), f"{sizes[number]:,}", ", ".join(names[:MOST_NAMED]) + ", ..." * (len(names) > MOST_NAMED))
            for number, names in enumerate(self.groups)
        ]
        return html_table(repr(self), ("group", "size", "objects"), rows)

    @property
    def in_words(self) -> str:
        """The separation of the groups, in words."""
        if self.is_clear is None:
            return "the number that was requested"
        if not self.silhouettes:
            return "too few objects to tell"
        reference = f"95 % of maps of this shape without gaps stay below {self.reference:.2f}"
        compared = f"silhouette {self.silhouettes[self.n_clusters]:.2f}; {reference}"
        if not self.is_clear:
            return f"but not clearly separated: {compared}"
        return f"clearly separated: {compared}; {self._number_in_words}"

    @property
    def _number_in_words(self) -> str:
        """The certainty of the number of groups, in words."""
        if self.number_is_stable is None:
            return "it was not tested whether other answers would show the same number"
        fraction = f"{percent(self.same_number, digits=0)} of the maps fitted to other answers show the same number"
        return fraction if self.number_is_stable else f"but their number is uncertain: only {fraction}"

    @property
    def advice(self) -> str:
        """Advice on the interpretation of the groups."""
        if self.is_clear is None:
            return (
                "Their number was requested. It was not tested whether the map shows groups at all: leave the number "
                "out to find it."
            )
        if self.is_clear:
            number = self._number_in_words
            return f"They are {self.in_words.removesuffix(f'; {number}')}. {number[0].upper()}{number[1:]}."
        return (
            "They are not clearly separated: gaps as wide as these also arise by chance. This is the best division, "
            "but describe the map as a whole."
        )

    @property
    def certainty(self) -> Array | None:
        """For each object, the mean fraction of the maps on which it is in the same group as another group member.

        For an object that is alone in its group: the fraction of the maps on which it is separated from the object that
        it shares a group with most often. None without maps.
        """
        if self.co_membership is None:
            return None
        same = (self.labels[:, None] == self.labels) & ~np.eye(len(self.labels), dtype=bool)
        with_others = np.where(same, self.co_membership, 0.0).sum(axis=1)
        n_others = same.sum(axis=1)
        closest = np.where(np.eye(len(self.labels), dtype=bool), 0.0, self.co_membership).max(axis=1)
        fractions: Array = np.where(n_others > 0, with_others / np.maximum(n_others, 1), 1.0 - closest)
        return fractions

    @property
    def doubtful(self) -> NDArray[np.intp]:
        """Objects that are with their group on fewer than half of the maps."""
        certainty = self.certainty
        objects: NDArray[np.intp] = np.flatnonzero(np.zeros(0) if certainty is None else certainty < DOUBT)
        return objects

    @checked
    def to_csv(self, path: str | Path) -> None:
        """Write the group of each object, numbered from 1, and its certainty if there are other maps."""
        names = self.names or tuple(str(number) for number in range(len(self.labels)))
        certainty = self.certainty
        cells = [""] * len(names) if certainty is None else [f",{fraction:.3f}" for fraction in certainty.tolist()]
        lines = [
            f"{quoted(name, ',')},{label + 1}{cell}"
            for name, label, cell in zip(names, self.labels.tolist(), cells, strict=True)
        ]
        with whole_file(path) as table:
            table.write("\n".join(["name,group" + ",certainty" * (certainty is not None), *lines, ""]).encode())

    @checked
    def plot(
        self,
        names: Sequence[str] | None = None,
        *,
        n_clusters: int | None = None,
        thumbnails: Any = None,
        title: str | None = None,
        ax: Any = None,
    ) -> Any:
        """Draw the tree; see :func:`closerthan.plotting.dendrogram_figure`."""
        from closerthan.plotting import dendrogram_figure

        if self.tree is None:
            raise ValueError(f"the method {self.method!r} makes no tree; choose another one")
        return dendrogram_figure(self, names, n_clusters=n_clusters, thumbnails=thumbnails, title=title, ax=ax)


class ClusterOptions(FitOptions, total=False):
    """Keyword arguments of :func:`cluster`: those of every fit, other maps, and the largest number of groups to try."""

    maps: Iterable[ArrayLike] | None
    most: int


@checked
@lists_options(ClusterOptions, loss=LOSS, most=MOST)
def cluster(
    answers: Comparisons | Result | ArrayLike,
    n_clusters: int | None = None,
    n_dims: int | None = None,
    *,
    method: str | None = None,
    settings: Settings | None = None,
    result: Result | None = None,
    **options: Unpack[ClusterOptions],
) -> Clustering:
    """Find groups of objects that are similar to each other.

    Parameters
    ----------
    answers
        Answers, or a fit, whose map is then clustered.
    n_clusters
        Number of groups. None means the number, from 2 to ``most``, with the highest mean silhouette on the map;
        :attr:`Clustering.is_clear` says whether it is higher than on maps without gaps. Where ``answers`` are not a
        fit, a map is fitted to find the number, and the groups themselves are found by ``method``.
    method
        For answers: "average" (the default), average linkage of :func:`~closerthan.objects.answer_similarities`;
        "spectral", spectral clustering of the same similarities; "comparisons", comparison-based average linkage
        (Ghoshdastidar et al. 2019). For a map: "ward" (the default), "average" or "spectral", by its distances.
    n_dims, settings
        As in :func:`closerthan.embed`, for the maps that are fitted to find the number of groups.
    result
        A fit to the same answers, on whose map the number of groups is found.
    maps
        Other maps of the same objects, such as replicates, to count on how many of them two objects share a group.
        Only for a fit.
    most
        The largest number of groups to try, 8 by default.
    options
        As in :func:`closerthan.embed`, but the default loss is "ste". The seed also determines the maps without
        gaps and the start of "spectral".

    Examples
    --------
    >>> import closerthan as ct
    >>> rng = np.random.default_rng(0)
    >>> points = np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], 6, axis=0) + rng.normal(size=(18, 2))
    >>> clustering = ct.cluster(ct.datasets.simulated(points, 2000, seed=0))
    >>> clustering.n_clusters, clustering.is_clear
    (3, True)
    >>> clustering.groups[0]
    ['0', '1', '2', '3', '4', '5']
    """
    if method not in (None, *METHODS):
        raise ParameterError("method", method, f"it can be {', '.join(METHODS)}")
    most, maps = whole("most", options.pop("most", MOST), least=2), options.pop("maps", None)
    base = Settings(loss=LOSS) if settings is None and result is None else settings
    if isinstance(answers, Result):
        seed = Settings.of(base, None, options).seed
        return _on_map(answers, n_clusters, method or "ward", maps, most, 0 if seed is None else seed)
    if maps is not None:
        raise ValueError(
            "maps can be compared only with a fit, but the first argument holds answers; pass a fit, or leave maps out"
        )
    if method == "ward":
        raise ValueError('method is "ward", which needs a map; for answers choose "average" or "comparisons"')
    comparisons, method = Comparisons.of(answers), method or "average"
    tree = _tree(comparisons, method)
    plan = plan_refits(comparisons, n_dims, base, result, options)
    if n_clusters is not None:
        seed = plan.settings.seed or 0
        labels = _labels(comparisons, tree, _checked(n_clusters, comparisons.n_objects), seed)
        return Clustering(labels, method, tree, comparisons.names)
    with trials_bar(bool(plan.progress), "groups of objects", 1 + 2 * HALVINGS, 0) as tick:
        result = plan.fit(comparisons) if result is None else result
        refitter = Refitter.of(comparisons, plan, result)
        tick()
        halves = _maps_of_halves(comparisons, refitter, tick)
    count = count_groups(result.embedding, most, refitter.seed)
    return Clustering(
        _labels(comparisons, tree, count.number, refitter.seed),
        method,
        tree,
        comparisons.names,
        silhouettes=count.silhouettes,
        reference=count.reference,
        same_number=same_number(halves, count.number, most, refitter.seed),
        number_was_given=False,
    )


def _maps_of_halves(answers: Comparisons, refitter: Refitter, tick: Callable[[], None]) -> list[Array]:
    """Return maps fitted to random halves of the answers; none if there are too few answers to split."""
    if answers.n_answers < 2:
        return []
    rng = np.random.default_rng(refitter.seed)
    halves = [half for _ in range(HALVINGS) for half in answers.split(0.5, rng)]
    return [result.embedding for result in refitter.fit_each(halves, tick)]


def _on_map(
    result: Result, n_clusters: int | None, method: str, maps: Iterable[ArrayLike] | None, most: int, seed: int
) -> Clustering:
    if method == "comparisons":
        raise ValueError('method is "comparisons", which is for answers; for a map choose "ward" or "average"')
    x = result.embedding
    if len(x) < 2:
        raise ValueError("the map has one object; groups need at least two")
    if n_clusters is None:
        others = None if maps is None else [matrix_of("a map", one) for one in maps]
        count = count_groups(x, most, seed)
        return replace(
            _on_map(result, count.number, method, others, most, seed),
            silhouettes=count.silhouettes,
            reference=count.reference,
            same_number=float("nan") if not others else same_number(others[:MOST_COUNTED], count.number, most, seed),
            number_was_given=False,
        )
    number = _checked(n_clusters, len(x))
    labels, tree = _map_labels(x, number, method, seed)
    co_membership = None if maps is None else _co_membership(labels, number, maps, method, seed)
    return Clustering(labels, method, tree, result.names, co_membership)


def _co_membership(labels: NDArray[np.intp], number: int, maps: Iterable[ArrayLike], method: str, seed: int) -> Array:
    """Return the fraction of the maps on which two objects are in the same group."""
    n_maps, counts = 0, np.zeros((len(labels), len(labels)))
    for one in maps:
        other = matrix_of("a map", one)
        if len(other) != len(labels):
            raise ValueError(
                f"one of the maps has {len(other)} objects, the fit {len(labels)}; the numbers must be equal"
            )
        groups, _ = _map_labels(other, number, method, seed)
        counts += groups[:, None] == groups
        n_maps += 1
    if not n_maps:
        raise ValueError("there are no maps; pass at least one, or None")
    return counts / n_maps


def _map_labels(x: Array, number: int, method: str, seed: int) -> tuple[NDArray[np.intp], Array | None]:
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import pdist, squareform

    if method != "spectral":
        tree: Array = linkage(x, method)
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

    groups = SpectralClustering(number, affinity="precomputed", random_state=seed).fit_predict(affinity)
    return by_size(groups)


def _checked(n_clusters: int, n_objects: int) -> int:
    number = whole("n_clusters", n_clusters)
    if number > n_objects:
        raise ParameterError("n_clusters", number, f"it can be at most {n_objects}, the number of objects")
    return number
