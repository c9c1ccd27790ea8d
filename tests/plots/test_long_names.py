"""Pictures hold with class names of 30 letters and with the feature names of real data sets."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.svm import SVC

import widemargin as wm
from widemargin.markup.words import short_names

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
pyplot = pytest.importorskip("matplotlib.pyplot")

SPECIES = np.array(
    [
        "Iris setosa of the Alaskan coast",
        "Iris versicolor (northern blue flag)",
        "Iris virginica, Virginia blue flag",
    ]
)
IRIS = load_iris(as_frame=True)
FRAME, Y = IRIS.data, SPECIES[IRIS.target]
TWO = np.asarray(IRIS.target < 2)
PETALS = ["petal length (cm)", "petal width (cm)"]
DIGITS = load_digits()
DIGIT_NAMES = np.array([f"the handwritten digit number {i:02d}!" for i in range(10)])
CANCER = load_breast_cancer(as_frame=True)
CANCER_NAMES = np.array(["malignant (invasive carcinoma) x", "benign (no sign of malignancy) x"])


def perceptron(X, y, **more):
    return wm.Perceptron(keep="vote", random_state=0, epochs=5, **more).fit(X, y)


def digits():
    return wm.Perceptron(random_state=0, epochs=2).fit(DIGITS.data, DIGIT_NAMES[DIGITS.target])


def cancer():
    y = CANCER_NAMES[CANCER.target]
    return wm.TableClassifier(wm.LinearSVM(C=1e-3)).fit(CANCER.data, y), CANCER.data, y


def six():
    """Six classes whose names need all the room there is side by side."""
    names = np.array(
        [f"number {name} of all" for name in ("one", "two", "six", "ten", "few", "all")]
    )
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), names[np.arange(60) % 6]
    return perceptron(X, y), X, y


PICTURES = {
    "boundary, projected": lambda: wm.plot_boundary(
        wm.LinearSVM().fit(FRAME[TWO], Y[TWO]), FRAME[TWO], Y[TWO]
    ),
    "boundary, two features": lambda: wm.plot_boundary(
        wm.LinearSVM().fit(FRAME[PETALS][TWO], Y[TWO]), FRAME[PETALS][TWO], Y[TWO]
    ),
    "boundary, three classes": lambda: wm.plot_boundary(wm.LinearSVM().fit(FRAME, Y), FRAME, Y),
    "boundary, slice by name": lambda: wm.plot_boundary(
        wm.LinearSVM().fit(FRAME, Y), FRAME, Y, features=tuple(PETALS)
    ),
    "boundary, six classes": lambda: wm.plot_boundary(*six()),
    "kernel": lambda: wm.plot_kernel(
        wm.KernelSVM().fit(FRAME[PETALS][TWO], Y[TWO]), FRAME[PETALS][TWO], Y[TWO]
    ),
    "kernel, three classes": lambda: wm.plot_kernel(
        wm.KernelSVM().fit(FRAME, Y), FRAME, Y, features=tuple(PETALS)
    ),
    "kernel of scikit-learn": lambda: wm.plot_kernel(SVC().fit(FRAME[PETALS], Y), FRAME[PETALS], Y),
    "path": lambda: wm.plot_path(
        perceptron(FRAME[PETALS][TWO], Y[TWO]), FRAME[PETALS][TWO], Y[TWO]
    ),
    "path, projected": lambda: wm.plot_path(perceptron(FRAME[TWO], Y[TWO]), FRAME[TWO], Y[TWO]),
    "path, panels": lambda: wm.plot_path(
        perceptron(FRAME[PETALS][TWO], Y[TWO]), FRAME[PETALS][TWO], Y[TWO], panels=4
    ),
    "votes": lambda: wm.plot_votes(perceptron(FRAME, Y), FRAME.to_numpy()[60]),
    "votes, two classes": lambda: wm.plot_votes(
        perceptron(FRAME[TWO], Y[TWO]), FRAME.to_numpy()[60]
    ),
    "confusion": lambda: wm.plot_confusion(wm.LinearSVM().fit(FRAME, Y), FRAME, Y),
    "confusion, six classes": lambda: wm.plot_confusion(*six()),
    "confusion, ten classes": lambda: wm.plot_confusion(
        digits(), DIGITS.data, DIGIT_NAMES[DIGITS.target]
    ),
    "weights": lambda: wm.plot_weights(wm.LinearSVM().fit(FRAME, Y)),
    "weights, two classes": lambda: wm.plot_weights(cancer()[0]),
    "weights, images": lambda: wm.plot_weights(digits(), shape=(8, 8)),
    "losses": wm.plot_losses,
    "losses of a weight": lambda: wm.plot_losses(
        wm.LinearSVM().fit(FRAME[TWO], Y[TWO]), FRAME[TWO], Y[TWO], feature=2
    ),
    "history": lambda: wm.plot_history(perceptron(FRAME, Y, validation=0.3)),
    "bound": lambda: wm.plot_bound(
        wm.certify(perceptron(FRAME[PETALS][TWO], Y[TWO]), FRAME[PETALS][TWO], Y[TWO])
    ),
    "orders": lambda: wm.plot_orders(
        {
            name: perceptron(FRAME[PETALS][TWO], Y[TWO], eta=eta)
            for name, eta in (("a step of a quarter of the usual one", 0.25), ("the usual one", 1))
        },
        FRAME[PETALS][TWO],
        Y[TWO],
    ),
    "tags": lambda: wm.plot_tags(
        ["Donaudampfschifffahrtsgesellschaft", "sails", "down", "the", "Danube"],
        ["noun-with-a-tag-of-thirty-letters", "VERB", "ADP", "DET", "PROPN"],
        [3, 2, 1, 0.5, 2],
        right=["NOUN", "VERB", "ADP", "DET", "another-tag-of-thirty-letters!"],
    ),
    "roc": lambda: wm.plot_roc(*cancer()),
    "precision and recall": lambda: wm.plot_precision_recall(*cancer()),
    "precision and recall, one of three": lambda: wm.plot_precision_recall(
        wm.LinearSVM().fit(FRAME, Y), FRAME, Y, positive=SPECIES[1]
    ),
}


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


#: Others of a kind that is drawn anyway: CI draws them.
SAME_KIND = {
    *("boundary, two features", "boundary, slice by name", "kernel, three classes"),
    *("kernel of scikit-learn", "path, projected", "votes, two classes", "confusion, ten classes"),
    *("weights, two classes", "losses of a weight", "precision and recall, one of three"),
    *("boundary, six classes", "confusion", "path, panels"),
}


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=pytest.mark.exhaustive if name in SAME_KIND else ())
        for name in PICTURES
    ],
)
def picture(request):
    """The name and the figure of a picture, drawn once; no warning is left to the reader."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.filterwarnings("ignore", category=wm.NotSeparableWarning)
        warnings.filterwarnings("ignore", "relative gap")
        figure = PICTURES[request.param]().figure_
        figure.canvas.draw()
    return request.param, figure


