"""Small data sets and learners for the laws."""

import numpy as np
from hypothesis import strategies as st

import widemargin as wm

#: Every learner by name, unshuffled unless a law sets it. The steps of the logistic ones are short
#: enough for rounding errors to shrink from one example to the next.
LEARNERS = {
    "perceptron": lambda **how: wm.Perceptron(**{"shuffle": False, **how}),
    "margin": lambda **how: wm.Perceptron(**{"rule": "margin", "shuffle": False, **how}),
    "perceptron-logistic": lambda **how: wm.Perceptron(
        **{"rule": "logistic", "eta": 0.05, "shuffle": False, **how}
    ),
    "perceptron-pa": lambda **how: wm.Perceptron(**{"rule": "pa", "shuffle": False, **how}),
    "pa": lambda **how: wm.PassiveAggressive(**{"rule": "pa", "shuffle": False, **how}),
    "pa1": lambda **how: wm.PassiveAggressive(**{"rule": "pa1", "C": 0.1, "shuffle": False, **how}),
    "pa2": lambda **how: wm.PassiveAggressive(**{"rule": "pa2", "C": 0.1, "shuffle": False, **how}),
    "logistic": lambda **how: wm.OnlineLogistic(**{"eta": 0.05, "shuffle": False, **how}),
    "logistic-l2": lambda **how: wm.OnlineLogistic(
        **{"eta": (0.05, 0.5), "l2": 0.01, "shuffle": False, **how}
    ),
}
#: One of each kind, for slow laws; the others are similar.
KINDS = ("perceptron", "pa1", "logistic-l2")
#: Those whose sums are exact on whole numbers, so that "equal" means the same bits.
EXACT = ("perceptron", "margin")
#: Those whose predictions do not change when all inputs are scaled.
SCALE_FREE = ("perceptron", "perceptron-pa", "pa")

_POLYNOMIAL = {"kernel": "poly", "degree": 2, "gamma": 1.0, "coef0": 1.0, "random_state": 0}
#: Learners that solve an optimisation problem or use a kernel, which is exact on whole numbers.
MACHINES = {
    "kernel-perceptron": lambda **how: wm.KernelPerceptron(
        **{**_POLYNOMIAL, "shuffle": False, "epochs": 3, **how}
    ),
    "kernel-perceptron-budget": lambda **how: wm.KernelPerceptron(
        **{**_POLYNOMIAL, "budget": 8, "shuffle": False, "epochs": 3, **how}
    ),
    "kernel-svm": lambda **how: wm.KernelSVM(**{**_POLYNOMIAL, "tol": 1e-6, **how}),
    "linear-svm": lambda **how: wm.LinearSVM(
        **{"random_state": 0, "tol": 1e-9, "epochs": 10_000, **how}
    ),
    "linear-svm-joint": lambda **how: wm.LinearSVM(
        **{"multiclass": "joint", "random_state": 0, "tol": 1e-9, "epochs": 10_000, **how}
    ),
}

KEEPS = ("last", "average", "vote")


def keeps(name):
    """The values of `keep` that a learner allows: a penalty rules out the vote."""
    return st.sampled_from(KEEPS[:2] if name == "logistic-l2" else KEEPS)


@st.composite
def settings_for(draw, name, **more):
    """Settings for a learner: any keep, joint or one-vs-rest, with or without bias."""
    return {
        "keep": draw(keeps(name)),
        "multiclass": draw(st.sampled_from(("joint", "ovr"))),
        "fit_intercept": draw(st.booleans()),
        "epochs": draw(st.integers(1, 4)),
        **more,
    }


@st.composite
def labels(draw, n, classes):
    """Labels of n examples, with every class present."""
    rest = draw(st.lists(st.integers(0, classes - 1), min_size=n - classes, max_size=n - classes))
    return np.array(draw(st.permutations([*range(classes), *rest])))


@st.composite
def whole_numbers(draw, classes=None, least=4, most=16):
    """Examples of small whole numbers, many of them zero, and their labels."""
    classes = classes or draw(st.integers(2, 4))
    n, d = draw(st.integers(max(least, classes), most)), draw(st.integers(1, 5))
    values = st.one_of(st.just(0), st.integers(-4, 4))
    X = draw(st.lists(st.lists(values, min_size=d, max_size=d), min_size=n, max_size=n))
    return np.array(X, dtype=np.float64), draw(labels(n, classes))


@st.composite
def real_numbers(draw, classes=None, least=4, most=16):
    """Examples of normally distributed numbers, a third of them zero, and their labels."""
    classes = classes or draw(st.integers(2, 4))
    n, d = draw(st.integers(max(least, classes), most)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 2 / 3)
    return X, draw(labels(n, classes))
