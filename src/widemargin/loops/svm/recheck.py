"""Plain loops that recompute what an SVM claims. They share nothing with the loops that learn."""

from __future__ import annotations

from widemargin.loops.jit import jit


@jit()
def rebuild_sparse(values, indices, starts, bias, amounts, w):
    """W = sum_i amounts[i] x_i, the constant feature last."""
    w[:] = 0.0
    for i in range(len(amounts)):
        c = amounts[i]
        if c != 0.0:
            for k in range(starts[i], starts[i + 1]):
                w[indices[k]] += c * values[k]
            w[len(w) - 1] += c * bias


@jit()
def rebuild_dense(values, bias, amounts, w):
    """As `rebuild_sparse`, for the rows of a matrix."""
    w[:] = 0.0
    for i in range(len(amounts)):
        c = amounts[i]
        if c != 0.0:
            for k in range(values.shape[1]):
                w[k] += c * values[i, k]
            w[len(w) - 1] += c * bias


@jit()
def scores_sparse(values, indices, starts, bias, w, out):
    """out[i] = w . x_i, in float64."""
    for i in range(len(out)):
        s = bias * w[len(w) - 1]
        for k in range(starts[i], starts[i + 1]):
            s += values[k] * w[indices[k]]
        out[i] = s


@jit()
def scores_dense(values, bias, w, out):
    """As `scores_sparse`, for the rows of a matrix."""
    for i in range(len(out)):
        s = bias * w[len(w) - 1]
        for k in range(values.shape[1]):
            s += values[i, k] * w[k]
        out[i] = s
