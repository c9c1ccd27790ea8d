"""Pictures show what they say, by their artists, labels and numbers; they train nothing."""

import importlib.util
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import widemargin
from widemargin import (
    DataError,
    History,
    KernelPerceptron,
    KernelSVM,
    LinearSVM,
    OnlineLogistic,
    Perceptron,
    TextClassifier,
    certify,
    losses,
    show,
)
from widemargin.plots.hypotheses import hypotheses, scores_along
from widemargin.plots.style import frame_of, line_ends
from widemargin.plots.views import make_view
from widemargin.training.run import Run

needs_matplotlib = pytest.mark.skipif(
    importlib.util.find_spec("matplotlib") is None,
    reason="pictures need matplotlib: pip install 'widemargin[plot]'",
)

X9 = np.array([[-1, 2], [1, 0], [1, 1], [-1, 0], [-1, -2], [1, -1]])
Y9 = np.array([-1, 1, 1, -1, -1, 1])
X10 = np.array([[1, 1], [1, 3], [2, 1], [2, 2], [-1, -1], [-1, -3], [-2, -1], [-2, -2]])
Y10 = np.array(["x"] * 4 + ["o"] * 4)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="module", autouse=True)
def no_window():
    if importlib.util.find_spec("matplotlib") is not None:
        import matplotlib

        matplotlib.use("Agg")


@pytest.fixture(scope="module")
def worked():
    """The worked example of the lectures."""
    return Perceptron(keep="vote", shuffle=False, fit_intercept=False).fit(X9, Y9)


