"""The loss family: what a comparison costs, given its two squared distances.

A comparison says that the *near* pair is closer than the *far* pair. A loss turns the two squared
distances into one number, small where they agree with the answer. Everything else (rows, differences,
row gradients) is geometry and is written once, in :mod:`closerthan.compiled`, for all losses.

A loss is a class with its parameters as annotated fields and two methods of plain numbers:
``value(near, far)`` and ``slopes(near, far)``, the two partial derivatives. Both run as ordinary
Python and as compiled code inside the kernels (there with exp and log of :mod:`closerthan.compiled.vector_math`).
"""

import dataclasses
import math
from typing import Self, dataclass_transform

from closerthan.checks import positive
from closerthan.registry import chosen

__all__ = ["CKL", "GNMDS", "LOSSES", "SOE", "STE", "TSTE", "Loss", "loss_named"]


@dataclass_transform(frozen_default=True)
class Loss:
    """Base of all losses; derive from it to add your own.

    A subclass becomes a frozen dataclass: annotate its parameters (numbers), give them defaults, and
    write ``value`` and ``slopes`` with :mod:`math` or NumPy scalar functions. :func:`closerthan.check_loss` tells
    whether they fit together.

    Examples
    --------
    >>> import math
    >>> import closerthan as ct
    >>> class Logistic(ct.Loss):
    ...     scale: float = 1.0
    ...
    ...     def value(self, near, far):
    ...         lead = min((far - near) / self.scale, 700.0)  # exp would overflow
    ...         return math.log(1 + math.exp(lead)) - lead
    ...
    ...     def slopes(self, near, far):
    ...         slope = 1 / (1 + math.exp(min((far - near) / self.scale, 700.0))) / self.scale
    ...         return slope, -slope
    >>> Logistic(scale=2.0).value(1.0, 1.0)
    0.6931471805599453
    """

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        dataclasses.dataclass(frozen=True)(cls)

    def __new__(cls, *_: object, **__: object) -> Self:
        # Not when the class is made: a class that travels to another process gets its methods only afterwards.
        for method in ("value", "slopes"):
            if getattr(cls, method) is getattr(Loss, method):
                raise TypeError(f"loss {cls.__name__} needs a method {method}(self, near, far)")
        return super().__new__(cls)

    def value(self, near: float, far: float) -> float:
        """What the comparison costs at these squared distances."""
        raise NotImplementedError

    def slopes(self, near: float, far: float) -> tuple[float, float]:
        """The derivatives of ``value`` with respect to ``near`` and to ``far``."""
        raise NotImplementedError

    @property
    def is_likelihood(self) -> bool:
        """Whether ``exp(-value)`` is the probability of an answer: that of both answers to a question is then 1.

        Examples
        --------
        >>> STE().is_likelihood, SOE().is_likelihood
        (True, False)
        """
        pairs = ((1.0, 1.0), (0.5, 2.0), (3.0, 0.1))
        sums = (math.exp(-self.value(*pair)) + math.exp(-self.value(*pair[::-1])) for pair in pairs)
        return all(abs(total - 1.0) < 1e-9 for total in sums)

    def in_dims(self, n_dims: int) -> Self:
        """The loss with parameters that depend on the number of dimensions filled in."""
        return self

    def in_kernels(self) -> "Loss":
        """The loss that kernels run: this one, or a faster one with the same values."""
        return self


class GNMDS(Loss):
    """Hinge on the squared distances (generalized non-metric MDS, Agarwal et al. 2007).

    ``max(0, near - far + margin)``

    Examples
    --------
    >>> GNMDS().value(1.0, 1.5), GNMDS().slopes(1.0, 1.5)
    (0.5, (1.0, -1.0))
    """

    margin: float = 1.0

    def __post_init__(self) -> None:
        positive(margin=self.margin)

    def value(self, near: float, far: float) -> float:
        return max(0.0, near - far + self.margin)

    def slopes(self, near: float, far: float) -> tuple[float, float]:
        slope = 1.0 if near - far + self.margin > 0.0 else 0.0
        return slope, -slope


class STE(Loss):
    """Logistic on the squared distances (stochastic triplet embedding, van der Maaten & Weinberger 2012).

    ``log(1 + exp(near - far))``

    Examples
    --------
    >>> round(STE().value(1.0, 1.0), 4), STE().slopes(1.0, 1.0)
    (0.6931, (0.5, -0.5))
    """

    # Both methods take the same exponential, which the compiler then evaluates once. The bound keeps it finite.
    def value(self, near: float, far: float) -> float:
        lead = min(far - near, 700.0)
        return max(math.log(1.0 + math.exp(lead)) - lead, 0.0)  # rounding may give a value just below 0

    def slopes(self, near: float, far: float) -> tuple[float, float]:
        slope = 1.0 / (1.0 + math.exp(min(far - near, 700.0)))
        return slope, -slope


