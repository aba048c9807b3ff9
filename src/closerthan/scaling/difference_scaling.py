"""Difference scaling (MLDS): a perceptual scale of ordered physical levels, from judgements of intervals.

The levels :math:`1, ..., n` of a physical quantity have the scale values :math:`\\psi_1 = 0, ..., \\psi_n = 1`. The
interval from c to d is judged larger than the one from a to b with probability

.. math:: \\Phi\\bigl(((\\psi_d - \\psi_c) - (\\psi_b - \\psi_a)) / \\sigma\\bigr)

so :math:`\\psi / \\sigma` are the coefficients of a probit regression. In a triad (a, b, c), the intervals share b.

References
----------
L. T. Maloney and J. N. Yang, Maximum likelihood difference scaling, Journal of Vision 2003.
K. Knoblauch and L. T. Maloney, MLDS: maximum likelihood difference scaling in R, Journal of Statistical Software 2008.
S. N. Wood, Generalized additive models: an introduction with R, 2006 (the diagnostics of the residuals).
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, xlogy

from closerthan.arrays import Array
from closerthan.checks import checked, whole
from closerthan.comparisons import Comparisons
from closerthan.messages import Message, value_error
from closerthan.registry import JsonObject
from closerthan.saving import whole_csv
from closerthan.scaling.levels import IntervalQuestions, Levels, levels_of, questions_about
from closerthan.scaling.probit import fit_probit, probabilities
from closerthan.wording import counted, first_few, html_table, p_value, percent, percent_interval

__all__ = ["Scale", "scale"]

FEWEST_REPLICATES = 39  # with fewer, the limits of a 95 % interval would be the extremes
AIC_MARGIN = 2.0  # decrease of the AIC from which a model is clearly better (Burnham and Anderson 2002)
SIGNIFICANT = 0.05  # p value below which a goodness-of-fit test is reported as a misfit
PERFECT = 1e-6  # minus the log-likelihood of answers that a scale without noise explains
CELLS = 10_000_000  # simulated answers in memory at the same time
VAGUE = 3.0  # ratio of the limits of sigma's interval from which the result says that sigma is hardly determined
TITLES = ("level", "scale", "95 % interval")
"""Titles of :meth:`Scale.rows`."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Scale:
    """Result of :func:`scale`.

    Attributes
    ----------
    levels, level_names
        The physical levels in ascending order, and what they are called.
    values
        Scale value of each level; that of the lowest is 0 and that of the highest 1.
    low, high
        95 % intervals of the scale values.
    sigma, sigma_interval
        Standard deviation of the noise of a judgement, in units of the scale, and its 95 % interval.
    lapse_rate, lapse_interval
        Fraction of answers that are guesses, with its 95 % interval; 0 and (0, 0) if it was not estimated.
    log_likelihood, n_parameters, n_answers
        Log-likelihood of the answers, number of estimated parameters, and number of answers.
    deviance_p, runs_p
        Goodness of fit: the fraction of simulated studies whose deviance is at least as large as that of the answers,
        and the fraction with at most as many runs of residuals of the same sign. A small value indicates a misfit.
        With few answers the second is rarely small, even if the model is wrong.
    replicates
        Scale values of the simulated studies, (n_replicates, n_levels).
    lapse_gain
        Decrease of the AIC that estimating a lapse rate would bring; 0 if it was estimated.
    """

    levels: Array
    level_names: tuple[str, ...]
    values: Array
    low: Array
    high: Array
    sigma: float
    sigma_interval: tuple[float, float]
    lapse_rate: float
    lapse_interval: tuple[float, float]
    log_likelihood: float
    n_parameters: int
    n_answers: int
    deviance_p: float
    runs_p: float
    replicates: Array
    lapse_gain: float = 0.0

    def __repr__(self) -> str:
        return (
            f"Scale({len(self.levels)} levels from {self.level_names[0]} to {self.level_names[-1]}, "
            f"{counted(self.n_answers, 'answer')}: sigma {self.sigma:.3f})"
        )

    def _repr_html_(self) -> str:
        return html_table(repr(self), TITLES, self.rows())

    def rows(self) -> list[tuple[str, str, str]]:
        """Return the table of scale values as text: level, value, interval."""
        numbers = zip(self.level_names, self.values.tolist(), self.low.tolist(), self.high.tolist(), strict=True)
        last = len(self.levels) - 1
        return [
            (name, f"{value:.3f}", "fixed" if place in (0, last) else f"{low:.3f} to {high:.3f}")
            for place, (name, value, low, high) in enumerate(numbers)
        ]

    def findings(self) -> list[tuple[str, str]]:
        """Return the noise, the lapse rate if it was estimated, and the goodness of fit, each with its name."""
        low, high = self.sigma_interval
        rows = [("noise", f"sigma {self.sigma:.3f} (95 % interval {low:.3f} to {high:.3f})")]
        if self.has_lapses:
            rows.append(("lapses", percent_interval(self.lapse_rate, *self.lapse_interval)))
        fit = f"AIC {self.aic:.1f}; {percent(self.deviance_accounted_for)} of the deviance accounted for"
        tests = (
            f"deviance {p_value(self.deviance_p)}, runs of residuals {p_value(self.runs_p)} "
            f"({len(self.replicates):,} simulated studies; a small p indicates a misfit)"
        )
        return [*rows, ("fit", fit), ("tests", tests)]

    @property
    def has_lapses(self) -> bool:
        """True if the lapse rate was estimated."""
        return self.n_parameters == len(self.levels)

    @property
    def deviance(self) -> float:
        """Minus twice the log-likelihood."""
        return -2 * self.log_likelihood

    @property
    def aic(self) -> float:
        """Akaike's information criterion."""
        return self.deviance + 2 * self.n_parameters

    @property
    def deviance_accounted_for(self) -> float:
        """The fraction of the deviance of guessing that the scale explains."""
        return 1 - self.deviance / (2 * self.n_answers * float(np.log(2)))

    @property
    def is_monotone(self) -> bool:
        """True if the scale value rises from each level to the next."""
        return bool((np.diff(self.values) > 0).all())

    @property
    def advice(self) -> list[str]:
        """Remarks about the fit, in sentences; empty if there are none."""
        sentences: list[str] = []
        if self.deviance_p < SIGNIFICANT:
            lapses = "" if self.has_lapses else ", or on lapses"
            sentences.append(
                f"The answers deviate from the scale more than its noise explains ({p_value(self.deviance_p)}): the "
                f"judgements may depend on more than one scale{lapses}."
            )
        if self.runs_p < SIGNIFICANT:
            sentences.append(
                f"The residuals have too few runs ({p_value(self.runs_p)}): the probability of an answer does not "
                "depend on the difference of the intervals as the model assumes."
            )
        low, high = self.sigma_interval
        if low == 0:  # the scale of more than 2.5 % of the simulated studies does not rise
            sentences.append(
                f"The answers hardly show that the scale rises from {self.level_names[0]} to {self.level_names[-1]}, "
                "so neither its values nor sigma mean much; many answers may be guesses."
            )
        elif not high <= VAGUE * low:
            upper = f"{high:.3g}" if np.isfinite(high) else "infinity"
            sentences.append(
                f"The answers hardly determine sigma: its interval goes from {low:.3g} to {upper}; more answers would "
                "narrow it."
            )
        if self.lapse_gain > AIC_MARGIN:
            text = f"A lapse rate would lower the AIC by {self.lapse_gain:.1f}"
            sentences.append(Message(text, "estimate it with {fit_lapses}", fit_lapses=True))
        if not self.is_monotone:
            falls = np.flatnonzero(np.diff(self.values) <= 0)
            pairs = [f"{self.level_names[place]} to {self.level_names[place + 1]}" for place in falls.tolist()]
            sentences.append(f"The scale does not rise from {first_few(pairs, 3)}.")
        return sentences

    def difference_probability(self, first: tuple[float, float], second: tuple[float, float]) -> float:
        """Return the probability that the second of two intervals between levels is judged larger.

        Each interval is a pair of levels. Between levels, the scale is interpolated linearly.
        """
        ends = [
            np.interp(sorted(pair), self.levels, self.values, left=np.nan, right=np.nan) for pair in (first, second)
        ]
        if any(not np.isfinite(pair).all() for pair in ends):
            raise ValueError(f"levels must lie between {self.level_names[0]} and {self.level_names[-1]}")
        difference = float(np.diff(ends[1])[0] - np.diff(ends[0])[0])
        return self.lapse_rate / 2 + (1 - self.lapse_rate) * float(ndtr(difference / self.sigma))

    def to_csv(self, path: str | Path) -> None:
        """Write the scale: one line per level, with its value and its 95 % interval."""
        whole_csv(path, ("level", "value", "scale", "low", "high"), self.table())

    def table(self) -> list[tuple[str, float, float, float, float]]:
        """Return one row per level: its name and physical value, its scale value, and its 95 % interval."""
        columns = (self.levels.tolist(), self.values.tolist(), self.low.tolist(), self.high.tolist())
        return list(zip(self.level_names, *columns, strict=True))

    def to_data(self) -> JsonObject:
        """Return all numbers, for JSON."""
        return {
            "levels": self.levels.tolist(),
            "level_names": list(self.level_names),
            "values": self.values.tolist(),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
            "sigma": self.sigma,
            "sigma_interval": list(self.sigma_interval),
            "lapse_rate": self.lapse_rate,
            "lapse_interval": list(self.lapse_interval),
            "n_answers": self.n_answers,
            "n_parameters": self.n_parameters,
            "log_likelihood": self.log_likelihood,
            "aic": self.aic,
            "deviance_accounted_for": self.deviance_accounted_for,
            "deviance_p": self.deviance_p,
            "runs_p": self.runs_p,
            "n_replicates": len(self.replicates),
        }

    def plot(self, *, unit: str = "", title: str | None = None, ax: Any = None) -> Any:
        """Draw the scale on the axis of the physical unit: see :func:`closerthan.plotting.scale_figure`."""
        from closerthan.plotting import scale_figure

        return scale_figure(self, unit=unit, title=title, ax=ax)


