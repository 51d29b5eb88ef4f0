"""Decimals in a text, rounded correctly, as float() rounds them; in compiled code.

The digits make an integer m < 10^18. m = a + b exactly, a = fl(m), and 10^k = p + q but for 2^-106 of it, for k <= K.
So m * 10^k or m / 10^k is found as a sum of two floats that is off by 2^-98 of it at most (Dekker, A floating-point
technique for extending the available precision, 1971). Its first part is the rounded value unless the second one is so
near to half a unit in the last place that the error could decide. That, and what has more digits or a larger exponent,
is left to float(): a few numbers in most files.
"""

from fractions import Fraction

import numpy as np
from numba import njit

NEWLINE, HASH, POINT, PLUS, MINUS, ZERO, NINE = b"\n#.+-09"
K = 60
POWERS = np.array([float(10**k) for k in range(K + 1)])
RESTS = np.array([float(Fraction(10**k) - Fraction(float(10**k))) for k in range(K + 1)])
EXACT = 22
"""Powers of ten up to this one are floats, as integers up to 2^53 are: then one operation rounds correctly (Clinger,
How to read floating point numbers accurately, 1990)."""
DOUBT = 2.0**-40
"""The share of the second part that its error is far below."""


@njit(cache=True)
def ends(c):
    """Whether a character ends a token."""
    return c == 32 or 9 <= c <= 13 or c == HASH


@njit(cache=True)
def number(text, i):
    """(value, end) of the decimal at i, NaN if float() must read it, end = -1 if it is none."""
    negative = text[i] == MINUS
    if negative or text[i] == PLUS:
        i += 1
    m, start, exact = 0, i, True
    while ZERO <= text[i] <= NINE:
        if m < 10**17:
            m = 10 * m + (text[i] - ZERO)
        else:
            exact = False
        i += 1
    digits, exponent = i - start, 0
    if text[i] == POINT:
        i += 1
        start = i
        while ZERO <= text[i] <= NINE:
            if m < 10**17:
                m = 10 * m + (text[i] - ZERO)
            else:
                exact = False
            i += 1
        exponent = start - i
        digits -= exponent
    if digits == 0:
        return np.nan, -1
    if text[i] == 69 or text[i] == 101:  # E or e
        i, power = _power(text, i + 1)
        if i < 0:
            return np.nan, -1
        exponent += power
    if not ends(text[i]):
        return np.nan, -1
    if not exact or abs(exponent) > K:
        return np.nan, i
    value = _scaled(m, exponent)
    return (-value if negative else value), i


@njit(cache=True)
def _power(text, i):
    """(end, value) of the exponent at i; end = -1 if it is none."""
    sign, power = -1 if text[i] == MINUS else 1, 0
    if text[i] == MINUS or text[i] == PLUS:
        i += 1
    if not ZERO <= text[i] <= NINE:
        return -1, 0
    while ZERO <= text[i] <= NINE:
        power = min(10 * power + (text[i] - ZERO), 10**6)
        i += 1
    return i, sign * power


@njit(cache=True)
def _scaled(m, exponent):
    """m * 10^exponent, rounded; NaN where that is in doubt."""
    k = abs(exponent)
    if m <= 2**53 and k <= EXACT:
        return m * POWERS[k] if exponent >= 0 else m / POWERS[k]
    a = np.float64(m)
    b, p, q = np.float64(m - np.int64(a)), POWERS[k], RESTS[k]
    if exponent >= 0:
        high, low = _product(a, p)
        low += a * q + b * p
    else:
        high = a / p
        times, rest = _product(high, p)
        low = ((a - times) - rest + b - high * q) / p
    value = high + low
    rest = low - (value - high)
    return value if value + rest * (1.0 + DOUBT) == value else np.nan


@njit(cache=True)
def _product(x, z):
    """x z as a sum of two floats, exactly (Dekker)."""
    high = x * z
    c, e = 134217729.0 * x, 134217729.0 * z  # 2^27 + 1 splits a float into halves
    x1, z1 = c - (c - x), e - (e - z)
    x2, z2 = x - x1, z - z1
    return high, x2 * z2 - (((high - x1 * z1) - x2 * z1) - x1 * z2)
