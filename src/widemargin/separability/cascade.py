"""The steps that decide separability: cheap evidence first, and no verdict without a proof.

In this order: two equal examples with different labels; single features that decide examples; for
many examples with some hundred features, Newton steps of an SVM; a few epochs of the perceptron;
the hull's point nearest to the origin, found by an active set, in a stretched space where floats do
not suffice; an exact simplex on a few examples; a linear program. Each step only suggests a
verdict, which is returned once the verifier has proved it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np

from widemargin.certificates.certificate import Certificate
from widemargin.certificates.verifier import NOT_SEPARABLE
from widemargin.data.rows import Rows, frozen
from widemargin.loops.separability.search import fingerprint_rows, hard_margin_pass, perceptron_pass
from widemargin.separability.exact_simplex import decide_exactly
from widemargin.separability.lifting import convex_dependency
from widemargin.separability.nearest_point import HullPoints, approach
from widemargin.separability.newton import run_newton
from widemargin.separability.peeling import peel
from widemargin.separability.problem import SeparationProblem

# The constants below were chosen by hand; benchmarks/RESULTS.md (section "separability", 21 data
# sets) gives times measured with them. A step that gives up leaves the verdict to the next one, so
# they affect only the time.

#: The largest number of epochs of the perceptron.
_PERCEPTRON_EPOCHS = 30
#: If few mistakes remain, dual coordinate descent runs until this many consecutive passes bring no
#: improvement.
_DESCENT_PATIENCE = 100
#: The squared length below which a point of the hull is taken to be zero, for examples of about
#: unit length. The verdict it suggests is then proved in fractions.
_NEAR_ZERO = 1e-6
#: How often space is stretched: each time adds about seven digits along one direction.
_STRETCHES = 8
#: Replaces a squared length that underflows to zero.
_TINY = 1e-300
#: Limits of the exact simplex: features, values, and seconds, as its numbers grow with every pivot.
_SIMPLEX_FEATURES, _SIMPLEX_VALUES, _SIMPLEX_SECONDS = 40, 4000, 10.0
#: Sparse examples of at most this many values (400 MB) are copied into a dense array.
_DENSE_VALUES = 50_000_000


def decide(problem: SeparationProblem) -> Certificate:
    """Decide whether the classes are separable, without measuring the margin."""
    return try_steps(problem, check_trivial_cases, find_duplicates, peel_features, *SEARCH)


def try_steps(
    problem: SeparationProblem, *steps: Callable[[SeparationProblem], Certificate | None]
) -> Certificate:
    """Return the certificate of the first step that succeeds."""
    for step in steps:
        found = step(problem)
        if found is not None:
            return found
        if problem.out_of_time:
            break
    return problem.blank


def check_trivial_cases(problem: SeparationProblem) -> Certificate | None:
    """Decide the cases of a single class, or (without a bias) of an example that is zero."""
    signs, rows = problem.signs, problem.rows
    if rows.bias:
        if np.all(signs == signs[0]):
            w = np.zeros(rows.width + 1)
            w[-1] = signs[0]
            return problem.prove_separable(w, "one class only")
        return None
    matrix = rows.to_matrix()
    filled = abs(matrix).max(axis=1)
    filled = np.asarray(filled.todense() if rows.is_sparse else filled).ravel()
    if np.all(filled > 0.0):
        return None
    zero = np.array([np.argmin(filled)])
    return problem.prove_hulls_meet(zero, [Fraction(1)], "an example that is zero")


def find_duplicates(problem: SeparationProblem) -> Certificate | None:
    """Look for two equal examples with different labels, by hashes of the rows."""
    rows, signs = problem.rows, problem.signs
    rng = np.random.default_rng(0)
    r = rng.integers(1, 2**64, rows.width, dtype=np.uint64) | np.uint64(1)
    marks = np.empty(rows.n, np.uint64)
    # -0.0 equals 0.0 and must have the same bits.
    bits = (rows.stored.values + 0.0).view(np.uint64)
    with np.errstate(over="ignore"):  # uncompiled, numpy would warn of wrap-around
        fingerprint_rows(rows.stored, frozen(bits), r, marks)
    order = np.argsort(marks, kind="stable")
    marks, turned = marks[order], signs[order]
    pairs = np.flatnonzero((marks[1:] == marks[:-1]) & (turned[1:] != turned[:-1]))
    if not len(pairs):
        return None
    pair = np.sort(order[pairs[0] : pairs[0] + 2])
    return problem.prove_hulls_meet(pair, [Fraction(1, 2), Fraction(1, 2)], "equal examples")


def peel_features(problem: SeparationProblem) -> Certificate | None:
    """Remove the examples that single features decide, and search among the rest."""
    rows = problem.scaled
    peeled = peel(rows, problem.signs) if rows.is_sparse else None
    if peeled is None:
        return None
    w, left = np.zeros(rows.width + 1), peeled.left
    if not len(left):
        return problem.prove_separable(peeled.extend(w), "peeling")
    core, used = peeled.core()
    blank = replace(problem.blank, n=core.n, width=core.width)
    part = SeparationProblem(
        core, problem.signs[left], blank, core.to_matrix(), problem.y[left], problem.deadline
    )
    found = try_steps(part, *SEARCH)
    found_by = f"peeling, {found.found_by}"
    if found.verdict == NOT_SEPARABLE:
        return problem.prove_hulls_meet(left[found.examples], list(found.shares), found_by)
    if found.w is None or found.w.dtype == object:
        return None
    w[used] = found.w
    w[-1] = float(found.b) / rows.bias if rows.bias else 0.0
    return problem.prove_separable(peeled.extend(w), found_by)


def run_perceptron(problem: SeparationProblem) -> Certificate | None:
    """Run a few epochs of the perceptron, and coordinate descent if few mistakes remain."""
    rows, signs = problem.scaled, frozen(problem.signs)
    squares = np.maximum(HullPoints(rows, signs).squares(), _TINY)
    # Powers of two keep integers exact, so that a cycle of the weights can be recognised.
    steps = 2.0 ** -np.round(np.log2(squares) / 2.0)
    order = np.random.default_rng(0).permutation(rows.n).astype(np.uint64)
    w, a = np.zeros(rows.width + 1), np.zeros(rows.n)
    seen: dict[bytes, np.ndarray] = {}
    mistakes, wide = rows.n, rows.width >= rows.n  # then they are usually separable
    for epoch in range(_PERCEPTRON_EPOCHS):
        mistakes = perceptron_pass(rows.stored, signs, frozen(order), frozen(steps), w, a)
        if mistakes == 0:
            found = problem.prove_separable(w, "perceptron")
            if found is not None:
                return found
            break
        before = seen.setdefault((w + 0.0).tobytes(), a.copy())
        if np.any(before != a):
            return _prove_from_cycle(problem, np.flatnonzero(before != a))
        hopeless = (0.05 if epoch < 9 else 0.01) * rows.n + 10
        if problem.out_of_time or (epoch >= 4 and not wide and mistakes > hopeless):
            return None
    if mistakes > 0.01 * rows.n and not wide:
        return None
    w[:], a[:] = 0.0, 0.0
    fewest, idle = rows.n, 0
    while idle < _DESCENT_PATIENCE:
        mistakes = hard_margin_pass(rows.stored, signs, frozen(order), frozen(squares), 0.0, w, a)
        if mistakes == 0:
            found = problem.prove_separable(w, "dual coordinate descent")
            if found is not None:
                return found
        if problem.out_of_time or not np.all(np.isfinite(w)):
            break
        idle = idle + 1 if mistakes >= fewest else 0
        fewest = min(fewest, mistakes)
    return None


def _prove_from_cycle(problem: SeparationProblem, which: np.ndarray) -> Certificate | None:
    """Prove from repeated weights (L22): the corrections in between add up to zero."""
    part = HullPoints(problem.scaled.take(which.astype(np.uint64)), problem.signs[which])
    for step in approach(part, np.zeros(1, np.int64)):
        if step.optimal or step.point.square < _NEAR_ZERO:
            return _prove_meeting(problem, which[step.which], "repeated weights")
    return None


def _prove_meeting(
    problem: SeparationProblem, which: np.ndarray, found_by: str
) -> Certificate | None:
    """Find exact weights for examples whose hulls seem to meet, and prove them."""
    part = problem.rows.take(which.astype(np.uint64)).to_matrix()
    part = part.toarray() if problem.rows.is_sparse else part
    signs = problem.signs[which]
    vectors = signs[:, None] * part
    if problem.rows.bias:
        vectors = np.column_stack([vectors, signs])
    shares = convex_dependency(vectors)
    return None if shares is None else problem.prove_hulls_meet(which, shares, found_by)


def find_nearest_point(problem: SeparationProblem) -> Certificate | None:
    """Find the hull's point nearest to the origin, stretching space where it is too close."""
    found = _find_nearest_standardised(problem)
    if found is not None or problem.out_of_time:
        return found
    points = HullPoints(problem.scaled, problem.signs)
    points.factors = 1.0 / np.sqrt(np.maximum(points.squares(), _TINY))
    for _ in range(1 + _STRETCHES):
        step = None
        for step in approach(points, np.zeros(1, np.int64)):
            if np.min(step.scores) > 0.0:
                found = problem.prove_separable(points.separator(step.point), "nearest point")
                if found is not None:
                    return found
            if problem.out_of_time:
                return None
        if step is None:
            return None
        found = _prove_meeting(problem, step.which, "nearest point")
        if found is not None:
            return found
        direction = points.sharp(step.which, step.weights)
        for stretch, place in zip(points.stretches, step.point.along, strict=True):
            direction = direction + stretch.by * place * stretch.direction
        if not np.any(direction):
            return None
        found = problem.prove_separable(direction, "nearest point, stretched")
        if found is not None:
            return found
        points.stretch(direction)
    return None


