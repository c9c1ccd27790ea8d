"""The verifier, which rechecks every claim of a certificate.

It shares no code with the solvers and trusts only the numbers it is given. Floats are fractions
whose denominators are powers of two, and every claim is an inequality between such fractions. Most
are decided in floating point with a bound on the error; those too close to call are computed
exactly, in integers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from widemargin.certificates.exact_arithmetic import (
    exact_dot,
    exact_sum,
    root_above,
    to_integers,
)
from widemargin.errors import DataError

SEPARABLE, NOT_SEPARABLE, UNDECIDED = "separable", "not separable", "undecided"


class CertificateError(ValueError):
    """A certificate does not prove what it claims about these examples."""


#: Twice the unit of rounding of float64, which leaves slack for the rounding of the bounds
#: themselves; and twice the smallest float, the error of a product that underflows.
_EPS, _TINY = 2.0**-52, 2.0**-1073
#: Number of values converted to float64 at a time (8 MB), which avoids a large copy.
_VALUES_AT_ONCE = 1 << 20


def check_certificate(certificate: Any, X: Any, y: Any) -> bool:
    """Check every claim of a certificate; return True or raise CertificateError."""
    examples = _Examples.of(certificate, X, y)
    if certificate.verdict == SEPARABLE:
        _check_separator(certificate, examples)
    elif certificate.verdict == NOT_SEPARABLE:
        _check_combination(certificate, examples)
    elif certificate.verdict != UNDECIDED:
        raise CertificateError(f"unknown verdict {certificate.verdict!r}")
    free = certificate.constant != 0.0
    for bracket, evidence, extended in (
        (certificate.margin, certificate.margin_evidence, not free),
        (certificate.extended, certificate.extended_evidence, True),
    ):
        if bracket is not None:
            _check_bracket(bracket, evidence, examples, extended)
    _check_radius(certificate.R, examples)
    return True


class _Examples(NamedTuple):
    """The examples as the verifier reads them."""

    matrix: Any  # dense, or CSR without duplicates
    signs: np.ndarray
    constant: float
    gram: bool

    @classmethod
    def of(cls, certificate: Any, X: Any, y: Any) -> _Examples:
        """Check that X and y fit the certificate."""
        if hasattr(X, "tocsr"):
            matrix = X.tocsr()
            if not matrix.has_canonical_format:
                matrix = matrix.copy()
                matrix.sum_duplicates()
            values = matrix.data
        else:
            matrix = values = np.asarray(X)
        if matrix.ndim != 2 or matrix.shape != (certificate.n, certificate.width):
            raise CertificateError(
                f"the certificate is about {certificate.n} rows of {certificate.width} values,"
                f" but X has shape {matrix.shape}"
            )
        require_exact(values)
        y = np.asarray(y)
        classes = certificate.classes
        positive, negative = y == classes[-1], y == classes[0]
        if y.shape != (certificate.n,) or not np.all(positive | negative):
            raise CertificateError(
                f"y must hold {certificate.n} labels from {classes.tolist()}, which the certificate"
                " is about"
            )
        return cls(matrix, np.where(positive, 1, -1), certificate.constant, certificate.gram)

    @property
    def longest(self) -> int:
        """The largest number of values stored in a row."""
        if hasattr(self.matrix, "indptr"):
            return int(np.max(np.diff(self.matrix.indptr), initial=0))
        return self.matrix.shape[1]

    def rows(self, which: np.ndarray) -> np.ndarray:
        """Return some rows as a dense float64 array."""
        part = self.part(which)
        return part.toarray() if hasattr(part, "toarray") else part

    def part(self, which: np.ndarray) -> Any:
        """Return some rows in float64, sparse or dense as they are stored."""
        return self.matrix[which].astype(np.float64)

    def pieces(self) -> Iterator[tuple[slice, Any]]:
        """Yield all rows in float64, a few at a time."""
        n, width = self.matrix.shape
        step = max(1, _VALUES_AT_ONCE // max(1, width))
        if hasattr(self.matrix, "tocsr"):
            step = n or 1
        for start in range(0, n, step):
            yield slice(start, start + step), self.matrix[start : start + step].astype(np.float64)

    def scores(self, w: np.ndarray, b: float | Fraction) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores y (w.x + b) in floating point, and bounds on their errors."""
        score, size = np.empty(len(self.signs)), np.empty(len(self.signs))
        w, b = np.asarray(w, np.float64), float(b)  # fractions are rounded
        for where, part in self.pieces():
            score[where] = part @ w
            size[where] = abs(part) @ np.abs(w)
        terms = self.longest + 3
        error = (terms * _EPS) * (size + abs(b)) + terms * _TINY
        return self.signs * (score + b), error

    def score(self, i: int, w: np.ndarray, b: float | Fraction) -> Fraction:
        """Return the score y (w.x + b) of one example, exactly."""
        found = exact_dot(self.rows(np.array([i]))[0], w) + Fraction(b)
        return found * int(self.signs[i])


