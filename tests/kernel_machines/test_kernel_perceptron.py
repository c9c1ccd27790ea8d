"""The kernel perceptron: against its textbook twins, within budgets, in files and in the shell."""

import json
import math
import re

import naive_kernels as naive
import numpy as np
import pytest
import scipy.sparse
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from profiles import tries
from scikit_learn_checks import ORDER, UNSCALED, scikit_learn_checks, unequal
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_class_weight_classifiers

import widemargin
from widemargin import DataError, KernelPerceptron, ModelFileError, gram_matrix, load, load_model
from widemargin.cli.main import main
from widemargin.kernel_machines.perceptron import budget, online, training
from widemargin.kernels.strings import NGrams
from widemargin.loops.kernel.feature_space import vote_together
from widemargin.loops.linear.passes import Log


@scikit_learn_checks(
    (KernelPerceptron(random_state=0), unequal(ORDER)),
    (
        KernelPerceptron(kernel="poly", keep="vote", multiclass="ovr", random_state=0),
        {**unequal(ORDER), "check_class_weight_classifiers": UNSCALED},
    ),
    (KernelPerceptron(budget=20, epochs=3, random_state=0), unequal(ORDER)),
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_class_weights_prevail_where_kernel_values_are_scaled():
    learner = KernelPerceptron(kernel="poly", keep="vote", multiclass="ovr", gamma="scale")
    check_class_weight_classifiers("", learner.set_params(random_state=0))


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of three, so that few examples fill many."""
    monkeypatch.setattr(online, "_BLOCK", 3)
    monkeypatch.setattr(budget, "_BLOCK", 3)


def told(learner):
    return [tuple(correction) for correction in learner.log_]


def some_data(seed, n=24, classes=2):
    """Small whole numbers: every kernel value of degree 2 is exact, and ties are frequent."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (n, 3)).astype(float)
    y = rng.integers(0, classes, n)
    y[:classes] = np.arange(classes)
    return X, y


RULES = {
    "perceptron": (lambda m: m <= 0, lambda m, q: 1.0),
    "margin": (lambda m: m <= 5.0, lambda m, q: 1.0),
    "pa1": (lambda m: m < 1, lambda m, q: min(0.5, (1 - m) / q)),
}
GIVEN = {"margin": {"target": 5.0}, "pa1": {"C": 0.5}}


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("classes", "multiclass"), [(2, "joint"), (3, "joint"), (3, "ovr")])
def test_it_is_the_textbooks_perceptron_in_every_way(rule, classes, multiclass):
    when, how_far = RULES[rule]
    for seed in range(3):
        X, y = some_data(seed, classes=classes)
        if rule == "pa1":  # it reaches a margin of 1 up to rounding, so there must be no ties
            X += np.random.default_rng(seed).standard_normal(X.shape)
        K = gram_matrix(X, "poly", degree=2)
        order = [*range(24)] * 2 + [*range(12)]
        k = 1 if classes == 2 else classes
        expected = naive.kernel_perceptron(K, y, order, k, multiclass == "joint", when, how_far)
        for memory in ("1GB", 1):
            learner = KernelPerceptron(
                kernel="poly",
                degree=2,
                rule=rule,
                **GIVEN.get(rule, {}),
                keep="vote",
                epochs=2.5,
                shuffle=False,
                multiclass=multiclass,
                max_memory=memory,
            ).fit(X, y)
            found = told(learner)
            assert [entry[:2] for entry in found] == [entry[:2] for entry in expected]
            np.testing.assert_allclose(
                [entry[2:] for entry in found], [entry[2:] for entry in expected], rtol=1e-9
            )


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_matrix])
@pytest.mark.parametrize("rule", ["perceptron", "margin"])
@pytest.mark.parametrize(("classes", "multiclass"), [(2, "joint"), (3, "joint"), (3, "ovr")])
def test_parts_are_the_whole(classes, multiclass, rule, form, tmp_path):
    for seed in range(3):
        X, y = some_data(seed, n=60, classes=classes)
        how = {"kernel": "poly", "degree": 2, "rule": rule, **GIVEN.get(rule, {}), "shuffle": False}
        how["multiclass"] = multiclass
        whole = KernelPerceptron(keep="vote", epochs=1, **how).fit(form(X), y)
        parts = KernelPerceptron(keep="vote", **how)
        for a, b in [(0, 7), (7, 8), (8, 40), (40, 60)]:
            parts.partial_fit(form(X[a:b]), y[a:b], classes=np.unique(y) if a == 0 else None)
            if a == 7:
                parts.save(tmp_path / "m.wm")
                parts = load(tmp_path / "m.wm")
        assert parts.log_ == whole.log_
        assert parts.mistakes_ == whole.mistakes_
        np.testing.assert_array_equal(np.unique(parts.support_), np.unique(whole.support_))
        for keep in ("last", "average", "vote"):
            scores = [one.using(keep).decision_function(X) for one in (parts, whole)]
            np.testing.assert_allclose(*scores, rtol=1e-12)
        averaged = KernelPerceptron(**how).partial_fit(form(X[:30]), y[:30])
        averaged.partial_fit(X[30:].astype(np.float32), y[30:])
        expected = whole.using("average").decision_function(X)
        np.testing.assert_allclose(averaged.decision_function(X), expected, rtol=1e-12)