def _find_nearest_standardised(problem: SeparationProblem) -> Certificate | None:
    """Find the nearest point after scaling each feature to mean 0 and deviation 1, if cheap.

    With a bias this is a change of coordinates that needs far fewer steps. It rounds the examples,
    but the result is proved for the original ones.
    """
    rows = problem.scaled
    if not rows.bias or rows.n * rows.width > _DENSE_VALUES or rows.width > rows.n:
        return None
    matrix = rows.to_matrix()
    dense = matrix.toarray() if rows.is_sparse else matrix
    means, deviations = np.mean(dense, axis=0), np.std(dense, axis=0)
    deviations[deviations == 0.0] = 1.0
    points = HullPoints(Rows.of((dense - means) / deviations, bias=rows.bias), problem.signs)
    points.factors = 1.0 / np.sqrt(np.maximum(points.squares(), _TINY))
    step = None
    for step in approach(points, np.zeros(1, np.int64)):
        if np.min(step.scores) > 0.0:
            w = points.separator(step.point)
            w[:-1] /= deviations
            w[-1] -= w[:-1] @ means / rows.bias
            found = problem.prove_separable(w, "nearest point")
            if found is not None:
                return found
        if problem.out_of_time:
            return None
    return None if step is None else _prove_meeting(problem, step.which, "nearest point")


