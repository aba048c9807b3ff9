"""The error on new answers, measured by a second fit that is not given a share of them."""

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan.calibration import Calibration
from closerthan.comparisons import Comparisons
from closerthan.evaluate.facts import amount
from closerthan.fit.embedding import embed
from closerthan.metrics import effective_number, error_interval, log_odds, triplet_error
from closerthan.wording import percent_interval

__all__ = ["HeldOutError", "held_out_error"]

FEWEST_TO_CALIBRATE = 100  # comparisons


@dataclass(frozen=True)
class HeldOutError:
    """The share of held-out comparisons that a map gets wrong.

    Attributes
    ----------
    error, low, high
        The share, and the 95 % interval that it lies in.
    n_comparisons, n_answers
        How many comparisons were held out, and from how many answers.
    amount
        The same in words.
    by
        What was held out whole: "answers" tells of new answers, "people" of those of new people.
    stopped_by
        Why the fit ended that was not given them; "" if it is not known.
    calibration
        From the map's log odds to probabilities, for :attr:`closerthan.Result.calibration`; None if fewer than
        100 comparisons were held out.
    """

    error: float
    low: float
    high: float
    n_comparisons: int
    n_answers: int
    amount: str
    by: str = "answers"
    stopped_by: str = ""
    calibration: Calibration | None = None

    @classmethod
    def of(
        cls, held_out: Comparisons, embedding: NDArray[Any], by: str = "answers", stopped_by: str = ""
    ) -> "HeldOutError":
        """The error of a map that was fitted without these comparisons."""
        error = triplet_error(held_out, embedding)
        low, high = error_interval(error, effective_number(held_out, embedding, by=by))
        return cls(error, low, high, len(held_out), held_out.n_answers, amount(held_out), by, stopped_by)

    def __str__(self) -> str:
        return f"{percent_interval(self.error, self.low, self.high)} of {self.amount}"


def held_out_error(
    answers: Comparisons | ArrayLike,
    n_dims: int = 2,
    *,
    share: float = 0.1,
    by: str = "answers",
    seed: int | None = 0,
    weights: ArrayLike | None = None,
    **settings: Any,
) -> HeldOutError:
    """What to expect of new answers: the error on a share of them of a map that was fitted to the others.

    Parameters
    ----------
    answers, n_dims
        As in :func:`closerthan.embed`.
    share
        How much is held out.
    by
        What is held out whole: "answers" (with all answers about the same objects), or "people".
    seed
        Decides what is held out, and is the seed of the fit.
    weights
        Of the fit alone, such as those of :func:`closerthan.assess_people`: what is held out counts as it is.
    settings
        Of :func:`closerthan.embed`: those of the fit that is to be judged.

    Examples
    --------
    >>> import closerthan as ct
    >>> measured = ct.held_out_error(ct.datasets.eurodist().comparisons(), loss="soe")
    >>> measured.amount, bool(measured.low < measured.error < 0.1)
    ('398 comparisons', True)
    """
    if not 0 < share < 1:
        raise ValueError(f"share is {share}; what is held out lies between 0 and 1")
    known, drawn_by = Comparisons.of(answers), 0 if seed is None else seed
    train, held_out = _parts(known, share, drawn_by, by=by)
    if weights is not None:
        train, _ = _parts(known.weighted(weights), share, drawn_by, by=by)  # the same rows
    result = embed(train, n_dims, by=by, seed=seed, **settings)
    if result.stopped_by == "interrupted":
        raise KeyboardInterrupt
    found = HeldOutError.of(held_out, result.embedding, by, result.stopped_by)
    if len(held_out) < FEWEST_TO_CALIBRATE:
        return found
    odds = log_odds(held_out, result.embedding, result.loss)
    return dataclasses.replace(found, calibration=Calibration.fitted(odds, held_out.weights))


def _parts(comparisons: Comparisons, share: float, seed: int, *, by: str) -> tuple[Comparisons, Comparisons]:
    """The answers (or people) without a share of them, and that share: at least one, and not all."""
    number = {"people": comparisons.n_people, "answers": comparisons.n_answers}.get(by, len(comparisons)) or 1
    share = min(max(share, 1 / number), 1 - 1 / number)
    return comparisons.split(share, np.random.default_rng(seed), by=by)
