"""What a parameter may be, and how what it may not be is refused."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from widemargin.parameters import (
    check_choice,
    check_constant,
    check_fraction,
    check_not_negative,
    check_positive,
    check_probability,
    check_seconds,
    check_whole,
    parse_bytes,
    refuse_unused,
    used_when_held_out,
    used_with,
)

NAN, INF = math.nan, math.inf
NUMBERS = (check_positive, check_not_negative, check_fraction, check_probability, check_seconds)


def refusal(check, *args, **options):
    with pytest.raises(ValueError) as refused:
        check(*args, **options)
    said = str(refused.value)
    assert "\n" not in said
    return said


@pytest.mark.parametrize("check", NUMBERS)
@pytest.mark.parametrize("value", [NAN, np.float32(NAN), True, np.True_, "1", [1.0], np.ones(1)])
def test_what_is_no_number_is_refused(check, value):
    assert refusal(check, "x", value).startswith("x=")


@pytest.mark.parametrize("check", NUMBERS)
@pytest.mark.parametrize("value", [0.5, np.float64(0.5), np.float32(0.25)])
def test_numbers_of_python_and_numpy_are_numbers(check, value):
    check("x", value)


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (check_positive, [1e-300, 1, np.int8(3)], [0, -1, INF]),
        (check_not_negative, [0, 0.0, 7], [-1e-300, INF, None]),
        (check_fraction, [0, 0.999], [1, 1.0, -0.1, INF, None]),
        (check_probability, [0, 1, 1.0], [1.01, -0.1, INF]),
        (check_seconds, [None, 1, INF], [0, -1.0]),
    ],
)
def test_where_the_allowed_numbers_end(check, good, bad):
    for value in good:
        check("x", value)
    for value in bad:
        assert f"x={value!r} must be" in refusal(check, "x", value)


def test_infinity_is_allowed_where_it_is_asked_for():
    check_positive("C", INF, infinite=True)
    check_not_negative("C", INF, infinite=True)
    assert refusal(check_positive, "C", -INF, infinite=True) == (
        "C=-inf must be a positive number, or infinity"
    )


def test_whole_numbers():
    for value in (1, 2, np.int64(1), np.uint8(5)):
        check_whole("epochs", value, least=1)
    for value in (0, -1, 1.0, np.float64(2.0), True, np.True_, "1", None, NAN):
        assert "must be a whole number of at least 1" in refusal(
            check_whole, "epochs", value, least=1
        )
    check_whole("bits", 30, least=4, most=30)
    assert refusal(check_whole, "bits", 31, least=4, most=30, other="None") == (
        "bits=31 must be a whole number from 4 to 30, or None"
    )


def test_a_number_of_numpy_is_shown_as_a_number():
    assert refusal(check_positive, "C", np.float64(-1.5)) == "C=-1.5 must be a positive number"


def test_choices_are_compared_as_what_they_are():
    check_choice("shuffle", False, (True, False, "once"))
    check_choice("order", np.int64(2), (1, 2))
    check_choice("norm", None, ("l2", None))
    check_choice("keep", np.str_("last"), ("last", "average"))
    for value, choices in ((1, (True, False)), (True, (1, 2)), (1.0, (1, 2)), ([], ("a",))):
        assert "is unknown; choose one of" in refusal(check_choice, "x", value, choices)


def test_the_nearest_choice_is_suggested():
    assert refusal(check_choice, "rule", "perceptrn", ("perceptron", "margin")) == (
        "rule='perceptrn' is unknown; did you mean 'perceptron'?"
        " Choose one of 'perceptron', 'margin'"
    )
    shortened = refusal(check_choice, "format", "svm", ("svmlight", "vw", "csv", "tsv"))
    assert "did you mean 'svmlight'?" in shortened
    assert refusal(check_choice, "kernel", "zzz", ("rbf", "poly"), "a function") == (
        "kernel='zzz' is unknown; choose one of 'rbf', 'poly', or a function"
    )


def test_constants():
    for value in (True, False, np.True_, 0, 2.5, np.float32(1.0)):
        check_constant("fit_intercept", value)
    check_constant("fit_intercept", "auto", "auto")
    for value in (-1, INF, NAN, "auto", None):
        assert "must be True, False or a number" in refusal(check_constant, "b", value)


@pytest.mark.parametrize(
    ("given", "size"),
    [
        (5, 5),
        (2.5e3, 2500),
        (np.int64(7), 7),
        ("12", 12),
        ("500MB", 500 << 20),
        ("1.5 gib", 3 << 29),
        (" 2g ", 2 << 30),
        ("1T", 1 << 40),
    ],
)
def test_sizes(given, size):
    found = parse_bytes("max_memory", given)
    assert (found, type(found)) == (size, int)


@pytest.mark.parametrize("given", [0, -1, "0", "", "-1GB", "2XB", "much", NAN, INF, True, None])
def test_what_is_no_size_is_refused(given):
    assert "max_memory=" in refusal(parse_bytes, "max_memory", given)


@dataclass
class Settings:
    rule: str = "perceptron"
    C: float = 1.0
    eta: object = 1.0
    patience: int = 5


def uses(settings, held_out=False):
    return {
        "C": used_with("rule", settings.rule, "pa1", "pa2"),
        "eta": used_with("rule", settings.rule, "perceptron"),
        "patience": used_when_held_out(held_out),
    }


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            Settings(C=3),
            "C=3 has no effect with rule='perceptron', only with rule='pa1' or 'pa2'",
        ),
        (
            Settings(rule="pa1", eta=(0.5, 1.0)),
            "eta=(0.5, 1.0) has no effect with rule='pa1', only with rule='perceptron'",
        ),
        (
            Settings(patience=2),
            "patience=2 has no effect without held-out examples, only with validation > 0 or X_val",
        ),
        (
            Settings(C=np.ones(2)),
            "C=array([1., 1.]) has no effect with rule='perceptron', only with rule='pa1' or 'pa2'",
        ),
    ],
)
def test_a_parameter_without_effect_is_refused(settings, said):
    assert refusal(refuse_unused, settings, uses(settings)) == said


@pytest.mark.parametrize(
    "settings",
    [Settings(), Settings(C=1), Settings(C=np.float64(1.0)), Settings(rule="pa2", C=0.1)],
)
def test_defaults_and_parameters_with_an_effect_are_not_refused(settings):
    refuse_unused(settings, uses(settings))
    refuse_unused(Settings(patience=2), uses(Settings(), held_out=True))


def test_what_was_given_explicitly_is_refused_even_if_it_is_the_default():
    said = refusal(refuse_unused, Settings(), uses(Settings()), given={"C"})
    assert said.startswith("C=1.0 has no effect")
