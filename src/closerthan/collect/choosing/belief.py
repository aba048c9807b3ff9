"""What is believed about a map before the next question: several maps that the answers allow.

Replicates are maps of the same answers, resampled: where they differ, the answers have not decided yet. Like the fitted
map, from which they start, each unfolds in extra dimensions: else all would have its folds, and nobody be asked there.
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array
from closerthan.comparisons import Comparisons
from closerthan.fit.ctrl_c import Wish
from closerthan.fit.embedding import embed
from closerthan.fit.parallel import run_together
from closerthan.geometry import principal_axes
from closerthan.losses import Loss
from closerthan.objective.cpu.objective import CPU
from closerthan.objective.information import expected_information
from closerthan.result import Result
from closerthan.uncertainty.bootstrap import bootstrap

__all__ = ["FEWEST", "LOSS", "Belief", "believed", "fitted_map"]

LOSS = "tste"
FEWEST = 2  # answers per object and dimension, below which maps say too little: questions are random
N_REPLICATES = 8
SOLVER = "lbfgs"  # finishes a map: with chosen answers, which are about neighbours, the last percents take long
FINISH: dict[str, Any] = {"tolerance": 1e-5, "window": 10, "epochs": 1000}  # the usual one ends in a flat valley
REPLICATE: dict[str, Any] = {"epochs": 15, "tolerance": None, "n_threads": 1}  # unfolding, and then as many again
EXTRA = 2  # dimensions, in which a map unfolds
LARGEST = 1000.0  # root mean square of a map's coordinates


@dataclasses.dataclass(frozen=True)
class Belief:
    """Maps that may be right, (n_maps, n_objects, n_dims)."""

    maps: Array
    loss: Loss

    def worth(self, kind: str, questions: NDArray[Any]) -> Array:
        """What the answers to questions are expected to tell, in nats."""
        return expected_information(kind, questions, self.maps, self.loss)


def believed(answers: Comparisons, embedding: Array, loss: Loss, rng: np.random.Generator) -> Belief:
    """Replicates of a map."""
    jobs = [
        functools.partial(_replicate, bootstrap(answers, child, scheme="poisson"), embedding, loss, child)
        for child in rng.spawn(N_REPLICATES)
    ]
    with _one_blas_thread():
        found, interrupted = run_together(jobs, CPU().threads, Wish())
    if interrupted:
        raise KeyboardInterrupt
    return Belief(np.array(found), loss)


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
    """The best map of the answers that is found from these starts; None: wherever the default solver gets by chance.

    A start may be folded: on a large map objects cannot pass each other. So it first unfolds, from a small size on, in
    extra dimensions, and is finished twice, as large as it became and small again: the first is better where nobody
    errs, the second where what the extra dimensions held was noise.
    """
    found = []
    for given in starts:
        start = _unbroken(embed(answers, n_dims, loss=loss, seed=rng)).embedding if given is None else given
        with _one_blas_thread():
            unfolded = _unfolded(answers, start, loss, rng, FINISH)
            found += [_finished(answers, _sized(unfolded, largest), loss, FINISH) for largest in (1.0, LARGEST)]
    return _sized(min(found, key=lambda one: one.best_record.objective).embedding, LARGEST)


def _unfolded(
    answers: Comparisons, start: Array, loss: Loss, rng: np.random.Generator, settings: dict[str, Any]
) -> Array:
    wide = np.concatenate([_sized(start, 1.0), 0.5 * rng.standard_normal((len(start), EXTRA))], axis=1)
    found = _finished(answers, wide, loss, settings).embedding
    return principal_axes(found).coordinates[:, : start.shape[1]]


def _finished(answers: Comparisons, start: Array, loss: Loss, settings: dict[str, Any]) -> Result:
    return _unbroken(embed(answers, start.shape[1], loss=loss, solver=SOLVER, start=start, **settings))


def _unbroken(result: Result) -> Result:
    if result.stopped_by == "interrupted":
        raise KeyboardInterrupt
    return result


def _sized(embedding: Array, largest: float) -> Array:
    """The map, shrunk if it is larger.

    Answers about neighbours tell the ratios of distances and leave the size open. tste looks at little else in a large
    map and lets it grow for ever; the slopes of a map of size 1e8 are then too small for any solver to move it.
    """
    return embedding / max(1.0, float(embedding.std()) / largest)


def _one_blas_thread() -> Any:
    """SciPy's L-BFGS calls BLAS with short vectors: several threads would only wait, where cores are busy for long."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1, "blas")
