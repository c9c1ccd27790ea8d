"""Compare decimal numbers of every shape with `float`: `python tests/check_floats.py 10_000_000`.

Prints how many were compared, how many the loop read itself, how many it left to Python, and how
many gave a different double. `test_numbers.py` uses the same families of strings.
"""

import sys
from decimal import Decimal, localcontext

import numpy as np

from widemargin.data.rows import frozen
from widemargin.loops.files.numbers import READ
from widemargin.loops.files.svmlight import DONE, Parsed, Reached, parse_svmlight

_AT_ONCE = 100_000


def read_numbers(strings):
    """Read numbers with the loop; return their doubles, and which were left to Python."""
    n = len(strings)
    text = frozen(np.frombuffer("".join(f"0 0:{s}\n" for s in strings).encode(), np.uint8))
    out = Parsed(
        np.zeros(n),
        np.zeros(n, np.uint32),
        np.zeros(n + 1, np.uint64),
        np.zeros(n),
        np.zeros(n, np.int64),
        np.zeros((2 * n, 3), np.uint64),
    )
    start = Reached(0, 0, 0, 0, 0, 1, 0)
    why, reached = parse_svmlight(text, start, out, np.uint64(1), float(np.finfo(float).max))
    assert why == DONE == READ, (why, reached)
    slow = np.zeros(n, bool)
    slow[out.slow[: reached.slow, 0].astype(np.int64)] = True
    return out.values, slow


def _doubles(rng, n, highest=0x7FF0000000000000):
    """Random bit patterns of finite doubles that are not negative."""
    return rng.integers(0, highest, n, dtype=np.uint64).view(np.float64)


def shortest(rng, n):
    return [repr(x) for x in _doubles(rng, n).tolist()]


def subnormal(rng, n):
    return [repr(x) for x in _doubles(rng, n, 1 << 53).tolist()]


def measured(rng, n):
    """Numbers as in data files: a few digits, no exponent."""
    places = rng.integers(0, 9, n).tolist()
    return [f"{x:.{k}f}" for x, k in zip((rng.normal(size=n) * 100).tolist(), places, strict=True)]


def many_digits(rng, n):
    """17 to 19 digits, which still fit one word, times any power of ten."""
    digits, powers = rng.integers(10**16, 2**63, n).tolist(), rng.integers(-345, 312, n).tolist()
    return [f"{d}e{p}" for d, p in zip(digits, powers, strict=True)]


def too_many_digits(rng, n):
    """20 to 60 digits, and some that wrap around to small numbers in 64 bits."""
    found = []
    for size, small in zip(
        rng.integers(1, 6, n).tolist(), rng.integers(0, 5, n).tolist(), strict=True
    ):
        whole = int.from_bytes(rng.bytes(8 * size), "little") << 64 if size < 5 else 2**64
        found.append(f"{whole + small}e{-12 * size}")
    return found


def any_power(rng, n):
    """Few digits and powers of ten far beyond the range of doubles."""
    digits, powers = rng.integers(0, 10**6, n).tolist(), rng.integers(-400, 300, n).tolist()
    return [f"{d / 1000}e{p}" for d, p in zip(digits, powers, strict=True)]


def near_ties(rng, n):
    """Half way between two doubles, exactly, or with 17 to 19 of its digits and one up or down."""
    found = []
    with localcontext() as context:
        context.prec = 800
        for x, digits, step in zip(
            _doubles(rng, n, 0x7FE0000000000000).tolist(),
            rng.integers(16, 21, n).tolist(),
            rng.integers(-1, 2, n).tolist(),
            strict=True,
        ):
            tie = (Decimal(x) + Decimal(float(np.nextafter(x, np.inf)))) / 2
            if digits == 20:
                found.append(str(tie))
                continue
            whole, power = f"{tie:.{digits - 1}e}".replace(".", "").split("e")
            found.append(f"{int(whole) + step}e{int(power) - digits + 1}")
    return found


def whole_ties(rng, n):
    """Half way between two doubles, in whole numbers of 17 to 19 digits."""
    m, shift = rng.integers(2**52, 2**53, n).tolist(), rng.integers(1, 11, n).tolist()
    step = rng.integers(-1, 2, n).tolist()
    return [
        str((2 * a + 1 << b - 1) + (c if b > 1 else 0))
        for a, b, c in zip(m, shift, step, strict=True)
    ]


def odd_shapes(rng, n):
    """Signs, points and zeros wherever they may occur."""
    found = []
    for i, (a, b, p) in enumerate(rng.integers(0, 10**5, (n, 3)).tolist()):
        found.append(
            (
                f"+{a}e+0{p % 30}",
                f"-{a}.",
                f"-.{b}",
                f"000{a}.{b}000",
                f"0.{'0' * (p % 40)}{a}E-{p % 7}",
                f"{a}{'0' * (p % 30)}",
                f"{'0' * 25}{a}.{b}e-{p % 30}",
                f"-0.0e{p}",
                f"{a}.{b}e+{p % 20:03d}",
                f".{'0' * (p % 330)}{a}",
            )[i % 10]
        )
    return found


FAMILIES = (
    shortest,
    subnormal,
    measured,
    many_digits,
    too_many_digits,
    any_power,
    near_ties,
    whole_ties,
    odd_shapes,
)


def differences(strings):
    """The strings read differently from Python, and how many were left to Python."""
    found, slow = read_numbers(strings)
    expected = np.array([float(s) for s in strings])
    wrong = (found.view(np.uint64) != expected.view(np.uint64)) & ~slow
    return [strings[i] for i in np.flatnonzero(wrong)], int(np.count_nonzero(slow))


def main(total):
    rng = np.random.default_rng(0)
    figures = {family.__name__: [0, 0, 0] for family in FAMILIES}
    done, examples = 0, []
    while done < total:
        family = FAMILIES[done // _AT_ONCE % len(FAMILIES)]
        strings = family(rng, min(_AT_ONCE, total - done))
        wrong, slow = differences(strings)
        row = figures[family.__name__]
        row[:] = row[0] + len(strings), row[1] + slow, row[2] + len(wrong)
        examples = (examples + wrong)[:10]
        done += len(strings)
    figures["all"] = [sum(column) for column in zip(*figures.values(), strict=True)]
    print(f"{'':16}{'compared':>12}{'fast':>12}{'slow':>12}{'wrong':>8}")
    for name, (n, slow, wrong) in figures.items():
        print(f"{name:16}{n:12,}{n - slow:12,}{slow:12,}{wrong:8,}")
    if examples:
        sys.exit(f"wrong: {' '.join(examples)}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
