"""Suggestions for improving a poor fit."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from closerthan.checks import checked
from closerthan.comparisons import Comparisons
from closerthan.evaluate.diagnostics import least_error
from closerthan.evaluate.facts import check_about
from closerthan.evaluate.held_out import HeldOutError
from closerthan.evaluate.missing_dimension import missing_dimension
from closerthan.fit.stopping import Limits, converged
from closerthan.messages import as_argument
from closerthan.metrics import Interval, effective_number, error_interval
from closerthan.result import Result
from closerthan.settings import Settings
from closerthan.wording import approximate_duration, p_value, percent

__all__ = ["Advice", "advice", "suggestions"]

POOR = 0.15  # error above which improvements are suggested
BETTER_THAN_CHANCE = 0.35  # error below which a map is clearly better than guessing
SETTLED = 0.01  # fraction of the total decrease of the objective; a fit whose last epochs gained less has converged
GAP = 0.05  # held-out minus training error above which the map overfits
MORE_STARTS = 10
PER_COORDINATE = 20  # answers per coordinate of a map with one more dimension; with fewer, it would mostly overfit
WITH_RACE = 3  # factor by which a fit takes longer if the loss is chosen first
SURE = 0.01  # p value below which a missing dimension is mentioned
DIMS_FITS = 60  # duration of choose_dims in units of this fit: about 30 fits, which take twice as long on average

IN_PYTHON = {
    "info": "ct.files.read_answers(FILE).summary",
    "dims": "ct.choose_dims(answers)",
}
"""Python code that shows more details, by the name of the corresponding command."""


class Advice(NamedTuple):
    """A sentence with two kinds of placeholders: settings to try (``tries``), and code that shows more (``IN_PYTHON``).

    The code is at the end of the sentence, so that a command can be copied.
    """

    text: str
    tries: Mapping[str, Any] = {}

    def in_terms_of(self, setting: Callable[[str, Any], str], shows: Mapping[str, str]) -> str:
        """Return the sentence in terms of Python or of the command line: ``setting`` formats a setting to try."""
        return self.text.format_map({**shows, **{name: setting(name, value) for name, value in self.tries.items()}})

    def __str__(self) -> str:
        return self.in_terms_of(as_argument, IN_PYTHON)


@checked
def advice(answers: Comparisons | ArrayLike, result: Result, held_out: HeldOutError | None = None) -> list[str]:
    """Suggest what to try next, most important suggestion first; the list is empty for a good fit.

    Parameters
    ----------
    answers
        The answers that were fitted.
    result
        A result of :func:`closerthan.embed`.
    held_out
        A result of :func:`closerthan.held_out_error`; without it, the training error is used.

    Examples
    --------
    >>> import closerthan as ct
    >>> answers = ct.datasets.eurodist().comparisons()
    >>> ct.advice(answers, ct.embed(answers, seed=0))
    []
    >>> ct.advice(answers, ct.embed(answers, loss="ste", seed=0, epochs=1, tolerance=None))[0]
    'the maximum number of epochs was reached: try epochs=100'
    """
    return [str(item) for item in suggestions(result, Comparisons.of(answers), held_out)]


def suggestions(
    result: Result, answers: Comparisons, held_out: HeldOutError | None, *, dims_were_tested: bool = False
) -> list[Advice]:
    """Return the suggestions as objects; those about the number of dimensions are left out if a test chose it."""
    check_about(result, answers)
    if held_out is not None:
        error, low, high = held_out.error, held_out.low, held_out.high
    else:
        error = result.best_record.train_error
        low, high = _training_interval(result, answers)
    poor = error > POOR
    items = []
    if low > 0.5:
        items.append(Advice("the map is more often wrong than right: near and far may be reversed; see {info}"))
    elif high >= 0.5 and answers.cheap_to_enumerate and not answers.has_several_groups("answers"):
        items.append(Advice("all answers are about the same objects, so none can be held out to tell how good the map "
                            "is: ask about more objects"))  # fmt: skip
    elif high >= 0.5 and error <= BETTER_THAN_CHANCE:
        alike = held_out is None and not answers.has_several_groups("answers")
        what = "all answers are about the same objects, so nothing tells how good the map is: ask about others, too"
        items.append(Advice(what if alike else "there are too few answers to tell how good the map is: collect more"))
    elif high >= 0.5:
        items.append(Advice("the map is no better than guessing: collect more answers, or check how the file was "
                            "interpreted: {info}"))  # fmt: skip
    if result.stopped_by == "diverged":
        items.append(Advice("the objective diverged: try {solver}", {"solver": Settings.solver}))
    items += _different_starts(result)
    unfinished = poor or (error > 0 and not converged(result.history, Limits(0, SETTLED)))
    if result.stopped_by == "epochs" and unfinished:
        more = max(Settings.epochs, 5 * result.history[-1].epoch)
        items.append(Advice("the maximum number of epochs was reached: try {epochs}", {"epochs": more}))
    if result.stopped_by == "time_limit" and unfinished:
        items.append(
            Advice(
                "the time limit was reached before the fit converged: try a longer {time_limit}", {"time_limit": None}
            )
        )
    if held_out is not None and _overfits(result, answers, held_out):
        each = len(answers) / len(result.embedding)
        items.append(Advice(
            "the error on new answers is much larger than on fitted ones: try fewer dimensions ({n_dims}), early "
            f"stopping with {{validation}}, or more answers (there are {each:.0f} comparisons per object)",
            {"n_dims": None, "validation": 0.1},
        ))  # fmt: skip
    elif poor:
        least = least_error(answers) if answers.cheap_to_enumerate else 0.0
        if least > error / 2:
            items.append(
                Advice(f"answers contradict each other: every map gets at least {percent(least)} of them wrong")
            )
        if len(result.starts) <= 1:
            items.append(Advice("a better local minimum may exist: try {n_starts}", {"n_starts": MORE_STARTS}))
        items += [] if dims_were_tested else _missing_dimension(result, answers)
        if result.runner_up is None:  # a race of all losses leaves a runner-up
            items.append(Advice("another loss may fit better: try {loss}", {"loss": "auto"}))
    return items


def _training_interval(result: Result, answers: Comparisons) -> Interval:
    """Return the 95 % interval of the training error."""
    return error_interval(result.best_record.train_error, effective_number(answers, result.embedding))


def _overfits(result: Result, answers: Comparisons, held_out: HeldOutError) -> bool:
    """Return whether the held-out error clearly exceeds the training error."""
    if held_out.low <= result.best_record.train_error + GAP:
        return False  # even if the training error were known exactly
    return held_out.low > _training_interval(result, answers).high + GAP


def _missing_dimension(result: Result, answers: Comparisons) -> list[Advice]:
    """Suggest more dimensions if there are enough answers for them and a test supports them."""
    n_objects, n_dims = result.embedding.shape
    too_few = answers.n_answers < PER_COORDINATE * n_objects * (n_dims + 1)
    if too_few or n_dims + 1 >= n_objects or not answers.cheap_to_enumerate:
        return []
    probability = missing_dimension(answers, result.embedding, result.loss)
    if not probability < SURE:
        return []
    seconds = DIMS_FITS * result.history[-1].seconds * (WITH_RACE if result.candidates else 1)
    duration = approximate_duration(seconds)
    return [Advice(
        f"a dimension may be missing (score test, {p_value(probability)}); find out by cross-validation, which takes "
        f"about {duration}: {{dims}}"
    )]  # fmt: skip


def _different_starts(result: Result) -> list[Advice]:
    """Suggest remedies if most starts of a fit lead to different maps."""
    different = result.different_starts
    if not different:
        return []
    n_others = len(result.close_starts)
    some = "both" if len(different) == n_others == 2 else f"{len(different)} of the {n_others}"
    which = "two starts lead" if n_others == 1 else f"{some} next best starts lead"
    where = "to different maps" if n_others == 1 else "to maps that differ from the best one"
    distance = max(start.distance for start in different)
    text = (
        f"the answers may not determine the map: {which} {where} (Procrustes distance {distance:.2f}; 0 means the "
        "same shape, 1 nothing in common). Do not interpret positions; collect more answers, or try fewer dimensions "
        "({n_dims})"
    )
    if len(result.starts) < MORE_STARTS:
        return [Advice(f"{text} or more starts ({{n_starts}})", {"n_dims": None, "n_starts": MORE_STARTS})]
    return [Advice(text, {"n_dims": None})]
