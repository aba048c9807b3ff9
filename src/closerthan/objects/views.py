"""Several views: answers that are about different things, such as colour and shape, make a map each.

A mixture of V maps (multiview embedding, Amid and Ukkonen 2015): each answer is made by one of them, and
``sum over answers of log sum over views of share * P_view(answer)`` is maximised by turns: how probable it is that an
answer is of a view (its responsibilities), then maps fitted to the answers weighted by them.
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan.arrays import Array, frozen
from closerthan.checks import whole
from closerthan.comparisons import Comparisons
from closerthan.comparisons.grouping import numbered, questions
from closerthan.evaluate.cross_validation import folds
from closerthan.fit.embedding import embed
from closerthan.metrics import margins
from closerthan.wording import counted, percent

__all__ = ["Views", "embed_views"]

ROUNDS = 25
LEAST_WEIGHT = 1e-3  # of an answer in a view, so that no view loses an object
FOLDS = 3
REPEATED = 2  # of the most telling answers that one object may be in
SURE = 2.0  # standard errors by which another view must be better
LOSS = "ste"  # its probability is 1 / (1 + exp(near - far)), which is what mixes


@dataclass(frozen=True, repr=False, eq=False)
class Views:
    """Maps that share the answers among them.

    Attributes
    ----------
    maps
        One per view: (n_views, n_objects, n_dims).
    shares
        Of the answers, how many each view makes; the largest first.
    responsibilities
        For each comparison and each view, how probable it is that the view made it.
    log_likelihood
        Mean per comparison, on the answers that the maps were fitted to.
    held_out
        Mean log likelihood of held-out answers by number of views, if the number was to be found.
    names
        The objects' names, or None.
    """

    maps: Array
    shares: Array
    responsibilities: Array
    log_likelihood: float
    held_out: dict[int, float] = field(default_factory=dict)
    names: tuple[str, ...] | None = None

    @property
    def n_views(self) -> int:
        """How many maps there are."""
        return len(self.maps)

    @property
    def view(self) -> NDArray[np.intp]:
        """For each comparison, the view that most probably made it."""
        found: NDArray[np.intp] = self.responsibilities.argmax(axis=1)
        return found

    @property
    def advice(self) -> str:
        """What to do with the maps, in a sentence."""
        if self.n_views == 1:
            return "One map is enough for these answers: closerthan fit shows all about it."
        return (
            "Each answer was given by one of these maps, so interpret them one by one: the answers below, which only "
            "one map gets right, show what it is about."
        )

    @property
    def titles(self) -> list[str]:
        """What to write above each map."""
        return [
            f"view {number + 1}: {percent(share, digits=0)} of the answers" for number, share in enumerate(self.shares)
        ]

    def telling(self, answers: Comparisons | ArrayLike, number: int = 5) -> list[NDArray[np.intp]]:
        """For each view, comparisons that it finds far more probable than all other views do, the most telling first.

        These show what a view is about: its own map gets them right, every other map wrong. At most ``number``, and
        none of a single view. No object is in more than a few, or one that is far off would be in all of them.
        """
        given = Comparisons.of(answers)
        if given.n_objects > self.maps.shape[1]:
            raise ValueError(f"the answers are about {given.n_objects} objects, the maps about {self.maps.shape[1]}")
        whole("number", number)
        found = []
        sides = np.stack([margins(given, one) for one in self.maps], axis=1)
        for view in range(self.n_views):
            others = np.delete(sides, view, axis=1)
            alone = (sides[:, view] > 0) & (others < 0).all(axis=1) & (self.n_views > 1)
            rows = np.flatnonzero(alone)
            by_odds = np.minimum(sides[rows, view], -others[rows].max(axis=1)) if len(rows) else np.empty(0)
            found.append(_varied(given, rows[np.argsort(-by_odds, kind="stable")], number))
        return found

    def plot(self) -> Any:
        """Draw the maps side by side."""
        from closerthan.plotting import views_figure

        return views_figure(list(self.maps), self.names, titles=self.titles)

    def __repr__(self) -> str:
        shares = ", ".join(percent(share, digits=0) for share in self.shares)
        return f"Views({counted(self.n_views, 'map')} of {self.maps.shape[1]:,} objects, which make {shares})"


def _varied(answers: Comparisons, rows: NDArray[np.intp], number: int) -> NDArray[np.intp]:
    """The first rows of which no two ask the same and no object is in more than a few; then what else there is."""
    question = numbered(questions(answers.rows, answers.n_objects, None))[rows]
    _, first = np.unique(question, return_index=True)
    rows = rows[np.sort(first)]
    times: Counter[int] = Counter()
    chosen: list[int] = []
    others: list[int] = []
    for row in rows.tolist():
        objects = set(answers.rows[row].tolist())
        if len(chosen) < number and max(times[one] for one in objects) < REPEATED:
            chosen.append(row)
            times.update(objects)
        elif len(others) < number:
            others.append(row)
        if len(chosen) == number:
            break
    return np.array([*chosen, *others][:number], dtype=np.intp)


def embed_views(
    answers: Comparisons | ArrayLike,
    n_views: int | None = None,
    n_dims: int = 2,
    *,
    most: int = 3,
    n_starts: int = 4,
    seed: int = 0,
) -> Views:
    """Find several maps, each of which makes a part of the answers.

    Parameters
    ----------
    answers
        Triplets or quadruplets. All comparisons of one answer are of one view.
    n_views
        How many maps. None: as many, up to ``most``, as foretell held-out answers best; another view must raise their
        log likelihood by more than two standard errors.
    n_dims
        Dimensions of each map.
    most
        The most views to try.
    n_starts
        Random starts, of which the most likely is kept.
    seed
        Makes everything repeatable.

    Examples
    --------
    >>> import closerthan as ct
    >>> points = np.random.default_rng(0).normal(size=(20, 1)) * 3
    >>> ct.embed_views(ct.datasets.simulated(points, 1000, seed=0), 1, n_dims=1)
    Views(1 map of 20 objects, which make 100 %)
    """
    given = Comparisons.of(answers)
    whole("n_dims", n_dims)
    whole("n_starts", n_starts)
    if n_views is not None:
        return _best(given, whole("n_views", n_views), n_dims, n_starts, seed)
    held_out: dict[int, float] = {}
    chosen, before = 1, None
    for number in range(1, whole("most", most) + 1):
        parts = [(_best(train, number, n_dims, n_starts, seed), test) for train, test in folds(given, FOLDS, seed)]
        scores = np.concatenate([_log_likelihoods(views, test) for views, test in parts])
        held_out[number] = float(scores.mean())
        if before is not None:
            gain = scores - before
            if gain.mean() <= SURE * gain.std() / np.sqrt(len(gain)):
                break
            chosen = number
        before = scores
    return replace(_best(given, chosen, n_dims, n_starts, seed), held_out=held_out)


def _best(answers: Comparisons, n_views: int, n_dims: int, n_starts: int, seed: int) -> Views:
    rng = np.random.default_rng(seed)
    tried = [_mixture(answers, n_views, n_dims, rng) for _ in range(n_starts)]
    return max(tried, key=lambda views: views.log_likelihood)


def _mixture(answers: Comparisons, n_views: int, n_dims: int, rng: np.random.Generator) -> Views:
    source = np.arange(len(answers)) if answers.answers is None else answers.answers
    drawn = rng.dirichlet(np.full(n_views, 0.5), size=int(source.max()) + 1)
    held = drawn[source]  # responsibilities
    maps: list[Any] = [None] * n_views
    shares = np.full(n_views, 1 / n_views)
    for _ in range(ROUNDS if n_views > 1 else 1):
        for view in range(n_views):
            weights = np.maximum(held[:, view], LEAST_WEIGHT)
            if answers.weights is not None:
                weights = weights * answers.weights
            part = replace(answers, weights=frozen(weights))
            fit = embed(part, n_dims, loss=LOSS, start=maps[view], seed=int(rng.integers(2**31)))
            maps[view] = fit.embedding
        shares = np.average(held, axis=0, weights=answers.weights)
        now = _responsibilities(answers, maps, shares, source)
        moved = float(np.abs(now - held).mean())
        held = now
        if moved < 1e-3:
            break
    order = np.argsort(-shares, kind="stable")
    views = Views(np.stack(maps)[order], shares[order], held[:, order], 0.0, names=answers.names)
    return replace(views, log_likelihood=float(_log_likelihoods(views, answers).mean()))


def _log_probabilities(answers: Comparisons, maps: Any) -> Array:
    """Of each comparison on each map."""
    return np.stack([-np.logaddexp(0.0, -margins(answers, one)) for one in maps], axis=1)


def _responsibilities(answers: Comparisons, maps: Any, shares: Array, source: NDArray[Any]) -> Array:
    logs = _log_probabilities(answers, maps)
    if answers.answers is not None:  # one answer is of one view, with all its comparisons
        sums = np.stack([np.bincount(source, column) for column in logs.T], axis=1)
        logs = sums[source]
    logs = logs + np.log(np.maximum(shares, 1e-12))
    odds = np.exp(logs - logs.max(axis=1, keepdims=True))
    found: Array = odds / odds.sum(axis=1, keepdims=True)
    return found


def _log_likelihoods(views: Views, answers: Comparisons) -> Array:
    found: Array = np.logaddexp.reduce(_log_probabilities(answers, views.maps) + np.log(views.shares), axis=1)
    return found
