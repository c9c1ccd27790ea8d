"""`python tests/check_random_sets.py COUNT [SEED]`: test_random_small_sets on more sets.

Every second set is sparse, so that there is something to peel. Not part of the test command,
because a hundred thousand sets take half an hour on one core.
"""

import sys
from collections import Counter

import numpy as np
import scipy.sparse
from naive_separability import separable
from random_sets import random_set, signs_of, sparse_matrix

from widemargin import certify


def random_sparse_set(rng):
    """A few examples with few nonzero values, and their labels."""
    n, d = int(rng.integers(4, 9)), int(rng.integers(2, 5))
    X = sparse_matrix(rng, n, d, rng.uniform(0.1, 0.4))
    X = X[np.any(X != 0.0, axis=1)] if np.any(X) else X
    y = rng.integers(0, 2, len(X))
    if rng.random() < 0.2:
        y = (X @ rng.normal(size=d) > 0).astype(int)
    return X, y


def main(count, seed=0):
    """Compare verdicts with elimination in fractions; exit with an error if one is wrong."""
    rng, found_by, wrong = np.random.default_rng(seed), Counter(), 0
    for turn in range(count):
        X, y = random_set(rng) if turn % 2 else random_sparse_set(rng)
        bias = bool(rng.integers(2))
        stored = X if turn % 2 else scipy.sparse.csr_matrix(X)
        found = certify(stored, y, bias=bias, tol=None if turn % 8 > 1 else 1e-6)
        found.verify(X, y)
        found_by[found.verdict, found.found_by] += 1
        truth = "separable" if separable(X.tolist(), signs_of(y), bias) else "not separable"
        if found.verdict not in (truth, "undecided"):
            wrong += 1
            print("wrong:", X.tolist(), y.tolist(), bias)
    for (verdict, step), times in sorted(found_by.items()):
        print(f"{times:7} {verdict}, by {step}")
    print(f"{wrong} wrong of {count}")
    return wrong


if __name__ == "__main__":
    sys.exit(bool(main(*map(int, sys.argv[1:]))))
