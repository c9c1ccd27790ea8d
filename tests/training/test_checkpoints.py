"""Every learner that dies goes on from its checkpoint to the same bits."""

import os

import numpy as np
import pytest
import scipy.sparse

import widemargin
from widemargin import (
    KernelPerceptron,
    ModelFileError,
    OnlineLogistic,
    Parser,
    PassiveAggressive,
    Perceptron,
    StructuredPerceptron,
    Tagger,
)
from widemargin.data.rows import Rows
from widemargin.kernel_machines.perceptron import budget, online
from widemargin.online import passes
from widemargin.structured import training as structured_training
from widemargin.structured.parser import training as parser_training
from widemargin.structured.tagger import training as tagger_training
from widemargin.structured.tasks import Tagging
from widemargin.training import checkpoints
from widemargin.training.checkpoints import Checkpoints

RNG = np.random.default_rng(3)
X = RNG.normal(size=(60, 5))
Y = (X @ RNG.normal(size=5) + RNG.normal(size=60) > 0).astype(int) + (X[:, 0] > 1)
WORDS = [[f"w{RNG.integers(12)}" for _ in range(RNG.integers(2, 6))] for _ in range(30)]
TAGS = [["AB"[int(word[1:]) % 2] if RNG.random() < 0.9 else "C" for word in one] for one in WORDS]
TREES = {
    "word": WORDS,
    "upos": TAGS,
    "head": [[str(i) for i in range(len(one))] for one in WORDS],
    "deprel": [["root", *("ab"[len(word) % 2] for word in one[1:])] for one in WORDS],
}


class KilledError(Exception):
    """The process is gone."""


def linear(make, form=np.asarray, **options):
    return lambda folder: make(epochs=3, random_state=1, **options).fit(
        form(X), Y, checkpoint=folder
    )


def kernel(**options):
    return lambda folder: KernelPerceptron(epochs=3, random_state=1, gamma=0.5, **options).fit(
        X, Y, checkpoint=folder
    )


def structured(**options):
    model = StructuredPerceptron(Tagging("ABC"), epochs=3, random_state=1, **options)
    return lambda folder: model.fit(WORDS, TAGS, checkpoint=folder)


def tagger(**options):
    return lambda folder: Tagger(epochs=3, bits=8, random_state=1, **options).fit(
        WORDS, TAGS, checkpoint=folder
    )


def parser(system="arc-hybrid", **options):
    how = {"epochs": 2, "bits": 8, "tags": "upos", "random_state": 1, **options}
    return lambda folder: Parser(system, **how).fit(TREES, checkpoint=folder)


SMALL = {"bits": 8, "epochs": 2, "random_state": 5}
LEARNERS = {
    "perceptron": linear(Perceptron),
    "voted": linear(Perceptron, keep="vote", validation=0.2, patience=1),
    "sparse": linear(Perceptron, scipy.sparse.csr_matrix, keep="vote", shuffle="once"),
    "batches": linear(Perceptron, batch=7, shuffle="draw"),
    "passive-aggressive": linear(PassiveAggressive, multiclass="ovr", validation=0.2),
    "logistic": linear(OnlineLogistic, l2=0.01, keep="last"),
    "kernel": kernel(keep="vote"),
    "kernel blocks": kernel(max_memory=1000, validation=0.2),
    "kernel, drawn": kernel(max_memory=1000, shuffle="draw", multiclass="ovr"),
    "kernel budget": kernel(budget=7, forget="random", keep="last", validation=0.2),
    "kernel large budget": kernel(budget=10**6, validation=0.2),
    "structured": structured(validation=0.2),
    "structured vote": structured(keep="vote", shuffle="once"),
    "tagger": tagger(validation=0.2),
    "tagger, second order": tagger(order=2, keep="last"),
    "committee": tagger(committee=3),
    "parser": parser(),
    "parser, own tags": parser(tags="own", tagger=Tagger(**SMALL), jackknife=2),
    "beam": parser(beam=2, validation=TREES),
    "eisner": parser("eisner"),
}
#: One of each kind; CI takes the others, too.
KINDS = {
    *("voted", "passive-aggressive", "kernel", "kernel budget", "structured"),
    *("tagger", "committee", "parser, own tags", "beam"),
}


@pytest.fixture
def often(monkeypatch):
    """Small pieces, and a checkpoint after each; returns how to kill the next training."""
    monkeypatch.setattr(passes, "_SLICE_VALUES", 120)
    monkeypatch.setattr(passes, "_SLICE_SECONDS", 1e-9)
    monkeypatch.setattr(online, "_BLOCK", 16)
    monkeypatch.setattr(online, "_PIECE", 16)
    monkeypatch.setattr(budget, "_BLOCK", 16)
    monkeypatch.setattr(structured_training, "_LOOK_SECONDS", 0.0)
    monkeypatch.setattr(tagger_training, "_PIECE", 30)
    monkeypatch.setattr(parser_training, "_PIECE", 40)
    monkeypatch.setattr(Checkpoints, "due", lambda self: True)
    monkeypatch.setattr(os, "fsync", lambda file: None)  # nothing here survives a power cut
    write = checkpoints.write_model_file
    left = [10**9]

    def write_or_die(*args):
        write(*args)
        left[0] -= 1
        if left[0] == 0:
            raise KilledError

    monkeypatch.setattr(checkpoints, "write_model_file", write_or_die)

    def kill_after(writes):
        left[0] = writes

    kill_after.left = left
    return kill_after


def rounded(figure):
    return float(f"{figure:.12g}") if isinstance(figure, float) else figure


