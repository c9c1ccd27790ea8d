"""The public function `certify`, which takes examples or a trained model with its examples."""

from __future__ import annotations

from inspect import signature
from typing import Any

from widemargin.certificates.certificate import Certificate, CertificateTable, RunCertificate
from widemargin.kernels.kernel import KERNEL_PARAMETERS
from widemargin.parameters.names import refuse_unknown
from widemargin.separability.examples import certify_examples
from widemargin.separability.trainings import certify_training


def certify(
    X: Any,
    y: Any,
    labels: Any = None,
    *,
    bias: bool | float | None = None,
    tol: float | None = 1e-6,
    margin: float | None = None,
    multiclass: str = "pairs",
    gram: bool = False,
    kernel: Any = None,
    max_seconds: float | None = None,
    **params: Any,
) -> Certificate | CertificateTable | RunCertificate:
    """Decide whether a hyperplane separates the classes, and prove it.

        separable       w.z > 0 for all z = y (x, 1), for some w
        not separable   a convex combination of the z is zero (Gordan)

    Exactly one of the two is true. If neither can be proved, the verdict is "undecided"; it is
    never wrong.

    `certify(model, X, y)` takes a trained perceptron, linear or kernel, and reports what is known
    about its training on these examples: see `RunCertificate`.

    Parameters
    ----------
    X : array or scipy sparse matrix of shape (n, d)
        The examples, or their Gram matrix of shape (n, n) with `gram=True`.
    y : array of n labels
        More than two classes are split into two-class problems: see `multiclass`.
    bias : bool or float
        Whether the hyperplane may miss the origin. A number is the value of the constant feature
        that the extended margin uses. The default is True, except with `kernel`, because the
        kernel perceptron has no bias.
    tol : float or None
        Measure the margin until its bracket is narrower than this fraction of the margin. With
        None the margin is not measured.
    margin : float, optional
        Require a hyperplane that keeps at least this distance from all examples.
    multiclass : {"pairs", "rest"}
        With several classes, whether to take them two at a time or each against the rest.
    gram : bool
        Whether X is a Gram matrix K of a kernel. The proof is about the numbers in K, whose rows
        are then the features. Margins assume that K is positive semi-definite.
    kernel : str or callable, optional
        Decide in the feature space of this kernel. Its Gram matrix is computed as by
        `widemargin.gram_matrix` and used as with `gram=True`; verify the certificate with that
        matrix.
    **params
        The kernel's parameters: degree, gamma, coef0, sigma.
    max_seconds : float, optional
        Give up after about this much time.

    Returns
    -------
    Certificate, or CertificateTable for several classes; RunCertificate for a model

    Examples
    --------
    >>> from widemargin import certify
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> certify(X, [0, 1, 1, 1])
    separable (4 examples, 2 features; by perceptron)
    margin 0.353553
    extended margin 0.333333, R 1.73205
    a perceptron with a constant feature of 1 makes at most 27 mistakes
    support: 0, 1, 2
    >>> certify(X, [0, 1, 1, 0])
    not separable (4 examples, 2 features; by repeated weights)
    the hulls of the classes meet: 0 (0.25), 1 (0.25), 2 (0.25), 3 (0.25)

    References
    ----------
    P. Gordan (1873); A. Novikoff, On convergence proofs for perceptrons (1962).
    """
    own = [name for name in signature(certify).parameters if name not in ("params", "labels")]
    refuse_unknown("certify", params, (*own, *KERNEL_PARAMETERS))
    if labels is not None:
        return certify_training(X, y, labels, max_seconds)
    return certify_examples(
        X,
        y,
        bias=bias,
        tol=tol,
        margin=margin,
        multiclass=multiclass,
        gram=gram,
        kernel=kernel,
        max_seconds=max_seconds,
        **params,
    )
