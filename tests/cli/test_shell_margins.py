"""`widemargin certify` and `widemargin train --learner svm`, on small files."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import widemargin
from widemargin.cli.main import main

AND = "# and\n-1 1:0 2:0\n-1 1:0 2:1\n\n-1 1:1 2:0\n+1 1:1 2:1\n"
XOR = "# xor\n-1 1:0 2:0\n+1 1:0 2:1\n\n+1 1:1 2:0\n-1 1:1 2:1\n"


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*words, code=0):
        done = CliRunner().invoke(main, words)
        assert done.exit_code == code, done.output
        return done.stdout

    return run


def test_a_separable_file_has_a_margin_and_support_by_line(run, tmp_path):
    (tmp_path / "and.svm").write_text(AND)
    told = run("certify", "and.svm", "--verify")
    assert told.startswith("separable: a hyperplane separates the 4 examples of -1 and 1")
    assert "largest margin of a hyperplane: 0.353553" in told
    assert "on the margin: and.svm lines 3, 5, 6" in told
    assert "verified in exact arithmetic" in told
    found = json.loads(run("certify", "and.svm", "--json"))
    assert found["verdict"] == "separable"
    low, high = found["margin"]
    assert low <= np.sqrt(0.125) <= high
    assert found["support"] == ["and.svm:3", "and.svm:5", "and.svm:6"]


def test_a_file_that_is_not_separable_names_the_lines_that_clash(run, tmp_path):
    (tmp_path / "xor.svm").write_text(XOR)
    told = run("certify", "xor.svm", "--verify")
    assert told.startswith("not separable")
    assert "the hulls of the classes meet, as 4 examples show: xor.svm lines 2, 3, 5, 6" in told
    assert json.loads(run("certify", "xor.svm", "--json"))["shares"] == ["1/4"] * 4


def test_without_a_bias_planes_go_through_the_origin(run, tmp_path):
    (tmp_path / "two.svm").write_text("+1 1:1\n-1 1:2\n")
    told = run("certify", "two.svm", "--no-bias")
    assert "no hyperplane through the origin separates the 2 examples" in told
    assert "the proof: with one class negated, the hull of the examples contains the origin" in told


def test_a_margin_that_cannot_be_measured_is_unknown(run, tmp_path):
    (tmp_path / "tiny.svm").write_text("+1 1:1e-200\n-1 1:2e-200\n")
    told = run("certify", "tiny.svm")
    assert "largest margin of a hyperplane: unknown\n" in told
    assert "mistakes" not in told
    found = json.loads(run("certify", "tiny.svm", "--json"), parse_constant=pytest.fail)
    assert (found["margin"], found["bound"]) == ([None, None], None)


def test_a_kernel_separates_what_no_plane_does(run, tmp_path):
    (tmp_path / "xor.svm").write_text(XOR)
    told = run("certify", "xor.svm", "--kernel", "poly", "--degree", "2", "--verify")
    assert told.startswith("in the feature space of (x.z + 1)^2, without bias:\nseparable")
    assert "verified in exact arithmetic" in told
    found = json.loads(run("certify", "xor.svm", "--kernel", "poly", "--degree", "2", "--json"))
    X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [-1, 1, 1, -1]
    expected = widemargin.certify(X, y, kernel="poly", degree=2)
    assert found["margin"] == list(expected.margin)
    assert found["bound"] == expected.bound
    assert found["kernel"] == "(x.z + 1)^2"
    assert run("certify", "xor.svm", "--kernel", "linear").splitlines()[1].startswith("not sep")


def test_numbers_of_a_kernel_need_one(run, tmp_path):
    (tmp_path / "xor.svm").write_text(XOR)
    for words, said in [
        (["--gamma", "2"], "--gamma has no effect without --kernel"),
        (["--kernel", "rbf", "--gamma", "big"], "--gamma big: expected a number, scale or auto"),
    ]:
        done = CliRunner().invoke(main, ["certify", "xor.svm", *words])
        assert done.exit_code == 2
        assert said in done.stderr


def test_pairs_of_several_classes_keep_their_own_lines(run, tmp_path):
    rows = ["0 1:0", "1 1:5", "2 1:9", "1 1:9", "2 1:9.5"]
    (tmp_path / "three.svm").write_text("\n".join(rows) + "\n")
    found = json.loads(run("certify", "three.svm", "--json"))
    assert found["verdict"] == "not separable"
    clash = next(part for part in found["parts"] if part["question"] == [1, 2])
    assert clash["verdict"] == "not separable"
    assert sorted(clash["examples"]) == ["three.svm:3", "three.svm:4"]


def test_one_class_is_an_error(run, tmp_path):
    (tmp_path / "one.svm").write_text("1 1:1\n1 2:1\n")
    done = CliRunner().invoke(main, ["certify", "one.svm"])
    assert done.exit_code == 1
    assert done.stderr == "widemargin: one.svm: only one class is present, nothing to separate\n"


def test_an_svm_from_the_shell_tells_its_gap_and_loads_in_python(run, tmp_path):
    found = json.loads(run("train", "--learner", "svm", "--C", "0.001", "--json"))
    assert 0.0 <= found["gap"] <= 1e-3
    assert found["dual"] <= found["primal"]
    svm = widemargin.load(tmp_path / "digits.wm")
    assert isinstance(svm, widemargin.LinearSVM)
    assert svm.certificate_.gap == found["gap"]
    assert "relative gap" in run("inspect", "digits.wm")


def test_options_that_an_svm_lacks_are_refused(run):
    run("train", "--learner", "svm", "--keep", "vote", code=2)
    run("train", "--learner", "svm", "--stream", code=2)
    run("train", "--loss", "hinge", code=2)
