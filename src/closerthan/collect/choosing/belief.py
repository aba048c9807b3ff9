"""The belief about the map before the next question: several maps that are compatible with the answers.

The answers are fitted from several random starts; the best map is that of the study. From each of these maps, a
replicate is fitted to resampled answers. Where the replicates differ, the answers do not yet determine the map: either
it changes with the answers, or some starts end in other local minima, such as folded maps, and a question about the
difference would exclude them.

:func:`closerthan.replicate` resamples answers in the same way. It also calibrates probabilities, for which it fits many
more maps; in a running study, there is no time for that.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array
from closerthan.comparisons import Comparisons
from closerthan.fit.embedding import embed
from closerthan.fit.plan import FitPlan
from closerthan.losses import Loss, name_with_parameter
from closerthan.objective.information import expected_information
from closerthan.result import Result
from closerthan.settings import FitOptions
from closerthan.uncertainty.refitter import Fitter, Refitter, plan_refits
from closerthan.uncertainty.resampling import resampled
from closerthan.wording import counted

__all__ = ["FEWEST", "LOSS", "Belief", "Criterion", "fit_belief", "fit_maps", "next_criterion"]

LOSS = "tste"
FEWEST = 2  # with fewer answers per object and dimension, questions are random
N_MAPS = 8  # random starts of the map, and replicates
PENALTY = 3e-4
CHOOSE_AGAIN = 2.0  # factor by which the answers must have grown before the loss and the penalty are chosen again
REPLICATE = FitOptions(solver="lbfgs", epochs=20, tolerance=None)  # a replicate is close to its first map


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Belief:
    """Maps that are compatible with the answers.

    Attributes
    ----------
    maps
        (n_maps, n_objects, n_dims).
    loss
        The loss that they were fitted with.
    """

    maps: Array
    loss: Loss

    def __repr__(self) -> str:
        n_maps, n_objects, n_dims = self.maps.shape
        return f"Belief({counted(n_maps, 'map')} of {n_objects:,} objects in {counted(n_dims, 'dimension')})"

    def information(self, kind: str, questions: NDArray[Any], n_picks: int = 1) -> Array:
        """Return the expected information gain of each question, in nats."""
        return expected_information(kind, questions, self.maps, self.loss, n_picks)


class Criterion(NamedTuple):
    """The loss and the penalty of maps, and the number of answers from which they were chosen."""

    loss: str = LOSS
    penalty: float = PENALTY
    n_answers: int = 0


def next_criterion(answers: Comparisons, n_dims: int, before: Criterion) -> Criterion:
    """Choose the loss and the penalty as the default fit does, once there are twice as many answers as last time.

    With so few answers that questions are random, nothing is chosen yet.
    """
    n_answers = answers.n_answers
    if n_answers < max(CHOOSE_AGAIN * before.n_answers, FEWEST * answers.n_objects * n_dims):
        return before
    result = embed(answers, n_dims, seed=0)
    loss = name_with_parameter(result.loss)
    return before if loss is None else Criterion(loss, result.penalty, n_answers)


def fit_maps(
    answers: Comparisons,
    n_dims: int,
    rng: np.random.Generator,
    loss: str | Loss = LOSS,
    penalty: float = PENALTY,
) -> list[Result]:
    """Fit the answers from several random starts; return all maps, the one with the lowest objective first."""
    plan = FitPlan.of(None, n_dims, {"loss": loss, "penalty": penalty})

    def fit_one(rng: np.random.Generator, fit_map: Fitter) -> Result:
        return fit_map(answers, rng)

    jobs = [functools.partial(fit_one, child) for child in rng.spawn(N_MAPS)]
    results: list[Result] = _completed(Refitter.of(answers, plan), jobs)
    return sorted(results, key=lambda result: result.best_record.objective)


def fit_belief(answers: Comparisons, maps: Sequence[Result], rng: np.random.Generator) -> Belief:
    """Fit replicates to resampled answers, starting at the maps of all answers in turn."""
    plan = plan_refits(answers, None, None, maps[0], REPLICATE)
    starts = itertools.cycle([result.embedding for result in maps])

    def replicate(start: Array, rng: np.random.Generator, fit_map: Fitter) -> Array:
        return fit_map(resampled(answers, "answers", rng, start.size), rng, start).embedding

    children = rng.spawn(N_MAPS)
    jobs = [functools.partial(replicate, start, child) for start, child in zip(starts, children, strict=False)]
    return Belief(np.array(_completed(Refitter.of(answers, plan, maps[0]), jobs)), maps[0].loss)


def _completed(refitter: Refitter, jobs: Sequence[Callable[[Fitter], Any]]) -> list[Any]:
    outcome = refitter.run(jobs)
    if outcome.stopped_by:
        raise outcome.error("fits")
    return outcome.results
