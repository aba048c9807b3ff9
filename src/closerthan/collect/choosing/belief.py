"""The belief about the map before the next question: several maps that are compatible with the answers.

The maps are fitted to resampled answers; where they differ, the answers do not yet determine the map. Unlike the
replicates of :func:`closerthan.replicate`, each map first unfolds in extra dimensions, as did the fitted map from which
it starts. Otherwise all of them would share its folds, and no question would be asked about these. There are only eight
such maps, and they are not calibrated: they take a tenth of the time of :func:`closerthan.replicate`, which matters in
a running study.
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array, one_blas_thread
from closerthan.comparisons import Comparisons
from closerthan.fit.ctrl_c import CancelFlag
from closerthan.fit.embedding import embed
from closerthan.fit.parallel import run_together
from closerthan.geometry import principal_axes
from closerthan.losses import Loss
from closerthan.objective.cpu.objective import CPU
from closerthan.objective.information import expected_information
from closerthan.result import Result
from closerthan.settings import FitOptions, Settings
from closerthan.uncertainty.bootstrap import bootstrap
from closerthan.wording import counted

__all__ = ["FEWEST", "LOSS", "Belief", "fit_belief", "fitted_map"]

LOSS = "tste"
FEWEST = 2  # answers per object and dimension; with fewer, questions are random
N_REPLICATES = 8
SOLVER = "lbfgs"  # for the last phase: chosen questions concern neighbours, so convergence is slow
# The default tolerance would stop in a flat valley.
FINISH = FitOptions(solver=SOLVER, tolerance=1e-5, window=10, epochs=1000)
REPLICATE = FitOptions(solver=SOLVER, tolerance=None, epochs=15, n_threads=1)  # for each of the two phases
EXTRA = 2  # additional dimensions in which a map unfolds
LARGEST = 1000.0  # maximum standard deviation of a map's coordinates


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


def fit_belief(answers: Comparisons, embedding: Array, loss: Loss, rng: np.random.Generator) -> Belief:
    """Fit maps to resampled answers, starting at a map."""
    jobs = [
        functools.partial(_replicate, bootstrap(answers, child, scheme="poisson"), embedding, loss, child)
        for child in rng.spawn(N_REPLICATES)
    ]
    with one_blas_thread():
        maps, interrupted = run_together(jobs, CPU().threads, CancelFlag())
    if interrupted:
        raise KeyboardInterrupt
    return Belief(np.array(maps), loss)


def _replicate(answers: Comparisons, start: Array, loss: Loss, rng: np.random.Generator) -> Array:
    unfolded = _unfolded(answers, start, loss, rng, REPLICATE)
    return _sized(_finished(answers, unfolded, loss, REPLICATE).embedding, LARGEST)


def fitted_map(
    answers: Comparisons,
    n_dims: int,
    loss: Loss,
    rng: np.random.Generator,
    starts: Sequence[Array | None] = (None,),
) -> Array:
    """Return the best map among fits from these starts; None stands for the result of the default solver.

    A start may be folded, and objects cannot pass each other on a large map. Therefore the start is shrunk, and it
    first unfolds in extra dimensions. The last phase is run twice, from the resulting size and from a small size: the
    former is better if answers are free of errors, the latter if the extra dimensions contained noise.
    """
    results = []
    for one in starts:
        start = _unless_interrupted(embed(answers, n_dims, loss=loss, seed=rng)).embedding if one is None else one
        with one_blas_thread():
            unfolded = _unfolded(answers, start, loss, rng, FINISH)
            results += [_finished(answers, _sized(unfolded, largest), loss, FINISH) for largest in (1.0, LARGEST)]
    return _sized(min(results, key=lambda one: one.best_record.objective).embedding, LARGEST)


def _unfolded(answers: Comparisons, start: Array, loss: Loss, rng: np.random.Generator, options: FitOptions) -> Array:
    """Fit a map in extra dimensions, and return its leading principal axes."""
    wide = np.concatenate([_sized(start, 1.0), 0.5 * rng.standard_normal((len(start), EXTRA))], axis=1)
    unfolded = _finished(answers, wide, loss, options).embedding
    return principal_axes(unfolded).coordinates[:, : start.shape[1]]


def _finished(answers: Comparisons, start: Array, loss: Loss, options: FitOptions) -> Result:
    settings = Settings.of(None, start.shape[1], {**options, "loss": loss})
    return _unless_interrupted(embed(answers, settings=settings, start=start, n_threads=options.get("n_threads")))


def _unless_interrupted(result: Result) -> Result:
    if result.stopped_by == "interrupted":
        raise KeyboardInterrupt
    return result


def _sized(embedding: Array, largest: float) -> Array:
    """Return the map, shrunk if its coordinates have a standard deviation above ``largest``.

    Answers about neighbours determine ratios of distances and not the size of a map. With tste, which depends on little
    else, a large map grows without bound until its gradients are too small for any solver to make progress.
    """
    return embedding / max(1.0, float(embedding.std()) / largest)