@pytest.fixture(scope="module")
def cloud():
    """Two clouds that overlap."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal([1.5, 1], 1, (40, 2)), rng.normal([-1, -0.8], 1, (40, 2))])
    return X, np.repeat(["pos", "neg"], 40)


@pytest.fixture(scope="module")
def voted(cloud):
    return Perceptron(keep="vote", epochs=3, random_state=0).fit(*cloud)


def labels_of(ax):
    return ax.get_legend_handles_labels()[1]


def lines_of(ax, label):
    return [line for line in ax.lines if line.get_label() == label]


# What is drawn from


def test_hypotheses_of_the_worked_example(worked):
    found = hypotheses(worked.model_)
    assert [step.w.tolist() for step in found] == [[0, 0], [1, -2], [2, -1], [3, 1]]
    assert [step.row for step in found] == [-1, 0, 2, 4]


@given(st.integers(0, 1000), st.booleans(), st.booleans(), st.sampled_from([2, 3]))
def test_votes_along_a_training_add_up_to_the_voted_answer(seed, sparse, bias, classes):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (12, 3)).astype(float)
    y = rng.permutation(np.arange(12) % classes)
    p = Perceptron(keep="vote", epochs=2, fit_intercept=bias, random_state=seed)
    p.fit(scipy.sparse.csr_matrix(X) if sparse else X, y)
    scores, votes = scores_along(p.model_, X[:1])
    assert votes.sum() == p.model_.state.count == 25
    expected = p.decision_function(X[:1])[0]
    if classes == 2:
        mean = votes @ np.where(scores[:, 0] >= 0, 1.0, -1.0) / votes.sum()
        assert mean == pytest.approx(expected)
    else:
        share = np.bincount(np.argmax(scores, axis=1), weights=votes, minlength=3) / votes.sum()
        assert share == pytest.approx(expected)


@given(st.integers(0, 1000), st.booleans())
def test_the_last_hypothesis_is_the_model(seed, bias):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(10, 4)), rng.permutation(np.arange(10) % 2)
    p = Perceptron(keep="vote", epochs=2, fit_intercept=bias, random_state=seed).fit(X, y)
    last = hypotheses(p.model_)[-1]
    assert np.append(last.w, last.b) == pytest.approx(
        np.append(p.using("last").coef_[0], p.using("last").intercept_), abs=1e-12
    )


def test_pictures_of_steps_need_the_log_and_two_classes(cloud):
    with pytest.raises(DataError, match="keep='vote'"):
        show.plot_path(Perceptron().fit(*cloud), *cloud)
    p = Perceptron(keep="vote").fit(np.eye(3), [0, 1, 2])
    with pytest.raises(DataError, match="3 classes"):
        show.plot_path(p, np.eye(3), [0, 1, 2])
    apart = Perceptron(keep="vote", multiclass="ovr").fit(np.eye(3), [0, 1, 2])
    with pytest.raises(DataError, match="joint"):
        show.plot_votes(apart, np.eye(3)[0])


# Where things lie


@given(st.integers(0, 10_000), st.integers(3, 8), st.booleans())
def test_a_projection_keeps_the_distance_to_the_hyperplane(seed, d, sparse):
    rng = np.random.default_rng(seed)
    X, w, b = rng.normal(size=(20, d)), rng.normal(size=d), float(rng.normal())
    view = make_view(scipy.sparse.csr_matrix(X) if sparse else X, w[None, :], b)
    points = view.place(X)
    assert points[:, 0] == pytest.approx((X @ w + b) / np.linalg.norm(w))
    assert view.basis @ view.basis.T == pytest.approx(np.eye(2), abs=1e-9)
    line = view.line(w, b)
    assert line.w[1] == pytest.approx(0.0, abs=1e-9)
    assert line.b == pytest.approx(0.0, abs=1e-9)
    across = X - np.outer(X @ w, w) / (w @ w)
    most = np.linalg.svd(across - across.mean(axis=0))[2][0]
    spread = [np.var(across @ direction) for direction in (view.basis[1], most)]
    assert spread[0] == pytest.approx(spread[1], rel=0.05)


@given(st.floats(-2, 2), st.floats(-2, 2), st.floats(-3, 3), st.floats(0.5, 3), st.floats(0.5, 3))
def test_lines_end_on_the_frame(w0, w1, b, width, height):
    frame = (-width, width, -height, height)
    ends = line_ends(frame, np.array([w0, w1]), b)
    if ends is None:  # the corners are all on one side
        corners = [w0 * x + w1 * y + b for x in frame[:2] for y in frame[2:]]
        assert min(corners) > -1e-6 or max(corners) < 1e-6
        return
    for x, y in ends:
        assert abs(w0 * x + w1 * y + b) < 1e-6 * (1 + abs(b))
        assert abs(x) <= width + 1e-9
        assert abs(y) <= height + 1e-9


def test_a_slice_holds_the_other_features():
    X = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 7.0], [2.0, 2.0, 9.0]])
    view = make_view(X, None, features=(0, 1))
    assert view.lift(np.array([[3.0, 4.0]])).tolist() == [[3.0, 4.0, 7.0]]
    assert "medians" in view.story
    assert make_view(X, None, features=(2, 0), at=[1, 2, 3]).line([1.0, 1.0, 1.0], 0.0).b == 2.0


def test_views_say_what_they_need():
    X = np.zeros((4, 3))
    with pytest.raises(DataError, match="choose two"):
        make_view(X, None)
    with pytest.raises(DataError, match="two different columns"):
        make_view(X, None, features=(0, 3))
    with pytest.raises(DataError, match="all weights are zero"):
        make_view(X, np.zeros((1, 3)))
    with pytest.raises(DataError, match="two features"):
        make_view(X[:, :1], None)


def test_frames_of_alike_directions_are_true_to_scale():
    left, right, bottom, top = frame_of(np.array([[0.0, 0.0], [2.0, 2.0]]))
    assert (right - left) / (top - bottom) == pytest.approx(1.3)
    left, right, bottom, top = frame_of(np.array([[0.0, 0.0], [1000.0, 1.0]]))
    assert (right - left) / (top - bottom) == pytest.approx(1000)


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e8])
def test_frames_of_flat_directions_have_room(size):
    """Else matplotlib would write an offset to the axis, such as 1e-9+2.07."""
    one = size * np.array([[2.0, 3.0]])
    left, right, bottom, top = frame_of(one)
    assert left < one[0, 0] < right
    assert min(right - left, top - bottom) > 0.1 * size
    left, right, bottom, top = frame_of(size * np.array([[0.0, 3.0], [2.0, 3.0]]))
    assert (right - left) / (top - bottom) == pytest.approx(1.3)
    left, right, bottom, top = frame_of(np.zeros((2, 2)))
    assert min(right - left, top - bottom) >= 1.0


# The pictures


@needs_matplotlib
def test_boundary_of_the_widest_margin():
    svm = LinearSVM(C=np.inf, bias="free", random_state=0).fit(X10, Y10)
    shown = show.plot_boundary(svm, X10, Y10)
    ax = shown.ax_
    assert {"boundary", "support vectors", "x", "o"} <= set(labels_of(ax))
    assert shown.support.tolist() == [0, 4]
    (line,) = lines_of(ax, "boundary")
    for x, y in zip(*line.get_data(), strict=True):
        assert x + y == pytest.approx(0.0, abs=1e-2)
    band = lines_of(ax, "margin (score 1)")[0]
    assert abs(np.sum(band.get_data(), axis=0)) == pytest.approx([2.0, 2.0], abs=1e-2)
    markers = [len(c.get_offsets()) for c in ax.collections if len(c.get_offsets()) == 4]
    assert markers == [4, 4]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x0", "x1")
    assert "LinearSVM" in ax.get_title(loc="left")
    assert "w" in [text.get_text() for text in ax.texts]


@needs_matplotlib
def test_boundary_band_of_a_perceptron_is_its_smallest_distance(worked):
    shown = show.plot_boundary(worked.using("last"), X9, Y9)
    assert shown.band / np.sqrt(10) == pytest.approx(certify(worked.using("last"), X9, Y9).margin)
    assert shown.support.tolist() == [0, 2, 4]
    assert shown.support_story == "mistaken while learning"


@needs_matplotlib
def test_boundary_of_a_vote_and_of_several_classes_is_asked_on_a_grid(voted, cloud):
    shown = show.plot_boundary(voted, *cloud)
    assert shown.line is None
    x, y, scores = shown.grid
    asked = voted.decision_function(np.column_stack([x.ravel(), y.ravel()]))
    assert scores.ravel() == pytest.approx(asked)
    rng = np.random.default_rng(0)
    X, t = rng.normal(size=(30, 4)) + np.eye(4)[np.arange(30) % 3] * 4, np.arange(30) % 3
    many = show.plot_boundary(Perceptron(random_state=0).fit(X, t), X, t)
    assert many.grid[2].shape[2] == 3
    assert "two main directions" in many.ax_.get_xlabel().replace("\n", " ")


@needs_matplotlib
def test_boundary_takes_axes_models_files_and_other_libraries(cloud, tmp_path):
    import matplotlib.pyplot
    from sklearn.linear_model import LogisticRegression

    figure, axes = matplotlib.pyplot.subplots(1, 2)
    assert show.plot_boundary(LinearSVM().fit(*cloud), *cloud, ax=axes[1]).figure_ is figure
    LinearSVM().fit(*cloud).save(tmp_path / "m.wm")
    kept = show.plot_boundary(widemargin.load(tmp_path / "m.wm"), *cloud, title="mine")
    assert kept.support_story == "within the margin"
    assert kept.ax_.get_title(loc="left") == "mine"
    other = show.plot_boundary(LogisticRegression().fit(*cloud), *cloud)
    assert other.line is not None
    assert "LogisticRegression" in other.ax_.get_title(loc="left")


@needs_matplotlib
def test_boundary_of_more_features_is_projected():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 6))
    y = (X[:, 0] > 0).astype(int)
    shown = show.plot_boundary(LinearSVM().fit(X, y), X, y)
    assert "distance to the hyperplane" in shown.ax_.get_xlabel()
    assert "6 features, projected" in shown.ax_.get_xlabel()
    sliced = show.plot_boundary(LinearSVM().fit(X, y), X, y, features=(0, 1))
    assert "medians" in sliced.ax_.get_xlabel()


@needs_matplotlib
def test_path_draws_every_hyperplane(worked):
    shown = show.plot_path(worked, X9, Y9)
    lines = shown.ax_.lines
    assert len(lines) == 3  # the start is no hyperplane
    for line, w in zip(lines, [(1, -2), (2, -1), (3, 1)], strict=True):
        assert np.array(w) @ line.get_data() == pytest.approx([0, 0], abs=1e-9)
    assert shown.ax_.get_title(loc="left") == "3 corrections, early to late"
    assert {text.get_text() for text in shown.ax_.texts} == {"1", "2"}
    panels = show.plot_path(worked, X9, Y9, panels=6)
    assert [ax.get_title(loc="left") for ax in panels.ax_.flat] == [
        "1: row 0",
        "2: row 2",
        "3: row 4",
    ]


@needs_matplotlib
def test_path_wants_the_examples_it_was_trained_on(worked):
    with pytest.raises(DataError, match="row 4"):
        show.plot_path(worked, X9[:3], Y9[:3])


@needs_matplotlib
def test_films_have_a_frame_an_update(worked, tmp_path):
    from PIL import Image

    told = certify(worked, X9, Y9)
    assert show.animate(worked, X9, Y9, tmp_path / "a.gif", certificate=told) == 4
    with Image.open(tmp_path / "a.gif") as film:
        assert film.n_frames == 4
        assert film.size == (400, 360)
    assert show.animate(worked, X9, Y9, tmp_path / "a.html") == 4
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == 4
    assert "correction 2: row 2 (1), w += 1 x" in page
    assert "http" not in page.replace("http-equiv", "")
    with pytest.raises(ValueError, match=r"\.gif or \.html"):
        show.animate(worked, X9, Y9, tmp_path / "a.mp4")


@needs_matplotlib
def test_losses_along_a_margin():
    shown = show.plot_losses()
    assert labels_of(shown.ax_) == ["0/1", "perceptron", "hinge", "logistic"]
    (line,) = lines_of(shown.ax_, "hinge")
    assert line.get_ydata() == pytest.approx(losses.hinge(line.get_xdata()))


@needs_matplotlib
def test_losses_along_a_weight_are_those_of_the_library(cloud):
    X, y = cloud
    p = Perceptron(keep="last", random_state=0).fit(X, y)
    shown = show.plot_losses(p, X, y, feature=1, values=[-1.0, 0.0, 2.0])
    signs = np.where(y == "pos", 1, -1)
    for name, loss in (("0/1", losses.zero_one), ("logistic", losses.logistic)):
        expected = losses.along_weight(
            loss, p.coef_[0], X, signs, 1, [-1.0, 0.0, 2.0], b=float(p.intercept_[0])
        )
        assert shown.curves[name] == pytest.approx(expected)
    assert shown.ax_.get_xlabel() == "weight of x1"
    assert shown.marked == p.coef_[0, 1]
    with pytest.raises(DataError, match="give X and y"):
        show.plot_losses(p)
    with pytest.raises(DataError, match="feature=9"):
        show.plot_losses(p, X, y, feature=9)


@needs_matplotlib
def test_history_marks_the_best_epoch(cloud):
    X, y = cloud
    p = Perceptron(epochs=6, validation=0.25, patience=6, random_state=0).fit(X, y)
    shown = show.plot_history(p)
    assert list(shown.panels) == ["mistakes", "loss", "held-out score"]
    assert shown.ax_[0].lines[0].get_ydata().tolist() == p.history_["mistakes"].tolist()
    best = p.history_.best
    (label,) = labels_of(shown.ax_[2])
    assert label == f"best: epoch {best}, {p.history_['held_out'][best - 1]:.4f}"
    one = show.plot_history(Perceptron(epochs=1).fit(X, y))
    one.figure_.canvas.draw()
    low, high = one.ax_[-1].get_xlim()
    assert [at for at in one.ax_[-1].get_xticks() if low <= at <= high] == [1.0]
    svm = show.plot_history(LinearSVM().fit(X, y))
    assert list(svm.panels) == ["objective", "relative gap"]
    assert svm.ax_[1].get_yscale() == "log"
    with pytest.raises(DataError, match="empty"):
        show.plot_history(History())
    with pytest.raises(DataError, match="no history"):
        show.plot_history(object())


@needs_matplotlib
def test_bound_draws_the_proof(worked):
    told = certify(worked, X9, Y9)
    shown = show.plot_bound(told)
    drawn = {line.get_label(): line.get_data() for line in shown.ax_.lines}
    assert drawn["|w_k|"][1] == pytest.approx(np.sqrt([5, 5, 10]))
    assert drawn["w_k·w*"][1] == pytest.approx(told.progress[:, 0])
    x, y = drawn["R √k"]
    assert np.interp(told.bound, x, y) == pytest.approx(told.R**2 / told.gamma.low, rel=1e-3)
    assert "3 mistakes made, at most 5 possible" in shown.ax_.get_title(loc="left")
    assert show.plot_bound(told, scale="log").ax_.get_xscale() == "log"
    with pytest.raises(DataError, match="cannot be followed"):
        show.plot_bound(certify(Perceptron().fit(X9, Y9), X9, Y9))
    with pytest.raises(DataError, match="about a training"):
        show.plot_bound(certify(X9, Y9))


@needs_matplotlib
def test_orders_are_the_runs_that_were_given(cloud):
    X, y = cloud
    runs = {
        f"seed {i}": Perceptron(keep="vote", epochs=1, random_state=i).fit(X, y) for i in (1, 2)
    }
    shown = show.plot_orders(runs, X, y)
    for name, run in runs.items():
        assert shown.accuracy[name] == {
            "last": run.using("last").score(X, y),
            "averaged": run.using("average").score(X, y),
            "voted": run.score(X, y),
        }
    assert len(shown.ax_) == 2
    assert len(lines_of(shown.ax_[0], "last weights")) == 1
    made = []

    def train(keep):
        made.append(keep)
        return Perceptron(keep=keep, random_state=0).fit(X, y)

    both = show.plot_orders(train, X, y, over=["last", "average"])
    assert made == ["last", "average"]
    assert list(both.accuracy["last"]) == ["last"]
    assert list(both.accuracy["average"]) == ["last", "averaged"]
    with pytest.raises(DataError, match="no runs"):
        show.plot_orders({}, X, y)


@needs_matplotlib
def test_votes_are_shares_of_all_hypotheses(voted):
    x = np.array([0.1, 0.05])
    shown = show.plot_votes(voted, x)
    mean = voted.decision_function([x])[0]
    assert shown.shares["pos"] - shown.shares["neg"] == pytest.approx(mean)
    widths = sum(bar.get_width() for bar in shown.ax_.patches)
    assert widths == pytest.approx(voted.model_.state.count)
    assert shown.ax_.get_title(loc="left") == f"{len(shown.votes)} hypotheses vote: " + (
        "pos" if mean >= 0 else "neg"
    )
    texts = TextClassifier(Perceptron(keep="vote", fit_intercept=0.1)).fit(
        ["a b c", "d e f"], [0, 1]
    )
    assert show.plot_votes(texts, "bb cc").shares.keys() == {0, 1}


@needs_matplotlib
def test_confusion_counts():
    shown = show.ConfusionDisplay.from_predictions(["a", "a", "b", "c"], ["a", "b", "b", "c"])
    assert shown.measures.confusion[:3].tolist() == [[1, 1, 0], [0, 1, 0], [0, 0, 1]]
    assert [text.get_text() for text in shown.ax_.texts] == [
        "1", "1", "0", "0", "1", "0", "0", "0", "1",
    ]  # fmt: skip
    assert "accuracy 0.7500" in shown.ax_.get_title(loc="left")
    p = Perceptron(random_state=0).fit(X10, Y10)
    assert np.trace(show.plot_confusion(p, X10, Y10).measures.confusion) == 8
    names = ["setosa", "versicolor of a rather long kind", "virginica"]
    shown = show.ConfusionDisplay.from_predictions(names, names)
    shown.figure_.canvas.draw()
    assert shown.ax_.yaxis.label.get_window_extent().x0 > 2.0  # not cut off


@needs_matplotlib
def test_weights_are_the_top_features_or_images():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 6)), np.arange(40) % 2
    p = LinearSVM().fit(X, y)
    shown = show.plot_weights(p, n=3)
    tops = p.model_.top_features(3)
    assert shown.top == tops
    widths = [bar.get_width() for bar in shown.ax_.patches]
    assert sorted(widths) == pytest.approx(
        sorted([-w for _, w in tops[0]] + [w for _, w in tops[1]])
    )
    names = {tick.get_text() for tick in shown.ax_.get_yticklabels()}
    assert names == {name for found in tops.values() for name, _ in found}
    image = show.plot_weights(p, shape=(2, 3), classes=[1])
    assert image.images[0] == pytest.approx(p.coef_[0].reshape(2, 3))
    many = show.plot_weights(Perceptron(random_state=0).fit(X, np.arange(40) % 3), n=2)
    assert [ax.get_title(loc="left") for ax in many.ax_.flat[:3]] == ["0", "1", "2"]
    with pytest.raises(DataError, match="holds 9 weights"):
        show.plot_weights(p, shape=(3, 3))
    with pytest.raises(DataError, match="not a class"):
        show.plot_weights(p, classes=[7])
    with pytest.raises(DataError, match="no feature weights"):
        show.plot_weights(object())


class Ring:
    """A machine that is no library's: positive outside a circle."""

    classes_ = np.array([0, 1])
    support_vectors_ = np.array([[1.0, 0.0]])

    def decision_function(self, X):
        return (np.asarray(X) ** 2).sum(axis=1) - 1.0


