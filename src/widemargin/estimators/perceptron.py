"""The perceptron: online, stochastic, mini-batch, batch; last, averaged, voted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from widemargin.estimators.streams import StreamLearner
from widemargin.online.orders import Shuffle
from widemargin.online.rules import RULES, Eta


class Perceptron(StreamLearner):
    """The perceptron: correct the weights after every mistake, and only then.

        for each example (x, y):
            if y (w.x + b) <= 0:
                w += eta y x;  b += eta y

    Several classes have a weight vector each; the right one gains x and the best wrong one loses
    it. What is deployed is the average of all weights on the way (`keep="average"`), the last
    ones, or a vote of all of them.

    Parameters
    ----------
    rule : {"perceptron", "margin", "pa", "pa1", "pa2", "logistic"}
        When to step and how far: `eta` after a mistake; `eta` while y w.x <= `target`; just far
        enough to reach y w.x = 1 (at any cost, at most `C`, softened by 1/2C); or by the
        gradient of the logistic loss.
    keep : {"average", "last", "vote"}
        What answers. "vote" keeps the log of mistakes and can answer as all three (`using`).
    epochs : int
        Passes over the examples at the most; an epoch without a mistake is the last.
    eta : float or (float, float)
        Step size, or (eta0, power) for eta0 / t ** power at turn t.
    C, target : float
        What an error may cost (pa1, pa2); the margin to aim at (margin).
    batch : int or "full"
        Examples that correct the same weights at once.
    shuffle : bool or {"once", "rows", "draw"}
        True: a new order every epoch, chosen so that memory can keep up; "rows": a new
        permutation of single rows; "once": permuted once; "draw": drawn with replacement;
        False: as given.
    ties : {"mistake", "predict"}
        Whether a score of exactly 0 is a mistake, or only if the label predicted there is wrong.
    start : {"zero", "random"}, array or (array, array)
        The first weights, alone or with the first biases.
    tol : float
        Stop when the weights move less than this in an epoch.
    validation : float
        The fraction of the examples to hold out. They are scored after each epoch with what would
        be deployed; learning stops after `patience` epochs without a better score, and the best
        weights are given back.
    patience : int
        See `validation`.
    max_seconds : float or None
        Stop after this time with what was learned.
    class_weight : dict, "balanced" or None
        What errors on each class cost.
    fit_intercept : bool, float or "auto"
        Learn a bias, as the weight of a constant feature 1, or of the value given. "auto" makes
        it as large as the values in the rows typically are (the power of two nearest to the
        median size of those that are not zero; in a stream, of the first examples). It suits rows
        of many small values, such as texts, whose bias would else take steps as long as the rows.
    multiclass : {"joint", "ovr"}
        Learn all classes together, or each against the rest.
    grow : bool
        Let `partial_fit` take rows with more features than before.
    warm_start : bool
        Let `fit` go on from what was learned before.
    n_jobs : int or None
        Threads for independent work (one-vs-rest classes, prediction); -1 is every core.
    random_state : int, Generator, RandomState or None
        The seed of all that is random.
    progress : bool or None
        Show a progress line on stderr; None: if it is a terminal.

    Attributes
    ----------
    classes_, coef_, intercept_ : arrays
        The labels, and the weights of what is deployed.
    n_iter_, mistakes_ : int
        Epochs run and mistakes made.
    history_ : History
        A table with a row an epoch.
    n_features_in_, feature_names_in_
        The width of the rows, and the names of their columns if they had names.

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

    def __init__(
        self,
        *,
        rule: str = "perceptron",
        keep: str = "average",
        epochs: int = 10,
        eta: Eta = 1.0,
        C: float = 1.0,
        target: float = 1.0,
        batch: int | str = 1,
        shuffle: Shuffle = True,
        ties: str = "mistake",
        start: Any = "zero",
        tol: float = 0.0,
        validation: float = 0.0,
        patience: int = 5,
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
        self.rule = rule
        self.keep = keep
        self.epochs = epochs
        self.eta = eta
        self.C = C
        self.target = target
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
