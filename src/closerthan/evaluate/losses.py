"""Which loss predicts held-out answers best? All losses on the same folds of a repeated cross-validation."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Unpack

from numpy.typing import ArrayLike

from closerthan.checks import checked
from closerthan.comparisons import Comparisons
from closerthan.evaluate.cross_validation import (
    CSV_ANSWER_TITLES,
    CSV_TITLES,
    Folds,
    Gain,
    Scores,
    gain,
    scores_of,
    titles_with_answers,
)
from closerthan.fit.plan import FitPlan
from closerthan.fit.progress import trials_bar
from closerthan.losses import LOSSES
from closerthan.saving import whole_csv
from closerthan.settings import ENDED, FitOptions, Settings, TimeOverError, ended_by, lists_options
from closerthan.wording import html_table

__all__ = ["LossComparison", "compare_losses"]

REPEATS = 2  # cross-validations; set by judgement: a table for a reader needs fewer than an automatic choice
STARTS = 2  # random starts of each fit
TITLES = ("loss", "held-out error", "95 % interval", "training", "behind", "p")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class LossComparison:
    """The result of :func:`compare_losses`.

    Attributes
    ----------
    scores
        The errors of each loss by its name, the lowest held-out error first.
    by
        The split unit: "answers" (questions), "blocks" or "people".
    n_folds, n_repeats
        Number of folds of each cross-validation, and number of cross-validations.
    stopped_by
        "interrupted" (by Ctrl-C) or "time_limit" if losses are missing for that reason; otherwise "".
    """

    scores: Mapping[str, Scores]
    by: str
    n_folds: int
    n_repeats: int
    stopped_by: str = ""

    def __repr__(self) -> str:
        return f"LossComparison({', '.join(self.scores)})"

    def table(self) -> list[tuple[str, ...]]:
        """Return the scores as text, a row per loss; :attr:`titles` are those of the columns."""
        behind = self.behind
        return [(name, *score.cells(behind.get(name)), f"{score.seconds:.2g} s") for name, score in self.scores.items()]

    def _repr_html_(self) -> str:
        return html_table(self.sentences[0], self.titles, self.table())

    @property
    def titles(self) -> tuple[str, ...]:
        """The titles of the columns of :meth:`table`."""
        return (*titles_with_answers(TITLES, self.scores[self.best]), "time")

    @property
    def best(self) -> str:
        """The loss with the lowest held-out error."""
        return next(iter(self.scores))

    @property
    def behind(self) -> dict[str, Gain]:
        """For each other loss, how much worse it predicts than the best one."""
        return {name: gain(score, self.scores[self.best]) for name, score in self.scores.items() if name != self.best}

    @property
    def sentences(self) -> list[str]:
        """The losses that predict best, and the basis of this verdict, in words."""
        tied = [name for name, gap in self.behind.items() if not gap.is_significant]
        verdict = f"{self.best} has the lowest held-out error"
        if tied:
            verdict += f"; not significantly worse: {', '.join(tied)}"
        elif self.behind:
            verdict += "; all others are significantly worse"
        if self.scores[self.best].interval.high >= 0.5:
            verdict += "; no loss predicts clearly better than chance"
        lines = [
            verdict,
            Folds(self.by, self.n_folds, self.n_repeats).in_words(self.scores[self.best]),
            *self.scores[self.best].ceilings_in_words,
        ]
        if self.stopped_by:
            lines.append(f"{ENDED[self.stopped_by]} after {len(self.scores)} of {len(LOSSES)} losses")
        return lines

    def to_csv(self, path: str | Path) -> None:
        """Write the table: errors with 95 % intervals, and how far each loss is behind the best one."""
        behind = self.behind
        rows = [
            [name, *score.csv_cells(behind.get(name)), f"{score.seconds:.3g}", *score.csv_answer_cells()]
            for name, score in self.scores.items()
        ]
        whole = CSV_ANSWER_TITLES if self.scores[self.best].answers is not None else ()
        compared = ["behind", "behind_low", "behind_high", "p_value", "seconds"]
        whole_csv(path, ["loss", *CSV_TITLES, *compared, *whole], rows)


@checked
@lists_options(FitOptions)
def compare_losses(
    answers: Comparisons | ArrayLike,
    n_dims: int | None = None,
    *,
    n_folds: int | None = None,
    n_repeats: int = REPEATS,
    settings: Settings | None = None,
    **options: Unpack[FitOptions],
) -> LossComparison:
    """Compare all losses by their error on held-out answers, on the same folds.

    Parameters
    ----------
    answers, n_dims
        As in :func:`closerthan.embed`.
    n_folds
        Number of parts, each of which is held out once. None means five, or the number of units if it is smaller.
    n_repeats
        Number of cross-validations, each with different folds.
    settings, options
        As in :func:`closerthan.embed`; the loss is ignored. ``by`` is the split unit: "answers", "blocks" or "people";
        "auto" means blocks if the answers have them, otherwise answers. Each fit has two random starts by default. All
        fits share the time limit.

    Returns
    -------
    LossComparison
        After Ctrl-C or a time limit, it contains the losses that were completed, if there are any.

    Examples
    --------
    >>> import closerthan as ct
    >>> comparison = ct.compare_losses(ct.datasets.eurodist().comparisons(), n_repeats=1)
    >>> len(comparison.scores), comparison.scores[comparison.best].mean < 0.05
    (5, True)
    """
    plan = FitPlan.of(settings, n_dims, options)
    comparisons = Comparisons.of(answers)
    by = comparisons.split_unit(plan.settings.by)
    scheme = Folds.of(comparisons, by, n_folds, n_repeats)
    quiet = dataclasses.replace(plan, progress=False).with_default_starts(STARTS)
    scores: dict[str, Scores] = {}
    stopped_by = ""
    with trials_bar(bool(plan.progress), "losses", len(LOSSES) * scheme.n_fits, 0) as tick:
        try:
            for name in LOSSES:
                scores[name] = scores_of(comparisons, quiet.replace(loss=name), scheme, on_fit=tick)
        except (KeyboardInterrupt, TimeOverError) as early:
            if not scores:
                raise
            stopped_by = ended_by(early)
    ranked = dict(sorted(scores.items(), key=lambda item: item[1].mean))
    return LossComparison(ranked, by, scheme.n_folds, scheme.n_repeats, stopped_by)
