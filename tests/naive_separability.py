"""Decide separability by elimination in fractions: slow, obvious, sharing no code with ours."""

from fractions import Fraction


def separable(X, signs, bias):
    """Whether some w has y (w . x + b) > 0 for all examples, by Fourier and Motzkin.

    Every example is an inequality z . w > 0. To eliminate the last unknown, each inequality in
    which it is positive is added to each in which it is negative. What is left at the end is
    0 > 0, or nothing. An inequality made from more than k + 2 examples while k + 1 unknowns were
    eliminated follows from others and is dropped (Chernikov's rule), or there would soon be
    millions.
    """
    rows = set()
    for i, (x, sign) in enumerate(zip(X, signs, strict=True)):
        row = [Fraction(v) * sign for v in x] + ([Fraction(sign)] if bias else [])
        rows.add((shortened(row), frozenset([i])))
    width = len(X[0]) + bool(bias)
    for k in range(width):
        above = [one for one in rows if one[0][-1] > 0]
        below = [one for one in rows if one[0][-1] < 0]
        rest = {(shortened(row[:-1]), made_of) for row, made_of in rows if row[-1] == 0}
        for up, some in above:
            for down, others in below:
                if len(some | others) <= k + 2:
                    summed = [a * -down[-1] + b * up[-1] for a, b in zip(up, down, strict=True)]
                    rest.add((shortened(summed[:-1]), some | others))
        rows = rest
        if any(not any(row) for row, _ in rows):
            return False
    return not rows


def shortened(row):
    """A positive multiple that is the same for all positive multiples."""
    size = max((abs(v) for v in row), default=0)
    return tuple(v / size for v in row) if size else tuple(row)
