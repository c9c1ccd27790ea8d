"""`python tests/check_random_sets.py COUNT [SEED]`: test_random_small_sets, for as long as asked.

Not part of the test command: a hundred thousand sets take half an hour on one core.
"""

import sys
from collections import Counter

import numpy as np
from naive_separability import separable
from test_certify import random_set, signs_of

from widemargin import certify


def main(count, seed=0):
    """Compare verdicts with elimination in fractions; ends with an error if one is wrong."""
    rng, found_by, wrong = np.random.default_rng(seed), Counter(), 0
    for turn in range(count):
        X, y = random_set(rng)
        bias = bool(rng.integers(2))
        found = certify(X, y, bias=bias, tol=None if turn % 4 else 1e-6)
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
