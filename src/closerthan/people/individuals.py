"""embed_people: one map for all people, whose dimensions each person weighs differently.

The distance of two objects for person w is ``d_w(i, j)^2 = sum_k u_wk (x_ik - x_jk)^2`` (INDSCAL). The map x and the
logarithms of the weights u are fitted jointly by L-BFGS, starting at the map that is the best for all people. The
likelihood is that of whole answers by Luce's choice rule, with similarities given by the loss; the weights have the
prior of :class:`~closerthan.objective.individuals.Spread`. As weights belong to axes, the map must not be rotated.

References
----------
J. D. Carroll and J.-J. Chang, Analysis of individual differences in multidimensional scaling via an N-way
generalization of "Eckart-Young" decomposition, Psychometrika 1970.
"""

import dataclasses
from typing import NamedTuple, Unpack

import numpy as np

from closerthan.arrays import Array
from closerthan.checks import ParameterError, checked, number
from closerthan.comparisons import Comparisons
from closerthan.fit.ctrl_c import CtrlC
from closerthan.fit.plan import FitPlan
from closerthan.fit.progress import trials_bar
from closerthan.geometry import principal_axes
from closerthan.metrics import NORMAL_95
from closerthan.objective.individuals import Individuals, Spread
from closerthan.people.groups import check_several_answers
from closerthan.people.held_out_weights import CONSISTENCY, Evidence, Fits, HeldOutTrials, by_person, personal_answers
from closerthan.people.maps import PeopleMaps
from closerthan.people.person import check_people
from closerthan.people.shared_map import check_whole_answers, shared_map
from closerthan.result import Result
from closerthan.settings import FitOptions, Settings, TimeOverError, ended_by, lists_options
from closerthan.uncertainty.refitter import plan_refits

__all__ = ["embed_people"]

TRIALS_PART = 0.7  # fraction of a time limit for held-out trials; the rest is for the final fit
FEWEST_PEOPLE = 3  # with fewer, a correlation across people means nothing


