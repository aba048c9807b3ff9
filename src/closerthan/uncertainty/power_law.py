"""Power law: the error as a function of the number of answers, ``floor + gain * number ** -power``."""

import dataclasses
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls

from closerthan.arrays import Array

__all__ = ["PowerLaw"]

# With noisy answers, the error above the floor is proportional to the squared error of the map, and so to 1 / number;
# with noise-free answers it is proportional to the square root of that. The initial fall from chance is steeper.
POWERS = np.linspace(0.25, 2.0, 36)
USUAL_POWER, POWER_SPREAD = 1.1, 0.15  # prior mean and spread: many powers fit a few noisy points nearly as well


@dataclasses.dataclass(frozen=True)
class PowerLaw:
    """The curve ``floor + gain * (number / unit) ** -power``; at ``unit`` answers the error is floor + gain.

    Examples
    --------
    >>> law = PowerLaw(floor=0.1, gain=0.2, power=1.0, unit=1000.0)
    >>> law(2000), round(law.number_for(0.15))
    (0.2, 4000)
    """

    floor: float
    gain: float
    power: float
    unit: float

    @classmethod
    def fitted(cls, numbers: ArrayLike, errors: ArrayLike, covariance: ArrayLike) -> Self:
        """Fit the curve by generalised least squares, with floor and gain constrained not to be negative.

        A quadratic penalty keeps the power near its usual value.

        Examples
        --------
        >>> numbers = np.array([500.0, 1000.0, 2000.0, 4000.0])
        >>> law = PowerLaw.fitted(numbers, 0.1 + 100 / numbers, 1e-10 * np.eye(4))
        >>> round(law.floor, 3), round(law.power, 2), round(law(8000), 4)
        (0.1, 1.0, 0.1125)
        """
        number, error, spread = (np.asarray(one, dtype=np.float64) for one in (numbers, errors, covariance))
        unit = float(number[-1])
        whitened = np.linalg.inv(np.linalg.cholesky(spread))
        candidates = []
        for power in POWERS:
            shape = np.stack([np.ones(len(number)), (number / unit) ** -power], axis=1)
            (floor, gain), misfit = nnls(whitened @ shape, whitened @ error)
            unusual = (power - USUAL_POWER) / POWER_SPREAD
            candidates.append((misfit**2 + unusual**2, floor, gain, power))
        _, floor, gain, power = min(candidates)
        return cls(float(floor), float(gain), float(power), unit)

    def __call__(self, number: float) -> float:
        return float(self.at(np.array(number)))

    def at(self, numbers: Array) -> Array:
        """Return the errors at these numbers of answers."""
        return np.asarray(self.floor + self.gain * (numbers / self.unit) ** -self.power)

    def number_for(self, error: float) -> float:
        """Return the number of answers at which the curve reaches this error; infinity if it never does."""
        if error <= self.floor:
            return np.inf
        return float(self.unit * (self.gain / (error - self.floor)) ** (1 / self.power))
