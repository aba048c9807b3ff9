"""The held-out error of a fit to all answers: measured by a second fit, without a share of them."""

from typing import TYPE_CHECKING, Any

from closerthan.cli.table import percent
from closerthan.evaluate.advice import Measured

if TYPE_CHECKING:
    from closerthan.comparisons import Comparisons
    from closerthan.evaluate.facts import Fact
    from closerthan.result import Result

NAME = "Held-out error"


def second_fit(
    comparisons: "Comparisons",
    dims: int,
    fitting: dict[str, Any],
    share: float,
    first: "Result",
    *,
    seconds: float,
    progress: bool,
) -> "tuple[Measured | None, Fact]":
    """The error on a share of the answers of a map that was fitted to the others, and how to say it."""
    from closerthan.evaluate.cross_validation import folds
    from closerthan.evaluate.facts import Fact
    from closerthan.fit.embedding import embed
    from closerthan.metrics import error_interval, triplet_error

    limit = fitting["time_limit"]
    if limit is not None:
        limit -= seconds
        if first.stopped_by == "time_limit" or limit <= 0:
            return None, Fact(NAME, "not measured", "the time limit left no time for a second fit")
    try:
        train, test = next(folds(comparisons, max(round(1 / share), 2), fitting["seed"]))
    except ValueError:
        return None, Fact(NAME, "not measured", "there are too few answers to keep some aside")
    try:
        again = embed(train, dims, progress=progress, **{**fitting, "time_limit": limit})
    except KeyboardInterrupt:
        return None, Fact(NAME, "not measured", "the second fit was interrupted")
    if again.stopped_by in ("interrupted", "time_limit"):
        why = "was interrupted" if again.stopped_by == "interrupted" else "ran out of time"
        return None, Fact(NAME, "not measured", f"the second fit {why}")
    error = triplet_error(test, again.embedding)
    low, high = error_interval(error, test)
    value = f"{percent(error)} (95 % interval {percent(low)} to {percent(high)})"
    note = f"{len(test):,} comparisons; of a second fit, which never saw them: what to expect of new answers"
    return Measured(error, low, high), Fact(NAME, value, note)
