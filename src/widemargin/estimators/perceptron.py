"""The perceptron: online, stochastic, mini-batch, batch; last, averaged, voted."""

from __future__ import annotations

from dataclasses import dataclass

from widemargin.estimators.online import OnlineLearner
from widemargin.online.rules import RULES, Eta


@dataclass(eq=False, repr=False, kw_only=True)
class Perceptron(OnlineLearner):
    """Perceptron: a linear classifier that corrects its weights after every mistake.

        for each example (x, y):
            if y (w.x + b) <= 0:
                w += eta y x;  b += eta y

    With several classes there is one weight vector per class; x is added to that of the correct
    class and subtracted from that of the best wrong class. Predictions use the average of all
    weights during training (`keep="average"`), the last weights, or a vote of all of them.

    Parameters
    ----------
    rule : {"perceptron", "margin", "pa", "pa1", "pa2", "logistic"}
        When to update and by how much. "perceptron": by `eta` after a mistake; "margin": by `eta`
        if y w.x <= `target`; "pa", "pa1", "pa2": just enough to reach y w.x = 1 (unbounded, at most
        `C`, softened by 1/2C); "logistic": by the gradient of the logistic loss.
    keep : {"average", "last", "vote"}
        Which weights predict. "vote" stores the mistake log and can predict as any of the three
        (see `using`).
    epochs : int
        Maximum number of passes over the examples; training stops after an epoch without mistakes.
    eta : float or (float, float)
        Step size, or (eta0, power) for eta0 / t ** power at step t.
    C, target : float
        Cost of an error (pa1, pa2); the margin to aim for (margin).
    batch : int or "full"
        Number of examples per update (mini-batch size). The last batch of an epoch, or of a call of
        `partial_fit`, may be smaller.
    shuffle : bool or {"once", "rows", "draw"}
        True: a new order every epoch that reads memory efficiently; "rows": a new permutation of
        single rows every epoch; "once": one permutation for all epochs; "draw": drawn with
        replacement; False: the given order.
    ties : {"mistake", "predict"}
        Whether a score of exactly 0 is always a mistake, or only if the predicted label is wrong.
    start : {"zero", "random"}, array or (array, array)
        Initial weights, alone or with the initial biases.
    tol : float
        Stop when the weights change by less than this in an epoch.
    validation : float
        Fraction of the examples to hold out. They are scored after each epoch; training stops after
        `patience` epochs without a better score, and the best weights are returned.
    patience : int or None
        See `validation`. With None the held-out examples are only measured: the scores are in
        `history_`, and the result is the same as if these examples did not exist.
    max_seconds : float or None
        Stop after this many seconds and keep the weights learned so far.
    class_weight : dict, "balanced" or None
        Cost of an error on each class.
    fit_intercept : bool, float or "auto"
        Whether to learn a bias, as the weight of a constant feature. "auto" gives this feature the
        typical size of the values in the rows: the power of two nearest to the median absolute
        value of the nonzeros (in a stream, those of the first examples). A number is the value
        itself; True means 1, as in textbooks, which suits values near 1: with larger values the
        bias hardly moves, and with many small ones its steps are as long as the rows.
    multiclass : {"joint", "ovr"}
        Learn all classes together, or each against the rest.
    grow : bool
        Whether `partial_fit` and a warm start accept rows with more features than before. Columns
        of frames must be in the same order, with new ones at the end.
    warm_start : bool
        Whether `fit` continues from the previous fit.
    n_jobs : int or None
        Threads for independent work (one-vs-rest classes, prediction); -1 means all cores.
    random_state : int, Generator, RandomState or None
        Seed of the random generator.
    progress : bool or None
        Whether to show a progress line on stderr; None: only if it is a terminal.

    Attributes
    ----------
    classes_, coef_, intercept_ : arrays
        The labels, and the weights and biases used for prediction. With `keep="vote"`: the average,
        which answers nearly as the vote does.
    n_iter_, mistakes_ : int
        Epochs run and mistakes made.
    history_ : History
        A table with one row per epoch.
    n_features_in_, feature_names_in_
        The number of features, and their names if the columns had names.

    Examples
    --------
    >>> from widemargin import Perceptron
    >>> X = [[-1, 2], [1, 0], [1, 1], [-1, 0], [-1, -2], [1, -1]]
    >>> y = [-1, 1, 1, -1, -1, 1]
    >>> p = Perceptron(keep="last", shuffle=False, fit_intercept=False).fit(X, y)
    >>> p.coef_, p.mistakes_
    (array([[3., 1.]]), 3)

    References
    ----------
    F. Rosenblatt (1958), Psychological Review 65. Y. Freund and R. E. Schapire (1999), Large
    margin classification using the perceptron algorithm, Machine Learning 37 (figure 1: voted).
    M. Collins (2002), EMNLP (averaged).
    """

    _rules = RULES
    _conditional = ("C", "target")  # on the rule

    rule: str = "perceptron"
    eta: Eta = 1.0
    C: float = 1.0
    target: float = 1.0