@checked
@lists_options(FitOptions)
def embed_people(
    answers: Comparisons,
    n_dims: int | None = None,
    *,
    spread: float | None = None,
    settings: Settings | None = None,
    result: Result | None = None,
    **options: Unpack[FitOptions],
) -> PeopleMaps:
    """Fit one map for all people, and the weights with which each person stretches its dimensions.

    Held-out answers decide how much people differ, and whether they differ at all.

    Parameters
    ----------
    answers
        Comparisons that say who answered; there must be at least two people. Comparisons of one answer count as a
        whole answer (:attr:`Comparisons.answers`).
    n_dims, settings
        As in :func:`closerthan.embed`; at least two dimensions.
    spread
        Prior standard deviation of the logarithms of the weights between people. By default, it is chosen by held-out
        answers, which also show whether people differ. If it is given, nothing is held out, and the fit is several
        times faster; 0 lets people differ in consistency only.
    result
        An existing fit to the same answers, at which the fit starts and whose loss, penalty and settings are used.
    options
        As in :func:`closerthan.embed`. The loss must be a choice rule: ste, tste or ckl (or "auto"). All fits share the
        time limit.

    Returns
    -------
    PeopleMaps
        Ctrl-C and a time limit end the held-out trials, or the final fit, early, and keep what was completed. Ctrl-C
        before the first trial is complete raises KeyboardInterrupt.

    Examples
    --------
    >>> import closerthan as ct, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x, stretch = rng.normal(size=(15, 2)) * 2, np.array([[0.4, 1.6], [1.6, 0.4]])
    >>> maps = [x * np.sqrt(stretch[person % 2]) for person in range(8)]
    >>> rows = np.concatenate([ct.datasets.simulated(one, 150, seed=w).rows for w, one in enumerate(maps)])
    >>> answers = ct.Comparisons.from_triplets(rows, people=np.arange(1200) // 150)
    >>> people = ct.embed_people(answers, loss="ste", spread=0.6, seed=0)
    >>> people
    PeopleMaps(8 people, 15 objects, 2 dimensions)
    >>> weights = people.weights[:, 0]
    >>> bool((weights[::2] < 1).all() != (weights[1::2] < 1).all())
    True
    """
    answers = Comparisons.of(answers)
    check_people(answers, "fitting weights of people")
    if spread is not None:
        spread = number("spread", spread, lambda it: 0 <= it < np.inf, "be finite and not negative")
    plan = plan_refits(answers, n_dims, settings, result, options)
    if plan.settings.n_dims < 2:
        rule = "people can weigh dimensions differently only if there are at least two"
        raise ParameterError("n_dims", plan.settings.n_dims, rule)
    check_whole_answers(plan.settings, "weights of people")
    if spread is None:
        check_several_answers(answers, plan.settings.n_dims)
    elif not answers.has_several_groups("answers"):
        raise ValueError("all answers are about the same objects, so they say nothing about weights")
    answers = by_person(answers)
    n_people = len(answers.person_names or ())
    if result is None:
        result = shared_map(answers, plan)
    fits = _fits(plan, result, answers)
    evidence, chosen, stopped_by = None, Spread(CONSISTENCY, spread or 0.0), ""
    if spread is None:
        evidence, chosen, stopped_by = _run_trials(answers, plan, fits)
    with CtrlC() as ctrl_c:
        fits = dataclasses.replace(fits, must_end=lambda: ctrl_c.pressed.is_set() or plan.budget.is_over)
        start = fits.without_people(principal_axes(result.embedding).coordinates, n_people)
        personal = personal_answers(answers, n_people)
        objective = fits.objective(personal, Spread())
        fitted = fits.fit(objective, start)
        if any(chosen):
            objective = objective.with_spread(chosen)
            fitted = fits.fit(objective, fitted)
        fitted = _sorted_by_importance(fitted)
        deviations = objective.standard_deviations(fitted)
        halves = None
        if any(chosen) and answers.has_several_groups(plan.settings.by):
            halves = _halves(answers, plan.settings.by, plan.seed, fits, chosen, fitted)
        if fits.must_end():
            stopped_by = stopped_by or ("interrupted" if ctrl_c.pressed.is_set() else "time_limit")
    fixed = plan.settings.replace(loss=result.loss, penalty=result.penalty)
    return _assemble(answers, fitted, deviations, halves, _About(chosen, evidence, fixed, stopped_by))


def _fits(plan: FitPlan, result: Result, answers: Comparisons) -> Fits:
    from closerthan.objective.devices import device_named

    return Fits(
        result.loss,
        result.penalty,
        result.embedding.shape[1],
        plan.settings.epochs,
        device_named("cpu", plan.n_threads, len(answers)).threads,
    )


def _run_trials(answers: Comparisons, plan: FitPlan, fits: Fits) -> tuple[Evidence, Spread, str]:
    """Run the held-out trials; return the evidence, the spread to use, and the reason for an early end or ""."""
    budget, stopped_by = plan.budget.part(TRIALS_PART), ""
    first = plan.within(budget).replace(loss=fits.loss, penalty=fits.penalty)
    with CtrlC() as ctrl_c:

        def must_end() -> bool:
            if ctrl_c.pressed.is_set():
                raise KeyboardInterrupt
            if budget.is_over:
                raise TimeOverError("the time limit was reached before the first trial was complete; raise time_limit")
            return False

        trials = HeldOutTrials(
            answers,
            dataclasses.replace(fits, must_end=must_end),
            lambda train: first.fit(train).embedding,
            by=plan.settings.by,
            seed=plan.seed,
        )
        with trials_bar(bool(plan.progress), "people who differ", trials.n_fits, 0) as tick:
            try:
                trials.run(tick)
            except (KeyboardInterrupt, TimeOverError) as early:
                if not trials.has_results:
                    raise
                stopped_by = ended_by(early)
    evidence = trials.evidence()
    weights = evidence.best_spread
    consistency = CONSISTENCY if weights or evidence.gain_of_consistency.is_significant else 0.0
    return evidence, Spread(consistency, weights), stopped_by