def words_of(figure):
    """The words of a picture beside the numbers at its axes."""
    for ax in figure.axes:
        for text in (*(ax.title, ax._left_title), ax.xaxis.label, ax.yaxis.label, *ax.texts):
            if text.get_visible() and text.get_text().strip():
                yield text


def inside(box, frame):
    return (
        box.x0 >= frame.x0 - 1
        and box.y0 >= frame.y0 - 1
        and box.x1 <= frame.x1 + 1
        and box.y1 <= frame.y1 + 1
    )


def test_everything_is_inside_the_figure(picture):
    _, figure = picture
    for ax in figure.axes:
        legend = ax.get_legend()
        assert legend is None or inside(legend.get_window_extent(), figure.bbox)
        # In pixels, with all numbers, names and titles that are drawn.
        assert inside(ax.get_tightbbox(), figure.bbox), ax.get_title(loc="left")


def test_the_plot_keeps_most_of_the_figure(picture):
    """Half of its width, and a good part of its area; several panels share them."""
    name, figure = picture
    drawn = [ax for ax in figure.axes if ax.axison or ax.images]
    area = sum(ax.get_window_extent().width * ax.get_window_extent().height for ax in drawn)
    least = 0.15 if "images" in name or "panels" in name else 0.25
    if name != "tags":
        assert area / (figure.bbox.width * figure.bbox.height) > least
    width, height = figure.get_size_inches()
    assert 4.0 <= width <= 6.0
    assert height <= 6.0


