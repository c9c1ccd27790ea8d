"""Compiled loops = interpreted loops = textbook twins, however the rows are stored."""

import hashlib
import json
import math

import naive
import numpy as np
import pytest
import scipy.sparse
from interpreted import run_python

from widemargin.data.encode.named import NamedFeatures
from widemargin.data.rows import Rows
from widemargin.online import passes as driver
from widemargin.online.examples import InMemory
from widemargin.online.learn import learn
from widemargin.online.one_by_one import OneByOne
from widemargin.online.orders import mixed, orders
from widemargin.online.scores import best_class, scores, state_scores, votes_on
from widemargin.online.settings import Settings
from widemargin.online.state import State
from widemargin.training.history import History

pytestmark = pytest.mark.filterwarnings("ignore::widemargin.NotSeparableWarning")

RULES = ("perceptron", "margin", "pa", "pa1", "pa2", "logistic")
EXACT = ("perceptron", "margin")
SHAPES = ("binary", "joint", "ovr")
CLASSES = {"binary": 2, "joint": 3, "ovr": 3}
BATCHES = (1, 4, 0)
STORAGES = (
    *("dense f64", "dense f32", "csr f64 i32", "csr f64 i64", "csr f32 i32"),
    pytest.param("csr f32 i64", marks=pytest.mark.exhaustive),
)
TYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64}
TWO_STORAGES = ("dense f64", "csr f64 i32")


def stored(X, storage, bias=True):
    kind, *types = storage.split()
    X = np.asarray(X, dtype=TYPES[types[0]])
    if kind == "csr":
        X = scipy.sparse.csr_matrix(X)
        X.indices, X.indptr = (part.astype(TYPES[types[1]]) for part in (X.indices, X.indptr))
    return Rows.of(X, bias=bias)


