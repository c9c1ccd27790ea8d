"""Separability decided by elimination in fractions: slow, obvious, and sharing nothing."""

from fractions import Fraction


def separable(X, signs, bias):
    """Whether some w has y (w . x + b) > 0 for all examples, by Fourier and Motzkin.

    Every example is an inequality z . w > 0. To get rid of the last unknown, each inequality in
    which it is positive is added to each in which it is negative. What is left at the end is
    0 > 0, or nothing.
    """
    rows = set()
    for x, sign in zip(X, signs, strict=True):
        row = [Fraction(v) * sign for v in x] + ([Fraction(sign)] if bias else [])
        rows.add(shortened(row))
    width = len(X[0]) + bool(bias)
    for _ in range(width):
        above = [row for row in rows if row[-1] > 0]
        below = [row for row in rows if row[-1] < 0]
        rest = {shortened(row[:-1]) for row in rows if row[-1] == 0}
        for up in above:
            for down in below:
                summed = [a * -down[-1] + b * up[-1] for a, b in zip(up, down, strict=True)]
                rest.add(shortened(summed[:-1]))
        rows = rest
        if any(not any(row) for row in rows):
            return False
    return not rows


def shortened(row):
    """A positive multiple, the same for all positive multiples."""
    size = max((abs(v) for v in row), default=0)
    return tuple(v / size for v in row) if size else tuple(row)
