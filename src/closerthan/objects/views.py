"""Several views: answers that are about different things, such as colour and shape, make a map each.

A mixture of V maps (multiview embedding, Amid and Ukkonen 2015): each answer is made by one of them, or it is a guess.
``sum over answers of log (share_guess * P_guess + sum over views of share * P_view(answer))`` is maximised: from random
starts along all maps at once, then by turns: how probable it is that an answer is of a view (its responsibilities),
then maps fitted to the answers weighted by them.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan.arrays import Array, frozen
from closerthan.checks import checked, whole
from closerthan.comparisons import Comparisons
from closerthan.comparisons.grouping import numbered, questions
from closerthan.evaluate.cross_validation import folds
from closerthan.fit.ctrl_c import CancelFlag, CtrlC
from closerthan.fit.embedding import embed
from closerthan.fit.plan import FitPlan
from closerthan.fit.progress import trials_bar
from closerthan.losses import STE
from closerthan.metrics import margins
from closerthan.objects.mixture import Mixture
from closerthan.settings import ENDED, Budget, FitOptions, Settings, TimeOverError, lists_options
from closerthan.wording import counted, percent

__all__ = ["Views", "embed_views"]

FEW_GUESSES = 0.01  # share of the answers, at first
START_SIZE = 0.1
STEPS = 10  # of all starts, before the worse half is left out
ROUNDS = 25
STARTS = 32  # default of the number of random starts
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
    rivals
        The same for fewer views of more dimensions, by (number of views, number of dimensions), which another view must
        also predict better than.
    rival
        Which of them ended the search, because it predicts as well as one more view; None if none did.
    stopped_by
        "interrupted" if Ctrl-C ended the search or the fit; otherwise "".
    """

    maps: Array
    shares: Array
    responsibilities: Array
    log_likelihood: float
    guesses: float = 0.0
    held_out: dict[int, float] = field(default_factory=dict)
    names: tuple[str, ...] | None = None
    rivals: dict["Shape", float] = field(default_factory=dict)
    rival: "Shape | None" = None
    stopped_by: str = ""

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
        if self.stopped_by:
            return self.cut
        several = (
            "Each answer was given by one of these maps, so interpret them one by one: the answers below, which only "
            "one map gets right, show what it is about."
        )
        if self.rival is not None:
            fewer = "one" if self.n_views == 1 else str(self.n_views)
            sentence = (
                f"{self.n_views + 1} maps of {counted(self.maps.shape[2], 'dimension')} predict held-out answers "
                f"better than {fewer}, but not clearly better than {self.rival.in_words}: a missing dimension, "
                "not another view."
            )
            return f"{sentence} {several}" if self.n_views > 1 else f"{sentence} Fit {self.rival.in_words}."
        if self.n_views > 1:
            return several
        if len(self.held_out) > 1:
            return "Two maps do not clearly predict held-out answers better than one: fit one map."
        return "One map was asked for: closerthan fit shows all about it."

    @property
    def cut(self) -> str:
        """What Ctrl-C left undone, in words; empty if all is done."""
        if not self.stopped_by:
            return ""
        tried = "" if not self.held_out else f" after up to {counted(max(self.held_out), 'view')} had been tried"
        reason = ENDED[self.stopped_by]
        return (
            f"{reason[0].upper()}{reason[1:]}{tried}: these maps are the best so far, fitted to a part of the answers "
            "or not to the end."
        )

    @property
    def titles(self) -> list[str]:
        """What to write above each map."""
        return [
            f"view {number + 1}: {percent(share, digits=0)} of the answers" for number, share in enumerate(self.shares)
        ]

    @checked
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

        return views_figure(self)

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


class Shape(NamedTuple):
    """How many views, and of how many dimensions."""

    n_views: int
    n_dims: int

    @property
    def in_words(self) -> str:
        """Such as "one map of 2 dimensions"."""
        maps = "one map" if self.n_views == 1 else f"{self.n_views} maps"
        return f"{maps} of {counted(self.n_dims, 'dimension')}"


