"""exp and log for kernels: some multiplications each, written out where they are used.

Compiled code would call the C library for them, one number at a time. Written out, a loop over many comparisons becomes
vector code that works on several at once, and nothing has to be put aside for a call. Inside kernels a loss's ``math``
is this module (see :mod:`closerthan.compiling`); what it does not define is taken from the real one.
"""

import math
from decimal import Decimal
from typing import Any

import llvmlite.ir as ir
import numba
import numpy as np
from numba.core import types
from numba.extending import intrinsic
from numpy.polynomial import Chebyshev, Polynomial


def __getattr__(name: str) -> Any:
    return getattr(math, name)


_LOWEST, _HIGHEST = -708.0, 709.0  # exp of less loses precision, of more is infinite
_LOG2_E = 1.0 / math.log(2.0)
_LN_2 = math.floor(2.0**33 * math.log(2.0)) / 2.0**33  # few bits, so that multiples of it are exact
_LN_2_REST = float(Decimal(2).ln() - Decimal(_LN_2))
_ROOT_HALF = int(np.float64(math.sqrt(0.5)).view(np.int64))

_EXP_SERIES = tuple(1.0 / math.factorial(power) for power in range(14))
# log((1 + s) / (1 - s)) = 2 s + s^3 (2/3 + 2/5 s^2 + 2/7 s^4 ...); for |s| <= 0.172 seven terms, well chosen, will do.
_LOG_SERIES = tuple(
    Chebyshev.interpolate(Polynomial([2.0 / (2 * n + 3) for n in range(25)]), deg=6, domain=[0.0, 0.0295])
    .convert(kind=Polynomial)
    .coef.tolist()
)


@intrinsic
def _bits(typing_context: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), generate


@intrinsic
def _number(typing_context: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), generate


def _written_out(function: Any) -> Any:
    return numba.njit(inline="always", error_model="numpy", fastmath={"contract"})(function)


@_written_out
def exp(x):
    """``e ** x``, but never less than 1e-307 or more than 1e308.

    ``x = k ln 2 + r`` with a small r: ``e ** r`` by its series, times ``2 ** k``, whose bits are k's.
    """
    high = _HIGHEST if x > _HIGHEST else x
    bounded = _LOWEST if high < _LOWEST else high
    k = np.floor(_LOG2_E * bounded + 0.5)
    r = (bounded - k * _LN_2) - k * _LN_2_REST
    c = _EXP_SERIES
    r2 = r * r
    r4 = r2 * r2
    first = (1.0 + r) + r2 * (c[2] + c[3] * r)
    middle = (c[4] + c[5] * r) + r2 * (c[6] + c[7] * r)
    last = (c[8] + c[9] * r) + r2 * (c[10] + c[11] * r) + r4 * (c[12] + c[13] * r)
    return (first + r4 * (middle + r4 * last)) * _number((np.int64(k) + 1023) << 52)


@_written_out
def log(x):
    """The natural logarithm; not a number where x is not positive and finite.

    ``x = 2 ** k m`` with m around 1, and ``log m`` is a series in the odd powers of ``s = (m - 1) / (m + 1)``.
    """
    bits = _bits(x)
    exponent = (bits - _ROOT_HALF) >> 52
    m = _number(bits - (exponent << 52))
    k = float(exponent)
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    z2 = z * z
    c = _LOG_SERIES
    series = (c[0] + c[1] * z) + z2 * ((c[2] + c[3] * z) + z2 * ((c[4] + c[5] * z) + z2 * c[6]))
    usual = k * _LN_2 + (2.0 * s + (s * z * series + k * _LN_2_REST))
    return usual if 0.0 < x < np.inf else np.nan
