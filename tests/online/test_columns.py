"""Weights for the columns that occur: the same bits as weights for all columns, in less memory."""

import copy
import itertools
import pickle
import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse
from grids import covering
from interpreted import told_by_both

import widemargin
from widemargin import LinearSVM, OnlineLogistic, PassiveAggressive, Perceptron, TextClassifier
from widemargin.data.datasets import Classes, EncodeOptions, make_encoder, read_all
from widemargin.data.readers.files import Files, ReadOptions
from widemargin.data.rows import Rows
from widemargin.errors import DataError
from widemargin.online import columns as columns_module
from widemargin.online.columns import Columns, columns_for
from widemargin.online.from_files import FromFiles
from widemargin.online.held_out import HeldOut
from widemargin.online.learn import learn
from widemargin.online.settings import Settings

WIDTH = 3000
ONLINE = [
    Perceptron(keep="last"),
    Perceptron(keep="average"),
    Perceptron(keep="vote", epochs=3),
    Perceptron(keep="vote", epochs=2, multiclass="ovr"),
    Perceptron(multiclass="ovr", n_jobs=2),
    Perceptron(rule="margin", target=0.5),
    Perceptron(batch=4),
    Perceptron(shuffle="draw", epochs=4),
    Perceptron(validation=0.3, patience=2),
    Perceptron(keep="vote", validation=0.3, patience=2),
    PassiveAggressive(rule="pa"),
    PassiveAggressive(rule="pa2", fit_intercept="auto"),
    PassiveAggressive(rule="pa1", multiclass="ovr", validation=0.3),
    OnlineLogistic(l2=1e-2, eta=0.5),
    OnlineLogistic(multiclass="ovr"),
    OnlineLogistic(batch="full", epochs=3),
]
SVMS = [
    LinearSVM(),
    LinearSVM(loss="squared_hinge", C=10.0),
    LinearSVM(bias="free"),
    LinearSVM(multiclass="joint", C=0.5),
    LinearSVM(C=np.inf, epochs=50),
    LinearSVM(fit_intercept=False, class_weight="balanced"),
]


@pytest.fixture(autouse=True)
def every_width_counts(monkeypatch):
    """Number columns however few weights there are."""
    monkeypatch.setattr(columns_module, "_FEW", 0)


@pytest.fixture
def all_columns(monkeypatch):
    """Return a context in which every column has weights."""

    def context():
        return monkeypatch.context()

    def run(work):
        with context() as other:
            for place in ("online.fit", "linear_svm.fit"):
                other.setattr(f"widemargin.{place}.columns_for", lambda rows, vectors: None)
            # Few columns are for Newton steps, which must not be taken in one case only.
            other.setattr("widemargin.linear_svm.steps.affordable", lambda rows, width: False)
            return work()

    return run


@pytest.fixture(autouse=True)
def no_newton_steps(monkeypatch):
    """Let SVMs number their columns although they are few."""
    monkeypatch.setattr("widemargin.linear_svm.fit.affordable", lambda rows, width: False)
    monkeypatch.setattr("widemargin.linear_svm.steps.affordable", lambda rows, width: False)


def examples(classes, n=60, seed=0, dtype=np.float64, plain=True):
    """Sparse rows with few of many columns, as hashed text has them; unsorted unless `plain`."""
    rng = np.random.default_rng(seed)
    used = rng.permutation(WIDTH)[:80]
    sizes = rng.integers(1, 12, n)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    indices = rng.choice(used, starts[-1])
    values = rng.normal(size=starts[-1]).astype(dtype)
    X = scipy.sparse.csr_matrix((values, indices, starts), shape=(n, WIDTH))
    if plain:
        X.sum_duplicates()
    return X, np.array([f"c{label}" for label in rng.integers(0, classes, n)])


def questions(seed=1):
    """Rows most of whose columns were never seen."""
    more = scipy.sparse.random(30, WIDTH, 0.01, "csr", random_state=seed)
    return scipy.sparse.vstack([examples(2)[0], more]).tocsr()


