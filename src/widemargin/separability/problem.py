"""The two-class problem that the search for a separator works on, and proofs of its verdicts."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from widemargin.certificates.certificate import Certificate
from widemargin.certificates.verifier import NOT_SEPARABLE, SEPARABLE, CertificateError
from widemargin.data.rows import Rows

#: Columns whose largest values are within a factor of 2^3 of 1 are left as they are. Chosen by
#: hand: scaling copies all values, and a factor that small costs the solvers few digits.
_CLOSE_POWER = 3
#: Scales stay between 2^-1000 and 2^1000, so that they are floats.
_LARGEST_POWER = 1000


@dataclass(frozen=True)
class SeparationProblem:
    """Examples of two classes, and the verifier that must accept every claim about them."""

    rows: Rows  # float64, with the constant feature as bias
    signs: np.ndarray  # float64
    blank: Certificate  # a certificate without any claim
    X: Any  # the matrix as the verifier will read it
    y: np.ndarray
    deadline: float  # by the clock time.monotonic

    @cached_property
    def _scaling(self) -> tuple[Rows, np.ndarray]:
        return _scale_columns(self.rows)

    @property
    def scaled(self) -> Rows:
        """The same rows, with every column multiplied by a power of two."""
        return self._scaling[0]

    def prove(self, **claims: Any) -> Certificate | None:
        """Return the certificate with these claims if the verifier accepts it, else None."""
        certificate = replace(self.blank, **claims)
        try:
            certificate.verify(self.X, self.y)
        except (CertificateError, OverflowError):  # fractions too large for a float
            return None
        return certificate

    def prove_separable(self, w: np.ndarray, found_by: str) -> Certificate | None:
        """Prove that w separates; w weighs the scaled features, with the constant one last."""
        with np.errstate(over="ignore"):
            w = w * self._scaling[1]
        size = np.max(np.abs(w))
        if not 0.0 < size < math.inf:
            return None
        w = w * 2.0 ** -math.frexp(size)[1]
        return self.prove(
            verdict=SEPARABLE, w=w[:-1], b=float(w[-1] * self.rows.bias), found_by=found_by
        )

    def prove_separable_exactly(self, w: list[Fraction], found_by: str) -> Certificate | None:
        """Prove the same for exact weights, with the bias itself last if there is one."""
        exact = np.empty(self.rows.width, object)
        exact[:] = [
            value * Fraction(scale) for value, scale in zip(w, self._scaling[1][:-1], strict=False)
        ]
        b = w[-1] if self.rows.bias else Fraction(0)
        return self.prove(verdict=SEPARABLE, w=exact, b=b, found_by=found_by)

    def prove_hulls_meet(
        self, which: np.ndarray, shares: list[Fraction], found_by: str
    ) -> Certificate | None:
        """Prove that the hulls of the classes meet at the point with these weights."""
        used = [k for k, share in enumerate(shares) if share]
        return self.prove(
            verdict=NOT_SEPARABLE,
            examples=which[used],
            shares=tuple(shares[k] for k in used),
            found_by=found_by,
        )

    @property
    def out_of_time(self) -> bool:
        """Whether the deadline has passed."""
        return time.monotonic() > self.deadline


def _scale_columns(rows: Rows) -> tuple[Rows, np.ndarray]:
    """Multiply every column by a power of two, to values of about 1; also return the powers."""
    matrix = rows.to_matrix()
    largest = abs(matrix).max(axis=0)
    largest = np.asarray(largest.todense() if rows.is_sparse else largest).ravel()
    powers = np.clip(
        np.where(largest > 0.0, -np.frexp(largest)[1], 0), -_LARGEST_POWER, _LARGEST_POWER
    )
    scales = np.append(np.ldexp(1.0, powers), 1.0)
    if np.all(np.abs(powers) <= _CLOSE_POWER):
        return rows, np.ones(rows.width + 1)
    if rows.is_sparse:
        matrix = matrix.copy()
        matrix.data *= scales[matrix.indices]
    else:
        matrix = matrix * scales[:-1]
    return Rows.of(matrix, bias=rows.bias), scales