def _sorted_by_importance(fitted: Individuals) -> Individuals:
    """Return the same model with axes in descending order of variance, whose largest coordinates are positive."""
    order = np.argsort(-fitted.x.var(axis=0), kind="stable")
    x = fitted.x[:, order]
    largest = x[np.abs(x).argmax(axis=0), np.arange(x.shape[1])]
    return Individuals(x * np.where(largest < 0, -1.0, 1.0), fitted.log_weights[:, order])


def _halves(
    answers: Comparisons, by: str, seed: int, fits: Fits, spread: Spread, fitted: Individuals
) -> tuple[Array, Array]:
    """Return log weights estimated from two halves of the answers on the same map; NaN for people not in both."""
    unit = answers.groups(by)
    half = (np.random.default_rng(seed).permutation(int(unit.max()) + 1) % 2)[unit]
    people, parts = len(fitted.log_weights), []
    for which in range(2):
        part = answers.take(half == which)
        personal = personal_answers(part, people)
        objective = fits.objective(personal, spread, fixed=fitted.x)
        log_weights = fits.fit_weights(objective, fitted)
        parts.append(np.where(personal.is_present[:, None], log_weights, np.nan))
    return parts[0], parts[1]


def _reliabilities(halves: tuple[Array, Array] | None, n_dims: int) -> tuple[Array, float]:
    """Return the reliabilities of relative weights and of consistencies; NaN where they cannot be estimated."""
    if halves is None:
        return np.full(n_dims, np.nan), np.nan
    one, two = (half[np.isfinite(halves[0] + halves[1]).all(axis=1)] for half in halves)
    levels = [half.mean(axis=1, keepdims=True) for half in (one, two)]
    relative = [_spearman_brown(*pair) for pair in zip((one - levels[0]).T, (two - levels[1]).T, strict=True)]
    return np.array(relative), _spearman_brown(levels[0][:, 0], levels[1][:, 0])


def _spearman_brown(one: Array, two: Array) -> float:
    """Return the reliability of the mean of two halves from their correlation; NaN if there is no variation."""
    if len(one) < FEWEST_PEOPLE or min(np.ptp(one), np.ptp(two)) < 1e-9:
        return float(np.nan)
    correlation = float(np.corrcoef(one, two)[0, 1])
    return 2 * correlation / (1 + correlation) if correlation > -1 + 1e-9 else -1.0


def _assemble(
    answers: Comparisons,
    fitted: Individuals,
    deviations: Array,
    halves: tuple[Array, Array] | None,
    about: "_About",
) -> PeopleMaps:
    """Return the result, about the people who gave at least one answer."""
    present = answers.present_people()
    names = answers.person_names or ()
    log_weights, half_width = fitted.log_weights[present], NORMAL_95 * deviations[present]
    reliability, consistency_reliability = _reliabilities(halves, fitted.x.shape[1])
    assert answers.people is not None
    first_rows = np.arange(len(answers))
    if answers.answers is not None:
        first_rows = np.unique(answers.answers, return_index=True)[1]
    return PeopleMaps(
        fitted.x,
        np.exp(log_weights),
        np.exp(log_weights - half_width),
        np.exp(log_weights + half_width),
        tuple(names[person] for person in present),
        np.bincount(answers.people[first_rows], minlength=len(names))[present],
        about.spread,
        reliability,
        consistency_reliability,
        about.evidence,
        answers.names,
        about.settings,
        about.stopped_by,
    )


class _About(NamedTuple):
    """Attributes of a result besides the map and the weights."""

    spread: Spread
    evidence: Evidence | None
    settings: Settings
    stopped_by: str
