"""Products of 6 rows with 16 others that are laid out side by side, as a panel: P[g, k, j].

All 96 sums stay in registers during one pass over the features, and each is added up in the order
of the features: a value does not depend on what is computed beside it.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from widemargin.loops.processor import this_processor

#: Rows of a panel, and rows that meet it at once: 12 registers of sums, as AVX2 has room for.
PANEL, ROWS = 16, 6
_PANEL, _ROWS = np.uint64(PANEL), np.uint64(ROWS)


@cache
def suits_this_processor() -> bool:
    """Whether the sums fit the registers, and there are no longer ones that BLAS would use."""
    here = this_processor()
    return here.has("avx2", "fma") and not here.has("avx512f")


def multiply_panel(X, i, P, g, T, t, x, z, step):
    """T[r, 16 t + j] = X[i[r]] . (row j of panel g), for 6 rows.

    Meanwhile what is wanted next is fetched: the row x of X, and the numbers of P from z on, `step`
    of them a feature. The plain version fetches nothing.

    By hand, because the compiler keeps the sums in memory: values of the Gaussian kernel are made
    at 72 to 79 GFLOP/s, with the plain function at 5 to 7 GFLOP/s (rows of 100 and 784 features).
    """
    panel, start = P[g], t * _PANEL
    for r in range(_ROWS):
        row, sums = X[i[r]], T[r, start : start + _PANEL]
        sums[:] = 0.0
        for k in range(len(row)):
            a, others = row[k], panel[k]
            for j in range(len(others)):
                sums[j] += a * others[j]
