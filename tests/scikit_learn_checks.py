"""scikit-learn's checks of estimators, and the failures that are expected, with reasons."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

ORDER = "what is learned depends on the order of the examples and on how often each comes"
NEARLY = "both are within tol of the optimum, not equal"
UNSCALED = "kernel values of a million: it passes with gamma='scale'"
WEIGHTS = "check_sample_weight_equivalence_on_{}_data"


def unequal(reason, *kinds):
    """A weight of 2 is not the same as two examples."""
    return {WEIGHTS.format(kind): reason for kind in kinds or ("dense", "sparse")}


def scikit_learn_checks(*pairs):
    """Run all checks on estimators, each of which is paired with the failures that it must have.

    Of the estimators of one class only the first is for the plain run.
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