@checked
@lists_options(FitOptions)
def embed_views(
    answers: Comparisons | ArrayLike,
    n_views: int | None = None,
    n_dims: int | None = None,
    *,
    most: int = 3,
    settings: Settings | None = None,
    **options: Unpack[FitOptions],
) -> Views:
    """Find several maps, each of which makes a part of the answers.

    Parameters
    ----------
    answers
        Triplets or quadruplets. All comparisons of one answer are of one view.
    n_views
        How many maps. None: the number, up to ``most``, that predicts held-out answers best. Another view must raise
        their log likelihood by .01 bits per answer, and two standard errors more; and it must do so beside fewer views
        of more dimensions as well: a dimension that is missing would otherwise pass for a view.
    n_dims, settings
        As in :func:`closerthan.embed`.
    most
        The largest number of views to try.
    options
        Those of :func:`closerthan.embed`, except that the loss is always "ste" and that there is no early stopping.
        ``n_starts`` is the number of random starts of the mixture, 32 by default, of which all but the most likely are
        dropped on the way. A time limit is that of all fits together.

    Returns
    -------
    Views
        Ctrl-C and a time limit end the computation early and keep the best maps so far, if there are any.

    Examples
    --------
    >>> import closerthan as ct
    >>> points = np.random.default_rng(0).normal(size=(20, 1)) * 3
    >>> ct.embed_views(ct.datasets.simulated(points, 1000, seed=0), 1, n_dims=1)
    Views(1 map of 20 objects, which make 100 %)
    """
    comparisons = Comparisons.of(answers)
    n_starts_option = options.pop("n_starts", None)
    n_starts = STARTS if n_starts_option is None else whole("n_starts", n_starts_option)
    plan = FitPlan.of(Settings(loss=LOSS) if settings is None else settings, n_dims, options)
    if not (plan.settings.is_auto or isinstance(plan.settings.loss, STE)):
        raise ValueError(f'loss is {plan.settings.loss!r}; views are fitted with "ste" only: leave the loss out')
    if plan.settings.stops_by_held_out:
        raise ValueError(f"validation is {plan.settings.validation}; views have no early stopping: leave it out")
    plan = plan.replace(loss=LOSS, n_starts=1)
    n_fits = 1 if n_views is not None else 1 + FOLDS * (3 * whole("most", most) - 2)
    with CtrlC() as ctrl_c, trials_bar(bool(plan.progress), "views", n_fits, 0) as tick:
        stop = _Stop(ctrl_c.pressed, plan.budget)
        fits = _MixtureFits(comparisons, plan, n_starts, stop, tick)
        try:
            if n_views is not None:
                return fits.all(Shape(whole("n_views", n_views), plan.settings.n_dims))
            return _search(fits, plan.settings.n_dims, most)
        except _StoppedEarly:
            if stop.reason == "interrupted":
                raise KeyboardInterrupt from None
            raise TimeOverError(
                "the time limit was reached before the first maps were fitted; raise time_limit, or leave it out"
            ) from None


@dataclass(frozen=True)
class _Stop:
    """Says whether Ctrl-C was pressed or the time is over."""

    cancelled: CancelFlag
    budget: Budget

    @property
    def reason(self) -> str:
        """A key of ``ENDED``, or "" if the computation goes on."""
        if self.cancelled.is_set():
            return "interrupted"
        return "time_limit" if self.budget.is_over else ""


@dataclass(frozen=True)
class _MixtureFits:
    """Fits mixtures to the answers, or to folds of them."""

    answers: Comparisons
    plan: FitPlan
    n_starts: int
    stop: _Stop
    tick: Callable[[], None]

    @property
    def seed(self) -> int | None:
        """The seed of each fit."""
        return self.plan.settings.seed

    def all(self, shape: Shape) -> Views:
        """Fit all answers; a fit that is stopped early returns its maps so far."""
        views = self._fit(self.answers, shape)
        self.tick()
        return views

    def held_out(self, shape: Shape) -> tuple[Views, Array]:
        """Return a fit to a part of the answers, and the cross-validated log likelihoods of all answers."""
        parts = []
        for train, test in folds(self.answers, FOLDS, self.seed or 0):
            parts.append((self._fit(train, shape), test))
            if self.stop.reason:
                raise _StoppedEarly
            self.tick()
        return parts[0][0], _held_out(parts)

    def _fit(self, answers: Comparisons, shape: Shape) -> Views:
        """Fit a mixture: maps from the best start, then expectation maximisation (EM)."""
        rng = np.random.default_rng(self.seed)
        model = Mixture.of(answers)
        maps, shares = _start(model, shape, self.n_starts, rng, self.stop)
        held = model.responsibilities(maps, shares)
        for _ in range(ROUNDS):
            for view in range(shape.n_views):
                weights = np.maximum(held[:, view], LEAST_WEIGHT)[model.answer]
                if answers.weights is not None:
                    weights = weights * answers.weights
                weighted = answers.replace(weights=frozen(weights))
                try:
                    embedding = self._map(weighted, maps[view], int(rng.integers(2**31)))
                except KeyboardInterrupt:  # Ctrl-C before its first epoch
                    self.stop.cancelled.set()
                if self.stop.reason:
                    break
                maps[view] = embedding
            if self.stop.reason:
                break
            shares = np.average(held, axis=0, weights=model.weights)
            now = model.responsibilities(maps, shares)
            moved = float(np.abs(now - held).mean())
            held = now
            if moved < 1e-3:
                break
        return replace(_views(model, np.stack(maps), shares), stopped_by=self.stop.reason)

    def _map(self, answers: Comparisons, start: Array, seed: int) -> Array:
        """Fit one map of the mixture to weighted answers."""
        plan = self.plan
        settings = plan.settings.replace(n_dims=start.shape[1], seed=seed, time_limit=plan.budget.seconds_left)
        return embed(answers, settings=settings, start=start, device=plan.device, n_threads=plan.n_threads).embedding


