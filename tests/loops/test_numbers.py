"""Numbers in text: the very double that Python's float gives, or no number at all."""

import math
from fractions import Fraction

import numpy as np
import pytest
from check_floats import FAMILIES, differences, read_numbers
from hypothesis import example, given
from hypothesis import strategies as st
from interpreted import run_python
from profiles import tries

from widemargin.data.rows import frozen
from widemargin.loops.files import numbers
from widemargin.loops.files.numbers import BAD, READ, SLOW, number_at
from widemargin.loops.jit import jit

DIGITS = st.text("0123456789", max_size=40)
SIGN = st.sampled_from(["", "+", "-"])
POWER = st.one_of(st.just(""), st.builds("{}{}{}".format, st.sampled_from("eE"), SIGN,
                                         st.integers(0, 400)))  # fmt: skip
DECIMALS = st.one_of(
    st.builds("{}{}{}{}".format, SIGN, DIGITS.filter(bool), st.sampled_from(["", "."]), POWER),
    st.builds("{}{}.{}{}".format, SIGN, DIGITS, DIGITS.filter(bool), POWER),
)


def read_one(token, after=""):
    """What the loop makes of one token."""
    text = frozen(np.frombuffer((token + after).encode() + b"\n", np.uint8))
    return read_first(text)


@jit()
def read_first(text):
    return number_at(text, np.uint64(0))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_numbers_are_those_of_python_to_the_bit(family):
    strings = family(np.random.default_rng(1), 25_000)
    wrong, _ = differences(strings)
    assert wrong == []


@tries(100)
@given(DECIMALS)
@example("18446744073709551616")  # 2^64, which is 0 in 64 bits
@example("184467440737095516160000")
@example("9007199254740993")
@example("9007199254740992.5")
@example("1.7976931348623157e308")
@example("2.2250738585072011e-308")
@example("5e-324")
@example("0" * 30 + ".0")
def test_any_decimal_is_the_one_of_python(token):
    # Near the end of a text digits are read one by one, before it eight at a time.
    for after in ("", " 12345678:9", "\n00000000"):
        state, value, stop = read_one(token, after)
        assert stop == len(token)
        assert state != BAD
        if state == READ:
            assert value.hex() == float(token).hex()


def test_an_exponent_may_be_balanced_by_as_many_zeros():
    for zeros in (400, 200_000, 1_000_000):
        for power in (zeros, zeros + 1, 10 * zeros, 10 * zeros + 1):
            token = f"0.{'0' * zeros}1e{power}"
            state, value, stop = read_one(token)
            assert stop == len(token)
            assert state == (READ if power <= zeros + 1 else SLOW)
            assert state == SLOW or value == float(token)


@tries(150)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_double_comes_back_from_its_shortest_decimal(x):
    found, slow = read_numbers([repr(x)])
    assert slow[0] or found[0].hex() == x.hex()
    assert not slow[0] or abs(x) < 2.3e-308 or abs(x) > 8.9e307


def test_ordinary_numbers_are_never_left_to_python():
    strings = [f"{x:.{k}g}" for x in np.linspace(-1e4, 1e4, 999) for k in range(1, 18)]
    assert not read_numbers(strings)[1].any()


@pytest.mark.parametrize("token", ["1e400", "1" * 20, "1e-310", "0.1" + "0" * 20])
def test_what_cannot_be_seen_in_128_bits_is_left_to_python(token):
    state, _, stop = read_one(token)
    assert (state, stop) == (SLOW, len(token))


@pytest.mark.parametrize(
    "token",
    ["nan", "NaN", "inf", "-inf", "infinity", " 1", "", "-", "+", ".", "-.", "e5", ".e5", "--1",
     "+-1", "1e", "1e+", "1e-", "١", "\0"],
)  # fmt: skip
def test_what_is_no_number(token):
    assert read_one(token)[0] == BAD


@pytest.mark.parametrize(
    ("token", "stop"),
    [("1_000", 1), ("1e5.5", 3), ("1.5.2", 3), ("0x10", 1), ("1d5", 1), ("1,5", 1)],
)
def test_a_number_stops_where_it_stops_looking_like_one(token, stop):
    state, _, found = read_one(token)
    assert (state, found) == (READ, stop)


def test_the_powers_of_five_are_approximated_from_below():
    """The loop doubts a product only where more could carry: it must never be too large already.

    Where 5^-e divides a number of 64 bits, the product must reach what would be exact.
    """
    for e, (high, low) in zip(range(-342, 309), numbers._FIVES.tolist(), strict=True):
        found, exact = high << 64 | low, Fraction(5) ** e
        while exact < 2**127:
            exact *= 2
        while exact >= 2**128:
            exact /= 2
        assert found == (math.ceil(exact) if -27 <= e < 0 else math.floor(exact)), e


def test_interpreted_as_compiled():
    program = (
        "import numpy as np\n"
        "from check_floats import FAMILIES, differences\n"
        "for family in FAMILIES:\n"
        "    assert differences(family(np.random.default_rng(2), 20))[0] == [], family\n"
    )
    run_python("-c", program)
