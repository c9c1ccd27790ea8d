"""Every drawing of the site, by name, and the few that the README shows.

A drawing is made with the library's own plots wherever they can do it. Those of the site are made
when it is built. The README's are stored in docs/pictures; `python -m docs.site.drawings` writes
them again.
"""

from __future__ import annotations

import hashlib
import io
import pathlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import widemargin as wm

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Drawing(NamedTuple):
    """A drawing, and the ending of its file."""

    draw: Callable[[], Any]  # a display or a figure; for a film, takes the path
    suffix: str = ".png"


#: Every drawing by name.
DRAWINGS: dict[str, Drawing] = {}


def drawing(name: str) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Register a function that draws."""

    def register(draw: Callable[[], Any]) -> Callable[[], Any]:
        DRAWINGS[name] = Drawing(draw)
        return draw

    return register


# Examples


def clouds() -> tuple[Any, Any]:
    """Two clouds of 60 points each, which overlap."""
    rng = np.random.default_rng(0)
    middle = np.array([1.25, 1.0])
    X = np.vstack([rng.normal(middle, 1.0, (60, 2)), rng.normal(-middle, 1.0, (60, 2))])
    return X, np.repeat(["x", "o"], 60)


def separable_clouds() -> tuple[Any, Any]:
    """Two clouds of 100 points each, which a line separates."""
    rng = np.random.default_rng(0)
    X = [rng.normal(middle, 0.6, (100, 2)) for middle in ([2.6, 2.2], [0.2, -0.1])]
    return np.vstack(X), np.repeat(["x", "o"], 100)


def problem_set() -> tuple[Any, Any]:
    """The eight points of the lectures' problem set (L10)."""
    X = np.array([[1, 1], [1, 3], [2, 1], [2, 2]])
    return np.vstack([X, -X]), np.repeat(["class 1", "class 2"], 4)