def require_exact(values: np.ndarray) -> None:
    """Raise an error unless every value is a finite number that float64 holds exactly."""
    if values.dtype.kind not in "fiub" or values.dtype.itemsize > 8:
        raise DataError(f"X must hold real numbers of at most 64 bits, found {values.dtype}")
    if values.dtype.kind == "f":
        # A finite sum means that all are finite; otherwise check each, as the sum may overflow.
        with np.errstate(over="ignore", invalid="ignore"):
            fine = np.isfinite(np.sum(values)) or np.all(np.isfinite(values))
        if not fine:
            raise DataError("Input X contains NaN or infinity: remove or impute such rows")
    elif values.dtype.itemsize == 8 and values.size:
        largest = max(int(values.max()), -int(values.min()))
        if largest > 2**53:
            raise DataError(f"X holds {largest}, which float64 cannot hold exactly; scale it down")


def _check_separator(certificate: Any, examples: _Examples) -> None:
    """Check that all examples are strictly on their side and at least the requested margin away."""
    w = certificate.w
    least = 0.0 if certificate.asked is None else certificate.asked
    if w is None or w.shape != (examples.matrix.shape[1],):
        raise CertificateError("the separator is missing, or does not have one weight per feature")
    if certificate.b and not certificate.constant:
        raise CertificateError(
            "the separator has a bias, but the certificate is about planes through the origin"
        )
    _check_distances(w, certificate.b, least, examples, extended=False, strict=least == 0.0)


def _check_distances(
    w: np.ndarray,
    b: float | Fraction,
    least: float,
    examples: _Examples,
    extended: bool,
    strict: bool,
) -> None:
    """Check that every example is at least `least` away on its own side; if strict, not at 0."""
    if not np.all(np.isfinite(np.asarray(w, np.float64))):
        raise CertificateError("the weights of the hyperplane are not finite")
    square = _square(w, examples)
    if extended and examples.constant:
        square += (Fraction(b) / Fraction(examples.constant)) ** 2
    length = root_above(square)
    score, error = examples.scores(w, b)
    with np.errstate(invalid="ignore", over="ignore"):
        fine = score - error > (
            least * length * (1.0 + 4 * _EPS) if least >= 0.0 else least * length * (1 - 8 * _EPS)
        )
    for i in np.flatnonzero(~fine):
        exact = examples.score(int(i), w, b)
        if exact < 0 or (strict and exact == 0):
            held = least < 0.0 and exact**2 <= Fraction(least) ** 2 * square
        else:
            held = least <= 0.0 or exact**2 >= Fraction(least) ** 2 * square
        if not held:
            raise CertificateError(
                f"example {i}, with score {float(exact):.3g}, is closer to the hyperplane than"
                f" {least:.6g}"
            )