@checked
def scale(
    answers: Comparisons | ArrayLike,
    levels: Sequence[float] | Sequence[str] | NDArray[Any] | None = None,
    *,
    fit_lapses: bool = False,
    n_replicates: int = 1000,
    seed: int | None = 0,
) -> Scale:
    """Estimate a perceptual scale of ordered physical levels from judgements of intervals (difference scaling, MLDS).

    Parameters
    ----------
    answers
        Triads as triplets (the middle level is the anchor), or quadruples as quadruplets; each row says that the first
        interval is smaller than the second. :func:`closerthan.read_comparisons` reads files with the columns of R's
        MLDS (resp, S1, S2, S3 and, for quadruples, S4).
    levels
        The physical value of each object, or, for levels without numbers, their names in ascending order. By default
        the names of the objects are read as numbers; this is refused if most of the intervals overlap, as they do if
        objects are numbered in any order.
    fit_lapses
        Whether to estimate a lapse rate: the fraction of answers that are guesses.
    n_replicates
        Number of simulated studies for intervals and goodness of fit.
    seed
        The same seed gives the same intervals; None draws a new one.

    Returns
    -------
    Scale
        Scale values with intervals, noise, and goodness of fit. Intervals are reflected bootstrap intervals (for sigma
        on a logarithmic scale), because sigma is estimated too low from few answers and the simulated studies repeat
        this bias.

    Examples
    --------
    >>> import closerthan as ct
    >>> rng = np.random.default_rng(0)
    >>> triads = np.sort([rng.choice(5, 3, replace=False) for _ in range(400)])
    >>> psi = np.array([0, 1, 4, 9, 16]) / 16
    >>> larger = np.diff(np.diff(psi[triads]))[:, 0] + rng.normal(0, 0.2, 400) > 0
    >>> rows = np.where(larger[:, None], triads[:, [1, 0, 2]], triads[:, [1, 2, 0]])
    >>> ct.scale(rows, levels=[0, 10, 20, 30, 40], n_replicates=100)
    Scale(5 levels from 0 to 40, 400 answers: sigma 0.241)
    """
    comparisons = Comparisons.of(answers, unmentioned="ignore")
    whole("n_replicates", n_replicates, FEWEST_REPLICATES)
    if comparisons.weights is not None and np.ptp(comparisons.weights) > 0:
        raise ValueError("the answers have weights, which difference scaling does not use; leave them out")
    ordered = levels_of(comparisons, None if levels is None else list(levels))
    questions = questions_about(comparisons, ordered)
    _check_information(questions, ordered)
    counts, totals = questions.counts(questions.responses[None]), questions.totals
    fit = fit_probit(questions.design, counts, totals, lapses=fit_lapses)
    steepness = float(fit.coefficients[0, -1])
    if steepness <= 0:
        raise ValueError(
            f"the scale does not rise from {ordered.names[0]} to {ordered.names[-1]}; check the order of the levels, "
            "and which answer means that the second interval is larger"
        )
    fitted = probabilities(questions.design, fit.coefficients, fit.lapse_rates)[0]
    simulated = _simulate(questions, fitted, fit_lapses, n_replicates, np.random.default_rng(seed))
    values = np.append(0.0, fit.coefficients[0] / steepness)
    low, high = _reflected(values[1:-1], simulated.values[:, 1:-1])
    with np.errstate(divide="ignore"):
        log_sigma = _reflected(np.array([-np.log(steepness)]), np.log(simulated.sigmas)[:, None])
    lapse_limits = np.quantile(simulated.lapse_rates, (0.025, 0.975)) if fit_lapses else np.zeros(2)
    observed = _goodness(questions, questions.responses[None], fitted[None])
    gain = 0.0
    if not fit_lapses:
        with_lapses = fit_probit(questions.design, counts, totals, lapses=True)
        gain = max(2 * float(with_lapses.log_likelihoods[0] - fit.log_likelihoods[0]) - 2, 0.0)
    return Scale(
        ordered.values,
        ordered.names,
        values,
        np.concatenate([[0.0], low, [1.0]]),
        np.concatenate([[0.0], high, [1.0]]),
        1 / steepness,
        (float(np.exp(log_sigma[0][0])), float(np.exp(log_sigma[1][0]))),
        float(fit.lapse_rates[0]),
        (float(lapse_limits[0]), float(lapse_limits[1])),
        float(fit.log_likelihoods[0]),
        questions.design.shape[1] + fit_lapses,
        len(comparisons),
        _p_value(simulated.deviances >= observed[0][0] * (1 - 1e-12)),
        _p_value(simulated.runs <= observed[1][0]),
        simulated.values,
        gain,
    )


