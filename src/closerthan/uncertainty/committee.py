"""Committee: maps of parts of the answers, whose mean predicts new ones."""

import dataclasses
from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array
from closerthan.calibration import Calibration
from closerthan.comparisons import Comparisons
from closerthan.losses import Loss
from closerthan.metrics import log_odds
from closerthan.wording import counted

__all__ = ["Committee", "spread"]


@dataclasses.dataclass(frozen=True, eq=False)
class Committee:
    """Many maps that predict together, by the mean of their log odds.

    Each is fitted to all answers but a part, from a random start of its own (Krogh and Vedelsby 1995): what one of them
    has wrong by chance, others have right. Replicates, which all start at the fitted map, share its mistakes.

    Attributes
    ----------
    maps
        (n_maps, n_objects, n_dims), not aligned.
    spreads
        Of each map's log odds, by which these are divided before their mean is taken.
    calibration
        From mean log odds to probabilities, measured on the answers that were held out; None: too few to do so.

    Examples
    --------
    >>> from closerthan.losses import STE
    >>> line = np.array([[0.0], [1.0], [3.0]])
    >>> pair = Committee(np.stack([line, -2 * line]), np.array([1.0, 4.0]))
    >>> pair
    Committee(2 maps of 3 objects in 1 dimension, not calibrated)
    >>> pair.mean_log_odds(Comparisons.from_triplets([[0, 1, 2]]), STE()).tolist()
    [8.0]
    """

    maps: Array
    spreads: Array
    calibration: Calibration | None = None

    def __repr__(self) -> str:
        n_maps, n_objects, n_dims = self.maps.shape
        calibration = "not calibrated"
        if self.calibration is not None:
            calibration = f"calibrated on {counted(self.calibration.n_answers, 'comparison')}"
        size = f"{counted(n_maps, 'map')} of {n_objects:,} objects in {counted(n_dims, 'dimension')}"
        return f"Committee({size}, {calibration})"

    @classmethod
    def together(
        cls, parts: Sequence["Committee"], scores: Array, weights: Array, units: NDArray[np.int64] | None = None
    ) -> Self:
        """Merge committees and calibrate the result on the scores of answers that their maps had not seen.

        ``weights`` and ``units`` of these answers are those of :meth:`closerthan.calibration.Calibration.fitted`.
        """
        maps, spreads = (np.concatenate(columns) for columns in zip(*((p.maps, p.spreads) for p in parts), strict=True))
        return cls(maps, spreads, Calibration.fitted(scores, weights, units=units))

    def mean_log_odds(self, questions: Comparisons, loss: Loss) -> Array:
        """The mean over all maps of each row's log odds, each map's divided by their spread."""
        total = np.zeros(len(questions))
        for x, size in zip(self.maps, self.spreads, strict=True):
            total += log_odds(questions, x, loss) / size
        return total / max(len(self.maps), 1)

    def probability(self, questions: Comparisons, loss: Loss) -> Array:
        """That a new answer is as each row says."""
        calibration = self.calibration or Calibration(slope=float(self.spreads.mean()))
        return calibration.probability(self.mean_log_odds(questions, loss))


def spread(judged: Comparisons, x: Array, loss: Loss) -> float:
    """The root mean square of a map's log odds, by which maps of any size count the same."""
    return float(np.sqrt(np.mean(log_odds(judged, x, loss) ** 2))) or 1.0
