"""Loss functions: the cost of one comparison as a function of two squared distances.

A comparison q = (i, j, l, k) states that the *near* pair (i, j) is closer than the *far* pair (l, k); a triplet
is the case l = i. Let x_i denote the row of object i in the map X, and let

    near = |x_i - x_j|^2,        far = |x_l - x_k|^2.

Every fit minimises the mean loss over the set Q of comparisons, weighted if the answers have weights:

    f(X) = (1 / |Q|) sum_q loss(near_q, far_q).

The built-in losses are

    =====  ====================================================  ==========================================
    name   loss(near, far)                                       reference
    =====  ====================================================  ==========================================
    gnmds  max(0, near - far + margin)                           Agarwal et al. (2007)
    ste    log(1 + exp(near - far))                              van der Maaten & Weinberger (2012)
    tste   log(1 + ((a + near) / (a + far))^((a + 1) / 2))       van der Maaten & Weinberger (2012)
    ckl    log(near + far + 2 mu) - log(far + mu)                Tamuz et al. (2011)
    soe    max(0, sqrt(near) - sqrt(far) + margin)^2             Terada & von Luxburg (2014)
    =====  ====================================================  ==========================================

They follow two ideas. STE, t-STE and CKL are negative log-likelihoods: ``exp(-loss)`` is the probability of the
observed answer under a model in which people err more often the more similar the two distances are. STE puts a
Gaussian kernel on the distances and t-STE a Student-t kernel, whose heavy tails bound the influence of answers that
contradict the map; CKL depends, apart from ``mu``, only on the ratio of the distances. GNMDS and SOE are hinges: a
comparison costs nothing once the far pair is farther by a margin. GNMDS measures the violation in squared
distances and grows linearly with it; SOE measures it in distances and grows quadratically.

STE, t-STE and CKL are moreover instances of Luce's choice rule with a similarity g, which extends them to choices among
more than two pairs (:mod:`closerthan.accuracy`):

    loss(near, far) = -log(g(near) / (g(near) + g(far))),
    log g(d^2) = -d^2 (ste),   -(a + 1) / 2 log(1 + d^2 / a) (tste),   -log(mu + d^2) (ckl).

A loss only has to provide its value and its two partial derivatives (the *slopes*) s_near = d loss / d near and
s_far = d loss / d far. The gradient with respect to the map follows by the chain rule and is implemented once for
all losses, in :mod:`closerthan.compiled.kernels.rows`:

    x_i: +2 s_near (x_i - x_j)        x_l: +2 s_far (x_l - x_k)
    x_j: -2 s_near (x_i - x_j)        x_k: -2 s_far (x_l - x_k)

A loss is therefore a class with its parameters as annotated fields and two methods on plain numbers,
``value(near, far)`` and ``slopes(near, far)``. Both run as ordinary Python and as compiled code inside the kernels,
where ``math.exp`` and ``math.log`` are those of :mod:`closerthan.compiled.vector_math`.

References
----------
- S. Agarwal, J. Wills, L. Cayton, G. Lanckriet, D. Kriegman, S. Belongie: Generalized non-metric multidimensional
  scaling. AISTATS 2007.
- O. Tamuz, C. Liu, S. Belongie, O. Shamir, A. T. Kalai: Adaptively learning the crowd kernel. ICML 2011.
- L. van der Maaten, K. Weinberger: Stochastic triplet embedding. IEEE Workshop on Machine Learning for Signal
  Processing 2012.
- Y. Terada, U. von Luxburg: Local ordinal embedding. ICML 2014.
"""

import contextlib
import dataclasses
import math
from typing import NamedTuple, Self, dataclass_transform

from closerthan.checks import positive
from closerthan.registry import resolve

__all__ = [
    "CKL",
    "GNMDS",
    "LOSSES",
    "SOE",
    "STE",
    "TSTE",
    "DotProduct",
    "Loss",
    "Penalized",
    "loss_named",
]