def quietly(work):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return work()


def assert_same(ours, full):
    """The same weights, answers and history, to the bit."""
    assert full.model_.state.columns is None
    assert ours.model_.state.columns is not None
    assert ours.n_features_in_ == WIDTH
    np.testing.assert_array_equal(ours.coef_, full.coef_)
    np.testing.assert_array_equal(ours.intercept_, full.intercept_)
    for X in (questions(), questions().toarray(), questions()[:1]):
        np.testing.assert_array_equal(ours.decision_function(X), full.decision_function(X))
    for name in ("mistakes", "updates", "held_out"):
        np.testing.assert_array_equal(ours.history_[name], full.history_[name])
    np.testing.assert_allclose(ours.history_["change"], full.history_["change"], rtol=1e-12)
    assert (ours.history_.stopped, ours.history_.best) == (
        full.history_.stopped,
        full.history_.best,
    )


def fitted(learner, *data):
    return quietly(lambda: copy.deepcopy(learner).set_params(random_state=0).fit(*data))


@pytest.mark.parametrize(
    ("learner", "classes", "plain"), covering(ONLINE + SVMS, [2, 7], [True, False]), ids=repr
)
def test_a_fit_is_that_on_all_columns(learner, classes, plain, all_columns, tmp_path):
    X, y = examples(classes, plain=plain)
    ours, full = fitted(learner, X, y), all_columns(lambda: fitted(learner, X, y))
    assert_same(ours, full)
    ours.save(tmp_path / "ours.wm")
    assert_same(widemargin.load(tmp_path / "ours.wm"), full)
    assert_same(pickle.loads(pickle.dumps(ours)), full)


@pytest.mark.parametrize(
    ("learner", "cuts", "dtype"),
    covering(
        ONLINE[:8] + ONLINE[10:12] + ONLINE[13:],
        [[], [1, 2, 3, 50], [20, 40]],
        [np.float32, np.float64],
    ),
    ids=repr,
)
def test_a_stream_is_that_on_all_columns_in_any_pieces(learner, cuts, dtype, all_columns):
    X, y = examples(7, dtype=dtype)

    def stream():
        own = copy.deepcopy(learner).set_params(random_state=0, epochs=10, n_jobs=None)
        for start, end in itertools.pairwise([0, *cuts, len(y)]):
            own.partial_fit(X[start:end], y[start:end])  # new classes, new columns
        return own

    assert_same(stream(), all_columns(stream))


def test_dense_rows_go_on_with_all_columns(all_columns):
    X, y = examples(3)

    def stream():
        own = Perceptron(random_state=0).partial_fit(X[:30], y[:30])
        return own.partial_fit(X[30:].toarray(), y[30:])

    ours, full = stream(), all_columns(stream)
    assert ours.model_.state.columns is None
    np.testing.assert_array_equal(ours.coef_, full.coef_)


def test_more_columns_than_before_can_be_learned(all_columns):
    X, y = examples(3)

    def stream():
        own = Perceptron(grow=True, random_state=0).partial_fit(X[:, :1000], y)
        return own.partial_fit(X, y)

    assert_same(stream(), all_columns(stream))


def test_a_warm_start_goes_on(all_columns):
    X, y = examples(4)

    def train():
        own = Perceptron(warm_start=True, random_state=0, epochs=2).fit(X[:20], y[:20])
        return own.fit(X, y)

    assert_same(train(), all_columns(train))


def test_held_out_rows_may_have_other_columns(all_columns):
    (X, y), (V, v) = examples(4), examples(4, seed=5)

    def train():
        own = PassiveAggressive(random_state=0, epochs=4)
        return own.fit(X, y, X_val=V, y_val=v)

    assert_same(train(), all_columns(train))


