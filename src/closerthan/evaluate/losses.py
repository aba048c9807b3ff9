"""Which loss predicts held-out answers best? All losses on the same folds of a repeated cross-validation."""

import dataclasses
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from closerthan.checks import checked, whole
from closerthan.comparisons import Comparisons
from closerthan.comparisons.grouping import AUTO
from closerthan.evaluate.cross_validation import (
    Gain,
    Scores,
    cross_validate,
    gain,
    number_of_folds,
    units_in_words,
)
from closerthan.fit.progress import trials_bar
from closerthan.losses import LOSSES
from closerthan.saving import whole_csv
from closerthan.settings import (
    ENDED,
    TimeOverError,
    check_share,
    deadline_of,
    ended_by,
    starts_asked,
    time_until,
)

__all__ = ["LossComparison", "compare_losses"]

REPEATS = 2  # of the cross-validation, by judgement: a table to look at needs fewer than a choice
STARTS = 2  # of each fit, as with loss="auto"


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class LossComparison:
    """The result of :func:`compare_losses`.

    Attributes
    ----------
    scores
        The errors of each loss by its name, the lowest held-out error first.
    by
        The unit that was held out whole: "answers" (questions), "blocks" or "people".
    n_folds, n_repeats
        Folds of each cross-validation, and how often it was repeated.
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

    @property
    def best(self) -> str:
        """The loss with the lowest held-out error."""
        return next(iter(self.scores))

    @property
    def behind(self) -> dict[str, Gain]:
        """For each other loss, by how much it predicts worse than the best one."""
        return {name: gain(score, self.scores[self.best]) for name, score in self.scores.items() if name != self.best}

    @property
    def sentences(self) -> list[str]:
        """Which losses predict best, and what that rests on, in words."""
        tied = [name for name, gap in self.behind.items() if not gap.is_sure]
        verdict = f"{self.best} has the lowest held-out error"
        if tied:
            verdict += f"; not significantly worse: {', '.join(tied)}"
        elif self.behind:
            verdict += "; all others are significantly worse"
        lines = [
            verdict,
            units_in_words(self.scores[self.best], self.by, self.n_folds, self.n_repeats),
        ]
        if self.stopped_by:
            lines.append(f"{ENDED[self.stopped_by]} after {len(self.scores)} of {len(LOSSES)} losses")
        return lines

    def to_csv(self, path: str | Path) -> None:
        """Write the table: errors with 95 % intervals, and how far each loss is behind the best one."""
        behind, rows = self.behind, []
        for name, score in self.scores.items():
            numbers = [score.mean, *score.interval, score.standard_error, float(score.training.mean())]
            gap = [f"{number:.6g}" for number in behind[name]] if name in behind else [""] * 4
            rows.append([name, *(f"{number:.6f}" for number in numbers), *gap, f"{score.seconds:.3g}"])
        titles = ["loss", "error", "low", "high", "standard_error", "training_error"]
        whole_csv(path, [*titles, "behind", "behind_low", "behind_high", "p_value", "seconds"], rows)


@checked
def compare_losses(
    answers: Comparisons | ArrayLike,
    n_dims: int = 2,
    *,
    by: str = AUTO,
    n_folds: int | None = None,
    n_repeats: int = REPEATS,
    seed: int = 0,
    progress: bool = False,
    **settings: Any,
) -> LossComparison:
    """Compare all losses by their error on held-out answers, on the same folds.

    Parameters
    ----------
    answers, n_dims
        As in :func:`closerthan.embed`.
    by
        What is held out whole: "answers", "blocks" or "people"; "auto": blocks where the answers have them, otherwise
        answers.
    n_folds
        Number of parts, each of which is held out once. None: five, or the number of units if it is smaller.
    n_repeats
        How often to cross-validate, each time with other folds.
    seed, progress
        As in :func:`closerthan.embed`.
    settings
        Of :func:`closerthan.embed`, except the loss. A time limit is that of all fits together.

    Returns
    -------
    LossComparison
        Ctrl-C and a time limit end it with the losses that are done, if there are any.

    Examples
    --------
    >>> import closerthan as ct
    >>> comparison = ct.compare_losses(ct.datasets.eurodist().comparisons(), n_repeats=1)
    >>> len(comparison.scores), comparison.scores[comparison.best].mean < 0.05
    (5, True)
    """
    comparisons = Comparisons.of(answers)
    by = comparisons.split_unit(by)
    n_repeats = whole("n_repeats", n_repeats, least=1)
    n_folds = number_of_folds(comparisons, by) if n_folds is None else whole("n_folds", n_folds, least=2)
    check_share(settings)
    deadline = deadline_of(settings, time.perf_counter())
    scores: dict[str, Scores] = {}
    stopped_by = ""
    fitting = {**settings, **starts_asked(settings, STARTS)}
    with trials_bar(progress, "losses", len(LOSSES) * n_folds * n_repeats, 0) as tick:
        try:
            for name in LOSSES:
                fitting |= {"loss": name, **time_until(deadline)}
                scores[name] = cross_validate(
                    comparisons, n_dims, n_folds=n_folds, n_repeats=n_repeats, seed=seed, by=by, on_fit=tick, **fitting
                )
        except (KeyboardInterrupt, TimeOverError) as early:
            if not scores:
                raise
            stopped_by = ended_by(early)
    ranked = dict(sorted(scores.items(), key=lambda item: item[1].mean))
    return LossComparison(ranked, by, n_folds, n_repeats, stopped_by)
