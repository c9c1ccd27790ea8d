"""Passive-aggressive learning: the smallest change that corrects the current example."""

from __future__ import annotations

from dataclasses import dataclass

from widemargin.estimators.online import OnlineLearner


@dataclass(eq=False, repr=False, kw_only=True)
class PassiveAggressive(OnlineLearner):
    """Passive-aggressive classifier: the smallest update that gives each example margin 1.

        for each example (x, y):
            tau = (1 - y w.x) / |x|^2, at least 0, at most C        (pa1)
            w += tau y x

    Parameters
    ----------
    rule : {"pa1", "pa", "pa2"}
        "pa1": tau is at most `C`; "pa": tau is unbounded; "pa2": tau is softened,
        tau = (1 - y w.x) / (|x|^2 + 1/2C).
    C : float
        Aggressiveness, the cost of an error. With several classes, the margin is half the lead over
        the best wrong class, so that two classes give the binary case; C in the paper's notation is
        then twice this value.
    keep, epochs, batch, shuffle, ties, start, tol, validation, patience, max_seconds, \
class_weight, fit_intercept, multiclass, grow, warm_start, n_jobs, random_state, progress
        As for `Perceptron`. The step of a batch is the mean of the steps of its examples.

    Examples
    --------
    >>> from widemargin import PassiveAggressive
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]], ["no", "yes", "yes"]
    >>> PassiveAggressive(random_state=0).fit(X, y).predict([[3.0, 0.0]])
    array(['yes'], dtype='<U3')

    References
    ----------
    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz and Y. Singer (2006), Online
    passive-aggressive algorithms, JMLR 7 (figure 1: PA, PA-I, PA-II).
    """

    _rules = ("pa1", "pa", "pa2")

    rule: str = "pa1"
    C: float = 1.0
