"""Checks of user-defined losses: the slopes are the derivatives of the value and have the right signs."""

import itertools
import math
import warnings
import weakref
from collections.abc import Iterator

import numpy as np

from closerthan.checks import checked
from closerthan.comparisons import Comparisons
from closerthan.losses import Loss, loss_named
from closerthan.objective.cpu.objective import CPU
from closerthan.registry import is_library_class

__all__ = ["check_loss", "warn_of_slopes"]

# Squared distances; none is a round number, at which a loss may have a corner.
_DISTANCES = (0.0137, 0.217, 0.873, 1.31, 3.73, 11.9)
_EXTREMES = (0.0, 1e-8, 1e4, 1e8)
_STEP = 1e-5  # step of a finite difference, relative to the distance
_CLOSE = 1e-3  # relative tolerance; wrong slopes differ by more

_checked_classes: "weakref.WeakSet[type[Loss]]" = weakref.WeakSet()


@checked
def check_loss(loss: str | Loss | type[Loss], n_dims: int = 2) -> None:
    """Raise an error that describes the first problem of a user-defined loss, if there is one.

    Its slopes must be the derivatives of its value (by finite differences); both must be finite for all squared
    distances, including 0 and very large ones; the value must not decrease with the distance of the near pair, nor
    increase with that of the far pair; and the compiled loss must give the same numbers.

    Parameters
    ----------
    loss
        An object, a class or a name.
    n_dims
        For losses with parameters that depend on the number of dimensions.

    Examples
    --------
    >>> import closerthan as ct
    >>> class Hinge(ct.Loss):
    ...     def value(self, near, far):
    ...         return max(0.0, near - far + 1)
    ...
    ...     def slopes(self, near, far):
    ...         slope = 1.0 if near > far else 0.0
    ...         return slope, -slope
    >>> ct.check_loss(Hinge)
    Traceback (most recent call last):
    ...
    ValueError: loss Hinge: at near = 0.0137 and far = 0.0137 the slope in near is 0, but the value changes by 1
    """
    checked_loss = loss_named(loss).in_dims(n_dims)
    checks = (_extremes, _slopes, _directions, _compiled)
    for problem in itertools.chain.from_iterable(check(checked_loss) for check in checks):
        raise ValueError(f"loss {type(checked_loss).__name__}: {problem}")


def warn_of_slopes(loss: Loss) -> None:
    """Warn, once per class, of slopes that do not match the value; losses of this package are not checked."""
    kind = type(loss)
    if is_library_class(kind) or kind in _checked_classes:
        return
    _checked_classes.add(kind)
    try:
        problem = next(_slopes(loss), None)
    except Exception:  # an error in the user's code, which the compiler reports, or which compiled code ignores
        return
    if problem is not None:
        warnings.warn(
            f"loss {kind.__name__}: {problem}; a fit follows the slopes, so the map may be poor; correct them "
            "until closerthan.check_loss raises no error",
            stacklevel=3,
        )


def _slopes(loss: Loss) -> Iterator[str]:
    for near, far in itertools.product(_DISTANCES, repeat=2):
        value = loss.value(near, far)
        for by, slope, distance in zip(("near", "far"), loss.slopes(near, far), (near, far), strict=True):
            step = _STEP * distance
            more, less = (
                loss.value(near + (by == "near") * sign * step, far + (by == "far") * sign * step) for sign in (1, -1)
            )
            below, above = sorted(((value - less) / step, (more - value) / step))
            size = max(abs(below), abs(above), abs(slope))
            allowed = _CLOSE * size + 1e-14 * abs(value) / step + 1e-9
            if not below - allowed <= slope <= above + allowed:  # at a corner, any slope between the two is valid
                yield (
                    f"at near = {near:g} and far = {far:g} the slope in {by} is {slope:.6g}, but the value changes by "
                    f"{(below + above) / 2:.6g}"
                )


def _extremes(loss: Loss) -> Iterator[str]:
    for near, far in itertools.product(sorted((*_DISTANCES, *_EXTREMES)), repeat=2):
        for name in ("value", "slopes"):
            try:
                finite = bool(np.isfinite(getattr(loss, name)(near, far)).all())
            except (ArithmeticError, ValueError):
                finite = False
            if not finite:
                yield (
                    f"{name}({near:g}, {far:g}) is not a finite number; squared distances can be 0 and very large, so "
                    "add a small number or limit large values"
                )


def _directions(loss: Loss) -> Iterator[str]:
    for near, far in itertools.product(_DISTANCES, repeat=2):
        by_near, by_far = loss.slopes(near, far)
        if by_near < 0 or by_far > 0:
            which, moves = ("near", "falls") if by_near < 0 else ("far", "rises")
            yield (
                f"at near = {near:g} and far = {far:g} the value {moves} as {which} grows; it must be large where the "
                "near pair is farther apart than the far pair"
            )


def _compiled(loss: Loss) -> Iterator[str]:
    """Compare the compiled loss with Python on three objects on a line for each pair of distances."""
    squared = np.array(list(itertools.product(_DISTANCES, repeat=2)))
    places = np.column_stack([np.zeros(len(squared)), np.sqrt(squared)])
    rows = np.arange(places.size).reshape(places.shape)
    with CPU(n_threads=1).objective(Comparisons.from_triplets(rows), loss) as objective:
        point = objective.at(places.reshape(-1, 1))
    value = np.mean([loss.value(near, far) for near, far in squared.tolist()])
    slopes = np.array([loss.slopes(near, far) for near, far in squared.tolist()])
    gradient = point.gradient.reshape(places.shape)[:, 1:] * len(squared)
    if not math.isclose(point.value, value, rel_tol=1e-6, abs_tol=1e-9):
        yield f"its mean value is {point.value:.6g} when compiled, but {value:.6g} in Python"
    if not np.allclose(gradient, 2 * slopes * places[:, 1:], rtol=1e-6, atol=1e-9):
        yield "its slopes when compiled differ from those in Python"
