"""The facts at the head of a report: how much data, how good a fit, why it ended."""

import math
from typing import NamedTuple

from closerthan.comparisons import Comparisons
from closerthan.metrics import effective_number, error_interval, triplet_error
from closerthan.result import Result

__all__ = ["Fact", "facts"]

STOPPED_BY = {
    "epochs": "the most epochs allowed were run; more might improve the map",
    "tolerance": "the objective no longer fell",
    "validation": "the error on held-out answers no longer fell",
    "time_limit": "the time was up; more might improve the map",
    "callback": "the callback asked for it",
    "interrupted": "it was interrupted",
    "diverged": "the objective blew up; the best map before that was kept",
    "solver": "the solver found nothing more to do",
}


class Fact(NamedTuple):
    """A line of the table."""

    name: str
    value: str
    note: str = ""


def facts(result: Result, comparisons: Comparisons, test: Comparisons | None) -> list[Fact]:
    """What a reader wants to know before the map.

    Examples
    --------
    >>> import closerthan as ct
    >>> answers = ct.datasets.eurodist().comparisons()
    >>> for fact in facts(ct.embed(answers, seed=0), answers, None)[:3]:
    ...     print(fact.name, fact.value, sep=": ")
    Objects: 21
    Comparisons: 3,986 triplets
    Dimensions: 2
    """
    n_objects, n_dims = result.embedding.shape
    kind = "triplets" if comparisons.rows.shape[1] == 3 else "quadruplets"
    weighted = "" if comparisons.weights is None else f"weighted; their weights sum to {comparisons.total_weight:,.6g}"
    dropped = ", ".join(f"{number:,} {reason} were left out" for reason, number in comparisons.dropped.items())
    return [
        Fact("Objects", f"{n_objects:,}"),
        Fact("Comparisons", f"{len(comparisons):,} {kind}", "; ".join(note for note in (weighted, dropped) if note)),
        Fact("Dimensions", f"{n_dims}"),
        *_race(result),
        *_errors(result, comparisons, test),
        Fact("Chance level", "50.0 %", "a map drawn at random gets half of the comparisons wrong"),
        Fact("Stopped", f"after {_counted(result.history[-1].epoch, 'epoch')}", _ending(result)),
    ]


def _race(result: Result) -> list[Fact]:
    """How the loss was chosen, if the fit chose it."""
    if not result.candidates:
        return []
    errors = ", ".join(f"{candidate.loss} {_percent(candidate.held_out_error)}" for candidate in result.candidates)
    return [Fact("Loss", result.candidates[0].loss, f"chosen by the error on held-out answers: {errors}")]


def _errors(result: Result, comparisons: Comparisons, test: Comparisons | None) -> list[Fact]:
    share = result.settings.get("validation")
    lines = []
    if isinstance(share, float):
        # The fit held out a part of these comparisons at random: their common error is neither the one nor the other.
        n_held_out = round(share * len(comparisons))
        n_train = len(comparisons) - n_held_out
        worth = effective_number(comparisons) / len(comparisons)
        train, held_out = result.record.train_error, result.record.validation_error
        lines.append(_error("Training error", train, worth * n_train, n_train, _TRAINING))
        lines.append(_error("Validation error", held_out, worth * n_held_out, n_held_out, _VALIDATION))
    else:
        error = triplet_error(comparisons, result.embedding)
        lines.append(_error("Training error", error, comparisons, len(comparisons), _TRAINING))
        if math.isfinite(result.record.validation_error):
            lines.append(Fact("Validation error", _percent(result.record.validation_error), _VALIDATION))
    if test is not None:
        lines.append(_error("Held-out error", triplet_error(test, result.embedding), test, len(test), _HELD_OUT))
    return lines


_TRAINING = "on the answers that the map was fitted to; new answers usually fare worse"
_VALIDATION = "on answers kept aside to choose when to stop, so a little too good"
_HELD_OUT = "on answers that the fit never saw: the fair measure"


def _error(name: str, error: float, measured_on: Comparisons | float, number: int, note: str) -> Fact:
    low, high = error_interval(error, measured_on)
    interval = f"{_percent(error)} (95 % interval {_percent(low)} to {_percent(high)})"
    return Fact(name, interval, f"{number:,} comparisons; {note}")


def _ending(result: Result) -> str:
    reason = STOPPED_BY.get(result.stopped_by, result.stopped_by)
    parts = [reason, f"the map is from epoch {result.best_epoch}"]
    if len(result.starts) > 1:
        parts.append(f"start {result.best_start + 1} of {len(result.starts)} was the best")
    parts.append(f"{result.history[-1].seconds:.3g} s in the solver")
    return "; ".join(parts)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"