@pytest.mark.parametrize("keep", ["average", "vote"])
def test_a_checkpoint_goes_on(keep, all_columns, tmp_path):
    X, y = examples(4)
    train = Perceptron(keep=keep, random_state=0, epochs=6, validation=0.2)
    full = all_columns(lambda: fitted(train, X, y))
    assert_same(copy.deepcopy(train).fit(X, y, checkpoint=tmp_path), full)
    assert_same(copy.deepcopy(train).fit(X, y, checkpoint=tmp_path), full)


def test_an_older_model_of_a_stream_still_answers():
    X, y = examples(3)
    learner = Perceptron(random_state=0).partial_fit(X[:5], y[:5], classes=np.unique(y))
    before = learner.model_
    known = before.state.columns.count
    learner.partial_fit(X, y)
    assert learner.model_.state.columns.count > known
    assert np.isfinite(before.decision_function(X)).all()


def test_the_voted_log_and_explanations_name_the_columns_of_the_data(all_columns):
    X, y = examples(3)
    learner = Perceptron(keep="vote", epochs=3)
    ours, full = fitted(learner, X, y), all_columns(lambda: fitted(learner, X, y))
    assert ours.log_ == full.log_
    for row in range(10):
        assert str(ours.explain(X[row])) == str(full.explain(X[row]))
    unseen = questions()[-1]
    assert str(ours.explain(unseen)) == str(full.explain(unseen))
    assert ours.model_.top_features(5) == full.model_.top_features(5)


@pytest.mark.parametrize("learner", [Perceptron(), LinearSVM()], ids=repr)
def test_a_value_that_is_not_finite_is_named_by_its_column(learner):
    X, y = examples(3)
    broken = X.copy()
    broken.data[7] = np.nan
    row, column = np.searchsorted(X.indptr, 7, side="right") - 1, X.indices[7]
    with pytest.raises(DataError, match=f"NaN \\(row {row}, column {column}\\)"):
        fitted(learner, broken, y)
    unseen = questions().copy()
    unseen.data[-1] = np.inf
    with pytest.raises(DataError, match=f"infinity \\(row 89, column {unseen.indices[-1]}\\)"):
        fitted(learner, X, y).predict(unseen)


TEXTS = [f"{a} {b} {c}" for a in ("red", "blue") for b in ("cat", "dog") for c in ("one", "two")]
LABELS = ["a", "b", "c", "d"] * 2


@pytest.mark.parametrize("keep", ["average", "vote"])
@pytest.mark.parametrize("held", [0, 40])
def test_a_file_that_is_read_in_windows(keep, held, all_columns, tmp_path):
    rng = np.random.default_rng(0)
    lines = [
        f"{rng.integers(0, 6)}\t{' '.join(map(str, rng.integers(10, 99, 8)))}\n" for _ in range(300)
    ]
    (tmp_path / "texts.txt").write_text("".join(lines[held:]))
    (tmp_path / "held.txt").write_text("".join(lines[:held]))
    how = Settings(epochs=3, keep=keep)

    def train():
        encoding = EncodeOptions(text={"bits": 14, "ngrams": 2})
        files = Files(str(tmp_path / "texts.txt"), ReadOptions(block=1000))
        encoder, classes, chance = (
            make_encoder(files, encoding),
            Classes(),
            np.random.default_rng(0),
        )
        stream = FromFiles(files, encoder, classes, how, 4000)
        stream.start(chance)
        kept_back = None
        if held:
            other = read_all(Files(str(tmp_path / "held.txt")), encoder, classes, learn=False)
            rows = other.rows.with_bias(stream.bias)
            kept_back = HeldOut(rows, rows.everything, other.codes)
        history = learn(stream, stream.state, how, chance, held_out=kept_back)
        return stream.state, history

    (ours, told), (full, full_told) = train(), all_columns(train)
    assert ours.columns is not None
    assert full.columns is None
    for keep_one in ("last", "average"):
        found = (ours.spread(ours.deployed(keep_one)[0]), full.deployed(keep_one)[0])
        np.testing.assert_array_equal(*found)
    assert told["held_out"].tolist() == full_told["held_out"].tolist() or not held
    np.testing.assert_allclose(told["change"], full_told["change"], rtol=1e-12)


