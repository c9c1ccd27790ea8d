"""Models go to LIBLINEAR and back."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import tries

from widemargin import DataError, ModelFileError, OnlineLogistic, PassiveAggressive, Perceptron
from widemargin.models.liblinear import is_liblinear, read_liblinear, write_liblinear


def liblinear(solver, labels, weights, bias):
    """The text of a model file. Row i of the weights is of feature i; the last of the bias."""
    width = len(weights) - (bias >= 0)
    head = f"solver_type {solver}\nnr_class {len(labels)}\nlabel {' '.join(map(str, labels))}\n"
    rows = "".join(" ".join(f"{w:.17g}" for w in row) + " \n" for row in weights)
    return f"{head}nr_feature {width}\nbias {bias:.17g}\nw\n{rows}"


def liblinear_predicts(labels, weights, bias, x):
    """predict_values of LIBLINEAR's linear.cpp."""
    extended = [*x, bias] if bias >= 0 else list(x)
    scores = [
        sum(w * v for w, v in zip(column, extended, strict=True))
        for column in zip(*weights, strict=True)
    ]
    if len(scores) == 1:
        return labels[0] if scores[0] > 0 else labels[1]
    return labels[max(range(len(scores)), key=scores.__getitem__)]


@pytest.mark.parametrize("bias", [-1, 1, 2.5, 0])
@pytest.mark.parametrize(
    ("solver", "labels", "vectors"),
    [
        ("L2R_LR", [1, -1], 1),
        ("L2R_LR", [-1, 1], 1),
        ("L2R_L2LOSS_SVC_DUAL", [7, 3], 1),
        ("MCSVM_CS", [2, 1], 2),
        ("MCSVM_CS", [1, 2], 2),
        ("MCSVM_CS", [3, 1, 2], 3),
        ("L2R_LR", [5, -1, 2], 3),
        ("L1R_L2LOSS_SVC", [1, 2, 3, 4], 4),
    ],
)
def test_a_model_of_liblinear_predicts_by_its_formula(solver, labels, vectors, bias, tmp_path):
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(4 + (bias >= 0), vectors)).tolist()
    path = tmp_path / "m"
    path.write_text(liblinear(solver, labels, weights, bias))
    assert is_liblinear(path)
    model = read_liblinear(path)
    X = 3.0 * rng.normal(size=(200, 4))
    expected = [liblinear_predicts(labels, weights, bias, x) for x in X]
    assert len(set(expected)) == len(labels)
    assert model.predict(X).tolist() == expected
    assert model.classes.tolist() == sorted(labels)
    if solver == "L2R_LR":
        assert np.argmax(model.predict_proba(X), axis=1).tolist() == [
            sorted(labels).index(label) for label in expected
        ]


@tries(8)
@given(
    st.sampled_from([Perceptron, PassiveAggressive, OnlineLogistic]),
    st.sampled_from(["last", "average"]),
    st.integers(2, 4),
    st.sampled_from([True, False, 3.0]),
)
def test_a_model_that_goes_through_liblinear_predicts_as_before(
    tmp_path, kind, keep, classes, bias
):
    rng = np.random.default_rng(classes)
    X, y = rng.normal(size=(50, 5)), np.arange(50) % classes - 1
    learner = kind(keep=keep, fit_intercept=bias, epochs=2, random_state=0).fit(X, y)
    path = tmp_path / "m"
    write_liblinear(learner.model_, path)
    model = read_liblinear(path)
    assert model.predict(X).tolist() == learner.predict(X).tolist()
    np.testing.assert_allclose(
        model.decision_function(X), learner.decision_function(X), rtol=1e-12, atol=1e-12
    )
    if kind is OnlineLogistic and classes == 2:
        np.testing.assert_allclose(model.predict_proba(X), learner.predict_proba(X), rtol=1e-12)
    lines = path.read_text().splitlines()
    labels = [int(label) for label in lines[2].split()[1:]]
    weights = [[float(w) for w in line.split()] for line in lines[6:]]
    found = [liblinear_predicts(labels, weights, float(lines[4].split()[1]), x) for x in X]
    assert found == learner.predict(X).tolist()