@dataclass_transform(frozen_default=True)
class Loss:
    """Base class of all losses; derive from it to add your own.

    A subclass becomes a frozen dataclass: annotate its parameters (numbers), give them defaults, and
    write ``value`` and ``slopes`` with :mod:`math` or NumPy scalar functions. :func:`closerthan.check_loss` checks
    that the two methods are consistent.

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
        # Checked on instantiation rather than on class creation, because a class that is unpickled in another process
        # receives its methods only after it has been created.
        for method in ("value", "slopes"):
            if getattr(cls, method) is getattr(Loss, method):
                raise TypeError(f"loss {cls.__name__} needs a method {method}(self, near, far)")
        return super().__new__(cls)

    def value(self, near: float, far: float) -> float:
        """Return the loss of a comparison with these squared distances."""
        raise NotImplementedError

    def slopes(self, near: float, far: float) -> tuple[float, float]:
        """Return the partial derivatives of ``value`` with respect to ``near`` and ``far``."""
        raise NotImplementedError

    def log_similarity(self, squared: float) -> float:
        """Return the logarithm of the similarity g of a pair with this squared distance.

        A loss with a similarity is a choice rule: ``value(near, far) = -log(g(near) / (g(near) + g(far)))``, and the
        same g gives probabilities of choices among more than two pairs (Luce 1959). Other losses have none.
        """
        raise NotImplementedError

    def similarity_slope(self, squared: float) -> float:
        """Return the derivative of :meth:`log_similarity` with respect to the squared distance."""
        raise NotImplementedError

    @property
    def is_choice_rule(self) -> bool:
        """True if the loss has a similarity, so that it can predict choices among any number of pairs.

        Examples
        --------
        >>> CKL().is_choice_rule, GNMDS().is_choice_rule
        (True, False)
        """
        return type(self).log_similarity is not Loss.log_similarity

    @property
    def is_likelihood(self) -> bool:
        """True if ``exp(-value)`` is the probability of an answer, so that it sums to 1 over both possible answers.

        Examples
        --------
        >>> STE().is_likelihood, SOE().is_likelihood
        (True, False)
        """
        pairs = ((1.0, 1.0), (0.5, 2.0), (3.0, 0.1))
        sums = (math.exp(-self.value(*pair)) + math.exp(-self.value(*pair[::-1])) for pair in pairs)
        return all(abs(total - 1.0) < 1e-9 for total in sums)

    def in_dims(self, n_dims: int) -> Self:
        """Return the loss with those parameters set that depend on the number of dimensions."""
        return self

    def in_kernels(self) -> "Loss":
        """Return the loss that the kernels evaluate: this one, or a faster one with the same values."""
        return self


class GNMDS(Loss):
    """Hinge loss on squared distances (generalized non-metric MDS, Agarwal et al. 2007).

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
    """Logistic loss on squared distances (stochastic triplet embedding, van der Maaten & Weinberger 2012).

    ``log(1 + exp(near - far))``

    Examples
    --------
    >>> round(STE().value(1.0, 1.0), 4), STE().slopes(1.0, 1.0)
    (0.6931, (0.5, -0.5))
    """

    # Both methods use the same exponential, so the compiler evaluates it once. The bound of 700 keeps it finite.
    def value(self, near: float, far: float) -> float:
        lead = min(far - near, 700.0)
        return max(math.log(1.0 + math.exp(lead)) - lead, 0.0)  # rounding may give a value just below 0

    def slopes(self, near: float, far: float) -> tuple[float, float]:
        slope = 1.0 / (1.0 + math.exp(min(far - near, 700.0)))
        return slope, -slope

    def log_similarity(self, squared: float) -> float:
        return -squared

    def similarity_slope(self, squared: float) -> float:
        return -1.0


