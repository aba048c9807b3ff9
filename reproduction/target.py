"""The trials of Table 1 that reached the target, and their cost."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from reproduction.trial_log import Row

TARGET = 0.15  # the held-out error to reach in Table 1


class TargetTimes(NamedTuple):
    """The trials of one method with one loss in one setting; the first three lists cover those that hit the target."""

    seconds: list[float]
    passes: list[float]
    inner_steps: list[float]
    n_trials: int
    best_errors: list[float]
    last_errors: list[float]
    diverged: int

    @property
    def all(self) -> bool:
        """True if every trial reached the target."""
        return len(self.seconds) == self.n_trials


def target_times(rows: Sequence[Row], setting: str, loss: str, method: str) -> TargetTimes:
    """Summarise the trials of a method with a loss in a setting."""
    matching = [r for r in rows if (r["setting"], r["loss"], r["method"]) == (setting, loss, method)]
    successes = [r for r in matching if np.isfinite(r["passes_to_target"])]
    return TargetTimes(
        [r["seconds_to_target"] for r in successes],
        [r["passes_to_target"] for r in successes],
        [r["inner_steps_to_target"] for r in successes],
        len(matching),
        [r["best_error"] for r in matching],
        [r["errors"][-1] for r in matching],
        sum(r["stopped_by"] == "diverged" for r in matching),
    )


# Keyed by setting, loss and method.
TimesByMethod = dict[tuple[str, str, str], TargetTimes]


def all_target_times(rows: Sequence[Row]) -> TimesByMethod:
    """Summarise all trials by setting, loss and method."""
    keys = dict.fromkeys((row["setting"], row["loss"], row["method"]) for row in rows)
    return {key: target_times(rows, *key) for key in keys}
