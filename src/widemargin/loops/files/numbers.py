"""Parses decimal numbers to the nearest double, exactly as Python's `float` does.

A number is read as digits times a power of ten, d * 10^e. If d < 2^53 and |e| <= 22 then both are
exact doubles, and one multiplication or division rounds once: the result is correct. Otherwise d is
multiplied by a 128-bit approximation of 10^e; the upper bits of the product are correct unless they
are too close to a tie, which can be seen from the product (D. Lemire, Number parsing at a gigabyte
per second, 2021, algorithm 1). The remaining cases - more than 19 digits, results that are
subnormal or overflow - are left to Python.
"""

from __future__ import annotations

import numpy as np

from widemargin.loops.jit import jit

#: The outcome for a number: read; left to Python; not a number.
READ, SLOW, BAD = range(3)

#: The powers of ten that a double holds exactly.
_POWERS = np.array([10.0**e for e in range(23)])
#: The exponents of ten that a double can need with 19 digits (Lemire, 2021).
_LOWEST, _HIGHEST = -342, 308
_EXACT = np.uint64(1 << 53)
#: The number of digits that always fit into 64 bits.
_MOST = np.uint64(19)
_LOW = np.uint64(0xFFFFFFFF)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_0, _1, _3, _8, _10, _32 = (np.uint64(n) for n in (0, 1, 3, 8, 10, 32))
_TENS = np.array([10**n for n in range(9)], np.uint64)
#: Further digits of an exponent are left out once it is this large: no text has as many zeros to
#: balance it, and ten times as much still fits into 64 bits.
_ENDLESS = 10**17
_ZERO, _NINE, _PLUS, _MINUS, _POINT = 48, 57, 43, 45, 46
_SMALL_E, _LARGE_E = 101, 69


def _fives() -> np.ndarray:
    """The upper 128 bits of 5^e as two words, for every e that a double can need."""
    table = np.empty((_HIGHEST - _LOWEST + 1, 2), np.uint64)
    for e in range(_LOWEST, _HIGHEST + 1):
        if e >= 0:
            power = 5**e
            bits = power.bit_length()
            top = power << (128 - bits) if bits <= 128 else power >> (bits - 128)
        else:
            power = 5**-e
            # From below, as above; but where the product can be exact, it must reach that.
            top = (1 << (power.bit_length() + 127)) // power + (e >= -27)
        table[e - _LOWEST] = top >> 64, top & 0xFFFFFFFFFFFFFFFF
    return table


_FIVES = _fives()


@jit(inline=True)
def number_at(text, i):
    """Read the number that begins at text[i]. The text must end with a line end.

    Returns
    -------
    state : int
        READ, SLOW or BAD.
    value : float
        The number, if it was read.
    i : uint64
        The position after it; for a bad one, where it stopped looking like a number.
    """
    c = text[i]
    # The usual number has one digit before the point and a few after it. With a fast path for it,
    # svmlight text is read in three quarters of the time.
    usual = _ZERO <= c <= _NINE and text[i + _1] == _POINT
    d, e, first, figures, negative = _0, 0, i, _1, False
    if usual:
        d = np.uint64(c - _ZERO)
        i += _1
        c = text[i]
    else:
        negative = c == _MINUS
        if negative or c == _PLUS:
            i += _1
            c = text[i]
        first = i
        while _ZERO <= c <= _NINE:
            d = d * _10 + np.uint64(c - _ZERO)
            i += _1
            c = text[i]
        figures = i - first
    if c == _POINT:
        i += _1
        begun = i
        n, number = leading_digits(text, i)
        d = d * _TENS[n] + number
        i += n
        c = text[i]
        if usual and n < _8 and c != _SMALL_E and c != _LARGE_E:
            return READ, np.float64(np.int64(d)) / _POWERS[n], i
        while n == _8:
            n, number = leading_digits(text, i)
            d = d * _TENS[n] + number
            i += n
            c = text[i]
        e = -np.int64(i - begun)
        figures += i - begun
    if figures == _0:
        return BAD, 0.0, i
    long = figures > _MOST and _significant(text, first, i) > _MOST
    if c == _SMALL_E or c == _LARGE_E:
        i += _1
        c = text[i]
        below = c == _MINUS
        if below or c == _PLUS:
            i += _1
            c = text[i]
        if not _ZERO <= c <= _NINE:
            return BAD, 0.0, i
        power = 0
        while _ZERO <= c <= _NINE:
            if power < _ENDLESS:
                power = power * 10 + (np.int64(c) - _ZERO)
            i += _1
            c = text[i]
        e += -power if below else power
    if long:  # d has overflowed
        return SLOW, 0.0, i
    if d <= _EXACT and -22 <= e <= 22:
        value = np.float64(d)
        value = value / _POWERS[-e] if e < 0 else value * _POWERS[e]
        return READ, -value if negative else value, i
    if d == _0:
        return READ, -0.0 if negative else 0.0, i
    if not _LOWEST <= e <= _HIGHEST:
        return SLOW, 0.0, i
    state, value = _nearest(d, e)
    return state, -value if negative else value, i