def test_texts_that_come_in_pieces(all_columns, tmp_path):
    def stream():
        own = TextClassifier(Perceptron(random_state=0), bits=14)
        for text, label in zip(TEXTS, LABELS, strict=True):
            own.partial_fit([text], [label])
        return own

    ours, full = stream(), all_columns(stream)
    assert ours.model_.state.columns.count < 40
    np.testing.assert_array_equal(ours.decision_function(TEXTS), full.decision_function(TEXTS))
    assert ours.top_features(3) == full.top_features(3)
    ours.save(tmp_path / "ours.wm")
    loaded = widemargin.load(tmp_path / "ours.wm")
    for learner in (ours, loaded, full):
        learner.partial_fit(["green bird three"], ["e"])
    np.testing.assert_array_equal(ours.decision_function(TEXTS), full.decision_function(TEXTS))
    np.testing.assert_array_equal(loaded.decision_function(TEXTS), full.decision_function(TEXTS))


def test_an_svm_of_texts_goes_on(all_columns):
    def train():
        own = TextClassifier(bits=14, random_state=0).fit(TEXTS, LABELS)
        return quietly(lambda: own.partial_fit(["green cat", "blue bird"], ["e", "a"]))

    ours, full = train(), all_columns(train)
    assert ours.model_.state.columns is not None
    np.testing.assert_array_equal(ours.decision_function(TEXTS), full.decision_function(TEXTS))


# Many classes


@pytest.mark.parametrize(
    "learner", [LinearSVM(n_jobs=2), LinearSVM(loss="squared_hinge")], ids=repr
)
def test_an_svm_is_the_same_when_few_classes_are_at_work_at_once(learner, monkeypatch):
    X, y = examples(7)
    together = fitted(learner, X, y)
    monkeypatch.setattr("widemargin.linear_svm.fit._ROOM", 1)
    apart = fitted(learner, X, y)
    assert_equal_svms(apart, together)
    assert np.all(np.diff(apart.history_["seconds"]) >= 0.0)
    late = fitted(copy.deepcopy(learner).set_params(max_seconds=1e-9), X, y)
    assert late.history_.stopped == "deadline"
    assert np.all(np.any(late.coef_ != 0.0, axis=1))  # every class had its turn


def assert_equal_svms(one, two):
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert one.certificate_ == two.certificate_
    assert one.history_.stopped == two.history_.stopped
    np.testing.assert_array_equal(one.history_["updates"], two.history_["updates"])
    np.testing.assert_array_equal(one.certificate_.alpha, two.certificate_.alpha)
    for c, part in enumerate(one.certificate_.parts):
        np.testing.assert_array_equal(part.alpha, two.certificate_.alpha[:, c])


@pytest.mark.parametrize("learner", ONLINE[:2] + ONLINE[13:14], ids=repr)
def test_weights_that_are_worked_on_in_parts_are_the_same(learner, monkeypatch):
    X, y = examples(7)
    whole = fitted(learner, X, y)
    expected = whole.decision_function(X)
    monkeypatch.setattr("widemargin.online.state._PART", 50)
    parts = fitted(learner, X, y)
    np.testing.assert_array_equal(parts.decision_function(X), expected)
    np.testing.assert_allclose(parts.history_["change"], whole.history_["change"], rtol=1e-12)


# The numbers


def test_numbers_come_in_order_and_stay():
    rng = np.random.default_rng(0)
    columns, known = Columns(1 << 40), {}
    for _ in range(20):
        some = rng.integers(0, 5000, 400) * 123_456_789
        starts = np.array([0, len(some)])
        rows = Rows.of(scipy.sparse.csr_matrix((np.ones(400), some, starts), shape=(1, 1 << 40)))
        for column in some.tolist():
            known.setdefault(column, len(known) + 1)
        expected = [known[column] for column in some.tolist()]
        assert columns.number(rows).stored.indices.tolist() == expected
        assert columns.look_up(rows, columns.count, threads=2).stored.indices.tolist() == expected
        limit = columns.count // 2
        low = columns.look_up(rows, limit).stored.indices
        assert low.tolist() == [number if number < limit else 0 for number in expected]
    assert columns.ids.tolist() == list(known)
    assert Columns.of(columns.ids, 1 << 40).ids.tolist() == list(known)
    assert columns.find(np.array([1, 2], np.uint64), columns.count).tolist() == [0, 0]