def _check_information(questions: IntervalQuestions, levels: Levels) -> None:
    """Raise an error if the answers do not determine the scale."""
    design = questions.design
    if np.linalg.matrix_rank(design) < design.shape[1]:
        raise ValueError(
            f"{counted(len(design), 'question')} cannot determine the scale of {len(levels.values)} levels; ask about "
            "more combinations of levels"
        )
    if _is_separable(questions):
        raise value_error(
            "there is a scale without noise that no answer contradicts, so sigma cannot be estimated",
            "ask more questions about similar intervals, or fit a map of one dimension instead, with {n_dims}",
            n_dims=1,
        )


def _is_separable(questions: IntervalQuestions) -> bool:
    """Return whether some scale predicts answers perfectly, or predicts some and leaves the others undecided.

    The maximum of the likelihood is then at infinity (Albert and Anderson 1984). A linear program decides it.
    """
    from scipy.optimize import linprog

    counts, totals = questions.counts(questions.responses[None])[0], questions.totals
    # A question that was answered both ways must not be decided; all others must not be decided wrongly.
    both_ways = (counts > 0) & (counts < totals)
    signs = np.where(counts == totals, 1.0, -1.0)
    one_way = signs[~both_ways, None] * questions.design[~both_ways]
    program = linprog(
        -one_way.sum(axis=0),
        A_ub=-one_way if len(one_way) else None,
        b_ub=np.zeros(len(one_way)) if len(one_way) else None,
        A_eq=questions.design[both_ways] if both_ways.any() else None,
        b_eq=np.zeros(int(both_ways.sum())) if both_ways.any() else None,
        bounds=(-1, 1),
    )
    return bool(program.status == 0 and -program.fun > 1e-9)