@jit(inline=True)
def leading_digits(text, i):
    """The number of digits that begin at text[i], and their value; at most eight are read.

    Because their number is limited, the compiler unrolls the loop: the processor then predicts the
    position after them, and need not wait for it.
    """
    number = _0
    for n in range(_8):
        c = text[i + n]
        if not _ZERO <= c <= _NINE:
            return n, number
        number = number * _10 + np.uint64(c - _ZERO)
    return _8, number


@jit(inner=True)
def _significant(text, i, end):
    """How many digits there are from the first that is not 0."""
    n = _0
    while i < end:
        if text[i] != _POINT and (n > _0 or text[i] != _ZERO):
            n += _1
        i += _1
    return n


@jit(inner=True)
def _nearest(d, e):
    """The double nearest to d * 10^e, or SLOW if that cannot be seen from 128 bits."""
    shift = _leading_zeros(d)
    d <<= shift
    high, low = _times(d, _FIVES[e - _LOWEST, 0])
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):
        more, _ = _times(d, _FIVES[e - _LOWEST, 1])
        carry = low > _ALL - more
        low = low - (_ALL - more) - _1 if carry else low + more
        high += np.uint64(carry)
    if low == _ALL and not -27 <= e <= 55:
        return SLOW, 0.0
    top = high >> np.uint64(63)
    m = high >> (top + np.uint64(9))
    exponent = ((217706 * e) >> 16) + 1086 + np.int64(top) - np.int64(shift)
    if not 0 < exponent < 2046:
        return SLOW, 0.0
    # exactly half way between two doubles: to the even one
    if low <= _1 and -4 <= e <= 23 and m & _3 == _1 and m << (top + np.uint64(9)) == high:
        m &= ~_1
    m = (m + (m & _1)) >> _1
    if m == np.uint64(1 << 53):
        m >>= _1
        exponent += 1
    bits = (m & np.uint64((1 << 52) - 1)) | (np.uint64(exponent) << np.uint64(52))
    return READ, np.uint64(bits).view(np.float64)


@jit(inline=True)
def _times(a, b):
    """The product of two words, as its upper and lower word."""
    a1, a0, b1, b0 = a >> _32, a & _LOW, b >> _32, b & _LOW
    low, middle, cross = a0 * b0, a1 * b0, a0 * b1
    carry = ((low >> _32) + (middle & _LOW) + (cross & _LOW)) >> _32
    high = a1 * b1 + (middle >> _32) + (cross >> _32) + carry
    lower = (((low >> _32) + middle + cross) & _LOW) << _32 | (low & _LOW)
    return high, lower


@jit(inline=True)
def _leading_zeros(d):
    """How many zero bits stand before the first one."""
    shift = _0
    for step in (32, 16, 8, 4, 2, 1):
        if d < _1 << np.uint64(64 - step):
            d <<= np.uint64(step)
            shift += np.uint64(step)
    return shift