def examples(rule, shape, n=14, d=4, seed=0):
    """Inseparable examples with ties and an empty row; of whole numbers where sums can be exact."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (n, d)) if rule in EXACT else rng.normal(size=(n, d))
    X = X * (rng.random((n, d)) < 0.7) * 1.0
    X[n // 2] = 0.0
    return X, rng.integers(0, CLASSES[shape], n)


def how_of(rule, batch=1, n=14, **more):
    """Short steps for the logistic rule, whole ones where sums can be exact."""
    eta = 0.1 if rule == "logistic" else 1.0
    return naive.How(
        rule, **{"eta": eta, "C": 0.25, "batch": batch or n, "epochs": 3, "target": 2.0, **more}
    )


def settings_of(how, keep):
    return Settings(
        how.rule,
        keep=keep,
        epochs=how.epochs,
        eta=(how.eta, how.power),
        C=how.C,
        target=how.target,
        l2=how.l2,
        ties=how.ties,
        shuffle=False,
        batch=how.batch,
    )


def ours(rows, y, shape, how, keep, start=None, price=None):
    """What the driver makes of the examples."""
    vectors = 1 if shape == "binary" else CLASSES[shape]
    W = np.zeros((vectors, rows.width + 1), rows.dtype)
    if start is not None:
        W[:] = start
    state = State.begin(W, keep, joint=shape != "ovr")
    history = learn(
        InMemory(rows, y, False, price=price),
        state,
        settings_of(how, keep),
        np.random.default_rng(0),
    )
    return state, history


class Twin:
    """What the textbook makes of the same examples."""

    def __init__(self, X, y, shape, how, bias=True, start=None, price=None):
        X, y, self.shape = naive.extend(X.tolist(), bias), y.tolist(), shape
        start = None if start is None else np.asarray(start, float).tolist()
        price = None if price is None else price.tolist()
        if shape == "joint":
            self.runs = [naive.joint(X, y, CLASSES[shape], how, start, price)]
        elif shape == "ovr":
            self.runs = naive.one_vs_rest(X, y, CLASSES[shape], how, start, price)
        else:
            signs = [2 * code - 1 for code in y]
            twin = naive.online if how.batch == 1 else naive.minibatch
            self.runs = [twin(X, signs, how, start and start[0], price)]

    def last(self):
        if self.shape == "joint":
            return self.runs[0].hypotheses[-1]
        return [run.hypotheses[-1] for run in self.runs]

    def average(self):
        if self.shape == "joint":
            return naive.average_classes(self.runs[0].hypotheses)
        return [naive.average(run.hypotheses) for run in self.runs]

    def votes(self, queries, bias=True):
        queries = naive.extend(queries.tolist(), bias)
        if self.shape == "joint":
            return [naive.vote_classes(self.runs[0].hypotheses, x) for x in queries]
        found = [[naive.vote(run.hypotheses, x) for run in self.runs] for x in queries]
        return [row[0] for row in found] if self.shape == "binary" else found


def assert_close(found, expected, dtype=np.float64):
    """Equal up to rounding, measured against the largest number there is."""
    expected = np.asarray(expected)
    size = np.max(np.abs(expected), initial=1.0)
    atol = size * (1e-4 if dtype == np.float32 else 1e-11)
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


def assert_same_bits(one, other):
    for name in ("W", "U", "clock"):
        a, b = (np.ascontiguousarray(getattr(state, name)) for state in (one, other))
        assert a.tobytes() == b.tobytes(), name
    assert (one.log is None) == (other.log is None)
    if one.log is not None:
        assert list(one.log) == list(other.log)


# Compiled = naive. These run a second time, interpreted, in a subprocess (see below).


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("rule", RULES)
def test_every_learner_is_its_naive_twin(rule, batch, shape, storage):
    X, y = examples(rule, shape)
    rows, how = stored(X, storage), how_of(rule, batch)
    X = rows.to_matrix().toarray() if rows.is_sparse else rows.to_matrix()
    twin = Twin(X.astype(float), y, shape, how)
    state, history = ours(rows, y, shape, how, "vote")

    assert len(history) == how.epochs
    assert history.mistakes == sum(len(run.mistakes) for run in twin.runs)
    loss = sum(history["loss"]) * rows.n * len(twin.runs)
    assert math.isclose(
        loss,
        sum(run.loss for run in twin.runs),
        rel_tol=1e-4 if rows.dtype == np.float32 else 1e-11,
    )
    queries = examples(rule, shape, seed=1)[0]
    votes = votes_on(state, stored(queries, storage), rows.everything).result(state.count)
    if rule in EXACT:
        np.testing.assert_array_equal(state.last(), twin.last())
    assert_close(state.last(), twin.last(), rows.dtype)
    assert_close(state.average(), twin.average(), rows.dtype)
    assert_close(votes, twin.votes(queries))


@pytest.mark.parametrize("keep", ["average", "last"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rule", RULES)
def test_one_example_at_a_time_is_the_naive_twin(rule, shape, keep):
    X, y = examples(rule, shape)
    how, names, history = how_of(rule, epochs=1), list("dbca"), History()
    state = State.begin(np.zeros((1 if shape == "binary" else 3, 5)), keep, shape == "joint")
    one_by_one = OneByOne(
        NamedFeatures(names),
        np.arange(CLASSES[shape]),
        state,
        settings_of(how, keep),
        1.0,
        history,
    )
    for i, (x, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        example = dict(zip(names, x, strict=True))
        if i % 2:  # in another order, which changes no more than the rounding
            example = dict(sorted(example.items()))
        assert one_by_one.learn(example, label) is False
    one_by_one.update_history()
    twin = Twin(X, y, shape, how)
    assert history.mistakes == sum(len(run.mistakes) for run in twin.runs)
    assert_close(state.last(), twin.last())
    if keep == "average":
        assert_close(state.average(), twin.average())
    queries = examples(rule, shape, seed=1)[0]
    expected = best_class(state_scores(state, keep, stored(queries, "csr f64 i32")))
    found = [one_by_one.predict(dict(zip(names, x, strict=True))) for x in queries.tolist()]
    assert found == expected.tolist()


@pytest.mark.parametrize("storage", TWO_STORAGES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("batch", BATCHES)
def test_the_log_tells_the_naive_mistakes(batch, shape, storage):
    X, y = examples("perceptron", shape)
    how = how_of("perceptron", batch)
    state, _ = ours(stored(X, storage), y, shape, how, "vote")
    twin = Twin(X, y, shape, how)
    if shape == "joint":
        found = [[row for row, *_ in state.log][::2]]
    else:
        found = [[row for row, label, *_ in state.log if label == c] for c in range(len(twin.runs))]
    assert found == [run.mistakes for run in twin.runs]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("rule", ["perceptron", "margin"])
def test_updates_are_counted_as_the_naive_twin_counts_them(rule, batch, shape):
    X, y = examples(rule, shape)
    how = how_of(rule, batch)
    _, history = ours(stored(X, "dense f64"), y, shape, how, "last")
    twin = Twin(X, y, shape, how)
    assert history["updates"].sum() == sum(run.updates for run in twin.runs)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("rule", ["perceptron", "pa1", "logistic"])
def test_a_given_start_is_w_0_of_the_naive_twin(rule, batch, shape):
    X, y = examples(rule, shape)
    how = how_of(rule, batch)
    vectors = 1 if shape == "binary" else 3
    start = np.arange(5.0 * vectors).reshape(vectors, 5) % 3 - 1
    state, _ = ours(stored(X, "dense f64"), y, shape, how, "vote", start)
    twin = Twin(X, y, shape, how, start=start)
    queries = examples(rule, shape, seed=1)[0]
    rows = stored(queries, "dense f64")
    votes = votes_on(state, rows, rows.everything).result(state.count)
    assert_close(state.last(), twin.last())
    assert_close(state.average(), twin.average())
    assert_close(votes, twin.votes(queries))


@pytest.mark.parametrize("storage", TWO_STORAGES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rule", ["perceptron", "pa2", "logistic"])
def test_without_bias_it_is_the_naive_twin_without_the_constant(rule, shape, storage):
    X, y = examples(rule, shape)
    how = how_of(rule)
    state, _ = ours(stored(X, storage, bias=False), y, shape, how, "average")
    twin = Twin(X, y, shape, how, bias=False)
    assert_close(state.last(), twin.last())
    assert_close(state.average(), twin.average())
    assert not state.last()[:, -1].any()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("rule", ["perceptron", "margin", "logistic"])
def test_a_naive_decaying_step_is_eta_over_a_power_of_the_turn(rule, batch, shape):
    X, y = examples("pa", shape)  # no whole numbers: there are no ties to round
    how = how_of(rule, batch, power=0.5)
    state, _ = ours(stored(X, "dense f64"), y, shape, how, "average")
    twin = Twin(X, y, shape, how)
    assert_close(state.last(), twin.last())
    assert_close(state.average(), twin.average())


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("batch", BATCHES)
def test_a_naive_tie_can_count_by_what_is_predicted(batch, shape):
    X, y = examples("perceptron", shape)
    y[0] = 1 if shape == "binary" else 0  # what the zero start predicts
    how = how_of("perceptron", batch, ties="predict")
    twin = Twin(X, y, shape, how)
    assert 0 not in twin.runs[0].mistakes[:1]
    state, history = ours(stored(X, "dense f64"), y, shape, how, "last")
    np.testing.assert_array_equal(state.last(), twin.last())
    assert history.mistakes == sum(len(run.mistakes) for run in twin.runs)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("rule", RULES)
def test_a_price_multiplies_eta_or_c_of_the_naive_twin(rule, batch, shape):
    X, y = examples(rule, shape)
    how = how_of(rule, batch)
    price = 1.0 + np.arange(len(y)) % 3
    state, _ = ours(stored(X, "dense f64"), y, shape, how, "last", price=price)
    assert_close(state.last(), Twin(X, y, shape, how, price=price).last())


@pytest.mark.parametrize("storage", TWO_STORAGES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("rule", ["perceptron", "logistic"])
def test_a_naive_penalty_shrinks_all_weights_before_each_step(rule, batch, shape, storage):
    X, y = examples("pa", shape)
    how = how_of(rule, batch, l2=0.05, power=0.25)
    state, _ = ours(stored(X, storage), y, shape, how, "average")
    twin = Twin(X, y, shape, how)
    assert_close(state.last(), twin.last())
    assert_close(state.average(), twin.average())


@pytest.mark.parametrize("storage", ["dense f64", "dense f32"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("batch", [1, 4])
def test_a_naive_penalty_can_shrink_the_weights_for_long(batch, shape, storage):
    """Far beyond the point where the scale of the weights must be multiplied in, several times."""
    X, y = examples("pa", shape)
    how = how_of("logistic", batch, l2=0.4 / max(1, batch), eta=1.0, epochs=12)
    rows = stored(X, storage)
    state, _ = ours(rows, y, shape, how, "average")
    twin = Twin(rows.to_matrix().astype(float), y, shape, how)
    assert_close(state.last(), twin.last(), rows.dtype)
    assert_close(state.average(), twin.average(), rows.dtype)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_penalty_that_wipes_out_the_weights_in_one_batch_is_refused(shape):
    X, y = examples("pa", shape, n=16)
    how = how_of("logistic", batch=4, eta=1.0, l2=0.125)  # w is multiplied by 1 - 2 eta l2 4 = 0
    with pytest.raises(ValueError, match="l2"):
        ours(stored(X, "dense f64"), y, shape, how, "average")


def test_two_classes_learned_jointly_are_minus_and_plus_the_naive_binary_weights():
    X, y = examples("perceptron", "binary")
    X = naive.extend(X.tolist())
    for rule in ("perceptron", "margin", "pa", "pa1"):
        how = how_of(rule)
        w = naive.online(X, [2 * code - 1 for code in y], how).hypotheses[-1]
        W = naive.joint(X, y.tolist(), 2, how).hypotheses[-1]
        assert_close(W, [naive.times(-1, w), w])


def test_the_naive_vote_by_survival_counts_is_the_vote_of_all_hypotheses():
    X, y = examples("perceptron", "binary", n=30)
    X, signs = naive.extend(X.tolist()), [2 * code - 1 for code in y]
    hypotheses = naive.online(X, signs).hypotheses
    pairs = naive.survivals(X, signs)
    assert sum(c for _, c in pairs) == len(hypotheses)
    for x in X:
        assert naive.vote_by_survival(pairs, x) / len(hypotheses) == naive.vote(hypotheses, x)


def test_counting_right_answers_only_is_another_naive_vote():
    # 1: a mistake (tie), 2: right, 3: a mistake after which (2, -1) never answers right.
    X, y = [[1.0, 0.0], [1.0, 1.0], [-1.0, 1.0]], [1, 1, 1]
    one, zero = (naive.survivals(X, y, first) for first in (1, 0))
    assert [c for _, c in one] == [1, 2, 1]
    assert [c for _, c in zero] == [0, 1, 0]
    x = [-1.0, 0.5]
    assert naive.vote_by_survival(one, x) == 1 - 2 + 1
    assert naive.vote_by_survival(zero, x) == -1


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("batch", [1, 4])
def test_the_history_is_made_of_plain_numbers_as_a_file_needs_them(batch, shape):
    X, y = examples("perceptron", shape)
    _, history = ours(stored(X, "dense f64"), y, shape, how_of("perceptron", batch), "last")
    assert json.loads(json.dumps(history.to_dict())) == history.to_dict()


# Compiled = interpreted


def whole_number_bits():
    """A digest of what is learned from whole numbers by every loop, for many sizes.

    Sizes pass the distances at which rows are fetched ahead; interpreted, nothing is fetched.
    """
    digest = hashlib.sha256()
    for storage in TWO_STORAGES:
        for shape in SHAPES:
            for batch in (1, 4):
                for n in (1, 2, 4, 5, 8, 9, 13):
                    X, y = examples("perceptron", shape, n=n, d=37, seed=n)
                    rows, how = stored(X, storage), how_of("perceptron", batch)
                    state, history = ours(rows, y, shape, how, "vote")
                    votes = votes_on(state, rows, rows.everything).result(state.count)
                    for array in (state.W, state.U, state.clock, votes, history["mistakes"]):
                        digest.update(np.ascontiguousarray(array + 0.0).tobytes())
                    digest.update(repr(list(state.log)).encode())
    return digest.hexdigest()


def test_interpreted_loops_and_those_that_fetch_ahead_give_the_same_bits():
    program = "import test_loops; print(test_loops.whole_number_bits())"
    assert run_python("-c", program).strip() == whole_number_bits()


@pytest.mark.parametrize(
    "storages",
    [
        "csr and f64 and i32",
        pytest.param("dense or f32 or i64", marks=pytest.mark.exhaustive),
    ],
)
def test_interpreted_loops_pass_every_comparison_with_their_twins(storages):
    which = f"(naive or plain) and ({storages})"
    chosen = ["-m", "pytest", "-n", "0", "-p", "no:cacheprovider", "-k", which]
    report = run_python(*chosen, "loops/test_loops.py")
    assert " passed" in report
    assert "skipped" not in report


# What must not matter


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("rule", ["perceptron", "pa1", "logistic"])
def test_what_is_kept_changes_nothing_that_is_learned(rule, batch, shape):
    X, y = examples(rule, shape)
    rows, how = stored(X, "csr f64 i32"), how_of(rule, batch)
    voted, averaged, last = (
        ours(rows, y, shape, how, keep)[0] for keep in ("vote", "average", "last")
    )
    for state in (averaged, last):
        assert state.last().tobytes() == voted.last().tobytes()
    assert averaged.average().tobytes() == voted.average().tobytes()


@pytest.mark.parametrize("values", [1, 60, 150])
@pytest.mark.parametrize("storage", TWO_STORAGES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("batch", BATCHES)
def test_cutting_an_epoch_into_slices_changes_no_bit(monkeypatch, batch, shape, storage, values):
    X, y = examples("logistic", shape)
    rows, how = stored(X, storage), how_of("logistic", batch)
    whole, history = ours(rows, y, shape, how, "vote")
    monkeypatch.setattr(driver, "_SLICE_VALUES", values)
    sliced, again = ours(rows, y, shape, how, "vote")
    assert_same_bits(whole, sliced)
    np.testing.assert_array_equal(history["mistakes"], again["mistakes"])
    np.testing.assert_array_equal(history["updates"], again["updates"])


@pytest.mark.parametrize("shape", SHAPES)
def test_stopping_in_the_middle_of_a_batch_leaves_a_true_average(monkeypatch, shape):
    X, y = examples("perceptron", shape)
    rows, settings = stored(X, "dense f64"), settings_of(how_of("perceptron", batch=8), "average")
    state = State.begin(np.full((1 if shape == "binary" else 3, 5), 7.0), "average", shape != "ovr")
    monkeypatch.setattr(driver, "_SLICE_VALUES", 1)
    learn(
        InMemory(rows, y, False),
        state,
        settings,
        np.random.default_rng(0),
        watch=lambda moment: True,
    )
    # No batch was full, so every hypothesis so far is the start, and so is their mean.
    np.testing.assert_array_equal(state.last(), np.full_like(state.W, 7.0))
    np.testing.assert_array_equal(state.average(), np.full_like(state.W, 7.0))


@pytest.mark.parametrize("storage", ["dense f64", "csr f64 i32"])
@pytest.mark.parametrize("keep", ["last", "average", "vote"])
@pytest.mark.parametrize("shape", SHAPES)
def test_state_scores_are_those_of_the_deployed_weights(shape, keep, storage):
    X, y = examples("logistic", shape)
    rows = stored(X, storage)
    how = how_of("logistic", l2=0.0 if keep == "vote" else 0.1)
    state, _ = ours(rows, y, shape, how, keep)
    found = state_scores(state, keep, rows)
    if keep == "vote":
        assert_close(found, Twin(X, y, shape, how).votes(X))
    else:
        weights = state.last() if keep == "last" else state.average()
        assert_close(found, scores(rows, rows.everything, weights))


# Orders

RUNS = 64 * 32  # rows that are read side by side
AROUND_RUNS = [
    *(1, 2, 63, 64, 65),
    *range(RUNS - 2, RUNS + 67, 3),
    *range(2 * RUNS - 2, 2 * RUNS + 3),
    *(2 * RUNS + 63, 2 * RUNS + 64 * 2 + 1, 10_000),
]


@pytest.mark.parametrize("n", AROUND_RUNS)
def test_mixed_is_a_permutation(n):
    for seed in range(5):
        order = mixed(np.arange(n, dtype=np.uint64), np.random.default_rng(seed))
        assert order.dtype == np.uint64
        np.testing.assert_array_equal(np.sort(order), np.arange(n))


@pytest.mark.parametrize("n", [3, 64 * 32 + 40, 5000])
def test_mixed_permutes_a_part_of_the_rows_too(n):
    which = np.flatnonzero(np.arange(2 * n) % 2).astype(np.uint64)
    order = mixed(which, np.random.default_rng(0))
    assert not np.array_equal(order, which)
    np.testing.assert_array_equal(np.sort(order), which)


@pytest.mark.parametrize("shuffle", [True, False, "once", "rows"])
@pytest.mark.parametrize("n", [7, 64 * 32 + 1])
def test_every_epoch_visits_every_row_once(shuffle, n):
    which = np.arange(n, dtype=np.uint64)
    epochs = orders(which, shuffle, np.random.default_rng(1))
    found = [next(epochs) for _ in range(3)]
    for order in found:
        np.testing.assert_array_equal(np.sort(order), which)
    same = all(np.array_equal(order, found[0]) for order in found)
    assert same == (shuffle in (False, "once"))
    assert np.array_equal(found[0], which) == (shuffle is False)


def test_drawing_takes_rows_with_replacement_and_only_those_given():
    which = np.array([3, 5, 8, 13], dtype=np.uint64)
    epochs = orders(which, "draw", np.random.default_rng(0))
    found = [next(epochs).tolist() for _ in range(20)]
    assert all(len(order) == 4 and set(order) <= {3, 5, 8, 13} for order in found)
    assert any(len(set(order)) < 4 for order in found)