@needs_matplotlib
def test_kernel_machines_of_any_library(cloud):
    from sklearn.svm import SVC

    X, y = cloud
    machine = SVC(gamma=1.0).fit(X, y)
    shown = show.plot_kernel(machine, X, y)
    assert np.array_equal(np.sort(shown.support), np.sort(machine.support_))
    x, y_at, scores = shown.grid
    at = np.column_stack([x.ravel(), y_at.ravel()])
    assert scores.ravel() == pytest.approx(machine.decision_function(at))
    points = np.array([[0.0, 0.1], [1.0, 0.0], [2.0, 2.0]])
    ring = show.plot_kernel(Ring(), points, [0, 1, 1])
    assert ring.support.tolist() == [1]
    assert {"0", "1", "support vectors"} == set(labels_of(ring.ax_))


@needs_matplotlib
def test_tags_show_words_tags_and_margins():
    shown = show.plot_tags(["time", "flies"], ["NOUN", "NOUN"], [2.0, 0.25], right=["NOUN", "VERB"])
    texts = [text.get_text() for text in shown.ax_.texts]
    assert texts == ["time", "NOUN", "2", "flies", "NOUN", "0.25; VERB"]
    edges = [box.get_linewidth() for box in shown.ax_.patches]
    assert edges == [0.5, 2.0]
    long = show.plot_tags(["word"] * 40, ["TAG"] * 40, np.ones(40))
    assert len({round(float(box.get_y()), 3) for box in long.ax_.patches}) > 3
    with pytest.raises(DataError, match="1 words, 2 tags"):
        show.plot_tags(["a"], ["B", "C"], [1.0])


