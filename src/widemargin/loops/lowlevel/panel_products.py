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
    """Whether the sums fit the registers, and BLAS would not compute twice as many at a time.

    Zen 4 has registers of AVX-512 but takes them in two halves, so its peak is that of AVX2: a fit
    of 20,000 rows of MNIST takes 1.75 s with panels and 2.3 s with BLAS, of ijcnn1 0.8 and 1.2 s.
    """
    here = this_processor()
    wide = here.has("avx512f") and here.name != "znver4"
    return here.has("avx2", "fma") and not wide


def multiply_panel(X, i, P, g, T, t, x, z, step):
    """T[r, 16 t + j] = X[i[r]] . (row j of panel g), for 6 rows.

    Meanwhile, what is needed next is prefetched: the row x of X, and the numbers of P from z on,
    `step` of them per feature. The plain version prefetches nothing.

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
