"""Kernels: products in feature spaces that nobody needs to write down.

    kernel = make_kernel("rbf", gamma="scale", rows=rows)       what to compute
    points = points_of(kernel, X)                               examples, ready for it
    K = block(kernel, points, points.take(which))               K[i, j] = K(x_i, z_j)
    d = diagonal(kernel, points)                                d[i] = K(x_i, x_i)

`kernel` says what a Kernel is and makes one from what a user says; `points` holds examples as
kernels read them; `blocks` computes values; `strings` is a kernel on strings; `check` looks at
whether a kernel is legal.
"""
