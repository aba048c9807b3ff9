"""Several views: answers that are about different things, such as colour and shape, make a map each.

A mixture of V maps (multiview embedding, Amid and Ukkonen 2015): each answer is made by one of them, or it is a guess.
``sum over answers of log (share_guess * P_guess + sum over views of share * P_view(answer))`` is maximised: from random
starts along all maps at once, then by turns: how probable it is that an answer is of a view (its responsibilities),
then maps fitted to the answers weighted by them.
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
from closerthan.objects.mixture import Mixture
from closerthan.wording import counted, percent

__all__ = ["Views", "embed_views"]

FEW_GUESSES = 0.01  # share of the answers, at first
START_SIZE = 0.1
STEPS = 10  # of all starts, before the worse half is left out
ROUNDS = 25
LEAST_WEIGHT = 1e-3  # of an answer in a view, so that no view loses an object
FOLDS = 3
REPEATED = 2  # of the most telling answers that one object may be in
LOG_SIZES = (-4.0, 1.0)  # by which maps are scaled for held-out answers
LEAST_GAIN = 0.01 * np.log(2)  # two maps of one view are less sure than one, and so predict a little better
SURE = 2.0  # standard errors by which the gain of another view must be above that
LOSS = "ste"  # its probability is 1 / (1 + exp(near - far)), which is what mixes


@dataclass(frozen=True, repr=False, eq=False)
class Views:
    """Maps that share the answers among them.

    Attributes
    ----------
    maps
        One per view: (n_views, n_objects, n_dims).
    shares
        Of the answers that are no guesses, how many each view makes; the largest first.
    responsibilities
        For each comparison and each view, how probable it is that the view made it, were it no guess.
    log_likelihood
        Mean per answer, on the answers that the maps were fitted to.
    guesses
        Share of the answers that no map explains: as if guessed.
    held_out
        Mean log likelihood of held-out answers by number of views, if the number was to be found.
    names
        The objects' names, or None.
    """

    maps: Array
    shares: Array
    responsibilities: Array
    log_likelihood: float
    guesses: float = 0.0
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
    n_starts: int = 32,
    seed: int = 0,
) -> Views:
    """Find several maps, each of which makes a part of the answers.

    Parameters
    ----------
    answers
        Triplets or quadruplets. All comparisons of one answer are of one view.
    n_views
        How many maps. None: as many, up to ``most``, as foretell held-out answers best; another view must raise their
        log likelihood by .01 bits per answer, and two standard errors more.
    n_dims
        Dimensions of each map.
    most
        The most views to try.
    n_starts
        Random starts; all but the likeliest are left out on the way.
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
        return _fit(given, whole("n_views", n_views), n_dims, n_starts, seed)
    held_out: dict[int, float] = {}
    chosen, before = 1, None
    for number in range(1, whole("most", most) + 1):
        parts = [(_fit(train, number, n_dims, n_starts, seed), test) for train, test in folds(given, FOLDS, seed)]
        scores = _held_out(parts)
        held_out[number] = float(scores.mean())
        if before is not None:
            gain = scores - before
            if gain.mean() - SURE * gain.std() / np.sqrt(len(gain)) <= LEAST_GAIN:
                break
            chosen = number
        before = scores
    return replace(_fit(given, chosen, n_dims, n_starts, seed), held_out=held_out)


def _held_out(parts: list[tuple[Views, Comparisons]]) -> Array:
    """Log likelihoods of held-out answers, on maps of the size that suits these answers best.

    Without contradictions maps grow without bound: they are right, but far too sure. Then a second map, nearly the
    same, would seem better only because two are less sure than one.
    """
    from scipy.optimize import minimize_scalar

    models = [
        (Mixture.of(test), views.maps, np.append((1 - views.guesses) * views.shares, views.guesses))
        for views, test in parts
    ]

    def scores(log_size: float) -> Array:
        return np.concatenate(
            [model.log_likelihoods(np.exp(log_size) * maps, shares) for model, maps, shares in models]
        )

    best = minimize_scalar(lambda log_size: -scores(log_size).mean(), bounds=LOG_SIZES, method="bounded")
    return scores(best.x)


def _fit(answers: Comparisons, n_views: int, n_dims: int, n_starts: int, seed: int) -> Views:
    """The mixture: maps from the best start, then expectation maximisation (EM)."""
    from scipy.special import softmax

    rng = np.random.default_rng(seed)
    model = Mixture.of(answers)
    maps, shares = _start(model, n_views, n_dims, n_starts, rng)
    held = model.responsibilities(maps, shares)
    for _ in range(ROUNDS):
        for view in range(n_views):
            weights = np.maximum(held[:, view], LEAST_WEIGHT)[model.answer]
            if answers.weights is not None:
                weights = weights * answers.weights
            part = replace(answers, weights=frozen(weights))
            fit = embed(part, n_dims, loss=LOSS, start=maps[view], seed=int(rng.integers(2**31)))
            maps[view] = fit.embedding
        shares = np.average(held, axis=0, weights=model.weights)
        now = model.responsibilities(maps, shares)
        moved = float(np.abs(now - held).mean())
        held = now
        if moved < 1e-3:
            break
    order = np.argsort(-shares[:-1], kind="stable")
    return Views(
        np.stack(maps)[order],
        shares[order] / shares[order].sum(),
        softmax(model.log_joint(maps, shares)[:, order], axis=1)[model.answer],  # without the guesses
        float(np.average(model.log_likelihoods(maps, shares), weights=model.weights)),
        float(shares[-1]),
        names=answers.names,
    )


def _start(
    model: Mixture, n_views: int, n_dims: int, n_starts: int, rng: np.random.Generator
) -> tuple[list[Array], Array]:
    """The best of random starts: its maps, and the shares of views and guesses.

    L-BFGS changes all maps and shares at once (direct maximisation, Salakhutdinov, Roweis and Ghahramani 2003). EM
    would fit each map to the random answers that it begins with, and keep most of them. Every few steps the worse half
    of the starts is left out (successive halving, Jamieson and Talwalkar 2016).
    """
    from scipy.optimize import minimize
    from scipy.special import softmax

    evaluate = model.objective(n_views, n_dims)
    shares = np.append(np.full(n_views, (1 - FEW_GUESSES) / n_views), FEW_GUESSES)
    maps = START_SIZE * rng.standard_normal((n_starts, model.comparisons.n_objects * n_views * n_dims))
    tried = [np.append(np.log(shares), one) for one in maps]
    while True:
        ends = [minimize(evaluate, one, jac=True, method="L-BFGS-B", options={"maxiter": STEPS}) for one in tried]
        ends.sort(key=lambda end: float(end.fun))
        if len(ends) == 1:
            scores, best = np.split(ends[0].x, [n_views + 1])
            return list(np.moveaxis(best.reshape(-1, n_views, n_dims), 1, 0)), softmax(scores)
        tried = [end.x for end in ends[: (len(ends) + 1) // 2]]