def test_a_loaded_learner_goes_on_as_if_it_had_not_stopped(tmp_path):
    X, y = some_data(0, n=60, classes=3)
    learner = KernelPerceptron(kernel="poly", random_state=1).fit(X, y)
    learner.save(tmp_path / "m.wm")
    loaded = load(tmp_path / "m.wm").partial_fit(-X, y)
    with pytest.raises(DataError, match="only one class"):
        learner.fit(X, np.zeros(60))  # a call that fails changes nothing
    with pytest.raises(DataError, match="there are 60 examples but 7 labels"):
        learner.fit(X, y, X_val=X, y_val=y[:7])
    learner.partial_fit(-X, y)
    np.testing.assert_array_equal(loaded.decision_function(X), learner.decision_function(X))
    np.testing.assert_array_equal(loaded.support_, learner.support_)


@pytest.mark.parametrize("few", [2, 3])
@pytest.mark.parametrize("multiclass", ["joint", "ovr"])
def test_new_labels_make_new_classes(few, multiclass):
    X, y = some_data(0, n=60, classes=5)
    y = 2 * y  # places of new classes are in between, too
    early = np.isin(y, [2, 4, 8][:few])
    how = {"kernel": "poly", "degree": 2, "keep": "vote", "shuffle": False}
    p = KernelPerceptron(multiclass=multiclass, **how).partial_fit(X[early], y[early])
    known, before = p.classes_, p.log_
    p.partial_fit(X[~early], y[~early])
    assert p.classes_.tolist() == [0, 2, 4, 6, 8]
    # The log so far stays; one vector for two classes now counts against the one as for the other.
    expected = []
    for row, label, amount, count in before:
        if few == 2:
            expected.append((row, 1, -amount, count))
            label = 1
        expected.append((row, int(known[label]) // 2, amount, count))
    assert told(p)[: len(expected)] == expected
    assert len(told(p)) > len(expected)
    # The whole log is the model.
    seen = np.concatenate([X[early], X[~early]])
    K = gram_matrix(np.concatenate([seen, X]), "poly", degree=2)[:60, 60:]
    scores = np.zeros((60, 5))
    for row, label, amount, _ in told(p):
        scores[:, label] += amount * K[row]
    np.testing.assert_array_equal(p.using("last").decision_function(X), scores)


def test_what_cannot_go_on_is_refused():
    X, y = some_data(0)
    last = KernelPerceptron(keep="last").partial_fit(X, y)
    for keep, said in [("average", "kept no average"), ("vote", "kept no log")]:
        with pytest.raises(ValueError, match=said):
            last.set_params(keep=keep).partial_fit(X, y)
    last.set_params(keep="last", multiclass="ovr")
    with pytest.raises(ValueError, match="multiclass='ovr' cannot continue"):
        last.partial_fit(X, y)
    last.set_params(multiclass="joint")
    with pytest.raises(ValueError, match="X has 2 features"):
        last.partial_fit(X[:, :2], y)
    with pytest.raises(DataError, match="do not mix"):
        last.partial_fit(X, ["a", "b"] * 12)
    with pytest.raises(ValueError, match="balanced"):
        last.set_params(class_weight="balanced").partial_fit(X, y)
    with pytest.raises(DataError, match="all examples at once"):
        KernelPerceptron(kernel="precomputed").partial_fit(X @ X.T, y)
    assert not hasattr(KernelPerceptron(budget=5), "partial_fit")
    with pytest.raises(DataError, match="not among"):
        KernelPerceptron().partial_fit(X, y, classes=[1, 2])


def test_strings_can_go_on():
    words, y = ["banana", "bandana", "ananas", "perceptron", "perception", "reception"], [0, 1] * 3
    how = {"kernel": NGrams(2), "shuffle": False, "keep": "vote"}
    whole = KernelPerceptron(epochs=1, **how).fit(words, y)
    parts = KernelPerceptron(**how).partial_fit(words[:2], y[:2]).partial_fit(words[2:], y[2:])
    assert told(parts) == told(whole)


@pytest.mark.usefixtures("small_blocks")
@tries(8)
@given(
    st.integers(0, 1000),
    st.sampled_from([True, False, "once", "rows", "draw"]),
    st.sampled_from([0.3, 1, 2, 3.4, 5]),
    st.sampled_from([2, 3]),
)
def test_blocks_and_the_whole_matrix_learn_the_same(seed, shuffle, epochs, classes):
    X, y = some_data(seed, classes=classes)
    how = {"keep": "vote", "shuffle": shuffle, "epochs": epochs, "random_state": seed}
    blocks = KernelPerceptron(kernel="poly", degree=2, max_memory=1, **how).fit(X, y)
    K = gram_matrix(X, "poly", degree=2)
    whole = KernelPerceptron(kernel="precomputed", **how).fit(K, y)
    assert told(blocks) == told(whole)
    assert blocks.history_["mistakes"].tolist() == whole.history_["mistakes"].tolist()
    for keep in ("last", "average", "vote"):
        np.testing.assert_array_equal(
            blocks.using(keep).decision_function(X), whole.using(keep).decision_function(K)
        )


@given(st.integers(0, 10_000), st.integers(2, 6))
@tries(20)
def test_joint_votes_go_to_the_first_best_of_every_hypothesis(seed, classes):
    rng = np.random.default_rng(seed)
    support, asked, entries = 5, 7, 30
    K = rng.integers(-2, 3, (support, asked)).astype(float)
    counts = np.sort(rng.integers(0, 12, entries)).astype(float)
    log = Log(
        rng.integers(0, support, entries).astype(np.uint64),
        rng.integers(0, classes, entries).astype(np.uint64),
        rng.integers(-1, 2, entries).astype(float),
        counts,
    )
    expected, scores, before = np.zeros((classes, asked)), np.zeros((classes, asked)), 0.0
    for example, label, amount, count in zip(*log, strict=True):
        expected[np.argmax(scores, axis=0), np.arange(asked)] += count - before
        before = count
        scores[int(label)] += amount * K[int(example)]
    S, U, votes = (np.zeros((classes, asked)) for _ in range(3))
    last, cut = np.zeros(1), int(rng.integers(0, entries + 1))
    for part in (slice(0, cut), slice(cut, entries)):
        vote_together(K, Log(*(column[part] for column in log)), last, S, U, votes)
    np.testing.assert_array_equal(votes, expected)
    np.testing.assert_array_equal(S, scores)
    assert last[0] == counts[-1]


def test_the_vote_and_the_average_are_those_of_all_hypotheses():
    X, y = some_data(5)
    learner = KernelPerceptron(kernel="poly", degree=2, keep="vote", shuffle=False, epochs=2).fit(
        X, y
    )
    K = gram_matrix(X, "poly", degree=2)
    votes, means = naive.mean_vote(K, told(learner), 49)
    np.testing.assert_allclose(learner.decision_function(X), votes, rtol=1e-12)
    np.testing.assert_allclose(learner.using("average").decision_function(X), means, rtol=1e-12)
    kept = KernelPerceptron(kernel="poly", degree=2, keep="average", shuffle=False, epochs=2).fit(
        X, y
    )
    np.testing.assert_allclose(kept.decision_function(X), means, rtol=1e-12)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16, y


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear"])
def test_dense_and_sparse_float32_and_a_function_agree(digits, kernel):
    X, y = digits[0][:300], digits[1][:300]
    numbers = {} if kernel == "linear" else {"gamma": 0.5}
    learner = KernelPerceptron(kernel=kernel, **numbers, epochs=2, random_state=0)
    expected = clone(learner).fit(X, y).decision_function(X)
    sparse = scipy.sparse.csr_matrix(X)
    np.testing.assert_allclose(
        clone(learner).fit(sparse, y).decision_function(sparse), expected, rtol=1e-9, atol=1e-9
    )
    thin = X.astype(np.float32)
    found = clone(learner).fit(thin, y).decision_function(thin)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)

    def function(x, z):
        return float(gram_matrix(np.stack([x, z]), kernel, **numbers)[0, 1])

    few = clone(learner).set_params(epochs=0.1).fit(X, y)
    asked = clone(few).set_params(kernel=function, gamma=None).fit(X[:60], y[:60])
    plain = clone(few).fit(X[:60], y[:60])
    np.testing.assert_allclose(
        asked.decision_function(X[:40]), plain.decision_function(X[:40]), rtol=1e-9, atol=1e-9
    )


def test_early_stopping_gives_the_best_hypothesis_back(digits):
    X, y = digits
    for keep in ("last", "average", "vote"):
        learner = KernelPerceptron(keep=keep, epochs=8, patience=2, random_state=1)
        learner.fit(X[:400], y[:400], X_val=X[400:700], y_val=y[400:700])
        history = learner.history_
        scores = history["held_out"]
        assert history.best == 1 + int(np.argmax(scores))
        assert learner.score(X[400:700], y[400:700]) == pytest.approx(scores.max())
    learner = KernelPerceptron(validation=0.2, budget=50, random_state=1).fit(X[:400], y[:400])
    assert learner.history_.best is not None
    assert len(learner.support_) <= 50


def test_weights_of_zero_are_not_looked_at(digits):
    X, y = digits[0][:200], digits[1][:200]
    weight = (np.arange(200) % 2).astype(float)
    learner = KernelPerceptron(random_state=0, shuffle=False).fit(X, y, sample_weight=weight)
    alone = KernelPerceptron(gamma=learner.kernel_.gamma, shuffle=False).fit(X[1::2], y[1::2])
    np.testing.assert_array_equal(learner.decision_function(X), alone.decision_function(X))
    assert np.all(learner.support_ % 2 == 1)


def test_it_works_in_searches_also_with_a_precomputed_matrix(digits):
    X, y = digits[0][:200], digits[1][:200]
    search = GridSearchCV(KernelPerceptron(random_state=0), {"gamma": [0.01, 0.1]}, cv=3)
    assert search.fit(X, y).best_score_ > 0.7
    given = KernelPerceptron(kernel="precomputed", random_state=0)
    search = GridSearchCV(given, {"epochs": [1, 5]}, cv=3).fit(gram_matrix(X, "rbf"), y)
    assert search.best_score_ > 0.7


# Budgets


def unit_kernel(seed, n=60):
    """Examples of two classes, some mislabelled, and their Gaussian kernel."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    y = (X[:, 0] * X[:, 1] + 0.2 * rng.standard_normal(n) > 0).astype(int)
    return X, y, gram_matrix(X, "rbf", gamma=1.0)


def within(forget, B, X, y, **how):
    given = {"gamma": 1.0, "keep": "last", "shuffle": False, "epochs": 2, **how}
    return KernelPerceptron(budget=B, forget=forget, **given).fit(X, y)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("B", [1, 4, 9])
def test_the_forgetron_is_that_of_the_paper(B):
    for seed in range(3):
        X, y, K = unit_kernel(seed)
        stored, mistakes = naive.forgetron(K, 2 * y - 1, [*range(60)] * 2, B)
        learner = within("forgetron", B, X, y)
        assert learner.mistakes_ == mistakes
        found = dict(zip(learner.support_.tolist(), learner.dual_coef_[0].tolist(), strict=True))
        expected = dict(stored)
        assert found.keys() == expected.keys()
        for row, coef in expected.items():
            assert found[row] == pytest.approx(coef, rel=1e-6, abs=1e-9)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("B", [1, 4, 9, 40])
def test_projectron_is_that_of_the_paper_and_keeps_its_promise(B):
    for seed in range(3):
        X, y, K = unit_kernel(seed)
        signs, order = 2 * y - 1, [*range(60)] * 2
        stored, coef, gains = naive.projectron(K, signs, order, B, budget.REACH)
        learner = within("projectron", B, X, y)
        assert learner.support_.tolist() == stored
        expected = K[:, stored] @ coef
        np.testing.assert_allclose(learner.decision_function(X), expected, rtol=1e-4, atol=1e-5)
        # What is promised: the gains towards any u add up to no more than |u|^2.
        rng = np.random.default_rng(seed)
        for scale in (0.1, 1.0, 3.0):
            a = scale * rng.standard_normal(60) * signs
            square, values = float(a @ K @ a), signs * (K @ a)
            gained = sum(
                tau * (2 * (short - max(0.0, 1 - values[j]) - math.sqrt(square) * far) - tau * p)
                for tau, short, far, p, j in gains
            )
            assert gained <= square + 1e-6


@tries(10)
@given(
    st.integers(0, 1000),
    st.integers(1, 12),
    st.sampled_from(["random", "forgetron", "projectron"]),
    st.sampled_from(["joint", "ovr"]),
    st.sampled_from([2, 3]),
)
def test_no_more_than_the_budget_is_ever_stored(seed, B, forget, multiclass, classes):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((50, 2)), rng.integers(0, classes, 50)
    y[:classes] = np.arange(classes)
    learner = within(forget, B, X, y, multiclass=multiclass, random_state=seed)
    assert len(learner.support_) <= B
    if forget == "projectron":  # the others store an example again if it is a mistake again
        assert len(set(learner.support_.tolist())) == len(learner.support_)
    assert np.all(np.isfinite(learner.decision_function(X)))


@pytest.mark.parametrize("forget", ["random", "forgetron"])
def test_with_room_for_all_mistakes_nothing_is_forgotten(forget):
    X, y, _ = unit_kernel(0)
    plain = KernelPerceptron(gamma=1.0, keep="last", shuffle=False, epochs=1).fit(X, y)
    learner = within(forget, 60, X, y, epochs=1)
    assert learner.mistakes_ == plain.mistakes_
    np.testing.assert_allclose(
        learner.decision_function(X), plain.decision_function(X), rtol=1e-12, atol=1e-12
    )


def test_the_forgetron_keeps_its_bound():
    # For |u| <= sqrt((B + 1) / ln(B + 1)) / 4 it makes at most 2 |u|^2 + 4 L mistakes.
    rng = np.random.default_rng(0)
    n, B = 3000, 150
    y = rng.integers(0, 2, n)
    X = (2 * y - 1)[:, None] + 0.1 * rng.standard_normal((n, 1))
    y = np.where(rng.random(n) < 0.04, 1 - y, y)
    a, anchors, signs = np.array([0.96, -0.96]), np.array([1.0, -1.0]), 2 * y - 1
    norm = math.sqrt(a @ np.exp(-((anchors[:, None] - anchors) ** 2)) @ a)
    assert norm <= math.sqrt((B + 1) / math.log(B + 1)) / 4
    u = np.exp(-((X - anchors) ** 2)) @ a
    bound = 2 * norm**2 + 4 * float(np.sum(np.maximum(0.0, 1.0 - signs * u)))
    learner = within("forgetron", B, X, y, epochs=1)
    assert B < learner.mistakes_ <= bound < n


@pytest.mark.parametrize("forget", ["random", "forgetron", "projectron"])
def test_the_memory_of_a_budget_follows_what_is_stored(forget, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 4)), rng.integers(2, size=120)
    monkeypatch.setattr(budget, "_BLOCK", 16)
    how = {"forget": forget, "keep": "last", "shuffle": False, "epochs": 2}
    roomy = KernelPerceptron(budget=500, **how).fit(X, y).model_
    monkeypatch.setattr(budget, "_ROOM", 3)
    for B in (500, 10**6, 10**30):
        grown = KernelPerceptron(budget=B, **how).fit(X, y).model_
        np.testing.assert_array_equal(
            grown.support.rows.stored.values, roomy.support.rows.stored.values
        )
        np.testing.assert_allclose(grown.coef, roomy.coef, rtol=1e-12)


def test_what_a_budget_cannot_keep_is_refused():
    X, y, _ = unit_kernel(0)
    with pytest.raises(ValueError, match="keep 'last'"):
        within("random", 5, X, y, keep="average")
    with pytest.raises(ValueError, match="every example"):
        within("projectron", 5, X, y, keep="vote")
    with pytest.raises(ValueError, match="budget=0"):
        within("random", 0, X, y)
    with pytest.raises(ValueError, match="rule='perceptron'"):
        within("random", 5, X, y, rule="pa1")
    averaged = within("projectron", 5, X, y, keep="average")
    assert np.all(np.isfinite(averaged.decision_function(X)))


# Files


@pytest.mark.parametrize(
    "params",
    [
        {"kernel": "rbf", "keep": "vote"},
        {"kernel": "poly", "keep": "average", "multiclass": "ovr"},
        {"kernel": "laplace", "keep": "last"},
        {"kernel": "rbf", "budget": 30},
    ],
)
def test_files_give_the_same_answers_back(digits, tmp_path, params):
    X, y = digits[0][:200], digits[1][:200]
    for data in (X, scipy.sparse.csr_matrix(X.astype(np.float32))):
        learner = KernelPerceptron(**params, epochs=2, random_state=0).fit(data, y)
        learner.save(tmp_path / "m.wm")
        again = load(tmp_path / "m.wm")
        np.testing.assert_array_equal(
            again.decision_function(data), learner.decision_function(data)
        )
        assert again.get_params() == learner.get_params()
        np.testing.assert_array_equal(again.support_, learner.support_)
        assert repr(again.history_) == repr(learner.history_)
        model = load_model(tmp_path / "m.wm")
        assert isinstance(model, widemargin.KernelModel)
        np.testing.assert_array_equal(model.predict(data), learner.predict(data))
        content = (tmp_path / "m.wm").read_bytes()
        (tmp_path / "cut.wm").write_bytes(content[:-9])
        with pytest.raises(ModelFileError):
            load(tmp_path / "cut.wm")


def test_files_of_strings_functions_and_matrices(tmp_path):
    words, kind = ["ba", "bab", "abba", "cd", "dcd", "ccd"], ["a", "a", "a", "c", "c", "c"]
    path = tmp_path / "m.wm"
    learner = KernelPerceptron(kernel=NGrams(1)).fit(words, kind)
    learner.save(path)
    assert load_model(path).kernel.function == NGrams(1)
    assert load_model(path).predict(["aab", "cc"]).tolist() == ["a", "c"]

    def shared(s, t):
        return float(len(set(s) & set(t)))

    learner = KernelPerceptron(kernel=shared).fit(words, kind)
    learner.save(path)
    with pytest.raises(DataError, match="with_kernel"):
        load_model(path).predict(words)
    again = load_model(path).with_kernel(shared)
    np.testing.assert_array_equal(again.decision_function(words), learner.decision_function(words))

    K = gram_matrix(words, shared)
    learner = KernelPerceptron(kernel="precomputed").fit(K, kind)
    learner.save(path)
    np.testing.assert_array_equal(load(path).decision_function(K), learner.decision_function(K))

    learner = KernelPerceptron(kernel=lambda a, b: float(a == b)).fit([{1}, {2}], [0, 1])
    with pytest.raises(DataError, match="only vectors and strings"):
        learner.save(path)


# Bad input


def test_bad_matrices_are_named():
    y = [0, 1, 1]
    K = np.eye(3)
    learner = KernelPerceptron(kernel="precomputed")
    with pytest.raises(DataError, match="must be square"):
        learner.fit(np.ones((3, 2)), y)
    bent = K.copy()
    bent[0, 2] = 0.5
    with pytest.raises(DataError, match=r"symmetric: K\[0, 2\] is 0.5 but K\[2, 0\] is 0"):
        learner.fit(bent, y)
    with pytest.raises(DataError, match="positive semi-definite"):
        learner.fit(np.diag([1.0, -1.0, 1.0]), y)
    with pytest.raises(ValueError, match="NaN"):
        learner.fit(np.diag([1.0, np.nan, 1.0]), y)
    with pytest.raises(ValueError, match="features"):
        learner.fit(K, y).predict(np.ones((2, 2)))


def test_kernels_that_are_no_numbers_are_named():
    X, y = np.arange(6.0)[:, None], [0, 1] * 3
    with pytest.raises(DataError, match="is nan"):
        KernelPerceptron(kernel=lambda x, z: math.nan).fit(X, y)
    with pytest.raises(DataError, match="must be a number"):
        KernelPerceptron(kernel=lambda x, z: None).fit(X, y)
    with pytest.raises(DataError, match="rows 5 and "):
        KernelPerceptron(kernel=lambda x, z: 1.0 if x[0] < 5.0 else "?").fit(X, y)
    with pytest.raises(DataError, match=r"too large|finite"):
        KernelPerceptron(kernel="poly", degree=300, gamma=1e9).fit(X + 1.0, y)
    with pytest.raises(DataError, match="finite"):
        KernelPerceptron(kernel="poly", degree=20, gamma=1e9, epochs=1).fit(
            (X + 1.0).astype(np.float32), y
        )
    learner = KernelPerceptron(kernel="poly", degree=9).fit(X, y)
    with pytest.raises(DataError, match=r"row 1|rows 1"):
        learner.predict([[1.0], [1e200]])


def test_the_same_row_with_both_labels_ends():
    learner = KernelPerceptron(epochs=5, gamma=1.0).fit([[1.0], [1.0], [2.0], [2.0]], [0, 1, 0, 1])
    assert learner.history_.stopped == "epochs"
    assert np.all(np.isfinite(learner.decision_function([[1.0]])))


def test_held_out_examples_must_look_like_the_others():
    X, y = np.arange(8.0).reshape(4, 2), [0, 1, 0, 1]
    with pytest.raises(ValueError, match="3 features"):
        KernelPerceptron().fit(X, y, X_val=np.ones((2, 3)), y_val=[0, 1])
    with pytest.raises(ValueError, match="both X_val and y_val"):
        KernelPerceptron().fit(X, y, X_val=X)


def test_one_class_is_refused():
    with pytest.raises(DataError, match="only one class"):
        KernelPerceptron().fit([[1.0], [2.0]], [1, 1])


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"epochs": 0}, "epochs=0"),
        ({"epochs": math.inf}, "epochs=inf"),
        ({"rule": "logistic"}, "rule='logistic'"),
        ({"max_memory": "much"}, "max_memory='much'"),
        ({"forget": "all"}, "forget='all'"),
        ({"keep": "none"}, "keep='none'"),
        ({"gamma": 1.0, "sigma": 1.0}, "not both"),
    ],
)
def test_bad_settings_are_named(params, said):
    with pytest.raises(ValueError, match=said):
        KernelPerceptron(**params).fit([[1.0], [2.0]], [0, 1])


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e30, 1e150])
def test_any_scale_gets_an_answer(scale):
    X, y = np.array([[1.0], [2.0], [3.0], [4.0]]) * scale, [0, 0, 1, 1]
    assert KernelPerceptron(epochs=50, keep="last").fit(X, y).predict(X).tolist() == y


# The shell


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name, n in (("train.svm", 120), ("test.svm", 60)):
        X = rng.standard_normal((n, 2)).round(3)
        lines = [f"{1 if x @ x < 1.3 else -1} 1:{x[0]} 2:{x[1]}\n" for x in X]
        (tmp_path / name).write_text("".join(lines))

    def run(*words, code=0):
        done = CliRunner().invoke(main, words)
        assert done.exit_code == code, done.output
        return done.stdout if code == 0 else done.stderr

    return run


KERNEL_RUN = ("train", "train.svm", "--learner", "kernel-perceptron")


def test_the_shell_trains_tests_predicts_and_inspects(run):
    words = ["--kernel", "rbf", "--gamma", "scale", "--double", "--no-holdout"]
    told = run(*KERNEL_RUN, *words, "--model", "m.wm")
    assert "kernel exp(-" in told
    learner = KernelPerceptron(kernel="rbf", gamma="scale", random_state=0)
    X, y = widemargin.read("train.svm", dtype=np.float64)
    learner.fit(X, y)
    assert f"support vectors: {len(learner.support_)}" in told
    T, t = widemargin.read("test.svm", dtype=np.float64)
    expected = learner.predict(T)
    assert run("predict", "m.wm", "test.svm").split() == [str(label) for label in expected]
    scores = [
        float(line.split("\t")[1])
        for line in run("predict", "m.wm", "test.svm", "--scores").splitlines()
    ]
    np.testing.assert_allclose(scores, learner.decision_function(T), rtol=1e-5)
    figures = json.loads(run("test", "m.wm", "test.svm", "--json"))
    assert figures["accuracy"] == np.mean(expected == t) > 0.8
    found = json.loads(run("inspect", "m.wm", "--json"))
    assert found["support_rows"] == (learner.support_ + 1).tolist()
    assert found["kernel"]["gamma"] == learner.kernel_.gamma
    shown = run("inspect", "m.wm", "--top", "1")
    best = int(np.argmax(np.abs(learner.dual_coef_[0])))
    assert f"row {learner.support_[best] + 1} (" in shown
    np.testing.assert_array_equal(load("m.wm").predict(T), expected)


def test_the_shell_takes_budgets_fractions_and_held_out_files(run):
    words = ("--kernel", "poly", "--degree", "2", "--budget", "5", "--epochs", "2.5")
    told = json.loads(run(*KERNEL_RUN, *words, "--json", "--valid", "test.svm"))
    (X, y), (T, t) = (widemargin.read(name, dtype=np.float32) for name in ("train.svm", "test.svm"))
    learner = KernelPerceptron(kernel="poly", degree=2, budget=5, epochs=2.5, random_state=0)
    learner.fit(X, y, X_val=T, y_val=t)
    assert told["support_vectors"] == len(learner.support_) <= 5
    assert told["kernel"] == "(x.z + 1)^2"
    assert told["accuracy"] == learner.score(T, t)
    assert told["epochs"] == learner.n_iter_ == 3
    told = json.loads(run("train", "--learner", "kernel-perceptron", "--json", "--epochs", "1"))
    assert told["accuracy"] > 0.9


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*KERNEL_RUN, "--gamma", "much"), "--gamma much"),
        ((*KERNEL_RUN, "--gamma", "1", "--sigma", "1"), "not both"),
        ((*KERNEL_RUN, "--l2", "1"), "not an option of the learner kernel-perceptron"),
        ((*KERNEL_RUN, "--loss", "hinge"), "not an option of the learner kernel-perceptron"),
        ((*KERNEL_RUN, "--stream"), "--stream is not an option of the learner kernel-perceptron"),
        (("train", "train.svm", "--sigma", "1"), "not an option of the learner perceptron"),
        ((*KERNEL_RUN, "--degree", "3"), "--degree has no effect with --kernel rbf"),
        ((*KERNEL_RUN, "--C", "1"), "--C has no effect with --rule perceptron"),
        (("train", "train.svm", "--epochs", "0.5"), "--epochs 0.5 must be a whole number"),
        (("train", "train.svm", "--epochs", "many"), "is not a number"),
    ],
)
def test_the_shell_says_what_it_cannot_take(run, words, said):
    assert said in run(*words, code=2)


def test_the_shell_says_what_a_kernel_model_cannot_do(run):
    run(*KERNEL_RUN, "--model", "m.wm", "--quiet")
    assert "cannot be updated" in run("update", "m.wm", "test.svm", code=1)
    assert "no weights" in run("convert", "m.wm", "m.liblinear", code=1)


def test_the_shell_explains_by_rows_counted_from_one(run):
    run(*KERNEL_RUN, "--model", "m.wm", "--quiet")
    said = run("explain", "m.wm", "test.svm", "--row", "2", "--top", "99")
    rows = [int(row) for row in re.findall(r"row (\d+) \(", said)]
    assert sorted(rows) == sorted(json.loads(run("inspect", "m.wm", "--json"))["support_rows"])
    assert "--token has no effect" in run("explain", "m.wm", "test.svm", "--token", "1", code=2)
    assert "--column has no effect" in run(
        "report", "m.wm", "-o", "x.html", "--column", "1", code=2
    )


@pytest.mark.parametrize(
    "how",
    [
        *({}, {"max_memory": 1000}, {"multiclass": "ovr"}, {"epochs": 300.5}),
        {"budget": 30, "forget": "random"},
        {"budget": 30, "forget": "forgetron"},
    ],
    ids=str,
)
def test_draws_end_when_no_example_is_a_mistake(how):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 2))
    y = rng.integers(3 if "multiclass" in how else 2, size=24)
    how = {"keep": "last", "shuffle": "draw", "gamma": 20.0, "epochs": 300, **how}
    for seed in range(4):
        learner = KernelPerceptron(random_state=seed, **how).fit(X, y)
        assert learner.history_.stopped == "no mistakes"
        assert learner.score(X, y) == 1.0


@pytest.mark.parametrize("how", [{}, {"max_memory": 1000}, {"budget": 9}], ids=str)
def test_looking_for_missed_mistakes_changes_nothing(how, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.integers(2, size=30)
    how = {"shuffle": "draw", "gamma": 20.0, "epochs": 12, "random_state": 0, **how}

    def fit():
        learner = KernelPerceptron(**how).fit(X, y)
        return learner.decision_function(X), learner.history_.mistakes

    usual = training.KernelTraining.end_epoch
    expected, mistakes = fit()

    def look(self):
        self.learner.would_correct(self._which)
        return usual(self)

    monkeypatch.setattr(training.KernelTraining, "end_epoch", look)
    found, counted = fit()
    np.testing.assert_array_equal(found, expected)
    assert counted == mistakes


def test_later_calls_list_all_known_classes():
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 2]
    learner = KernelPerceptron().partial_fit(X, y)
    with pytest.raises(ValueError, match=r"classes=\[0, 1\] lacks classes that were already"):
        learner.partial_fit(X[:2], y[:2], classes=[0, 1])
    assert learner.partial_fit(X[:2], y[:2], classes=[0, 1, 2, 3]).classes_.tolist() == [0, 1, 2, 3]
