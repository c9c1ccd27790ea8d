"""Compare KernelSVM's objectives with LIBSVM's: `python -m benchmarks.kernel_objectives`.

Both sides solve the same problem to the same violation. Both dual objectives are computed from
their dual values in plain numpy, in float64.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.metrics.pairwise import laplacian_kernel, pairwise_kernels
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import SVC

from benchmarks.svm_objectives import sets
from widemargin import KernelSVM

#: Sets with more rows are skipped, because numpy holds the whole matrix.
MOST = 3_000
#: The L1 form is skipped for more features, because scikit-learn's takes minutes.
WIDEST = 2_000
KERNELS: dict[str, dict[str, Any]] = {
    "rbf": {"kernel": "rbf"},
    "poly": {"kernel": "poly", "degree": 3, "coef0": 1.0},
    "linear": {"kernel": "linear"},
    "laplacian": {"kernel": "laplacian"},
    "precomputed": {"kernel": "precomputed"},
}


def gram(X: Any, Z: Any, name: str, gamma: float) -> np.ndarray:
    """Kernel values by scikit-learn."""
    if name == "laplacian":
        X, Z = (part.toarray() if scipy.sparse.issparse(part) else part for part in (X, Z))
        return laplacian_kernel(X, Z, gamma=gamma)
    if name == "linear":
        return pairwise_kernels(X, Z, metric="linear")
    more = {"degree": 3, "coef0": 1.0} if name == "poly" else {}
    return pairwise_kernels(X, Z, metric="poly" if name == "poly" else "rbf", gamma=gamma, **more)


def dual(K: np.ndarray, model: Any) -> float:
    """The dual objective of a two-class model."""
    beta = np.zeros(len(K))
    coef = model.dual_coef_
    beta[model.support_] = (coef.toarray() if scipy.sparse.issparse(coef) else coef)[0]
    return float(np.abs(beta).sum() - 0.5 * beta @ K @ beta)


def problems(asked: str) -> Iterator[tuple[str, Callable[[], tuple[Any, np.ndarray]]]]:
    """The sets whose names contain the given text."""
    for name, load in sets():
        if asked in name:
            yield name, load


def main() -> None:
    """Compare the objectives, and print which agree."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernel_objectives")
    parser.add_argument("--sets", default="", help="Only sets whose names contain this.")
    parser.add_argument("--rows", type=int, default=MOST, help="Largest number of rows.")
    parser.add_argument("--tol", type=float, default=1e-4, help="Violation for both sides.")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    print("set, kernel, C: dual of ours, its gap, s | LIBSVM (theirs - ours) / ours, s | scores")
    agreed = seen = 0
    for name, load in problems(asked.sets):
        X, y = load()
        if X.shape[0] > asked.rows:
            which = np.random.default_rng(0).permutation(X.shape[0])[: asked.rows]
            X, y = X[np.sort(which)], y[np.sort(which)]
        X = MaxAbsScaler().fit_transform(X)
        gamma = 1.0 / min(X.shape[1], 50)
        for kernel, how in KERNELS.items():
            if kernel == "laplacian" and X.shape[1] > WIDEST:
                continue
            K = gram(X, X, "rbf" if kernel == "precomputed" else kernel, gamma)
            given = K if kernel == "precomputed" else X
            factor = {} if kernel in ("linear", "precomputed") else {"gamma": gamma}
            for C in (1.0, 30.0):
                clock = time.perf_counter()
                ours = KernelSVM(C=C, **factor, tol=asked.tol, **how).fit(given, y)
                took = time.perf_counter() - clock
                clock = time.perf_counter()
                peer = how if kernel in ("rbf", "poly", "linear") else {"kernel": "precomputed"}
                theirs_X = given if kernel in ("rbf", "poly", "linear") else K
                theirs = SVC(C=C, gamma=gamma, tol=asked.tol, **peer).fit(theirs_X, y)
                their_time = time.perf_counter() - clock
                mine, other = dual(K, ours), dual(K, theirs)
                scores = theirs.decision_function(theirs_X)
                apart = np.max(np.abs(ours.decision_function(given) - scores))
                apart /= 1.0 + np.max(np.abs(scores))
                seen += 1
                agreed += abs(other - mine) <= 1e-4 * abs(mine) and apart <= 10 * asked.tol
                print(
                    f"{name}, {kernel}, {C:g}: {mine:.8g}, {ours.certificate_.gap:.1e},"
                    f" {took:.2f} | {(other - mine) / mine:+.1e}, {their_time:.2f} | {apart:.1e}",
                    flush=True,
                )
    print(f"{agreed} of {seen} agree (dual within 1e-4, scores within {10 * asked.tol:g})")


if __name__ == "__main__":
    main()