def test_legends_cover_no_words_and_no_points(picture):
    _, figure = picture
    for ax in figure.axes:
        legend = ax.get_legend()
        if legend is None:
            continue
        box = legend.get_window_extent()
        points = [
            ax.transData.transform(p.get_offsets()) for p in ax.collections if len(p.get_offsets())
        ]
        points += [
            ax.transData.transform(line.get_xydata())
            for line in ax.lines
            if line.get_marker() != "None"
        ]
        for x, y in itertools.chain(*points):
            assert not (box.x0 < x < box.x1 and box.y0 < y < box.y1)
        for text in words_of(figure):
            other = text.get_window_extent()
            across = min(box.x1, other.x1) - max(box.x0, other.x0)
            down = min(box.y1, other.y1) - max(box.y0, other.y0)
            assert across <= 1 or down <= 1, text.get_text()
        names = [text.get_text() for text in legend.get_texts()]
        assert len(set(names)) == len(names)


def test_names_of_features_choose_a_slice():
    svm = wm.LinearSVM().fit(FRAME, Y)
    by_name = wm.plot_boundary(svm, FRAME, Y, features=tuple(PETALS))
    by_number = wm.plot_boundary(svm, FRAME, Y, features=(2, 3))
    np.testing.assert_array_equal(by_name.points, by_number.points)
    assert by_name.view.axes == tuple(PETALS)
    assert by_name.labels == SPECIES.tolist()  # in full
    arrays = wm.KernelSVM().fit(FRAME.to_numpy(), Y)
    with pytest.raises(wm.DataError, match="names 'petal', which is not a column: there is 'x0'"):
        wm.plot_kernel(arrays, FRAME.to_numpy(), Y, features=("petal", "sepal"))
    # Names of the examples do, if the model has none.
    assert wm.plot_kernel(arrays, FRAME, Y, features=tuple(PETALS)).view.axes == tuple(PETALS)
    with pytest.raises(wm.DataError, match=r"there is 'petal length \(cm\)'"):
        wm.plot_path(
            perceptron(FRAME[TWO], Y[TWO]), FRAME[TWO], Y[TWO], features=("petal lenght", 1)
        )


def test_the_figure_of_somebody_else_keeps_its_size():
    figure, ax = pyplot.subplots(figsize=(3, 3), layout="constrained")
    wm.plot_boundary(wm.LinearSVM().fit(FRAME[TWO], Y[TWO]), FRAME[TWO], Y[TWO], ax=ax)
    assert figure.get_size_inches().tolist() == [3, 3]


def test_films_keep_their_captions_inside(tmp_path):
    from PIL import Image

    learned = wm.Perceptron(keep="vote", shuffle=False, epochs=1).fit(FRAME[PETALS][TWO], Y[TWO])
    wm.animate(learned, FRAME[PETALS][TWO], Y[TWO], tmp_path / "film.gif")
    with Image.open(tmp_path / "film.gif") as film:
        film.seek(1)
        pixels = np.asarray(film.convert("L"))
    assert np.all(pixels[:, -2:] > 250)  # nothing runs off to the right


@given(
    st.lists(st.text("ab ", max_size=9), max_size=6, unique_by=lambda t: " ".join(t.split())),
    st.integers(4, 9),
)
def test_short_names_are_short_and_differ(names, most):
    found = short_names(names, most)
    assert len(set(found)) == len(names)
    assert all(len(name) <= most for name in found)


def test_frames_of_pandas_and_others_name_the_axes():
    svm = wm.LinearSVM().fit(FRAME[PETALS].to_numpy(), Y)
    assert isinstance(FRAME, pd.DataFrame)
    assert wm.plot_boundary(svm, FRAME[PETALS], Y).view.axes == tuple(PETALS)
