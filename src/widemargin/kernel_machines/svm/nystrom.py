"""A kernel SVM on Nystrom features, for when kernel values do not fit in memory."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np

from widemargin.certificates.kernel_gap import KernelCertificate, LowRank, add_up
from widemargin.data.rows import Rows
from widemargin.kernel_machines.svm.problem import KernelSVMProblem, Solved, TwoClassMachine
from widemargin.kernels.blocks import block, check_values
from widemargin.linear_svm.fit import SVMSettings, TrainedSVM, fit_svm
from widemargin.training.run import Watch

#: Eigenvalues of the landmarks' kernel matrix below this fraction of the largest are rounding
#: errors: some ten units in the last place of a float32, some thousands for a float64. Chosen by
#: hand.
_ROUNDING = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-12}
#: Number of examples whose features are computed at a time: 16 MB of float32 for 1000 landmarks.
_BLOCK = 4096


def fit_landmarks(
    problem: KernelSVMProblem,
    count: int,
    classes: np.ndarray,
    deadline: float,
    watch: Watch | None,
) -> Solved:
    """Train linear machines on features whose products approximate the kernel.

    With K_LL = V D V' for the landmarks L, phi(x) = D^-1/2 V' K(L, x) has phi(x).phi(z) = K(x, z)
    for landmarks, and approximately for other examples. A linear machine w on phi is again a sum
    of kernels, with coefficients V D^-1/2 w for the landmarks.

    References
    ----------
    C. K. I. Williams and M. Seeger (2001), Using the Nystrom method to speed up kernel machines.
    """
    chosen = np.sort(np.random.default_rng(0).choice(problem.points.n, count, replace=False))
    features, basis, quality = _features(problem, chosen)
    coefs, intercepts, parts, steps, reasons = [], [], [], [], []
    machines = problem.machines
    for number, machine in enumerate(machines):
        left = (deadline - time.monotonic()) / (len(machines) - number)
        trained = _train(problem, machine, features, max(left, 1e-3), watch)
        w = trained.state.W[0].astype(np.float64)
        coefs.append(basis @ w[:-1])
        intercepts.append(w[-1])
        steps.append(len(trained.history))
        reasons.append(trained.history.stopped)
        costs = problem.costs[problem.examples(machine)]
        parts.append(_certificate(trained, w, problem.labels(machine, classes), quality, costs))
    coef, intercept = np.column_stack(coefs), np.array(intercepts)
    if len(problem.sizes) == 2:  # scores are positive for the second class
        coef, intercept = -coef, -intercept
    found = add_up(parts, count)
    if len(parts) > 1:
        found = replace(found, low_rank=quality)
    other = [reason for reason in reasons if reason != "gap reached"]
    return Solved(
        chosen, coef, intercept, found, np.array(steps), other[0] if other else "converged", None
    )


def _features(
    problem: KernelSVMProblem, chosen: np.ndarray
) -> tuple[np.ndarray, np.ndarray, LowRank]:
    """Return all examples' features, the matrix that maps kernels to them, and their quality."""
    kernel, points = problem.kernel, problem.points
    landmarks = points.take(chosen)
    K = block(kernel, landmarks, landmarks).astype(np.float64)
    check_values(K, landmarks, landmarks)
    spread, directions = np.linalg.eigh((K + K.T) / 2.0)
    kept = spread > _ROUNDING[points.dtype] * max(float(spread[-1]), 0.0)
    if not np.any(kept):
        kept[-1] = True
        spread[-1] = 1.0
    basis = directions[:, kept] / np.sqrt(spread[kept])
    rank = basis.shape[1]
    features = np.empty((points.n, rank), points.dtype)
    narrow = basis.astype(points.dtype)
    for start in range(0, points.n, _BLOCK):
        part = points.take(slice(start, start + _BLOCK))
        values = block(kernel, part, landmarks)
        check_values(values, part, landmarks)
        np.matmul(values, narrow, out=features[start : start + _BLOCK])
    whole = problem.diagonal
    missed = np.maximum(whole - np.einsum("ij,ij->i", features, features, dtype=np.float64), 0.0)
    parts = np.divide(missed, whole, out=np.zeros(points.n), where=whole > 0.0)
    exponent = np.frexp(np.max(whole, initial=0.0))[1]  # without it, the sum may overflow
    total = np.ldexp(whole, -exponent).sum()
    mean = float(np.ldexp(missed, -exponent).sum() / total) if total > 0.0 else 0.0
    return features, basis, LowRank(len(chosen), rank, mean, float(np.max(parts)))


def _train(
    problem: KernelSVMProblem,
    machine: TwoClassMachine,
    features: np.ndarray,
    seconds: float,
    watch: Watch | None,
) -> TrainedSVM:
    """Train a linear machine on features."""
    which = problem.examples(machine)
    codes = (problem.signs(machine) > 0).astype(np.int64)
    settings = SVMSettings(
        C=problem.C,
        loss="hinge",
        bias="free",
        tol=min(0.5, problem.tol),
        max_seconds=None if math.isinf(seconds) else seconds,
    )
    weights = None if math.isinf(problem.C) else problem.costs[which] / problem.C
    rows = Rows.of(features if len(which) == len(features) else features[which], bias=0.0)
    rng = np.random.default_rng(0)
    return fit_svm(rows, np.array([0, 1]), codes, settings, rng, sample_weight=weights, watch=watch)


def _certificate(
    trained: TrainedSVM, w: np.ndarray, labels: tuple, quality: LowRank, costs: np.ndarray
) -> KernelCertificate:
    """Return the certificate of a linear machine in the form of a kernel SVM."""
    found = trained.certificate
    length = float(np.linalg.norm(w[:-1]))
    margin, bound = (1.0 / length if length else math.inf, None)
    if found.margin is not None:
        margin, bound = found.margin
    at_bound = 0 if found.alpha is None else int(np.count_nonzero(found.alpha >= costs))
    return KernelCertificate(
        found.primal,
        found.dual,
        found.gap,
        found.violation,
        found.support_vectors,
        at_bound,
        margin,
        bound,
        labels,
        low_rank=quality,
    )
