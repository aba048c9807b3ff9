"""The default solver with lock-free steps on a shared map, so that one fit can use many cores (Hogwild).

The default solver divides a walk between two threads at most, because that is what allows it to promise the same bits
for any number of threads. Here all threads move the rows of one map in place, without locks (Niu et al. 2011). A thread
may read a row that another one is moving, or overwrite its move, but each comparison involves only three or four
objects: if there are many more objects than comparisons in flight, such conflicts are rare, and far smaller than the
noise of single steps.

References
----------
- F. Niu, B. Recht, C. Ré, S. J. Wright: Hogwild!: A lock-free approach to parallelizing stochastic gradient descent.
  NIPS 2011.
"""

from dataclasses import dataclass
from typing import ClassVar

from closerthan.arrays import Array
from closerthan.objective.protocol import Capability, M, PolyakWalk, StepSchedule, WithLockFreeWalk
from closerthan.solvers.base import State
from closerthan.solvers.polyak import Polyak

__all__ = ["Hogwild"]

LONGEST_STRETCH = 2**21  # comparisons after which threads wait for each other: about 20 ms on 16 cores


@dataclass(frozen=True)
class Hogwild(Polyak):
    """Polyak steps by all threads on one map, without locks (Niu et al. 2011): for large fits on many cores.

    The steps, the average and all parameters are those of :class:`Polyak`.

    **The same seed does not give the same bits.** The order in which threads read and move the same objects depends on
    their timing, so two fits with the same seed differ about as much as two fits with different orders of visits: their
    errors agree, their coordinates only approximately. A resumed checkpoint therefore does not repeat the interrupted
    fit exactly. With one thread, and with too few objects for lock-free steps, the result is repeatable.

    On a GPU, whose steps are always lock-free, this is the same solver as :class:`Polyak`.

    Examples
    --------
    >>> import closerthan as ct
    >>> answers = ct.datasets.synthetic(n_objects=1_000, n_dims=2, n_train=100_000, seed=0).train
    >>> result = ct.embed(answers, loss="ste", solver="hogwild", epochs=2)
    >>> bool(result.best_record.train_error < 0.05)
    True
    """

    needs: ClassVar[frozenset[Capability]] = Polyak.needs | {"lock-free walk"}

    def _walk(  # type: ignore[override]  # requires a capability, see needs
        self, objective: WithLockFreeWalk[M], x: Array, schedule: StepSchedule, length: int, state: State | None
    ) -> PolyakWalk[M]:
        return objective.lock_free_walk(x, schedule, length, state)

    def _longest_stretch(self, objective: WithLockFreeWalk[M]) -> int:  # type: ignore[override]
        return max(objective.longest_stretch, LONGEST_STRETCH)