class TSTE(Loss):
    """Stochastic triplet embedding with a heavy-tailed Student-t kernel (van der Maaten & Weinberger 2012).

    ``log(1 + ((alpha + near) / (alpha + far)) ** ((alpha + 1) / 2))``; ``alpha`` defaults to the number of
    dimensions minus 1, but at least 1.

    Examples
    --------
    >>> TSTE().in_dims(10)
    TSTE(alpha=9.0)
    >>> round(TSTE(alpha=1.0).value(1.0, 1.0), 4)
    0.6931
    """

    alpha: float = None  # type: ignore[assignment]  # None: set from the number of dimensions

    def __post_init__(self) -> None:
        positive(alpha=self.alpha)

    def in_dims(self, n_dims: int) -> Self:
        return self if self.alpha is not None else dataclasses.replace(self, alpha=float(max(n_dims - 1, 1)))

    def in_kernels(self) -> Loss:
        whole = self.alpha is not None and float(self.alpha).is_integer()
        overridden = type(self) is not TSTE  # a subclass may define other values
        return WholeTSTE(self.alpha) if whole and not overridden and self.alpha < 63 else self

    def value(self, near: float, far: float) -> float:
        lead = min(0.5 * (self.alpha + 1.0) * math.log((self.alpha + far) / (self.alpha + near)), 700.0)
        return max(math.log(1.0 + math.exp(lead)) - lead, 0.0)  # rounding may give a value just below 0

    def slopes(self, near: float, far: float) -> tuple[float, float]:
        power = 0.5 * (self.alpha + 1.0)
        lead = min(power * math.log((self.alpha + far) / (self.alpha + near)), 700.0)
        weight = power / (1.0 + math.exp(lead))
        return weight / (self.alpha + near), -weight / (self.alpha + far)

    def log_similarity(self, squared: float) -> float:
        return -0.5 * (self.alpha + 1.0) * math.log(1.0 + squared / self.alpha)

    def similarity_slope(self, squared: float) -> float:
        return -0.5 * (self.alpha + 1.0) / (self.alpha + squared)


def root_power(number: float, exponent: int) -> float:
    """Return ``sqrt(number) ** exponent``, at most 1e300, by repeated squaring; the exponent is between 0 and 63.

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
    """t-STE with an integer alpha (the default): the same values, computed with one logarithm and no exponential.

    The value is capped at about 690; with alpha = 9 that happens where ``(alpha + near) / (alpha + far)`` is 1e60.

    Examples
    --------
    >>> TSTE(alpha=4.0).slopes(1.0, 1.0), TSTE(alpha=4.0).in_kernels().slopes(1.0, 1.0)
    ((0.25, -0.25), (0.25, -0.25))
    """

    alpha: float

    # Both methods use the same power, so the compiler evaluates it once.
    def value(self, near: float, far: float) -> float:
        return math.log(1.0 + root_power((self.alpha + near) / (self.alpha + far), int(self.alpha) + 1))

    def slopes(self, near: float, far: float) -> tuple[float, float]:
        odds = root_power((self.alpha + near) / (self.alpha + far), int(self.alpha) + 1)
        weight = 0.5 * (self.alpha + 1.0) * odds / (1.0 + odds)
        return weight / (self.alpha + near), -weight / (self.alpha + far)

    def log_similarity(self, squared: float) -> float:
        return -0.5 * (self.alpha + 1.0) * math.log(1.0 + squared / self.alpha)

    def similarity_slope(self, squared: float) -> float:
        return -0.5 * (self.alpha + 1.0) / (self.alpha + squared)


class CKL(Loss):
    """Negative log-likelihood of the crowd kernel's response model (Tamuz et al. 2011).

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
        slope_near = 1.0 / (near + far + 2.0 * self.mu)
        return slope_near, slope_near - 1.0 / (far + self.mu)

    def log_similarity(self, squared: float) -> float:
        return -math.log(self.mu + squared)

    def similarity_slope(self, squared: float) -> float:
        return -1.0 / (self.mu + squared)


