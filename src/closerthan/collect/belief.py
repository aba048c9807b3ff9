"""What is believed about a map before the next question: several maps that the answers allow, and how sure they may be.

Replicates are maps of the same answers, resampled, started at the fitted map: where they differ, the answers have not
decided yet. Maps of few or noisy answers are too sure of themselves. Each replicate is without about a third of the
answers, and those tell by how much: all log odds are multiplied by the slope under which they are likeliest.
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array
from closerthan.calibration import Calibration
from closerthan.comparisons import Comparisons
from closerthan.fit.ctrl_c import Wish
from closerthan.fit.embedding import embed
from closerthan.fit.parallel import run_together
from closerthan.losses import Loss
from closerthan.metrics import log_odds
from closerthan.objective.cpu import CPU
from closerthan.objective.information import expected_information
from closerthan.result import Result

__all__ = ["FEWEST", "LOSS", "Belief", "believed", "fitted_map"]

LOSS = "tste"
FEWEST = 2  # answers per object and dimension, below which maps say too little: questions are random
N_REPLICATES = 8
SOLVER = "lbfgs"  # finishes a map: with chosen answers, which are about neighbours, the last percents take long
FINISH: dict[str, Any] = {"tolerance": 1e-5, "window": 10, "epochs": 1000}  # the usual one ends in a flat valley
REPLICATE: dict[str, Any] = {"epochs": 30, "tolerance": None}  # it starts at the fitted map
LARGEST = 1000.0  # root mean square of a map's coordinates
_NOTHING = 1e-9  # the weight of an answer that a replicate is without


@dataclasses.dataclass(frozen=True)
class Belief:
    """Maps that may be right, (n_maps, n_objects, n_dims), and by what their log odds are multiplied."""

    maps: Array
    loss: Loss
    slope: float = 1.0

    def worth(self, kind: str, questions: NDArray[Any]) -> Array:
        """What the answers to questions are expected to tell, in nats."""
        return expected_information(kind, questions, self.maps, self.loss, self.slope)


def believed(answers: Comparisons, embedding: Array, loss: Loss, rng: np.random.Generator) -> Belief:
    """Replicates of a map, and their slope."""
    group = np.arange(len(answers)) if answers.answers is None else answers.answers
    own = np.ones(len(answers)) if answers.weights is None else answers.weights
    jobs, without = [], []
    for child in rng.spawn(N_REPLICATES):
        drawn = child.poisson(1.0, size=int(group.max()) + 1)[group]
        without.append(drawn == 0)
        weighted = dataclasses.replace(answers, weights=own * np.maximum(drawn, _NOTHING))
        jobs.append(
            functools.partial(
                embed,
                weighted,
                embedding.shape[1],
                loss=loss,
                solver=SOLVER,
                start=embedding,
                seed=child,
                n_threads=1,
                **REPLICATE,
            )
        )
    with _one_blas_thread():
        found, interrupted = run_together(jobs, CPU().threads, Wish())
    if interrupted:
        raise KeyboardInterrupt
    maps = [_bounded(result.embedding) for result in found]
    scores = [log_odds(answers.take(out), x, loss) for out, x in zip(without, maps, strict=True)]
    return Belief(np.array(maps), loss, Calibration.fitted(np.concatenate(scores), bent=False).slope)


def fitted_map(
    answers: Comparisons,
    n_dims: int,
    loss: Loss,
    rng: np.random.Generator,
    starts: Sequence[Array | None] = (None,),
) -> Array:
    """The best map of the answers that is found from these starts; None: wherever the default solver gets by chance."""
    found = []
    for given in starts:
        start = given
        if start is None:
            start = _unbroken(embed(answers, n_dims, loss=loss, seed=rng)).embedding
        with _one_blas_thread():
            result = embed(answers, n_dims, loss=loss, solver=SOLVER, start=_bounded(start), seed=rng, **FINISH)
        found.append(_unbroken(result))
    return _bounded(min(found, key=lambda one: one.best_record.objective).embedding)


def _unbroken(result: Result) -> Result:
    if result.stopped_by == "interrupted":
        raise KeyboardInterrupt
    return result


def _bounded(embedding: Array) -> Array:
    """The map, shrunk if it is huge.

    Answers about neighbours tell the ratios of distances and leave the size open. tste looks at little else in a large
    map and lets it grow for ever; the slopes of a map of size 1e8 are then too small for any solver to move it.
    """
    return embedding / max(1.0, float(embedding.std()) / LARGEST)


def _one_blas_thread() -> Any:
    """SciPy's L-BFGS calls BLAS with short vectors: several threads would only wait, where cores are busy for long."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1, "blas")
