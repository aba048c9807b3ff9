"""How many dimensions do the answers support? Repeated cross-validation, and one rule that decides.

Starting at one dimension, the number goes up as long as one or two more dimensions predict held-out answers
significantly better. Two are tried because a dimension may only help together with another one. Each of the two tests
has a one-sided level of 2.5 %, so that at most 5 % of the choices have a dimension too many.
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Unpack

from numpy.typing import ArrayLike

from closerthan.checks import checked, whole
from closerthan.comparisons import Comparisons
from closerthan.comparisons.grouping import AUTO
from closerthan.evaluate.cross_validation import (
    CSV_ANSWER_TITLES,
    CSV_TITLES,
    FOLDS,
    Folds,
    Gain,
    Scores,
    gain,
    scores_of,
    titles_with_answers,
    with_fixed_loss,
)
from closerthan.fit.plan import FitPlan
from closerthan.fit.progress import trials_bar
from closerthan.messages import Message
from closerthan.registry import JsonObject
from closerthan.saving import whole_csv
from closerthan.settings import ENDED, FitOptions, Settings, TimeOverError, ended_by, lists_options
from closerthan.wording import counted, html_table, percent, percentage_points

__all__ = ["DimsChoice", "choose_dims", "unit_of"]

MOST = 10  # dimensions; a judgement call: hardly any study has enough answers for more
REPEATS = 4  # cross-validations; a judgement call: the choice depends less on the folds, at four times the cost
STARTS = 2  # starts of each fit: a bad local minimum with few dimensions would make more dimensions look better
AHEAD = 2  # a number of dimensions is compared with up to this many more
MOST_IN_FIGURE = 3  # dimensions
TITLES = ("dims", "held-out error", "95 % interval", "training", "gain", "p")
LOSS_DIMS = 3  # dimensions of the fit in which loss="auto" is chosen, once for all numbers of dimensions


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class DimsChoice:
    """The result of :func:`choose_dims`.

    Attributes
    ----------
    scores
        The errors of each number of dimensions that was tried, from 1 without gaps.
    by
        The split unit, over which tests are paired: "people", "blocks" or "answers" (questions).
    n_folds, n_repeats
        Number of folds of each cross-validation, and number of cross-validations.
    loss
        The loss of all fits.
    loss_is_chosen
        Whether ``loss="auto"`` chose it.
    most
        The largest number of dimensions allowed.
    stopped_by
        "interrupted" (by Ctrl-C) or "time_limit" if that ended the search; otherwise "".
    """

    scores: Mapping[int, Scores]
    by: str
    n_folds: int
    n_repeats: int
    loss: str
    loss_is_chosen: bool
    most: int
    stopped_by: str = ""

    def __repr__(self) -> str:
        return f"DimsChoice({counted(self.chosen, 'dimension')} of 1 to {max(self.scores)} tried)"

    def table(self) -> list[tuple[str, ...]]:
        """Return the scores as text, a row per number of dimensions; :attr:`titles` are those of the columns."""
        gains = self.gains
        return [
            (str(n_dims), *score.cells(gains.get(n_dims)), "chosen" if n_dims == self.chosen else "")
            for n_dims, score in self.scores.items()
        ]

    def _repr_html_(self) -> str:
        return html_table(self.verdict, self.titles, self.table())

    @property
    def titles(self) -> tuple[str, ...]:
        """The titles of the columns of :meth:`table`."""
        return (*titles_with_answers(TITLES, self.scores[1]), "")

    @property
    def chosen(self) -> int:
        """The number of dimensions that the rule chooses."""
        return _chosen(self.scores)

    @property
    def gains(self) -> dict[int, Gain]:
        """The improvement of each number of dimensions, from 2, over one dimension fewer."""
        return {n_dims: gain(self.scores[n_dims - 1], self.scores[n_dims]) for n_dims in self.scores if n_dims > 1}

    @property
    def verdict(self) -> str:
        """The choice and its reason, in a sentence."""
        chosen, error = self.chosen, self.scores[self.chosen]
        held_out = f"the error on held-out answers is {percent(error.mean)}"
        if error.answers is not None:
            held_out = (
                f"the error on held-out answers is {percent(error.mean)} of comparisons "
                f"({percent(error.answers.accuracy)} of whole answers are right)"
            )
        if error.interval.high >= 0.5:
            reason = f"{held_out}, not clearly better than chance, so the answers support no map"
            return f"{counted(chosen, 'dimension')}: {reason}"
        reason = held_out
        if chosen > 1:
            # The last step may have skipped a number of dimensions that does not help by itself.
            steps = {fewer: gain(self.scores[fewer], error) for fewer in (chosen - 1, chosen - 2) if fewer > 0}
            fewer = next(fewer for fewer, step in steps.items() if step.is_significant)
            reason += f", lower than with {fewer} by {steps[fewer]}"
        more = [str(n_dims) for n_dims in range(chosen + 1, chosen + AHEAD + 1) if n_dims in self.scores]
        if len(more) == 1:
            reason += f"; {more[0]} dimensions do not predict significantly better"
        elif more:
            reason += f"; neither {' nor '.join(more)} dimensions predict significantly better"
        return f"{counted(chosen, 'dimension')}: {reason}"

    @property
    def sentences(self) -> list[str]:
        """The verdict and its basis, in words."""
        lines = [
            self.verdict,
            Folds(self.by, self.n_folds, self.n_repeats).in_words(self.scores[1]),
            *self.scores[1].ceilings_in_words,
        ]
        if self.chosen > MOST_IN_FIGURE:
            deficit = percentage_points(self.scores[MOST_IN_FIGURE].mean - self.scores[self.chosen].mean)
            lines.append(
                f"{MOST_IN_FIGURE} dimensions, which are easier to draw and to read, have an error that is {deficit} "
                "percentage points higher"
            )
        if self.loss_is_chosen:
            lines.append(f"all fits use the loss {self.loss}, chosen once on all answers")
        if not self.stopped_by and self.chosen + AHEAD > self.most:
            problem = f"no more than {counted(self.most, 'dimension')} were tried"
            lines.append(Message(problem, "try {most}", most=2 * self.most))
        if self.stopped_by:
            lines.append(
                f"{ENDED[self.stopped_by]} after {counted(max(self.scores), 'dimension')}: more may predict better"
            )
        return lines

    def to_data(self) -> JsonObject:
        """Return the choice and how it was made, as data for JSON."""
        return {
            "chosen": self.chosen,
            "verdict": self.verdict,
            "errors": {str(n_dims): score.mean for n_dims, score in self.scores.items()},
            "by": self.by,
            "n_folds": self.n_folds,
            "n_repeats": self.n_repeats,
            "loss": self.loss,
        }

    def to_csv(self, path: str | Path) -> None:
        """Write the table: errors with 95 % intervals, and the gain of each dimension over one fewer."""
        gains = self.gains
        rows = [
            [n_dims, *score.csv_cells(gains.get(n_dims)), int(n_dims == self.chosen), *score.csv_answer_cells()]
            for n_dims, score in self.scores.items()
        ]
        whole = CSV_ANSWER_TITLES if self.scores[1].answers is not None else ()
        whole_csv(path, ["dims", *CSV_TITLES, "gain", "gain_low", "gain_high", "p_value", "chosen", *whole], rows)

    def plot(self, *, title: str | None = None, ax: Any = None) -> Any:
        """Draw the held-out errors; see :func:`closerthan.plotting.dims_figure`."""
        from closerthan.plotting import dims_figure

        return dims_figure(self, title=title, ax=ax)


@checked
@lists_options(FitOptions)
def choose_dims(
    answers: Comparisons | ArrayLike,
    *,
    most: int = MOST,
    n_folds: int | None = None,
    n_repeats: int = REPEATS,
    settings: Settings | None = None,
    **options: Unpack[FitOptions],
) -> DimsChoice:
    """Find the number of dimensions that the answers support.

    Numbers of dimensions are compared by repeated cross-validation on the same folds, with paired tests over the units
    that are held out: people if they are identified, otherwise questions. Starting at 1, the number goes up as
    long as one or two more dimensions predict held-out answers significantly better. The search ends two dimensions
    above the choice.

    Parameters
    ----------
    answers
        As in :func:`closerthan.embed`.
    most
        The largest number of dimensions to try.
    n_folds
        Number of parts, each of which is held out once. None means five, or the number of people if it is smaller.
    n_repeats
        Number of cross-validations, each with different folds; with more, the choice depends less on chance.
    settings, options
        As in :func:`closerthan.embed`. ``by`` is the split unit: "answers", "blocks" or "people"; "auto" means people
        if there are at least ten, otherwise blocks if the answers have them, otherwise answers. With ``loss="auto"``
        the loss is chosen once, by a race on all answers in three dimensions, so that all numbers of dimensions are
        compared with the same loss. Each fit has two random starts by default. All fits share the time limit.

    Returns
    -------
    DimsChoice
        After Ctrl-C or a time limit, it contains the numbers of dimensions that were completed, if there are any.

    Examples
    --------
    >>> import closerthan as ct
    >>> choice = ct.choose_dims(ct.datasets.eurodist().comparisons(), most=3, n_repeats=1, loss="soe")
    >>> choice.chosen, sorted(choice.scores)
    (2, [1, 2, 3])
    """
    plan = FitPlan.of(settings, None, options)
    comparisons = Comparisons.of(answers)
    most = whole("most", most, least=1)
    unit = unit_of(comparisons, plan.settings.by)
    scheme = Folds.of(comparisons, unit, n_folds, n_repeats)
    is_auto = plan.settings.is_auto
    scores: dict[int, Scores] = {}
    stopped_by = ""
    with trials_bar(bool(plan.progress), "dimensions", 1 + most * scheme.n_fits, 0) as tick:
        quiet = dataclasses.replace(plan, progress=False).replace(by=unit, n_dims=min(LOSS_DIMS, most))
        quiet = with_fixed_loss(quiet, comparisons).with_default_starts(STARTS)
        tick()
        try:
            for n_dims in range(1, most + 1):
                scores[n_dims] = scores_of(comparisons, quiet.replace(n_dims=n_dims), scheme, on_fit=tick)
                if n_dims >= _chosen(scores) + AHEAD:
                    break
        except (KeyboardInterrupt, TimeOverError) as early:
            if not scores:
                raise
            stopped_by = ended_by(early)
    loss = quiet.loss if isinstance(quiet.loss, str) else type(quiet.loss).__name__
    return DimsChoice(scores, unit, scheme.n_folds, scheme.n_repeats, loss, is_auto, most, stopped_by)


def unit_of(answers: Comparisons, by: str) -> str:
    """Return the unit to hold out: with "auto", people if there are at least two per fold, else blocks or answers.

    Examples
    --------
    >>> unit_of(Comparisons.from_triplets([[0, 1, 2]]), "auto")
    'answers'
    """
    if by == AUTO and (answers.n_people or 0) >= 2 * FOLDS:
        return "people"
    return answers.split_unit(by)


def _chosen(scores: Mapping[int, Scores]) -> int:
    chosen = 1
    while True:
        ahead = [n_dims for n_dims in range(chosen + 1, chosen + AHEAD + 1) if n_dims in scores]
        better = [n_dims for n_dims in ahead if gain(scores[chosen], scores[n_dims]).is_significant]
        if not better:
            return chosen
        chosen = better[0]
