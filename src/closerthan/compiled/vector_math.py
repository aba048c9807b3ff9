"""exp and log for kernels: some multiplications each, written out where they are used.

Compiled code would call the C library for them, one number at a time. Written out, a loop over many comparisons becomes
vector code that works on several at once, and nothing has to be put aside for a call. Inside kernels a loss's ``math``
is this module (see :mod:`closerthan.compiled.compiling`); what it does not define is taken from the real one.
"""

import math
from typing import Any

import llvmlite.ir as ir
import numba
import numpy as np
from numba.core import types
from numba.extending import intrinsic

from closerthan.compiled.simd import FAST_SUMS


def __getattr__(name: str) -> Any:
    return getattr(math, name)


# The same on every machine: compiled code is kept by what the sources say. A test works the literals out again.
LOWEST, HIGHEST = -708.0, 709.0  # exp of less loses precision, of more is infinite
LOG2_E = 1.4426950408889634
LN_2 = 0.6931471805599453
ROOT_HALF = 0x3FE6A09E667F3BCD  # the bits of that number
EXP_SERIES = tuple(1.0 / math.factorial(power) for power in range(14))
# log((1 + s) / (1 - s)) = 2 s + s^3 (2/3 + 2/5 s^2 + 2/7 s^4 ...); for |s| <= 0.172 seven terms, well chosen, will do.
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


@numba.njit(forceinline=True, error_model="numpy", fastmath=set(FAST_SUMS))
def exp(x):
    """``e ** x`` up to 2e-15 of it where ``|x| < 30``, and to 5e-14; but never less than 3e-308 or more than 8e307.

    ``x = k ln 2 + r`` with a small r: ``e ** r`` by its series, times ``2 ** k``, whose bits are k's.
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


@numba.njit(forceinline=True, error_model="numpy", fastmath=set(FAST_SUMS))
def log(x):
    """The natural logarithm up to 1e-15 of it; not a number where x is not positive and finite.

    ``x = 2 ** k m`` with m around 1, and ``log m`` is a series in the odd powers of ``s = (m - 1) / (m + 1)``.
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