def _check_combination(certificate: Any, examples: _Examples) -> None:
    """Check convex weights that prove the hulls meet, or come closer than the requested margin."""
    which, shares = np.asarray(certificate.examples), certificate.shares
    _check_members(which, len(shares), examples)
    common = math.lcm(*(share.denominator for share in shares))
    weights = [share.numerator * (common // share.denominator) for share in shares]
    if any(weight <= 0 for weight in weights) or sum(weights) != common:
        raise CertificateError("the weights are not positive or do not add up to 1")
    signed = [w * int(s) for w, s in zip(weights, examples.signs[which], strict=True)]
    total, exponent = exact_sum(signed, examples.part(which))
    left = [*total, *([sum(signed)] if examples.constant else [])]
    if certificate.asked is None:
        if any(left):
            raise CertificateError("the weighted examples do not add up to zero")
        return
    if examples.constant and sum(signed):
        raise CertificateError("the two classes do not have the same weight")
    # With a bias each class has weight 1/2, so the sum is half the distance between the hulls.
    if examples.gram:
        square = _quadratic(which, np.array(signed, object), examples) / Fraction(common) ** 2
    else:
        unit = Fraction(2) ** exponent / common
        square = Fraction(sum(value * value for value in total)) * unit**2
    if square >= Fraction(certificate.asked) ** 2:
        raise CertificateError("the hulls are not closer than the requested margin")


def _check_members(which: np.ndarray, shares: int, examples: _Examples) -> None:
    """Check that a combination names distinct examples and has one weight for each."""
    n = len(examples.signs)
    if not len(which) or len(which) != shares or len(set(which.tolist())) != len(which):
        raise CertificateError(
            "the combination must name distinct examples, with one weight for each"
        )
    if which.min() < 0 or which.max() >= n:
        raise CertificateError(f"the combination names examples outside 0 ... {n - 1}")


def _check_bracket(bracket: Any, evidence: Any, examples: _Examples, extended: bool) -> None:
    """Check that the hyperplane attains the lower end and the combination proves the upper end."""
    one_class = len(set(examples.signs.tolist())) < 2
    if one_class and not extended:
        return  # the margin is unbounded
    if evidence is None:
        if bracket.low > -math.inf or bracket.high < math.inf:
            raise CertificateError("a bracket has no evidence")
        return
    w, b, which, shares = evidence
    if b and not examples.constant:
        raise CertificateError(
            "the margin has a bias, but the certificate is about planes through the origin"
        )
    if bracket.low > -math.inf:
        _check_distances(w, b, bracket.low, examples, extended, strict=False)
    if bracket.high == math.inf:
        return
    which, shares = np.asarray(which), np.asarray(shares, np.float64)
    _check_members(which, len(shares), examples)
    if np.any(shares <= 0.0):
        raise CertificateError("a weight is not positive")
    if not _short_in_floats(which, shares, bracket.high, examples, extended):
        square = _square_of_combination(which, shares, examples, extended)
        if square > Fraction(bracket.high) ** 2:
            raise CertificateError(
                f"the combination has length {math.sqrt(square):.6g}, more than {bracket.high:.6g}"
            )


def _normalised(shares: np.ndarray, signs: np.ndarray, extended: bool) -> list[Fraction]:
    """Return signed weights that add up to 1 or, with a free bias, to 1/2 in each class."""
    exact = [Fraction(share) for share in shares.tolist()]
    if extended:
        total = dict.fromkeys((1, -1), sum(exact, Fraction(0)))
    else:
        total = {
            side: 2 * sum((e for e, s in zip(exact, signs, strict=True) if s == side), Fraction(0))
            for side in (1, -1)
        }
        if not total[1] or not total[-1]:
            raise CertificateError("the combination leaves out one of the classes")
    return [int(s) * e / total[s] for e, s in zip(exact, signs.tolist(), strict=True)]


def _short_in_floats(
    which: np.ndarray, shares: np.ndarray, high: float, examples: _Examples, extended: bool
) -> bool:
    """Whether floating point suffices to show that the combination's length is at most `high`."""
    if examples.gram:
        return False
    signs = examples.signs[which]
    sides = [np.ones(len(which), bool)] if extended else [signs > 0, signs < 0]
    signed = np.empty(len(which))
    for side in sides:
        try:
            total = math.fsum(shares[side].tolist())  # rounded once
        except OverflowError:
            return False
        if not 0.0 < total < math.inf:
            return False
        signed[side] = signs[side] * (shares[side] / (len(sides) * total))
    if np.min(np.abs(signed)) < 2.0**-1000:
        return False
    rows = examples.part(which)
    # Every weight is rounded twice, every product and sum once more.
    error = (len(which) + 4) * _EPS * (np.abs(signed) @ abs(rows)) + len(which) * _TINY
    parts = np.abs(signed @ rows) + error
    square = float(np.sum(parts * parts))
    if extended:
        rest = abs(float(np.sum(signed))) + (len(which) + 4) * _EPS
        square += (rest * examples.constant) ** 2
    return bool(math.sqrt(square) * (1.0 + (len(parts) + 8) * _EPS) <= high)


def _square_of_combination(
    which: np.ndarray, shares: np.ndarray, examples: _Examples, extended: bool
) -> Fraction:
    """Return the squared length of the combination, exactly."""
    signed = _normalised(shares, examples.signs[which], extended)
    common = math.lcm(*(value.denominator for value in signed))
    whole = [value.numerator * (common // value.denominator) for value in signed]
    if examples.gram:
        square = _quadratic(which, np.array(whole, object), examples) / Fraction(common) ** 2
    else:
        total, exponent = exact_sum(whole, examples.part(which))
        unit = Fraction(2) ** exponent / common
        square = Fraction(sum(value * value for value in total)) * unit**2
    if extended:
        square += (sum(signed) * Fraction(examples.constant)) ** 2
    return square


def _check_radius(radius: float, examples: _Examples) -> None:
    """Check that no extended example is longer than R."""
    extra = Fraction(examples.constant) ** 2
    terms = examples.longest + 3
    if examples.gram:
        squares = examples.matrix.diagonal().astype(np.float64)
    else:
        squares = np.empty(len(examples.signs))
        for where, part in examples.pieces():
            if hasattr(part, "tocsr"):
                part.data *= part.data
                squares[where] = part @ np.ones(part.shape[1])
            else:
                squares[where] = np.einsum("ij,ij->i", part, part)
    with np.errstate(over="ignore"):
        limit = radius * radius * (1.0 - 4 * _EPS)
    fine = (squares + float(extra)) * (1.0 + terms * _EPS) + terms * _TINY <= limit
    for i in np.flatnonzero(~fine):
        if examples.gram:
            exact = Fraction(float(squares[i]))
        else:
            row = examples.rows(np.array([i]))[0]
            exact = exact_dot(row, row)
        if math.isfinite(radius) and exact + extra > Fraction(radius) ** 2:
            raise CertificateError(f"example {i} is longer than R = {radius:.6g}")


def _quadratic(which: np.ndarray, weights: np.ndarray, examples: _Examples) -> Fraction:
    """Return the sum of a_i a_j K_ij over some examples, exactly."""
    whole, exponent = to_integers(examples.rows(which)[:, which])
    return Fraction(int(weights @ (whole @ weights))) * Fraction(2) ** exponent


def _square(w: np.ndarray, examples: _Examples) -> Fraction:
    """Return the squared length of w, exactly."""
    if not examples.gram:
        return exact_dot(w, w)
    used = np.flatnonzero(w)
    if not len(used):
        return Fraction(0)
    if w.dtype == object:
        return sum(
            (w[i] * exact_dot(examples.rows(np.array([i]))[0], w) for i in used.tolist()),
            Fraction(0),
        )
    whole, exponent = to_integers(w[used])
    return _quadratic(used, whole, examples) * Fraction(2) ** (2 * exponent)
