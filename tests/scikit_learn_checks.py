"""scikit-learn's estimator checks, and the expected failures with reasons."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

ORDER = "what is learned depends on the order of the examples and on how often each comes"
NEARLY = "both are within tol of the optimum, not equal"
UNSCALED = "kernel values of a million: it passes with gamma='scale'"
WEIGHTS = "check_sample_weight_equivalence_on_{}_data"


def unequal(reason, *kinds):
    """Expected failures of checks that a weight of 2 equals two examples."""
    return {WEIGHTS.format(kind): reason for kind in kinds or ("dense", "sparse")}


def scikit_learn_checks(*pairs):
    """Run all checks on estimators, each paired with its expected failures.

    Of the estimators of one class, only the first is in the plain run.
    """
    found, seen = [], set()
    for estimator, expected in pairs:
        again = [pytest.mark.exhaustive] if type(estimator) in seen else []
        seen.add(type(estimator))
        for one, check in estimator_checks_generator(estimator):
            name = check.func.__name__
            reason = expected.get(name)
            marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
            found.append(pytest.param(one, check, marks=marks + again, id=f"{estimator}-{name}"))
    return pytest.mark.parametrize(("estimator", "check"), found)