@dataclasses.dataclass(frozen=True)
class _Simulated:
    """Scales, noise, lapse rates, deviances and numbers of runs of simulated studies."""

    values: Array
    sigmas: Array
    lapse_rates: Array
    deviances: Array
    runs: Array


def _simulate(
    questions: IntervalQuestions, fitted: Array, lapses: bool, n_replicates: int, rng: np.random.Generator
) -> _Simulated:
    """Simulate studies with the fitted probabilities, and fit each of them."""
    totals, probability = questions.totals, fitted[questions.question_of]
    parts = []
    at_once = max(CELLS // len(probability), 1)
    for start in range(0, n_replicates, at_once):
        size = min(at_once, n_replicates - start)
        responses = (rng.random((size, len(probability))) < probability).astype(np.float64)
        fit = fit_probit(questions.design, questions.counts(responses), totals, lapses=lapses)
        expected = probabilities(questions.design, fit.coefficients, fit.lapse_rates)
        deviances, runs = _goodness(questions, responses, expected)
        steepness = fit.coefficients[:, -1]
        with np.errstate(divide="ignore"):
            values = np.column_stack([np.zeros(size), fit.coefficients / steepness[:, None]])
            # A simulated study whose scale does not rise sets no upper limit to sigma; one that a scale without noise
            # explains sets no lower limit.
            sigmas = np.where(steepness > 0, 1 / np.maximum(steepness, 0.0), np.inf)
            sigmas[fit.log_likelihoods > -PERFECT] = 0.0
        parts.append(_Simulated(values, sigmas, fit.lapse_rates, deviances, runs))
    columns = [[getattr(part, field.name) for part in parts] for field in dataclasses.fields(_Simulated)]
    return _Simulated(*(np.concatenate(column) for column in columns))


def _goodness(questions: IntervalQuestions, responses: Array, expected: Array) -> tuple[Array, Array]:
    """Return the deviance from the saturated model, and the number of runs in the residuals sorted by expectation."""
    totals, counts = questions.totals, questions.counts(responses)
    certain = np.clip(expected, 1e-300, 1 - 1e-16)
    deviance = 2 * (
        xlogy(counts, counts / (totals * certain))
        + xlogy(totals - counts, (totals - counts) / (totals * (1 - certain)))
    ).sum(axis=1)
    order = np.argsort(expected[:, questions.question_of], axis=1, kind="stable")
    signs = np.take_along_axis(responses, order, axis=1) > 0  # a residual is positive if the answer is "larger"
    runs = 1 + (signs[:, 1:] != signs[:, :-1]).sum(axis=1)
    return deviance, runs


def _reflected(estimate: Array, replicates: Array) -> tuple[Array, Array]:
    """Return reflected ("basic") 95 % bootstrap intervals."""
    deviations = np.quantile(replicates - estimate, (0.025, 0.975), axis=0, method="nearest")
    return estimate - deviations[1], estimate - deviations[0]


def _p_value(is_extreme: NDArray[np.bool_]) -> float:
    """Return the p value of a simulated test; the observed study counts as one of the simulated ones."""
    return float((1 + is_extreme.sum()) / (1 + len(is_extreme)))
