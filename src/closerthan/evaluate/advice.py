"""What to try next when a fit is poor."""

from typing import TYPE_CHECKING, NamedTuple

from closerthan.fit.stopping import Limits, converged
from closerthan.wording import percent

if TYPE_CHECKING:
    from closerthan.comparisons import Comparisons
    from closerthan.result import Result

POOR = 0.15  # an error above it makes one ask what could be better
SETTLED = 0.01  # share of the objective: a fit whose last epochs gained less has come to its end
GAP = 0.05  # so much worse on new answers than on those fitted means that the map learnt them by heart


class Measured(NamedTuple):
    """An error and between what it lies."""

    error: float
    low: float
    high: float


def advice(result: "Result", comparisons: "Comparisons", held_out: Measured | None, file: str) -> list[str]:
    """Sentences, the most important first; none if there is nothing to complain about.

    Examples
    --------
    >>> import closerthan as ct
    >>> answers = ct.datasets.eurodist().comparisons()
    >>> advice(ct.embed(answers, seed=0), answers, None, "cities.csv")
    []
    >>> advice(ct.embed(answers, seed=0, epochs=1, tolerance=None), answers, None, "cities.csv")[0]
    'the last epoch allowed was run: try --epochs 100'
    """
    from closerthan.evaluate.diagnostics import least_error
    from closerthan.metrics import effective_number, error_interval

    number = effective_number(comparisons, result.embedding)
    train = Measured(result.record.train_error, *error_interval(result.record.train_error, number))
    judged = held_out or train
    poor = judged.error > POOR
    said = []
    if judged.low > 0.5:
        said.append(
            "the map is more often wrong than right: near and far may be the wrong way round; "
            f"see how the file was understood with: closerthan info {file}"
        )
    elif judged.high >= 0.5:
        said.append(
            "the map is no better than guessing: see whether the file was understood with: "
            f"closerthan info {file}; or ask for more answers"
        )
    if result.stopped_by == "diverged":
        said.append("the objective blew up: try --solver polyak or --solver lbfgs")
    unfinished = poor or (judged.error > 0 and not converged(result.history, Limits(0, tolerance=SETTLED)))
    if result.stopped_by == "epochs" and unfinished and not result.candidates:  # auto may choose them
        said.append(f"the last epoch allowed was run: try --epochs {max(100, 5 * result.history[-1].epoch)}")
    if result.stopped_by == "time_limit" and unfinished:
        said.append("the time was up before the fit had settled: try a longer --time-limit")
    if held_out is not None and held_out.low > train.high + GAP:
        each = len(comparisons) / len(result.embedding)
        said.append(
            "new answers fare much worse than those fitted: try fewer --dims, early stopping with --validation 0.1, "
            f"or more answers (there are {each:.0f} comparisons an object)"
        )
    elif poor:
        least = least_error(comparisons)
        if least > judged.error / 2:
            said.append(f"answers contradict each other: no map gets fewer than {percent(least)} of them wrong")
        if len(result.starts) <= 1:
            said.append("a bad start is possible: try --starts 10")
        said.append(f"more dimensions may fit better: closerthan dims {file}")
        if not result.candidates:  # otherwise all of them were tried
            said.append(f"another loss may fit better: closerthan compare {file}")
    return said