NUMBERING = """
import numpy as np
from widemargin.online.columns import Columns

columns = Columns(1 << 40)
some = np.random.default_rng(0).integers(0, 1 << 40, 300).astype(np.uint64)
print(columns._add(some[:200].repeat(2)).tolist(), columns.find(some, 150).tolist())
"""


def test_compiled_and_interpreted_loops_give_the_same_numbers():
    compiled, interpreted = told_by_both(NUMBERING)
    assert compiled == interpreted


def test_a_copy_gives_numbers_of_its_own():
    columns = Columns.of(np.array([5, 9], np.uint32), 100)
    other = columns.copy(200)
    other._add(np.array([7], np.uint32))
    assert (columns.count, other.count, columns.width, other.width) == (3, 4, 100, 200)
    assert columns.find(np.array([7], np.uint32), 99).tolist() == [0]


@pytest.mark.parametrize("ids", [[3, 3], [3, 100]])
def test_a_file_with_wrong_columns_is_refused(ids):
    with pytest.raises(ValueError, match="column"):
        Columns.of(np.array(ids, np.uint32), 100)


def some_rows(n, each, width):
    """Rows with this many ones in random columns."""
    columns = np.random.default_rng(0).integers(0, width, n * each)
    starts = np.arange(n + 1) * each
    return Rows.of(scipy.sparse.csr_matrix((np.ones(n * each), columns, starts), shape=(n, width)))


def test_columns_are_numbered_where_that_spares_more_weights_than_there_are_values(monkeypatch):
    monkeypatch.undo()
    few, many = some_rows(100, 10, 1 << 17), some_rows(1000, 700, 1 << 17)
    assert columns_for(few, 1) is not None
    assert columns_for(some_rows(100, 10, 1 << 15), 1) is None  # so few weights cost nothing
    assert columns_for(Rows.of(np.ones((2, 3))), 100_000) is None
    assert columns_for(many, 1) is None  # more values than weights
    assert columns_for(many, 10) is None  # nearly all columns occur
    assert columns_for(many, 10_000) is not None  # the few that do not are many weights


# The cost follows the data


def test_memory_and_files_follow_the_columns_that_occur(monkeypatch, tmp_path):
    monkeypatch.undo()
    X, y = examples(200, n=400)
    X = scipy.sparse.csr_matrix((X.data, X.indices, X.indptr), shape=(400, 1 << 20))
    for learner in (
        Perceptron(epochs=1),
        PassiveAggressive(epochs=1, multiclass="ovr"),
        LinearSVM(epochs=1),
    ):
        tracemalloc.start()
        quietly(lambda own=learner: own.fit(X, y).predict(X))
        learner.save(tmp_path / "model.wm")
        widemargin.load(tmp_path / "model.wm").predict(X)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 50e6  # weights of all columns take 0.8 GB in float32 alone
        assert (tmp_path / "model.wm").stat().st_size < 1e6
        assert learner.n_features_in_ == 1 << 20


def test_zeros_are_not_saved_where_that_is_smaller(monkeypatch, tmp_path):
    monkeypatch.undo()
    X, y = examples(2)
    dense = Perceptron(random_state=0).fit(X, y)
    assert dense.model_.state.columns is None
    dense.save(tmp_path / "model.wm")
    assert (tmp_path / "model.wm").stat().st_size < 16 * WIDTH
    loaded = widemargin.load(tmp_path / "model.wm")
    np.testing.assert_array_equal(loaded.coef_, dense.coef_)