class SOE(Loss):
    """Squared hinge loss on unsquared distances (soft ordinal embedding, Terada & von Luxburg 2014).

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
        # The lower bound keeps the slopes finite where points coincide; there the difference, and with it the
        # gradient, is 0 anyway.
        near_distance = max(math.sqrt(near), 1e-150)
        far_distance = max(math.sqrt(far), 1e-150)
        violation = max(0.0, near_distance - far_distance + self.margin)
        return violation / near_distance, -violation / far_distance


class Penalized(Loss):
    """A loss plus a penalty on the squared distances of its pairs: ``loss(near, far) + weight * (near + far)``.

    Examples
    --------
    >>> Penalized(GNMDS(), 0.5).value(1.0, 1.5), Penalized(GNMDS(), 0.5).slopes(1.0, 1.5)
    (1.75, (1.5, -0.5))
    """

    loss: Loss
    weight: float

    @property
    def is_likelihood(self) -> bool:
        return self.loss.is_likelihood

    def in_dims(self, n_dims: int) -> Self:
        return dataclasses.replace(self, loss=self.loss.in_dims(n_dims))

    def in_kernels(self) -> Loss:
        return dataclasses.replace(self, loss=self.loss.in_kernels())

    @property
    def is_choice_rule(self) -> bool:
        return self.loss.is_choice_rule

    def log_similarity(self, squared: float) -> float:
        return self.loss.log_similarity(squared)

    def similarity_slope(self, squared: float) -> float:
        return self.loss.similarity_slope(squared)

    def value(self, near: float, far: float) -> float:
        return self.loss.value(near, far) + self.weight * (near + far)

    def slopes(self, near: float, far: float) -> tuple[float, float]:
        slope_near, slope_far = self.loss.slopes(near, far)
        return slope_near + self.weight, slope_far + self.weight


class DotProduct(NamedTuple):
    """Choice rule for dimensions with a meaning: the similarity of a pair is ``exp(scale * x_i . x_j)``.

    It takes the place of a loss where whole answers are fitted as choices among pairs. The dot product depends on the
    origin and the axes of a map, so it is not a loss: losses are functions of distances.

    References
    ----------
    M. N. Hebart, C. Y. Zheng, F. Pereira, C. I. Baker: Revealing the multidimensional mental representations of natural
    objects underlying human similarity judgements. Nature Human Behaviour 4, 2020.
    """

    scale: float = 1.0


def without_penalty(loss: Loss) -> Loss:
    """Return the loss that a penalty was added to, or the loss itself if it has none.

    Examples
    --------
    >>> without_penalty(Penalized(STE(), 0.1)), without_penalty(STE())
    (STE(), STE())
    """
    return loss.loss if isinstance(loss, Penalized) else loss


def penalty_weight(loss: Loss) -> float:
    """Return the weight of the penalty that a loss carries, or 0 if it has none.

    Examples
    --------
    >>> penalty_weight(Penalized(STE(), 0.1)), penalty_weight(STE())
    (0.1, 0.0)
    """
    return float(loss.weight) if isinstance(loss, Penalized) else 0.0


LOSSES: dict[str, type[Loss]] = {"gnmds": GNMDS, "ckl": CKL, "ste": STE, "tste": TSTE, "soe": SOE}


def loss_named(loss: str | Loss | type[Loss]) -> Loss:
    """Return the loss for a name, a class or an instance; a number after the name sets the loss's parameter.

    Examples
    --------
    >>> loss_named("gnmds"), loss_named("tste-4")
    (GNMDS(margin=1.0), TSTE(alpha=4.0))
    """
    if isinstance(loss, str) and loss not in LOSSES:
        name, _, number = loss.partition("-")
        fields = dataclasses.fields(LOSSES[name]) if name in LOSSES else ()  # type: ignore[arg-type]
        with contextlib.suppress(ValueError):
            parameters = {field.name: float(number) for field in fields}
            if len(parameters) == 1:
                return LOSSES[name](**parameters)
    return resolve(loss, LOSSES, Loss, "loss")


def name_with_parameter(loss: Loss) -> str | None:
    """Return the name from which :func:`loss_named` makes this loss; None if there is none.

    Examples
    --------
    >>> name_with_parameter(TSTE(alpha=4.0)), name_with_parameter(STE())
    ('tste-4', 'ste')
    """
    for name, loss_class in LOSSES.items():
        if type(loss) is loss_class:
            numbers = [getattr(loss, field.name) for field in dataclasses.fields(loss_class)]  # type: ignore[arg-type]
            candidate = name + "".join(f"-{number:g}" for number in numbers if number is not None)
            return candidate if loss_named(candidate) == loss else None
    return None
