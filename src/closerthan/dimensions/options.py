"""Options of :func:`closerthan.sparse_dimensions`."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Self, TypedDict

from closerthan.checks import ParameterError, check_keywords, number, whole
from closerthan.comparisons.grouping import BY
from closerthan.registry import JsonObject

__all__ = ["SPARSE_DEFAULTS", "SparseOptions", "SparseSettings"]


class SparseOptions(TypedDict, total=False):
    """Keyword arguments of :func:`closerthan.sparse_dimensions`, which explains each."""

    penalty: float | None
    ridge: float
    n_refits: int
    held_out: float
    by: str
    tolerance: float
    max_iterations: int
    time_limit: float | None
    seed: int | None
    device: str
    n_threads: int | None
    progress: bool


@dataclasses.dataclass(frozen=True)
class SparseSettings:
    """Everything that determines sparse dimensions; :func:`closerthan.sparse_dimensions` explains each field.

    Examples
    --------
    >>> SparseSettings(n_dims=20).n_refits
    5
    >>> SparseSettings(held_out=0.9)
    Traceback (most recent call last):
    ...
    closerthan.checks.ParameterError: held_out is 0.9; it must be positive and at most 0.4, as in 0.1
    """

    n_dims: int = 60
    penalty: float | None = None
    ridge: float = 1.0
    n_refits: int = 5
    held_out: float = 0.1
    by: str = "auto"
    tolerance: float = 1e-5
    max_iterations: int = 500
    time_limit: float | None = None
    seed: int | None = 0

    def __post_init__(self) -> None:
        whole("n_dims", self.n_dims, least=1)
        whole("n_refits", self.n_refits, least=0)
        whole("max_iterations", self.max_iterations, least=1)
        if self.penalty is not None:
            number("penalty", self.penalty, lambda it: 0 <= it < math.inf, "be finite and not negative")
        number("ridge", self.ridge, lambda it: 0 <= it < math.inf, "be finite and not negative")
        number("held_out", self.held_out, lambda it: 0 < it <= 0.4, "be positive and at most 0.4, as in 0.1")
        number("tolerance", self.tolerance, lambda it: it >= 0, "not be negative")
        if self.time_limit is not None:
            number("time_limit", self.time_limit, lambda it: it > 0, "be a positive number of seconds")
        if self.seed is not None:
            whole("seed", self.seed, least=0)
        if self.by not in BY or self.by == "comparisons":
            raise ParameterError("by", self.by, "it must be a unit of whole answers: auto, answers, blocks or people")

    @classmethod
    def of(cls, n_dims: int | None, options: Mapping[str, Any]) -> Self:
        """Return the settings that a function was called with; ``device``, ``n_threads`` and ``progress`` are ignored.

        Examples
        --------
        >>> SparseSettings.of(None, {"penalties": 0.01})
        Traceback (most recent call last):
        ...
        TypeError: unexpected keyword argument 'penalties'; did you mean 'penalty'?
        """
        check_keywords(options, SparseOptions.__annotations__)
        settings = {name: value for name, value in options.items() if name in cls.__dataclass_fields__}
        return cls(**settings) if n_dims is None else cls(n_dims, **settings)

    def to_data(self) -> JsonObject:
        """Return the settings as plain data."""
        return dataclasses.asdict(self)


SPARSE_DEFAULTS = {
    **{field.name: field.default for field in dataclasses.fields(SparseSettings)},
    "device": "cpu",
    "progress": False,
}
"""Defaults of :class:`SparseOptions`."""