def bits_of(learner, folder):
    """What was learned, as the bytes of arrays; not the seconds.

    The losses of an epoch are summed piece by piece, so their last digit is a matter of pace.
    """
    path = folder / "model.wm"
    learner.save(path)
    arrays, about = widemargin.modelfile.files.read_model_file(path)
    arrays.pop("sha256", None)
    rows = [[*map(rounded, epoch[:6]), epoch[7]] for epoch in about["history"]["epochs"]]
    found = {name: (array.dtype.str, array.tobytes()) for name, array in arrays.items()}
    return found, rows, about["history"]["best"]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in KINDS else pytest.mark.exhaustive)
        for name in LEARNERS
    ],
)
def test_a_killed_training_goes_on_to_the_same_bits(name, often, tmp_path):
    fit = LEARNERS[name]
    points = tmp_path / "points"
    whole = bits_of(fit(points), tmp_path)
    assert os.listdir(points) == []
    writes = 10**9 - often.left[0]
    assert writes > 3
    for stop in sorted({1, writes // 2, writes - 1}):
        often(stop)
        with pytest.raises(KilledError):
            fit(points)
        assert os.listdir(points)
        often(10**9)
        assert bits_of(fit(points), tmp_path) == whole
        assert os.listdir(points) == []


def test_a_training_that_dies_again_and_again_comes_to_its_end(often, tmp_path):
    whole = bits_of(LEARNERS["beam"](tmp_path / "whole"), tmp_path)
    for _ in range(1000):
        often(3)
        try:
            found = LEARNERS["beam"](tmp_path / "points")
            break
        except KilledError:
            pass
    assert bits_of(found, tmp_path) == whole


def test_a_checkpoint_of_another_training_is_refused(often, tmp_path):
    often(2)
    with pytest.raises(KilledError):
        Perceptron(random_state=1).fit(X, Y, checkpoint=tmp_path)
    often(10**9)
    with pytest.raises(ModelFileError, match=r"another training \(examples differ\)"):
        Perceptron(random_state=1).fit(X + 1, Y, checkpoint=tmp_path)
    with pytest.raises(ModelFileError, match=r"another training \(learner differ"):
        Perceptron(random_state=2).fit(X, Y, checkpoint=tmp_path)


@pytest.mark.parametrize("by_generator", [False, True])
def test_a_checkpoint_knows_initial_weights_and_old_generators(by_generator, often, tmp_path):
    alive = []  # so that no two generators have the same address

    def fit(first, seed):
        alive.append(np.random.RandomState(seed))
        wide = np.hstack([X, np.zeros((len(X), 2000))])
        start = np.zeros((1, wide.shape[1]))
        start[0, 1000] = first
        how = {"start": (start, 0.0), "random_state": alive[-1] if by_generator else seed}
        return Perceptron(epochs=3, **how).fit(wide, Y > 0, checkpoint=tmp_path).coef_

    undisturbed = fit(1.0, 0)
    often(2)
    with pytest.raises(KilledError):
        fit(1.0, 0)
    often(10**9)
    for other in ((2.0, 0), (1.0, 1)):
        with pytest.raises(ModelFileError, match=r"another training \(learner differ\)"):
            fit(*other)
    np.testing.assert_array_equal(fit(1.0, 0), undisturbed)


@pytest.mark.parametrize("form", [np.asarray, lambda X: Rows.of(X, bias=0.0)])
def test_a_checkpoint_of_a_kernel_perceptron_with_other_examples_is_refused(form, often, tmp_path):
    def fit(weights, held_out):
        model = KernelPerceptron(epochs=3, random_state=1, gamma=0.5)
        return model.fit(
            form(X), Y, weights, X_val=X[:9], y_val=held_out, checkpoint=tmp_path
        ).decision_function(X)

    weights, held_out = 1.0 + np.arange(len(Y)) % 3, Y[:9]
    undisturbed = fit(weights, held_out)
    often(2)
    with pytest.raises(KilledError):
        fit(weights, held_out)
    often(10**9)
    for other in ((None, held_out), (weights[::-1], held_out), (weights, held_out[::-1])):
        with pytest.raises(ModelFileError, match=r"another training \(examples differ\)"):
            fit(*other)
    np.testing.assert_array_equal(fit(weights, held_out), undisturbed)


def test_a_checkpoint_with_a_generator_and_held_out_examples(often, tmp_path):
    def fit(seed=1, held_out=WORDS[:5]):
        how = {"epochs": 3, "random_state": np.random.default_rng(seed)}
        model = StructuredPerceptron(Tagging("ABC"), **how)
        return model.fit(WORDS, TAGS, held_out, TAGS[: len(held_out)], checkpoint=tmp_path)

    undisturbed = fit().weights_
    often(2)
    with pytest.raises(KilledError):
        fit()
    often(10**9)
    for other in ({"seed": 2}, {"held_out": WORDS[:4]}):
        with pytest.raises(ModelFileError, match="another training"):
            fit(**other)
    assert fit().weights_ == undisturbed


def test_what_a_killed_process_left_behind_is_removed(tmp_path):
    checkpoints = Checkpoints(tmp_path, {})
    checkpoints.part("labels").write({}, {})
    for name in ("checkpoint.wm.0a1b2c3d.tmp", "checkpoint-labels.wm.0a1b2c3d.tmp", "other.wm"):
        (tmp_path / name).touch()
    checkpoints.remove()
    assert os.listdir(tmp_path) == ["other.wm"]


def test_checkpoints_are_on_this_machine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"checkpoint='s3://bucket/folder' must be a folder on"):
        Perceptron().fit(np.eye(2), [0, 1], checkpoint="s3://bucket/folder")
    assert os.listdir(tmp_path) == []
