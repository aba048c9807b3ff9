"""The likelihood of whole answers that several processes share: sums over all of them."""

import numpy as np

from closerthan.arrays import Array
from closerthan.objective.distributed.process_group import ProcessGroup
from closerthan.objective.protocol import Capability, ChoiceTotals, SumsOfChoices

__all__ = ["SharedChoiceSums"]


class SharedChoiceSums:
    """The losses of the choices of all processes at a map; each process has whole answers.

    Parameters
    ----------
    group
        The processes.
    own
        The sums over the choices of this process.
    weight
        The number that these sums are multiplied by before those of all processes are added.
    """

    capabilities: frozenset[Capability] = frozenset()

    def __init__(self, group: ProcessGroup, own: SumsOfChoices, weight: float) -> None:
        self._group, self._own, self._weight = group, own, weight
        self.totals = ChoiceTotals(*self._sum(np.array(own.totals)).tolist())

    def _sum(self, own: Array) -> Array:
        return self._group.sum(self._weight * own if self._weight else np.zeros_like(own))

    def counted_comparisons(self, x: Array) -> tuple[float, Array, float]:
        """Return the sum of the losses, its gradient, and the weight of the comparisons that agree with the map."""
        total, gradient, beaten = self._own.counted_comparisons(x)
        # All numbers travel in one message.
        sums = self._sum(np.append(gradient, (total, beaten)))
        return float(sums[-2]), sums[:-2].reshape(x.shape), float(sums[-1])

    def sums(self, x: Array, scales: Array) -> tuple[Array, float]:
        """Return the sum of the losses of each map ``scale * x``, and the weight of comparisons that x agrees with."""
        totals, beaten = self._own.sums(x, scales)
        sums = self._sum(np.append(totals, beaten))
        return sums[:-1], float(sums[-1])

    def sample(self, n_choices: int) -> "SharedChoiceSums":
        """Return the sums over a sample of the choices of each process, which count as much as all of them."""
        sample = self._own.sample(n_choices)
        enlarged = self._own.totals.weight / sample.totals.weight if sample.totals.weight else 0.0
        return SharedChoiceSums(self._group, sample, self._weight * enlarged)