class TSTE(Loss):
    """STE with the heavy tails of Student's t (van der Maaten & Weinberger 2012).

    ``log(1 + ((alpha + near) / (alpha + far)) ** ((alpha + 1) / 2))``; ``alpha`` is, unless given,
    the number of dimensions minus 1, at least 1.

    Examples
    --------
    >>> TSTE().in_dims(10)
    TSTE(alpha=9.0)
    >>> round(TSTE(alpha=1.0).value(1.0, 1.0), 4)
    0.6931
    """

    alpha: float = None  # type: ignore[assignment]  # None: from the number of dimensions

    def __post_init__(self) -> None:
        positive(alpha=self.alpha)

    def in_dims(self, n_dims: int) -> Self:
        return self if self.alpha is not None else dataclasses.replace(self, alpha=float(max(n_dims - 1, 1)))

    def in_kernels(self) -> Loss:
        whole = self.alpha is not None and float(self.alpha).is_integer()
        ours = type(self) is TSTE  # a subclass may have other values
        return WholeTSTE(self.alpha) if ours and whole and self.alpha < 63 else self

    def value(self, near: float, far: float) -> float:
        lead = min(0.5 * (self.alpha + 1.0) * math.log((self.alpha + far) / (self.alpha + near)), 700.0)
        return max(math.log(1.0 + math.exp(lead)) - lead, 0.0)  # rounding may give a value just below 0

    def slopes(self, near: float, far: float) -> tuple[float, float]:
        power = 0.5 * (self.alpha + 1.0)
        lead = min(power * math.log((self.alpha + far) / (self.alpha + near)), 700.0)
        weight = power / (1.0 + math.exp(lead))
        return weight / (self.alpha + near), -weight / (self.alpha + far)


def root_power(number: float, exponent: int) -> float:
    """``sqrt(number) ** exponent`` for an exponent from 0 to 63, by multiplications; at most 1e300.

    Examples
    --------
    >>> root_power(4.0, 3), root_power(9.0, 0), root_power(1e30, 63)
    (8.0, 1.0, 1e+300)
    """
    power, factor = 1.0, math.sqrt(number)
    for _ in range(6):
        power *= factor if exponent & 1 else 1.0
        factor *= factor
        exponent >>= 1
    return min(power, 1e300)


class WholeTSTE(Loss):
    """TSTE with a whole alpha, as it is unless given: the same values without the first logarithm and the exponential.

    (Its value is at most 690; with alpha = 9 it is reached where the near distance is about 1e60 times the far one.)

    Examples
    --------
    >>> TSTE(alpha=4.0).slopes(1.0, 1.0), TSTE(alpha=4.0).in_kernels().slopes(1.0, 1.0)
    ((0.25, -0.25), (0.25, -0.25))
    """

    alpha: float

    # The same power in both methods, which the compiler then evaluates once.
    def value(self, near: float, far: float) -> float:
        return math.log(1.0 + root_power((self.alpha + near) / (self.alpha + far), int(self.alpha) + 1))

    def slopes(self, near: float, far: float) -> tuple[float, float]:
        odds = root_power((self.alpha + near) / (self.alpha + far), int(self.alpha) + 1)
        weight = 0.5 * (self.alpha + 1.0) * odds / (1.0 + odds)
        return weight / (self.alpha + near), -weight / (self.alpha + far)


class CKL(Loss):
    """Negative log likelihood of the crowd kernel's answer model (Tamuz et al. 2011).

    ``log(near + far + 2 mu) - log(far + mu)``

    Examples
    --------
    >>> round(CKL().value(1.0, 1.0), 4), CKL(mu=1.0).slopes(1.0, 1.0)
    (0.6931, (0.25, -0.25))
    """

    mu: float = 0.05

    def __post_init__(self) -> None:
        positive(mu=self.mu)

    def value(self, near: float, far: float) -> float:
        return math.log(near + far + 2.0 * self.mu) - math.log(far + self.mu)

    def slopes(self, near: float, far: float) -> tuple[float, float]:
        both = 1.0 / (near + far + 2.0 * self.mu)
        return both, both - 1.0 / (far + self.mu)


class SOE(Loss):
    """Squared hinge on the distances themselves (soft ordinal embedding, Terada & von Luxburg 2014).

    ``max(0, sqrt(near) - sqrt(far) + margin) ** 2``

    Examples
    --------
    >>> SOE().value(4.0, 1.0), SOE().slopes(4.0, 1.0)
    (4.0, (1.0, -2.0))
    """

    margin: float = 1.0

    def __post_init__(self) -> None:
        positive(margin=self.margin)

    def value(self, near: float, far: float) -> float:
        violation = max(0.0, math.sqrt(near) - math.sqrt(far) + self.margin)
        return violation * violation

    def slopes(self, near: float, far: float) -> tuple[float, float]:
        # The floor keeps the slope of coincident points finite; their difference, and so the row gradient, is 0.
        near_distance = max(math.sqrt(near), 1e-150)
        far_distance = max(math.sqrt(far), 1e-150)
        violation = max(0.0, near_distance - far_distance + self.margin)
        return violation / near_distance, -violation / far_distance


LOSSES: dict[str, type[Loss]] = {"gnmds": GNMDS, "ckl": CKL, "ste": STE, "tste": TSTE, "soe": SOE}


def loss_named(loss: str | Loss | type[Loss]) -> Loss:
    """A loss from its name, its class or itself.

    Examples
    --------
    >>> loss_named("gnmds")
    GNMDS(margin=1.0)
    """
    return chosen(loss, LOSSES, Loss, "loss")
