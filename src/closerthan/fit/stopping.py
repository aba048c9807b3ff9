"""Stopping criteria: pure functions of the history, each of which returns True to stop the fit."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from closerthan.history import History

if TYPE_CHECKING:
    from closerthan.settings import Settings


@dataclass(frozen=True)
class Limits:
    """The parameters of the stopping criteria.

    Parameters
    ----------
    epochs
        Maximum number of epochs.
    tolerance
        Smallest decrease of the objective in ``window`` epochs, as a fraction of its total decrease below that of a
        collapsed map; None disables this criterion.
    deadline
        When the time is up, on the clock of ``time.perf_counter()``.
    window
        Number of epochs over which progress is measured, since single epochs of a stochastic solver fluctuate.
    patience
        Number of epochs to wait for a better validation error.
    """

    epochs: int
    tolerance: float | None = None
    deadline: float = math.inf
    window: int = 3
    patience: int = 20

    @classmethod
    def of(cls, settings: "Settings", deadline: float) -> Self:
        """Return the limits that the settings specify; a setting of None stands for the default of this class."""
        optional = {"window": settings.window, "patience": settings.patience}
        specified = {name: number for name, number in optional.items() if number is not None}
        return cls(settings.epochs, settings.tolerance, deadline, **specified)


def enough_epochs(history: History, limits: Limits) -> bool:
    """Return True after the maximum number of epochs."""
    return history[-1].epoch >= limits.epochs


def converged(history: History, limits: Limits, collapsed_objective: float = math.nan) -> bool:
    """Return True if the best objective of the last epochs differs from the earlier best by less than the tolerance.

    If the last epochs are all well above the best one, the fit has not converged: it is recovering, or diverging.

    The tolerance is relative to the difference between the objective of a collapsed map (all objects in one place) and
    the best objective: on noise-free answers the objective decreases forever, relative to itself, without any benefit
    for new answers. This makes the rule independent of a constant added to the loss and of its sign. If the objective
    of a collapsed map is not finite, that of the start is used.

    Examples
    --------
    >>> from closerthan.history import Record
    >>> falling = [1.0, 0.5, 0.1, 1e-3, 9e-4, 8e-4, 7e-4]
    >>> history = History(Record(epoch, 0, 0.0, value, 1.0, 1.0, 0.5, 0.5) for epoch, value in enumerate(falling))
    >>> converged(history, Limits(100, tolerance=1e-3), collapsed_objective=1.0)
    True
    """
    if limits.tolerance is None or len(history) <= limits.window + 1:
        return False
    objectives = [record.objective for record in history]
    earlier, latest = min(objectives[: -limits.window]), min(objectives[-limits.window :])
    reference = collapsed_objective if math.isfinite(collapsed_objective) else objectives[0]
    return abs(earlier - latest) <= limits.tolerance * abs(reference - earlier)


def no_longer_better(history: History, limits: Limits) -> bool:
    """Return True if the validation error has not improved for ``patience`` epochs (early stopping).

    The error of the start is ignored.

    Examples
    --------
    >>> from closerthan.history import Record
    >>> errors = [0.1, 0.4, 0.3, 0.35, 0.35]
    >>> history = History(Record(epoch, 0, 0.0, 0.5, 1.0, 1.0, 0.5, error) for epoch, error in enumerate(errors))
    >>> no_longer_better(history, Limits(100, patience=2))
    True
    """
    if len(history) < 2 or math.isnan(history[-1].validation_error):  # nothing was held out
        return False
    errors = history.validation_error[1:]
    return len(errors) > limits.patience and len(errors) - 1 - int(errors.argmin()) >= limits.patience


def diverged(history: History, limits: Limits, collapsed_objective: float = math.nan) -> bool:
    """Return True if the objective is not finite, or far above those of the start and of a collapsed map.

    In each of the last ``window`` epochs, it must exceed the larger of these two objectives by more than the best map
    has fallen below it, and by more than its absolute value, since objectives may be negative.

    Examples
    --------
    >>> from closerthan.history import Record
    >>> diverged(History([Record(1, 0, 0.0, float("inf"), 1.0, 1.0, 0.5, 0.5)]), Limits(100), 0.69)
    True
    """
    if not math.isfinite(history[-1].objective):
        return True
    if len(history) <= limits.window:
        return False
    start = history[0].objective
    worst = max(start, collapsed_objective) if math.isfinite(collapsed_objective) else start
    latest = min(history[-age].objective for age in range(1, limits.window + 1))
    if latest <= worst:  # the usual case, which avoids a loop over the whole history after each epoch
        return False
    margin = max(abs(worst), worst - min(record.objective for record in history))
    return latest - worst > margin
