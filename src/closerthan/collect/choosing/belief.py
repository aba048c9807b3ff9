"""The belief about the map before the next question: several maps that are compatible with the answers.

The maps are fitted to resampled answers, as replicates of the fitted map; where they differ, the answers do not yet
determine the map. :func:`closerthan.replicate` also calibrates probabilities, for which it fits many more maps. There
is no time for that in a running study, and questions are compared by their information only.
"""

import dataclasses
import functools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array
from closerthan.comparisons import Comparisons
from closerthan.fit.embedding import embed
from closerthan.losses import Loss
from closerthan.objective.information import expected_information
from closerthan.result import Result
from closerthan.settings import FitOptions
from closerthan.solvers import Polyak
from closerthan.uncertainty.refitter import Fitter, Refitter, plan_refits
from closerthan.uncertainty.resampling import resampled
from closerthan.wording import counted

__all__ = ["FEWEST", "LOSS", "Belief", "fit_belief", "fit_map"]

LOSS = "tste"
FEWEST = 2  # answers per object and dimension; with fewer, questions are random
PENALTY = 3e-4
N_STARTS = 4
SOLVER = Polyak(finish=math.inf)  # chosen questions concern neighbours, so only the end of a fit orders these correctly
REPLICATE = FitOptions(solver="lbfgs", epochs=30, tolerance=None)  # from the map, to which replicates are close
N_REPLICATES = 8


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

    def information(self, kind: str, questions: NDArray[Any]) -> Array:
        """Return the expected information gain of each question, in nats."""
        return expected_information(kind, questions, self.maps, self.loss)


def fit_map(answers: Comparisons, n_dims: int, rng: np.random.Generator, loss: str | Loss = LOSS) -> Result:
    """Fit a map to answers to chosen questions, from several random starts."""
    result = embed(answers, n_dims, loss=loss, penalty=PENALTY, n_starts=N_STARTS, solver=SOLVER, seed=rng)
    if result.stopped_by == "interrupted":
        raise KeyboardInterrupt
    return result


def fit_belief(answers: Comparisons, result: Result, rng: np.random.Generator) -> Belief:
    """Fit replicates of a map that was fitted to these answers."""
    plan = plan_refits(answers, None, None, result, REPLICATE)

    def replicate(rng: np.random.Generator, fit_map: Fitter) -> Array:
        redrawn = resampled(answers, "answers", rng, result.embedding.size)
        return fit_map(redrawn, rng, result.embedding).embedding

    jobs = [functools.partial(replicate, child) for child in rng.spawn(N_REPLICATES)]
    outcome = Refitter.of(answers, plan, result).run(jobs)
    if outcome.stopped_by:
        raise outcome.error("replicates")
    return Belief(np.array(outcome.results), result.loss)