@needs_matplotlib
def test_pictures_train_nothing(voted, cloud, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("a picture was about to train")

    monkeypatch.setattr(Run, "finish", refuse)  # which drives every learner but the SVMs,
    monkeypatch.setattr("widemargin.online.fit.learn_few", refuse)  # and a few rows in partial_fit
    for learner in (LinearSVM, KernelSVM):
        monkeypatch.setattr(learner, "fit", refuse)
    X, y = cloud
    for learner in (Perceptron, KernelPerceptron, LinearSVM, KernelSVM):
        with pytest.raises(AssertionError, match="about to train"):
            learner().fit(X, y)
    with pytest.raises(AssertionError, match="about to train"):
        Perceptron().partial_fit(X, y)
    for draw in (show.plot_boundary, show.plot_path, show.plot_confusion):
        draw(voted, X, y)
    show.plot_votes(voted, X[0])
    show.plot_weights(voted)
    show.plot_history(voted)


@needs_matplotlib
@pytest.mark.parametrize("learner", [Perceptron, OnlineLogistic, LinearSVM])
def test_pictures_are_readable_when_small(learner, cloud, tmp_path):
    shown = show.plot_boundary(learner(random_state=0).fit(*cloud), *cloud)
    shown.figure_.savefig(tmp_path / "small.png", dpi=100)
    assert shown.figure_.get_size_inches()[0] == 4.0
    sizes = [text.get_fontsize() for text in shown.ax_.get_legend().get_texts()]
    assert min(sizes) >= 8


def test_import_needs_no_matplotlib():
    code = (
        "import sys, widemargin, widemargin.plots; widemargin.plot_boundary;"
        " assert 'matplotlib' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    code = "import sys, widemargin; assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_matplotlib_a_picture_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"widemargin\[plot\]"):
        show.plot_losses()