def run_exact_simplex(problem: SeparationProblem) -> Certificate | None:
    """Run an exact simplex on a few examples, adding those on the wrong side of its separator."""
    rows, signs = problem.scaled, problem.signs
    if rows.width > _SIMPLEX_FEATURES:
        return None
    matrix = rows.to_matrix()
    chosen = np.unique(np.array([np.argmax(signs > 0), np.argmax(signs < 0)]))
    while len(chosen) * (rows.width + 1) <= _SIMPLEX_VALUES and not problem.out_of_time:
        part = matrix[chosen]
        turned = signs[chosen, None] * (part.toarray() if rows.is_sparse else part)
        if rows.bias:
            turned = np.column_stack([turned, signs[chosen]])
        weights, exact = decide_exactly(
            turned, min(problem.deadline, time.monotonic() + _SIMPLEX_SECONDS)
        )
        if exact is None:
            return (
                None
                if weights is None
                else problem.prove_hulls_meet(chosen, weights, "exact simplex")
            )
        w = np.array([float(value) for value in exact])
        last = w[-1] if rows.bias else 0.0
        found = problem.prove_separable(
            np.append(w[: rows.width], last / (rows.bias or 1.0)), "exact simplex"
        )
        found = found or problem.prove_separable_exactly(exact, "exact simplex")
        if found is not None:
            return found
        scores = signs * (matrix @ w[: rows.width] + last)
        scores[chosen] = np.inf
        if not np.min(scores) < np.inf:
            return None
        worst = np.argsort(scores, kind="stable")[: 2 * rows.width + 4]
        chosen = np.union1d(chosen, worst[np.isfinite(scores[worst])])
    return None


def solve_linear_program(problem: SeparationProblem) -> Certificate | None:
    """Solve a linear program as a last resort, and prove what its basis suggests."""
    import scipy.optimize
    import scipy.sparse

    rows, signs = problem.scaled, problem.signs
    matrix = scipy.sparse.csr_matrix(rows.to_matrix())
    if rows.bias:
        matrix = scipy.sparse.hstack([matrix, np.full((rows.n, 1), rows.bias)], format="csr")
    turned = scipy.sparse.diags(signs) @ matrix
    # minimise -t  so that  t - z_i . w <= 0  and  |w_j| <= 1
    system = scipy.sparse.hstack([-turned, np.ones((rows.n, 1))], format="csc")
    width = matrix.shape[1]
    limit = min(problem.deadline - time.monotonic(), 1e6)
    result = scipy.optimize.linprog(
        np.append(np.zeros(width), -1.0),
        A_ub=system,
        b_ub=np.zeros(rows.n),
        bounds=[(-1.0, 1.0)] * width + [(None, 1.0)],
        method="highs",
        options={"time_limit": max(limit, 1e-3)},
    )
    if result.x is None:
        return None
    w = np.append(result.x[:width], [] if rows.bias else [0.0])
    found = problem.prove_separable(w, "linear program")
    if found is None:
        which = np.flatnonzero(np.asarray(result.ineqlin.marginals) != 0.0)
        found = _prove_meeting(problem, which, "linear program") if len(which) else None
    return found


#: The steps for the examples that remain after peeling.
SEARCH = (
    run_newton,
    run_perceptron,
    find_nearest_point,
    run_exact_simplex,
    solve_linear_program,
)
