"""When to stop: pure functions of the history. Each returns True to stop."""

import math

from closerthan.history import History

WINDOW = 5  # epochs over which progress is judged: single epochs of a stochastic solver go up and down
PATIENCE = 20  # epochs without a better validation error
HOPELESS = 100.0  # times the objective of knowing nothing


def enough_epochs(history: History, epochs: int) -> bool:
    """The budget of epochs is spent."""
    return history[-1].epoch >= epochs


def converged(history: History, tolerance: float) -> bool:
    """The best objective fell by less than ``tolerance`` (relatively) within the last epochs.

    What a sample of the comparisons says and what all of them say is not compared.

    Examples
    --------
    >>> from closerthan.history import Record
    >>> flat = History(Record(epoch, 0, 0.0, 0.5, 1.0, 1.0, 0.5, 0.5) for epoch in range(7))
    >>> converged(flat, 1e-3)
    True
    """
    if len(history) <= WINDOW + 1:
        return False
    last = bool(history[-1].sample)
    objectives = [record.objective for record in history if bool(record.sample) == last]
    if len(objectives) <= WINDOW:
        return False
    earlier, latest = min(objectives[:-WINDOW]), min(objectives[-WINDOW:])
    return earlier - latest <= tolerance * abs(earlier)


def no_longer_better(history: History) -> bool:
    """The validation error has not improved for a while: early stopping. The start does not count.

    Examples
    --------
    >>> from closerthan.history import Record
    >>> errors = [0.1, 0.4, 0.3, *[0.35] * PATIENCE]
    >>> history = History(Record(epoch, 0, 0.0, 0.5, 1.0, 1.0, 0.5, error) for epoch, error in enumerate(errors))
    >>> no_longer_better(history)
    True
    """
    errors = history.validation_error[1:]
    return len(errors) > PATIENCE and len(errors) - 1 - int(errors.argmin()) >= PATIENCE


def diverged(history: History, ignorance: float) -> bool:
    """The objective is not finite, far above ``ignorance``, or above it for several epochs on end.

    ``ignorance`` is the objective of a map that knows nothing: all objects in one place.

    Examples
    --------
    >>> from closerthan.history import Record
    >>> diverged(History([Record(1, 0, 0.0, float("inf"), 1.0, 1.0, 0.5, 0.5)]), 0.69)
    True
    """
    if not math.isfinite(history[-1].objective):
        return True
    first = history[0].objective
    worst = max(first, ignorance) if math.isfinite(ignorance) else first
    above = history[-1].objective - worst
    if above <= 0:
        return False
    # Objectives may be negative: what counts is how far they are above, in units of what is at stake.
    stake = max(abs(worst), worst - min(record.objective for record in history))
    recent = [history[-age].objective for age in range(1, min(WINDOW, len(history) - 1) + 1)]
    return above > HOPELESS * stake or (len(recent) == WINDOW and min(recent) - worst > stake)
