"""Logistic regression, trained online with the same driver as the perceptron."""

from __future__ import annotations

from dataclasses import dataclass

from widemargin.estimators.online import OnlineLearner
from widemargin.online.rules import Eta


@dataclass(eq=False, repr=False, kw_only=True)
class OnlineLogistic(OnlineLearner):
    """Logistic regression by stochastic gradient descent, one example at a time.

        for each example (x, y):
            w += eta y x / (1 + exp(y w.x))         (minus 2 eta l2 w, with a penalty)

    Several classes: w_c += eta ([c is correct] - P(c | x)) x, observed minus expected.

    Without a penalty, the weights grow without bound on separable data, where the likelihood has no
    maximum. `l2` or few epochs keep them small. The bias is the weight of a constant feature and is
    penalised like the other weights.

    Parameters
    ----------
    eta : "auto", float or (float, float)
        Step size, or (eta0, power) for eta0 / t ** power at step t. "auto" adapts it to the scale
        of the features: it is about 3 / |x|^2, for the mean squared length of the first examples
        (of the first call of `partial_fit`, or the first dict of `learn_one`).
    l2 : float
        L2 penalty: adds l2 |w|^2 to the loss of every example.
    keep, epochs, batch, shuffle, ties, start, tol, validation, patience, max_seconds, \
class_weight, fit_intercept, multiclass, grow, warm_start, n_jobs, random_state, progress
        As for `Perceptron`.

    Examples
    --------
    >>> from widemargin import OnlineLogistic
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> OnlineLogistic(epochs=100, random_state=0).fit(X, y).predict_proba([[0.0]]).round(2)
    array([[1., 0.]])

    References
    ----------
    W. Xu (2011), Towards optimal one pass large scale learning with averaged stochastic gradient
    descent (the average of scaled weights).
    """

    _rules = ("logistic",)

    eta: Eta = "auto"
    l2: float = 0.0
