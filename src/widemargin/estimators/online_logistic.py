"""Logistic regression, trained online with the same driver as the perceptron."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from widemargin.estimators.streams import StreamLearner
from widemargin.online.orders import Shuffle
from widemargin.online.rules import Eta


class OnlineLogistic(StreamLearner):
    """Logistic regression by stochastic gradient descent, one example at a time.

        for each example (x, y):
            w += eta y x / (1 + exp(y w.x))         (minus 2 eta l2 w, with a penalty)

    Several classes: w_c += eta ([c is correct] - P(c | x)) x, observed minus expected.

    Without a penalty, the weights grow without bound on separable data, where the likelihood has no
    maximum. `l2` or few epochs keep them small. The bias is the weight of a constant feature and is
    penalised like the other weights.

    Parameters
    ----------
    eta : float or (float, float)
        Step size, or (eta0, power) for eta0 / t ** power at step t.
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

    def __init__(
        self,
        *,
        eta: Eta = 1.0,
        l2: float = 0.0,
        keep: str = "average",
        epochs: int = 10,
        batch: int | str = 1,
        shuffle: Shuffle = True,
        ties: str = "mistake",
        start: Any = "zero",
        tol: float = 0.0,
        validation: float = 0.0,
        patience: int | None = 5,
        max_seconds: float | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        fit_intercept: bool | float | str = True,
        multiclass: str = "joint",
        grow: bool = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        progress: bool | None = None,
    ) -> None:
        self.eta = eta
        self.l2 = l2
        self.keep = keep
        self.epochs = epochs
        self.batch = batch
        self.shuffle = shuffle
        self.ties = ties
        self.start = start
        self.tol = tol
        self.validation = validation
        self.patience = patience
        self.max_seconds = max_seconds
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.multiclass = multiclass
        self.grow = grow
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress
