"""Test whether hyperplanes can separate some points however they are labelled."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from widemargin.certificates.certificate import Certificate
from widemargin.certificates.verifier import NOT_SEPARABLE, UNDECIDED
from widemargin.errors import DataError
from widemargin.separability.examples import certify_examples

#: The largest number of points: 20 have 524,288 labellings, which take minutes.
_MOST_POINTS = 20


def shattered(points: Any, margin: float = 0.0, bias: bool = True) -> bool:
    """Return whether hyperplanes can separate every labelling of some points, by trying all.

    Parameters
    ----------
    points : array (n, d)
        A few points: there are 2^(n - 1) labellings to try, up to a swap of the labels.
    margin : float
        The distance that hyperplanes must keep from all points.
    bias : bool
        Whether hyperplanes may miss the origin.

    Examples
    --------
    >>> from widemargin import shattered
    >>> triangle = [[0, 0], [1, 0], [0, 1]]
    >>> shattered(triangle), shattered(triangle, bias=False)
    (True, False)
    >>> shattered([*triangle, [1, 1]])
    False
    """
    points = np.asarray(points)
    if points.ndim != 2 or not len(points):
        raise DataError("points must be a matrix with at least one row")
    if len(points) > _MOST_POINTS:
        raise DataError(
            f"{len(points)} points have too many labellings to try; give at most {_MOST_POINTS}"
        )
    for signs in itertools.product((1, -1), repeat=len(points) - 1):
        labels = np.array([1, *signs])
        found = certify_examples(points, labels, bias=bias, margin=margin, tol=None)
        if not isinstance(found, Certificate) or found.verdict == UNDECIDED:
            raise DataError(
                f"the labelling {labels.tolist()} is too close to the margin to decide; use another"
                " margin"
            )
        if found.verdict == NOT_SEPARABLE:
            return False
    return True
