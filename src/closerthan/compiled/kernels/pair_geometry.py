"""The geometry of a pair of objects in kernels: squared distance or dot product, chosen by the rule at compile time.

A choice rule turns a number that measures a pair into the logarithm of its similarity. This module says which number
that is, and how it depends on the two rows of the map; everything else about choices is independent of it.
"""

from typing import Any

from numba.extending import overload

from closerthan.compiled.compiling import KERNEL_OPTIONS, LossType, log_similarity, similarity_slope
from closerthan.compiled.simd import added, summed
from closerthan.losses import DotProduct


@summed(1)
def squared_distance(factors, i, j):
    """Return the squared distance of two rows."""
    return ((i - j) * (i - j),)


@summed(1)
def dot_product(factors, i, j):
    """Return the dot product of two rows."""
    return (i * j,)


@added
def distance_gradient(factors, i, j):
    """Add ``factor`` times half the gradient of the squared distance."""
    (factor,) = factors
    change = factor * (i - j)
    return change, -change


@added
def dot_gradient(factors, i, j):
    """Add ``factor`` times the gradient of the dot product."""
    (factor,) = factors
    return factor * j, factor * i


def measure(rule: Any, x: Any, pair: Any) -> float:
    """Return the number that the rule needs about a pair: its squared distance or dot product."""
    raise NotImplementedError("only for compiled code")


def add_measure_gradient(rule: Any, x: Any, pair: Any, out: Any, factor: float) -> None:
    """Add ``factor`` times the gradient of :func:`measure` to the two rows of ``out``."""
    raise NotImplementedError("only for compiled code")


def log_similarity_and_slope(rule: Any, measured: float) -> tuple[float, float]:
    """Return the logarithm of the similarity of a pair, and its derivative with respect to :func:`measure`."""
    raise NotImplementedError("only for compiled code")


def penalty_of(rule: Any) -> float:
    """Return the weight of the penalty on squared distances; 0 for a rule without distances."""
    raise NotImplementedError("only for compiled code")


def _is_dot_product(rule: Any) -> bool:
    return getattr(rule, "instance_class", None) is DotProduct


@overload(measure, strict=False, jit_options=KERNEL_OPTIONS)
def _measure(rule: Any, x: Any, pair: Any) -> Any:
    if isinstance(rule, LossType):
        return lambda rule, x, pair: squared_distance(x, pair, ())[0]
    return (lambda rule, x, pair: dot_product(x, pair, ())[0]) if _is_dot_product(rule) else None


@overload(add_measure_gradient, strict=False, jit_options=KERNEL_OPTIONS)
def _add_measure_gradient(rule: Any, x: Any, pair: Any, out: Any, factor: Any) -> Any:
    if isinstance(rule, LossType):
        return lambda rule, x, pair, out, factor: distance_gradient(x, pair, out, pair, (2.0 * factor,))
    if _is_dot_product(rule):
        return lambda rule, x, pair, out, factor: dot_gradient(x, pair, out, pair, (factor,))
    return None


@overload(log_similarity_and_slope, strict=False, jit_options=KERNEL_OPTIONS)
def _log_similarity_and_slope(rule: Any, measured: Any) -> Any:
    if isinstance(rule, LossType):
        return lambda rule, measured: (log_similarity(rule, measured), similarity_slope(rule, measured))
    return (lambda rule, measured: (rule.scale * measured, rule.scale)) if _is_dot_product(rule) else None


@overload(penalty_of, strict=False, jit_options=KERNEL_OPTIONS)
def _penalty_of(rule: Any) -> Any:
    if isinstance(rule, LossType):
        return lambda rule: rule.penalty_weight__
    return (lambda rule: 0.0) if _is_dot_product(rule) else None
