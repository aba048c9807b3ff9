"""Inlined exp and log for kernels, computed by a few multiplications each.

Otherwise compiled code would call the C library, one number at a time. Inlined, a loop over many comparisons becomes
vector code that handles several at once, and no registers have to be saved for a call. Inside kernels, the ``math`` of
a loss is this module (see :mod:`closerthan.compiled.compiling`); names that it does not define come from the real one.
"""

import math
from typing import Any

import llvmlite.ir as ir
import numba
import numpy as np
from numba.core import types
from numba.extending import intrinsic

from closerthan.compiled.simd import FAST_SUMS

OPTIONS: Any = {
    "forceinline": True,
    "error_model": "numpy",
    "fastmath": set(FAST_SUMS),
    "no_cpython_wrapper": True,  # only kernels call these functions
    "no_cfunc_wrapper": True,
}


def __getattr__(name: str) -> Any:
    return getattr(math, name)


# Literals, so that they are the same on every machine: the cache of compiled code is keyed by the sources. A test
# recomputes them.
LOWEST, HIGHEST = -708.0, 709.0  # exp loses precision below this range and overflows above it
LOG2_E = 1.4426950408889634
LN_2 = 0.6931471805599453
ROOT_HALF = 0x3FE6A09E667F3BCD  # the bits of sqrt(1/2)
EXP_SERIES = tuple(1.0 / math.factorial(power) for power in range(14))
# log((1 + s) / (1 - s)) = 2 s + s^3 (2/3 + 2/5 s^2 + 2/7 s^4 ...). For |s| <= 0.172 seven terms with coefficients
# fitted to that range are accurate enough.
LOG_SERIES = (
    0.6666666666666672,
    0.3999999999986694,
    0.2857142863886719,
    0.2222220928268686,
    0.18183009524694055,
    0.15328107763413346,
    0.1465719988192335,
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


@numba.njit(**OPTIONS)
def exp(x):
    """Return ``e ** x``, limited to the range from 3e-308 to 8e307.

    The relative error is at most 2e-15 where ``|x| < 30``, and at most 5e-14 elsewhere. With ``x = k ln 2 + r`` and a
    small r, the result is the series of ``e ** r`` times ``2 ** k``, whose bits follow from k.
    """
    high = HIGHEST if x > HIGHEST else x
    bounded = LOWEST if high < LOWEST else high
    k = np.floor(LOG2_E * bounded + 0.5)
    r = bounded - k * LN_2
    c = EXP_SERIES
    r2 = r * r
    r4 = r2 * r2
    first = (1.0 + r) + r2 * (c[2] + c[3] * r)
    middle = (c[4] + c[5] * r) + r2 * (c[6] + c[7] * r)
    last = (c[8] + c[9] * r) + r2 * (c[10] + c[11] * r) + r4 * (c[12] + c[13] * r)
    return (first + r4 * (middle + r4 * last)) * _number((np.int64(k) + 1023) << 52)


@numba.njit(**OPTIONS)
def log(x):
    """Return the natural logarithm with a relative error of at most 1e-15; NaN unless x is positive and finite.

    With ``x = 2 ** k m`` and m near 1, ``log m`` is a series in the odd powers of ``s = (m - 1) / (m + 1)``.
    """
    bits = _bits(x)
    exponent = (bits - ROOT_HALF) >> 52
    m = _number(bits - (exponent << 52))
    k = float(exponent)
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    z2 = z * z
    c = LOG_SERIES
    series = (c[0] + c[1] * z) + z2 * ((c[2] + c[3] * z) + z2 * ((c[4] + c[5] * z) + z2 * c[6]))
    usual = k * LN_2 + (2.0 * s + s * z * series)
    return usual if 0.0 < x < np.inf else np.nan