def test_what_liblinear_cannot_hold(tmp_path):
    X = np.eye(2)
    with pytest.raises(DataError, match="only integers as labels"):
        write_liblinear(Perceptron().fit(X, ["a", "b"]).model_, tmp_path / "m")
    with pytest.raises(DataError, match="a voted model"):
        write_liblinear(Perceptron(keep="vote").fit(X, [0, 1]).model_, tmp_path / "m")
    assert not (tmp_path / "m").exists()


WHOLE = liblinear("L2R_LR", [1, 2], [[1.0], [2.0], [3.0]], 1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (WHOLE.replace("nr_class 2\n", ""), "not a LIBLINEAR model (no line 'nr_class')"),
        (WHOLE.replace("label 1 2\n", ""), "not a LIBLINEAR model (no line 'label')"),
        (WHOLE.replace("bias 1\n", ""), "not a LIBLINEAR model (no line 'bias')"),
        (WHOLE.replace("nr_feature 2\n", ""), "not a LIBLINEAR model (no line 'nr_feature')"),
        (WHOLE.replace("solver_type L2R_LR\n", ""),
         "not a LIBLINEAR model (no line 'solver_type')"),
        (WHOLE.replace("nr_class 2", "nr_class two"),
         "not a LIBLINEAR model (invalid literal for int() with base 10: 'two')"),
        (WHOLE.replace("label 1 2", "label 1 x"),
         "not a LIBLINEAR model (invalid literal for int() with base 10: 'x')"),
        (WHOLE.replace("bias 1", "bias one"),
         "not a LIBLINEAR model (could not convert string to float: 'one')"),
        (WHOLE.replace("label 1 2", "label 1 2 3"), "has the labels 1 2 3 for 2 classes"),
        (WHOLE.replace("label 1 2", "label 1 1"), "has the labels 1 1 for 2 classes"),
        (WHOLE.replace("nr_class 2", "nr_class 1"), "has the labels 1 2 for 1 classes"),
        (WHOLE.replace("nr_feature 2", "nr_feature 5"), "has 3 weights, but its header says 6 x 1"),
        (WHOLE.replace("feature 2", "feature -1"), "has 3 weights, but its header says 0 x 1"),
        (WHOLE.replace("bias 1", "bias -1"), "has 3 weights, but its header says 2 x 1"),
        (WHOLE[:-3], "has 2 weights, but its header says 3 x 1"),
        (WHOLE.partition("w\n")[0], "has 0 weights, but its header says 3 x 1"),
        (WHOLE + "4 \n", "has 4 weights, but its header says 3 x 1"),
        (WHOLE[:-3] + "x \n", "not a LIBLINEAR model (could not convert string to float: 'x')"),
        (WHOLE[:-3] + "nan \n", "has weights that are not finite numbers"),
        (WHOLE[:-3] + "-inf \n", "has weights that are not finite numbers"),
        (liblinear("S", [1, 2, 3], [[1, 2, 3], [0, 1e308, -2]], 2),
         "has weights that are too large for a float"),
        (liblinear("MCSVM_CS", [1, 2], [[1e308, -1e308]], -1),
         "has weights that are too large for a float"),
        (WHOLE.replace("L2R_LR", "L2R_L2LOSS_SVR"), "L2R_L2LOSS_SVR is not a classifier"),
        (WHOLE.replace("L2R_LR", "ONECLASS_SVM"), "ONECLASS_SVM is not a classifier"),
    ],
)  # fmt: skip
def test_damaged_models_of_liblinear(content, message, tmp_path):
    path = tmp_path / "m"
    path.write_text(content)
    with pytest.raises(ModelFileError) as error:
        read_liblinear(path)
    assert str(error.value) == f"{path}: {message}"


def test_a_model_of_liblinear_without_an_end_of_its_head(tmp_path):
    path = tmp_path / "m"
    path.write_text("solver_type L2R_LR\n" + "x\n" * 100)
    with pytest.raises(ModelFileError, match=r"m:11: expected the line w of a LIBLINEAR model"):
        read_liblinear(path)


def test_a_bias_that_one_number_cannot_hold_is_not_written(tmp_path):
    path = tmp_path / "m"
    path.write_text(liblinear("S", [1, 2, 3], [[1, 2, 3], [0, 1e300, -2]], 2))
    model = replace(read_liblinear(path), bias=1e10)
    with np.errstate(over="ignore"), pytest.raises(DataError, match="too large for a float"):
        write_liblinear(model, path)
