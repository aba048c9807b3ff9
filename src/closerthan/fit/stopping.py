"""When to stop: one frozen object, and pure functions of the history. Each returns True to stop."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from closerthan.history import History

if TYPE_CHECKING:
    from closerthan.settings import Settings


@dataclass(frozen=True)
class Limits:
    """When a fit ends.

    Parameters
    ----------
    epochs
        The most epochs to run.
    tolerance
        The least gain of ``window`` epochs, as a share of all that the map has gained over a collapsed one; None: the
        objective never ends a fit.
    deadline
        Of ``time.perf_counter()``.
    window
        Epochs over which progress is judged: single epochs of a stochastic solver go up and down.
    patience
        Epochs without a better validation error.
    """

    epochs: int
    tolerance: float | None = None
    deadline: float = math.inf
    window: int = 3
    patience: int = 20

    @classmethod
    def of(cls, settings: "Settings", deadline: float) -> Self:
        """What the settings of a fit say; None there means what is said here."""
        own = {"window": settings.window, "patience": settings.patience}
        said = {name: number for name, number in own.items() if number is not None}
        return cls(settings.epochs, settings.tolerance, deadline, **said)


def enough_epochs(history: History, limits: Limits) -> bool:
    """The budget of epochs is spent."""
    return history[-1].epoch >= limits.epochs


def converged(history: History, limits: Limits, collapsed_objective: float = math.nan) -> bool:
    """An epoch no longer pays: the best of the last epochs differs from the best before by less than its share.

    A fit whose last epochs are all well above that is not at its end, but on its way back, or diverging.

    The yardstick is how far the best objective is below that of a collapsed map (all objects in one place): on clean
    answers an objective falls for ever, from nearly nothing to less, while new answers gain nothing from it. Constants
    that are added to a loss do not matter, nor does its sign. Where a collapsed map has no finite objective, the start
    takes its place.

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
    nothing = collapsed_objective if math.isfinite(collapsed_objective) else objectives[0]
    return abs(earlier - latest) <= limits.tolerance * abs(nothing - earlier)


def no_longer_better(history: History, limits: Limits) -> bool:
    """The validation error has not improved for a while: early stopping. The start does not count.

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
    """The objective is not finite, or far above both the start's and a collapsed map's for several epochs on end.

    Far is as far as the best map is below, and at least twice as high: objectives may be negative.

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
    if latest <= worst:  # nearly always: do not go through the whole history after each epoch
        return False
    stake = max(abs(worst), worst - min(record.objective for record in history))
    return latest - worst > stake