def ring() -> tuple[Any, Any]:
    """A ring of points around others."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(0.0, 2.0 * np.pi, 120)
    radius = np.repeat([0.6, 1.6], 60) + rng.normal(0.0, 0.15, 120)
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    return X, np.repeat(["x", "o"], 60)


def digits() -> tuple[Any, Any]:
    """Handwritten digits, 8 x 8 pixels."""
    from sklearn.datasets import load_digits

    return load_digits(return_X_y=True)


def worked_example() -> tuple[Any, Any, Any]:
    """The worked example of the lectures (L9), learned."""
    X = np.array([[-1, 2], [1, 0], [1, 1], [-1, 0], [-1, -2], [1, -1]])
    y = np.array([-1, 1, 1, -1, -1, 1])
    return wm.Perceptron(keep="vote", shuffle=False, fit_intercept=False).fit(X, y), X, y


def _voted(X: Any, y: Any, **options: Any) -> Any:
    return wm.Perceptron(keep="vote", random_state=0, **options).fit(X, y)


def _perceptron_of_digits() -> Any:
    X, y = digits()
    return wm.Perceptron(random_state=0).fit(X[:1200], y[:1200])


# The lectures


@drawing("steps")
def _steps() -> Any:
    return wm.plot_path(*worked_example(), panels=3)


@drawing("path")
def _path() -> Any:
    return wm.plot_path(*worked_example())


@drawing("bound")
def _bound() -> Any:
    X, y = separable_clouds()
    return wm.plot_bound(wm.certify(_voted(X, y, epochs=50), X, y))


@drawing("orders")
def _orders() -> Any:
    def in_order(seed: Any) -> Any:
        return wm.Perceptron(keep="vote", epochs=1, random_state=seed).fit(*clouds())

    return wm.plot_orders(in_order, *clouds(), over=range(5))


@drawing("votes")
def _votes() -> Any:
    return wm.plot_votes(_voted(*clouds(), epochs=3), [0.1, 0.05])


@drawing("voted")
def _voted_boundary() -> Any:
    return wm.plot_boundary(_voted(*clouds(), epochs=3), *clouds())


@drawing("along")
def _along() -> Any:
    batch = wm.Perceptron(keep="last", batch="full", eta=0.01, random_state=0)
    return wm.plot_losses(batch.fit(*clouds()), *clouds())


@drawing("images")
def _images() -> Any:
    return wm.plot_weights(_perceptron_of_digits(), shape=(8, 8))


@drawing("confusion")
def _confusion() -> Any:
    X, y = digits()
    return wm.plot_confusion(_perceptron_of_digits(), X[1200:], y[1200:])


@drawing("aggressive")
def _aggressive() -> Any:
    learner = wm.PassiveAggressive(C=0.05, epochs=20, random_state=0)
    return wm.plot_boundary(learner.fit(*clouds()), *clouds())


DRAWINGS["losses"] = Drawing(wm.plot_losses)


@drawing("hard")
def _hard() -> Any:
    return wm.plot_boundary(wm.LinearSVM(C=np.inf, bias="free").fit(*problem_set()), *problem_set())


@drawing("soft")
def _soft() -> Any:
    return wm.plot_boundary(wm.LinearSVM(loss="hinge", random_state=0).fit(*clouds()), *clouds())


@drawing("gap")
def _gap() -> Any:
    svm = wm.LinearSVM(loss="hinge", random_state=0, tol=1e-4)
    return wm.plot_history(svm.fit(*clouds()))


@drawing("rings")
def _rings() -> Any:
    learner = wm.KernelPerceptron(kernel="poly", degree=2, coef0=1.0, keep="last", random_state=0)
    return wm.plot_kernel(learner.fit(*ring()), *ring())


@drawing("gaussian")
def _gaussian() -> Any:
    return wm.plot_kernel(wm.KernelSVM(gamma=1.0).fit(*ring()), *ring())


@drawing("tags")
def _tags() -> Any:
    sentences = ["the dog sees a cat", "a cat sleeps", "the dog sleeps", "she likes the house"]
    labels = ["D N V D N", "D N V", "D N V", "P V D N"]
    learned = wm.Tagger(epochs=5, bits=12, random_state=0).fit(
        [text.split() for text in sentences], [text.split() for text in labels]
    )
    words = ["she", "sees", "the", "old", "cat"]
    return wm.plot_tags(words, learned.tag(words), learned.margins(words))


# Which learner?


@drawing("which_learner")
def _which_learner() -> Any:
    """A chart from what somebody has to the learner that suits it."""
    import matplotlib.pyplot as plt

    questions = [
        (
            "vectors (numbers)",
            [
                (
                    "examples come one by one, or do not fit in memory",
                    "Perceptron, PassiveAggressive",
                ),
                ("probabilities are wanted", "OnlineLogistic"),
                ("the best linear classifier, with a proof", "LinearSVM"),
                ("a curved boundary, up to some 100,000 rows", "KernelSVM"),
                ("a curved boundary, learned online", "KernelPerceptron"),
            ],
        ),
        ("tables with words and gaps", [("a data frame or a CSV file", "TableClassifier")]),
        ("documents", [("one label, or several, for each text", "TextClassifier")]),
        (
            "sentences",
            [
                ("a tag for each word", "Tagger"),
                ("a tree for each sentence", "Parser"),
                ("something else with a best answer", "StructuredPerceptron"),
            ],
        ),
    ]
    rows = sum(len(answers) for _, answers in questions)
    figure, ax = plt.subplots(figsize=(9.6, 0.56 * rows + 0.9), layout="constrained")
    ax.set_xlim(0.0, 10.0)
    ax.set_ylim(-rows + 0.4, 1.4)
    ax.axis("off")
    for x, title in ((1.2, "What do you have?"), (4.6, "What do you need?"), (8.6, "Use")):
        ax.text(x, 1.05, title, ha="center", va="center", fontsize=11, weight="bold")
    box = {"boxstyle": "round,pad=0.35", "edgecolor": "#8a8a8a", "linewidth": 0.8}
    top = 0
    for having, answers in questions:
        middle = -(top + (len(answers) - 1) / 2)
        ax.text(2.0, middle, having, ha="right", va="center", bbox={**box, "facecolor": "#eef3f7"})
        for place, (needing, learner) in enumerate(answers):
            y = -(top + place)
            ax.plot([2.15, 2.5, 2.75], [middle, y, y], color="#8a8a8a", linewidth=0.8)
            ax.text(2.85, y, needing, ha="left", va="center", fontsize=9.5)
            ax.text(
                8.6,
                y,
                learner,
                ha="center",
                va="center",
                family="monospace",
                fontsize=9,
                bbox={**box, "facecolor": "#fdf1e3"},
            )
        top += len(answers)
    return figure


# Certificates


@drawing("certificates")
def _certificates() -> Any:
    """The four corners labelled by "or", which a line separates, and by "exclusive or"."""
    import matplotlib.pyplot as plt

    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    figure, axes = plt.subplots(1, 2, figsize=(7.2, 3.5), layout="constrained")
    for ax, y in zip(axes, (np.array([0, 1, 1, 1]), np.array([0, 1, 1, 0])), strict=True):
        for label, marker, colour in ((0, "o", "#c2571a"), (1, "x", "#2a6f97")):
            ax.scatter(*X[y == label].T, marker=marker, c=colour, s=70, zorder=3)
        ax.set(xlim=(-0.4, 1.4), ylim=(-0.4, 1.4), xticks=[0, 1], yticks=[0, 1], aspect="equal")
    found = wm.certify(X, [0, 1, 1, 1])
    across = np.array([-0.4, 1.4])
    for side, style in ((-1.0, "dashed"), (0.0, "solid"), (1.0, "dashed")):
        level = side * found.margin.low * np.hypot(*found.w) - found.b
        axes[0].plot(across, (level - found.w[0] * across) / found.w[1], color="black", ls=style)
    axes[0].set_title(f"separable: margin {found.margin.low:.3f}", fontsize=10)
    for pair, colour in (([0, 3], "#c2571a"), ([1, 2], "#2a6f97")):
        axes[1].plot(*X[pair].T, color=colour)
    axes[1].scatter(0.5, 0.5, marker="*", s=220, color="black", zorder=4)
    axes[1].set_title("not separable: the hulls meet", fontsize=10)
    return figure


# Kernels


def _draw_scores(ax: Any, learner: Any, X: np.ndarray, y: np.ndarray) -> None:
    """Show where scores are zero, how they grow, and which examples are stored."""
    low, high = X.min(axis=0) - 0.4, X.max(axis=0) + 0.4
    across, up = np.meshgrid(np.linspace(low[0], high[0], 90), np.linspace(low[1], high[1], 90))
    scores = learner.decision_function(np.column_stack([across.ravel(), up.ravel()]))
    scores = scores.reshape(across.shape)
    most = np.abs(scores).max()
    ax.contourf(across, up, scores, levels=np.linspace(-most, most, 13), cmap="PuOr", alpha=0.6)
    ax.contour(across, up, scores, levels=[0.0], colors="black", linewidths=1.2)
    for label, marker, colour in ((0, "o", "#c2571a"), (1, "x", "#2a6f97")):
        ax.scatter(*X[y == label].T, c=colour, marker=marker, s=22, zorder=3)
    ax.scatter(*X[learner.support_].T, s=80, facecolors="none", edgecolors="black", zorder=4)
    ax.set_xticks([])
    ax.set_yticks([])


@drawing("circles")
def _circles() -> Any:
    """Two circles: a line cannot, degree 2 and a Gaussian can."""
    import matplotlib.pyplot as plt
    from sklearn.datasets import make_circles

    X, y = make_circles(80, factor=0.5, noise=0.06, random_state=0)
    chosen: list[tuple[str, dict[str, Any]]] = [
        ("linear", {"kernel": "linear"}),
        ("(x.z + 1)^2", {"kernel": "poly", "degree": 2}),
        ("Gaussian, gamma = 2", {"kernel": "rbf", "gamma": 2.0}),
    ]
    figure, axes = plt.subplots(1, 3, figsize=(9, 3.1), layout="constrained")
    for ax, (title, params) in zip(axes, chosen, strict=True):
        learner = wm.KernelPerceptron(**params, keep="last", epochs=50, random_state=0).fit(X, y)
        _draw_scores(ax, learner, X, y)
        wrong = int(np.sum(learner.predict(X) != y))
        ax.set_title(f"{title}\n{len(learner.support_)} stored, {wrong} wrong", fontsize=10)
    return figure


@drawing("xor")
def _xor() -> Any:
    """The four points of XOR, by one multiplication."""
    import matplotlib.pyplot as plt

    X, y = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([0, 1, 1, 0])
    figure, axes = plt.subplots(1, 2, figsize=(6.2, 3.1), layout="constrained")
    kernels: list[dict[str, Any]] = [
        {"kernel": "poly", "degree": 2},
        {"kernel": "rbf", "gamma": 2.0},
    ]
    for ax, params in zip(axes, kernels, strict=True):
        learner = wm.KernelPerceptron(**params, keep="last", shuffle=False, epochs=100).fit(X, y)
        _draw_scores(ax, learner, X, y)
        ax.set_title(f"{learner.kernel_}\n{learner.mistakes_} mistakes", fontsize=10)
    return figure


@drawing("stored_digits")
def _stored_digits() -> Any:
    """The images that a model of threes against eights adds and takes away most."""
    import matplotlib.pyplot as plt

    X, y = digits()
    two = (y == 3) | (y == 8)
    X, y = X[two] / 16.0, y[two]
    learner = wm.KernelPerceptron(kernel="poly", degree=4, epochs=10, random_state=0).fit(X, y)
    coef = learner.dual_coef_[0]
    order = np.argsort(coef)
    figure, axes = plt.subplots(2, 8, figsize=(8, 2.6), layout="constrained")
    for row, chosen in zip(axes, (order[:8], order[::-1][:8]), strict=True):
        for ax, place in zip(row, chosen, strict=True):
            ax.imshow(learner.support_vectors_[place].reshape(8, 8), cmap="gray_r")
            ax.set_title(f"{y[learner.support_[place]]}: {coef[place]:+.2f}", fontsize=9)
            ax.axis("off")
    return figure


# Making them


def _film(path: pathlib.Path) -> None:
    learned, X, y = worked_example()
    wm.animate(learned, X, y, path, certificate=wm.certify(learned, X, y))


def _save_frames(figure: Any, draw: Callable[[int], None], frames: int, path: pathlib.Path) -> None:
    """Save a film of pictures that `draw` makes, which goes forth and back for ever."""
    from matplotlib.animation import FuncAnimation, PillowWriter

    order = [*range(frames), *range(frames - 2, 0, -1)]
    FuncAnimation(figure, draw, frames=order).save(path, PillowWriter(fps=8), dpi=64)


def _margin_film(path: pathlib.Path) -> None:
    """A soft margin from a small C to a large one."""
    import matplotlib.pyplot as plt

    X, y = clouds()
    figure, ax = plt.subplots(figsize=(5.2, 4.4), layout="constrained")
    costs = np.geomspace(0.003, 30.0, 17)

    def draw(frame: int) -> None:
        ax.clear()
        svm = wm.LinearSVM(C=costs[frame], loss="hinge", random_state=0).fit(X, y)
        w, b = svm.coef_[0], float(svm.intercept_[0])
        across = np.array([-4.0, 4.0])
        inside = np.abs(X @ w + b) < 1.0
        for level, style in ((-1.0, "dashed"), (0.0, "solid"), (1.0, "dashed")):
            ax.plot(across, (level - b - w[0] * across) / w[1], color="black", linestyle=style)
        for label, marker, colour in (("o", "o", "#c2571a"), ("x", "x", "#2a6f97")):
            ax.scatter(*X[y == label].T, marker=marker, c=colour, s=22)
        ax.set(
            xlim=(-4, 4),
            ylim=(-4, 4),
            title=f"C = {costs[frame]:.3g}: margin {1 / np.hypot(*w):.2f}",
        )
        ax.text(-3.8, -3.8, f"{int(inside.sum())} examples inside", va="bottom")

    _save_frames(figure, draw, len(costs), path)
    plt.close(figure)


def _lifting_film(path: pathlib.Path) -> None:
    """A ring and its middle, lifted by x1^2 + x2^2 until a plane separates them."""
    import matplotlib.pyplot as plt

    X, y = ring()
    height = (X**2).sum(axis=1)
    figure = plt.figure(figsize=(5.2, 4.4), layout="constrained")
    ax: Any = figure.add_subplot(projection="3d")
    grid = np.linspace(-2.0, 2.0, 2)
    across, up = np.meshgrid(grid, grid)
    frames = 13

    def draw(frame: int) -> None:
        ax.clear()
        part = frame / (frames - 1)
        for label, marker, colour in (("o", "o", "#c2571a"), ("x", "^", "#2a6f97")):
            mine = y == label
            ax.scatter(*X[mine].T, part * height[mine], marker=marker, c=colour, s=16)
        ax.plot_surface(
            across, up, np.full_like(across, 1.2 * part), alpha=0.25 * part, color="grey"
        )
        ax.set(xlim=(-2, 2), ylim=(-2, 2), zlim=(0, 4), xlabel="x1", ylabel="x2")
        ax.set_zlabel("x1^2 + x2^2")
        ax.view_init(elev=90.0 - 75.0 * part, azim=-60.0)

    _save_frames(figure, draw, frames, path)
    plt.close(figure)


DRAWINGS["learning"] = Drawing(_film, ".gif")  # type: ignore[arg-type]
DRAWINGS["margin_film"] = Drawing(_margin_film, ".gif")  # type: ignore[arg-type]
DRAWINGS["lifting"] = Drawing(_lifting_film, ".gif")  # type: ignore[arg-type]
#: The drawings that are stored in docs/pictures: those of the README.
STORED = {"learning": "learning.gif", "soft": "margin.png"}


def write(name: str, path: pathlib.Path, dpi: int = 150) -> None:
    """Make a drawing; a picture has few colours, so that it weighs little."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from PIL import Image

    made: Any = DRAWINGS[name]
    if made.suffix == ".gif":
        made.draw(path)
        return
    shown, room = made.draw(), io.BytesIO()
    getattr(shown, "figure_", shown).savefig(room, dpi=dpi)
    plt.close("all")
    Image.open(room).convert("RGB").quantize(128).save(path, optimize=True)


def draw_missing(folder: pathlib.Path) -> None:
    """Make all drawings, unless they are there and neither they nor the library have changed."""
    digest = hashlib.sha256()
    for path in [pathlib.Path(__file__), *sorted((ROOT / "src" / "widemargin").rglob("*.py"))]:
        digest.update(path.read_bytes())
    known = folder / "digest.txt"
    folder.mkdir(parents=True, exist_ok=True)
    fresh = known.exists() and known.read_text() == digest.hexdigest()
    for name, made in DRAWINGS.items():
        path = folder / f"{name}{made.suffix}"
        if not fresh or not path.exists():
            write(name, path)
    known.write_text(digest.hexdigest())


if __name__ == "__main__":
    for name, file in STORED.items():
        write(name, ROOT / "docs" / "pictures" / file, dpi=100)