class _StoppedEarly(Exception):  # noqa: N818 - not an error
    """The computation was stopped before there was anything to return."""


def _search(fits: _MixtureFits, n_dims: int, most: int) -> Views:
    """Add views while that predicts held-out answers better."""
    held_out: dict[int, float] = {}
    rivals: dict[Shape, Array] = {}
    rival, chosen, best, views = None, 1, None, None
    try:
        best, before = fits.held_out(Shape(1, n_dims))
        held_out[1] = float(before.mean())
        for number in range(2, most + 1):
            part, scores = fits.held_out(Shape(number, n_dims))
            held_out[number] = float(scores.mean())
            if not _is_better(scores, before):
                break
            largest = fits.answers.n_objects - 1
            for shape in (Shape(number - 1, min(n_dims + 1, largest)), Shape(1, min(number * n_dims, largest))):
                if shape not in rivals and shape.n_dims > n_dims:
                    rivals[shape] = fits.held_out(shape)[1]
            as_good = next((shape for shape, their in rivals.items() if not _is_better(scores, their)), None)
            before = scores
            if as_good is None:
                chosen, best, rival = number, part, None
            else:  # one more view may still be better than both
                rival = rival or as_good
        views = fits.all(Shape(chosen, n_dims))
    except _StoppedEarly:
        if best is None:
            raise
    if views is None or views.stopped_by:  # the maps of a part are fitted to the end
        views = replace(_of_all(best, fits.answers), stopped_by=fits.stop.reason)
    means = {shape: float(scores.mean()) for shape, scores in rivals.items()}
    return replace(views, held_out=held_out, rivals=means, rival=rival)


def _is_better(scores: Array, before: Array) -> bool:
    """Whether held-out log likelihoods are higher, by more than two views of one map would be, and than chance."""
    gain = scores - before
    return bool(gain.mean() - SURE * gain.std() / np.sqrt(len(gain)) > LEAST_GAIN)


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


def _of_all(part: Views, answers: Comparisons) -> Views:
    """The maps of a part of the answers, with the responsibilities of all of them."""
    shares = np.append((1 - part.guesses) * part.shares, part.guesses)
    return _views(Mixture.of(answers), part.maps, shares)


def _views(model: Mixture, maps: Array, shares: Array) -> Views:
    from scipy.special import softmax

    order = np.argsort(-shares[:-1], kind="stable")
    return Views(
        maps[order],
        shares[order] / shares[order].sum(),
        softmax(model.log_joint(maps, shares)[:, order], axis=1)[model.answer],  # without the guesses
        float(np.average(model.log_likelihoods(maps, shares), weights=model.weights)),
        float(shares[-1]),
        names=model.comparisons.names,
    )


def _start(
    model: Mixture, shape: Shape, n_starts: int, rng: np.random.Generator, stop: _Stop
) -> tuple[list[Array], Array]:
    """The best of random starts: its maps, and the shares of views and guesses.

    L-BFGS changes all maps and shares at once (direct maximisation, Salakhutdinov, Roweis and Ghahramani 2003). EM
    would fit each map to the random answers that it begins with, and keep most of them. Every few steps the worse half
    of the starts is left out (successive halving, Jamieson and Talwalkar 2016). Once cancelled, the best start so far
    is returned; if there is none, an exception is raised.
    """
    from scipy.optimize import minimize
    from scipy.special import softmax

    n_views, n_dims = shape
    evaluate = model.objective(n_views, n_dims)
    shares = np.append(np.full(n_views, (1 - FEW_GUESSES) / n_views), FEW_GUESSES)
    maps = START_SIZE * rng.standard_normal((n_starts, model.comparisons.n_objects * n_views * n_dims))
    tried = [np.append(np.log(shares), one) for one in maps]
    while True:
        ends = []
        for one in tried:
            if stop.reason:
                break
            ends.append(minimize(evaluate, one, jac=True, method="L-BFGS-B", options={"maxiter": STEPS}))
        if not ends:
            raise _StoppedEarly
        ends.sort(key=lambda end: float(end.fun))
        if len(ends) == 1 or stop.reason:
            scores, best = np.split(ends[0].x, [n_views + 1])
            return list(np.moveaxis(best.reshape(-1, n_views, n_dims), 1, 0)), softmax(scores)
        tried = [end.x for end in ends[: (len(ends) + 1) // 2]]
