"""Kernels: inner products in feature spaces that are never written out.

    kernel = make_kernel("rbf", gamma="scale", rows=rows)       what to compute
    points = points_of(kernel, X)                               examples, ready for it
    K = block(kernel, points, points.take(which))               K[i, j] = K(x_i, z_j)
    d = diagonal(kernel, points)                                d[i] = K(x_i, x_i)

`kernel` defines `Kernel` and makes one from the user's parameters; `points` holds examples in the
form that kernels read; `blocks` computes values; `strings` has a kernel on strings; `check` tests
whether a kernel is legal.
"""
