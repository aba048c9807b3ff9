"""Committee: maps fitted to different parts of the answers, which predict new answers jointly."""

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
    """Several maps that predict jointly, by the mean of their log odds.

    Each map is fitted to all but one fold of the answers, from its own random start, so that chance errors of single
    maps average out (Krogh and Vedelsby 1995). Replicates, which all start at the fitted map, would share its errors.

    Attributes
    ----------
    maps
        (n_maps, n_objects, n_dims), not aligned.
    spreads
        Root mean square of each map's log odds; log odds are divided by it before they are averaged.
    calibration
        Calibration curve from mean log odds to probabilities, fitted to held-out answers; None if there are too few.

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
    def merged(
        cls, parts: Sequence["Committee"], scores: Array, weights: Array, units: NDArray[np.int64] | None = None
    ) -> Self:
        """Merge committees, and calibrate the result on the scores of answers that their maps have not seen.

        ``weights`` and ``units`` of these answers are those of :meth:`closerthan.calibration.Calibration.fitted`.
        """
        maps, spreads = (np.concatenate(columns) for columns in zip(*((p.maps, p.spreads) for p in parts), strict=True))
        return cls(maps, spreads, Calibration.fitted(scores, weights, units=units))

    def mean_log_odds(self, questions: Comparisons, loss: Loss) -> Array:
        """Return the mean over all maps of each row's log odds, each divided by the spread of its map."""
        total = np.zeros(len(questions))
        for x, size in zip(self.maps, self.spreads, strict=True):
            total += log_odds(questions, x, loss) / size
        return total / max(len(self.maps), 1)

    def probability(self, questions: Comparisons, loss: Loss) -> Array:
        """Return the probability that a new answer to each question agrees with the row."""
        calibration = self.calibration or Calibration(slope=float(self.spreads.mean()))
        return calibration.probability(self.mean_log_odds(questions, loss))


def spread(answers: Comparisons, x: Array, loss: Loss) -> float:
    """Return the root mean square of a map's log odds; dividing by it gives maps of any size the same influence."""
    return float(np.sqrt(np.mean(log_odds(answers, x, loss) ** 2))) or 1.0
