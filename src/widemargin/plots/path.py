"""Plots and animations of how the hyperplane moved while training on two classes."""

from __future__ import annotations

import base64
import io
import os
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from widemargin.data.encode.labels import codes_of
from widemargin.errors import DataError
from widemargin.markup.html import escape, page
from widemargin.markup.words import several, short, short_names
from widemargin.plots import style
from widemargin.plots.display import Display
from widemargin.plots.hypotheses import Hypothesis, hypotheses
from widemargin.plots.views import Features, View, examples_of, make_view, names_of
from widemargin.stores.writing import write_text

#: The largest number of lines to draw; more would only blur.
_LINES = 60
#: The largest number of frames of an animation; of more, some are left out.
_FRAMES = 120


@dataclass(repr=False)
class PathDisplay(Display):
    """The hyperplanes of a training run, from the first to the last.

    Attributes
    ----------
    steps : list of Hypothesis
        All hypotheses, the start first.
    points, codes, labels, view
        The examples on the plane shown.
    """

    steps: list[Hypothesis]
    points: np.ndarray
    codes: np.ndarray
    labels: list[Any]
    view: View

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        panels: int = 0,
        features: Features | None = None,
        ax: Any = None,
    ) -> Self:
        """Plot a training run; see `plot_path`."""
        shown = cls.of(estimator, X, y, features=features)
        return shown.plot_panels(panels) if panels else shown.plot(ax=ax)

    @classmethod
    def of(cls, estimator: Any, X: Any, y: Any, *, features: Features | None = None) -> Self:
        """Make the display without drawing it."""
        model = style.plain_model(estimator)
        names, X = names_of(model, X), examples_of(X)
        steps = hypotheses(model)
        last = steps[-1]
        view = make_view(
            X,
            last.w[None, :],
            last.b,
            features=features,
            names=names,
        )
        rows = max(step.row for step in steps)
        if rows >= X.shape[0]:
            raise DataError(
                f"the log refers to row {rows}, but X has {X.shape[0]} rows:"
                " give the training examples, in the same order"
            )
        codes = codes_of(y, model.classes)
        return cls(steps, view.place(X), codes, list(model.classes.tolist()), view)

    def plot(self, ax: Any = None) -> Self:
        """Draw all hyperplanes in one plot, later ones darker."""
        self.ax_ = ax = style.new_axes(ax)
        self.figure_ = ax.figure
        frame = style.frame_of(self.points)
        # The initial weights are often zero, which is not a hyperplane: they are not drawn.
        drawn = [k for k, step in enumerate(self.steps) if np.any(step.w)]
        few = sorted({*drawn[-1:], *(drawn[i] for i in _spread(len(drawn), _LINES))})
        shades = style.pyplot().get_cmap("viridis")
        for k in few[:-1]:
            line = self.view.line(self.steps[k].w, self.steps[k].b)
            colour = shades(1.0 - k / max(1, len(self.steps) - 1))
            style.draw_line(ax, frame, *line, color=colour, linewidth=1.0, zorder=1.5)
            if len(few) <= 8:
                _number(ax, frame, line, k, colour)
        if few:
            k = few[-1]
            line = self.view.line(self.steps[k].w, self.steps[k].b)
            look: dict[str, Any] = {
                "color": style.INK,
                "linewidth": 2.0,
                "label": f"after correction {k}",
            }
            style.draw_line(ax, frame, *line, zorder=2, **look)
        wrong = np.unique([step.row for step in self.steps if step.row >= 0]).astype(int)
        style.ring(ax, self.points[wrong], "mistaken while learning")
        style.draw_points(ax, self.points, self.codes, self.labels)
        style.set_frame(ax, frame)
        some = "" if len(few) == len(drawn) else f", {len(few)} shown"
        made = several(len(self.steps) - 1, "correction")
        axes = (short(name, 40) for name in self.view.axes)
        style.dress(ax, f"{made}{some}, early to late", *axes)
        style.legend_above(ax, 2)
        return self

    def plot_panels(self, panels: int) -> Self:
        """Draw some steps, one per panel: the mistake, and the line before and after."""
        chosen = [1 + i for i in _spread(len(self.steps) - 1, panels)]
        if not chosen:
            raise DataError("training made no correction: there is no step to show")
        columns = min(3, len(chosen))
        rows = -(-len(chosen) // columns)
        room = (4.0 if columns < 3 else 4.8, 1.9 * rows + 0.2)
        self.ax_ = axes = style.new_panels(rows, columns, room, sharex=True, sharey=True)
        self.figure_ = axes[0, 0].figure
        for ax in axes.flat[len(chosen) :]:
            ax.set_axis_off()
        for ax, k in zip(axes.flat, chosen, strict=False):
            self.draw_step(ax, k)
            ax.set_title(f"{k}: row {self.steps[k].row}", fontsize=style.SMALL, loc="left")
            ax.tick_params(labelsize=style.SMALL - 1)
        return self

    def draw_step(self, ax: Any, k: int) -> None:
        """Draw correction k: the mistaken example, and the line before and after."""
        frame = style.frame_of(self.points)
        look: dict[str, Any]
        before, after = self.steps[k - 1] if k else None, self.steps[k]
        if before is not None and np.any(before.w):
            look = {"color": style.GREY, "linewidth": 1.2, "linestyle": "--", "label": "before"}
            style.draw_line(ax, frame, *self.view.line(before.w, before.b), **look)
        if np.any(after.w):
            look = {"color": style.INK, "linewidth": 1.8, "label": "after"}
            line = self.view.line(after.w, after.b)
            style.draw_line(ax, frame, *line, **look)
            ends = style.line_ends(frame, *line)
            if ends is not None:
                _arrow(ax, frame, ends.mean(axis=0), line.w)
        style.draw_points(ax, self.points, self.codes, self.labels)
        if after.row >= 0:
            at = self.points[after.row]
            look = {"facecolors": "#F0E442", "edgecolors": style.INK, "linewidths": 1.2}
            ax.scatter(*at[:, None], s=190, zorder=2.4, label="mistaken", **look)
        style.set_frame(ax, frame)
        style.dress(ax)


def plot_path(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    panels: int = 0,
    features: Features | None = None,
    ax: Any = None,
) -> PathDisplay:
    """Draw the sequence of hyperplanes of a training run, from its mistake log.

    Parameters
    ----------
    estimator : fitted learner or model
        Trained on two classes with keep="vote".
    X, y
        The training examples, in the same order. More than two features are projected as in
        `plot_boundary`; a line is then where a hyperplane meets the plane.
    panels : int
        0 draws all lines in one plot; otherwise, draw one panel for each of this many steps.
    features : (int, int) or (str, str), optional
        Show a slice along two features instead of a projection.
    ax : matplotlib axes, optional
        Where to draw, if there are no panels.

    Examples
    --------
    >>> from widemargin import Perceptron, plot_path
    >>> X = [[-1, 2], [1, 0], [1, 1], [-1, 0], [-1, -2], [1, -1]]
    >>> y = ["o", "x", "x", "o", "o", "x"]
    >>> p = Perceptron(keep="vote", shuffle=False, fit_intercept=False).fit(X, y)
    >>> plot_path(p, X, y, panels=3).figure_.savefig("path.png")
    """
    return PathDisplay.from_estimator(estimator, X, y, panels=panels, features=features, ax=ax)


def animate(
    estimator: Any,
    X: Any,
    y: Any,
    path: str | os.PathLike[str],
    *,
    certificate: Any = None,
    features: Features | None = None,
    seconds: float = 0.8,
) -> int:
    """Write an animation of a training run, with one frame per correction.

    Every frame shows the mistaken example, the line before and after, and the mistakes so far
    next to the bound. Nothing is trained: the frames are drawn from the mistake log.

    Parameters
    ----------
    estimator, X, y, features
        As for `plot_path`.
    path : path
        Where to write: a .gif, or an .html page with buttons that needs no network.
    certificate : RunCertificate or Certificate, optional
        The result of `widemargin.certify`, for its bound on the mistakes.
    seconds : float
        How long each frame is shown.

    Returns
    -------
    int
        The number of frames; if there are very many corrections, some are left out.

    Examples
    --------
    >>> from widemargin import Perceptron, animate, certify
    >>> X = [[-1, 2], [1, 0], [1, 1], [-1, 0], [-1, -2], [1, -1]]
    >>> y = ["o", "x", "x", "o", "o", "x"]
    >>> p = Perceptron(keep="vote", shuffle=False, fit_intercept=False).fit(X, y)
    >>> animate(p, X, y, "learning.gif", certificate=certify(p, X, y))
    4
    """
    kind = os.fspath(path).lower().rpartition(".")[2]
    if kind not in ("gif", "html", "htm"):
        raise ValueError(f"{os.fspath(path)}: the name of an animation must end in .gif or .html")
    shown = PathDisplay.of(estimator, X, y, features=features)
    bound = getattr(certificate, "bound", None)
    frames = [0, *(1 + i for i in _spread(len(shown.steps) - 1, _FRAMES - 1))]
    pictures = [_frame(shown, k, bound) for k in frames]
    if kind == "gif":
        _write_gif(path, pictures, seconds)
    else:
        _write_html(path, pictures, [_caption(shown, k, bound) for k in frames], seconds)
    return len(frames)


def _frame(shown: PathDisplay, k: int, bound: float | None) -> bytes:
    """One frame as a PNG."""
    style.pyplot()  # the error says how to install matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.0, 3.6), dpi=100, layout="constrained")
    FigureCanvasAgg(figure)
    upper, lower = figure.subplots(2, 1, height_ratios=[7, 1])
    shown.draw_step(upper, k)
    style.dress(upper, _caption(shown, k, bound), *(short(name, 40) for name in shown.view.axes))
    upper.set_title(upper.get_title(loc="left"), fontsize=style.SMALL, loc="left")
    total = len(shown.steps) - 1
    most = bound if bound is not None and np.isfinite(bound) else None
    # A bound far above the mistakes made is shown as a number, not as a mostly empty bar.
    scale = most if most is not None and most <= 4 * max(total, 1) else max(total, 1)
    lower.barh([0], [k], color=style.WRONG, height=0.6)
    lower.set_xlim(0, scale * 1.02)
    if most is not None and scale == most:
        lower.axvline(most, color=style.INK, linewidth=1.5)
    lower.set_yticks([])
    words = "" if most is None else f", at most {most:.0f} by the bound"
    style.dress(lower, x=f"mistakes so far: {k}{words}")
    room = io.BytesIO()
    figure.savefig(room, format="png")
    return _fewer_colours(room)


def _caption(shown: PathDisplay, k: int, bound: float | None) -> str:
    """A caption for a frame."""
    step = shown.steps[k]
    if k == 0:
        return "the start" + ("" if np.any(step.w) else ": all weights are zero")
    label = short_names(shown.labels, 20)[int(shown.codes[step.row])]
    sign = "+" if step.amount > 0 else "-"
    return f"correction {k}: row {step.row} ({label}), w {sign}= {abs(step.amount):g} x"


def _fewer_colours(png: io.BytesIO) -> bytes:
    """Reduce an image to 64 colours, which suffice for lines and take a fifth of the bytes."""
    from PIL import Image

    room = io.BytesIO()
    Image.open(png).convert("RGB").quantize(64).save(room, format="png", optimize=True)
    return room.getvalue()


def _write_gif(path: Any, pictures: list[bytes], seconds: float) -> None:
    from PIL import Image

    frames = [Image.open(io.BytesIO(png)) for png in pictures]
    times = [int(1000 * seconds)] * (len(frames) - 1) + [int(3000 * seconds)]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=times, loop=0)


def _write_html(path: Any, pictures: list[bytes], captions: list[str], seconds: float) -> None:
    images = "".join(
        f'<img class="frame" alt="{escape(words)}" src="data:image/png;base64,'
        f'{base64.b64encode(png).decode()}"{"" if k == 0 else " hidden"}>'
        for k, (png, words) in enumerate(zip(pictures, captions, strict=True))
    )
    body = f"""<h1>A training run, mistake by mistake</h1>
<div class="film">{images}</div>
<p><button id="back">back</button> <button id="play">play</button> <button id="on">on</button>
<input id="at" type="range" min="0" max="{len(pictures) - 1}" value="0" aria-label="correction">
<span id="words" aria-live="polite">{escape(captions[0])}</span></p>
<script>
const frames = document.querySelectorAll(".frame"), at = document.getElementById("at");
let film = null;
function show(k) {{
  k = Math.max(0, Math.min(frames.length - 1, k));
  frames.forEach((frame, i) => frame.hidden = i !== k);
  at.value = k;
  document.getElementById("words").textContent = frames[k].alt;
}}
function stop() {{ clearInterval(film); film = null; play.textContent = "play"; }}
const play = document.getElementById("play");
document.getElementById("back").onclick = () => {{ stop(); show(+at.value - 1); }};
document.getElementById("on").onclick = () => {{ stop(); show(+at.value + 1); }};
at.oninput = () => {{ stop(); show(+at.value); }};
play.onclick = () => {{
  if (film) {{ stop(); return; }}
  play.textContent = "stop";
  film = setInterval(() => show((+at.value + 1) % frames.length), {1000 * seconds:g});
}};
</script>"""
    write_text(path, page("A training run, mistake by mistake", body, scripts=True))


def _spread(n: int, most: int) -> list[int]:
    """At most `most` of the numbers 0 ... n - 1, evenly spaced, with the first and the last.

    Examples
    --------
    >>> _spread(10, 4)
    [0, 3, 6, 9]
    """
    if n <= 0:
        return []
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(int)).tolist()


def _number(ax: Any, frame: Any, line: Any, k: int, colour: Any) -> None:
    """Write a line's number near its upper end."""
    ends = style.line_ends(frame, *line)
    if ends is not None:
        upper = int(np.argmax(ends[:, 1]))
        at = 0.92 * ends[upper] + 0.08 * ends[1 - upper]
        look: dict[str, Any] = {"fontsize": style.SMALL, "ha": "center", "va": "center"}
        look["zorder"] = 4
        back = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
        ax.text(*at, str(k), color=style.INK, bbox=back, clip_on=True, **look)


def _arrow(ax: Any, frame: Any, foot: np.ndarray, w: np.ndarray) -> None:
    """Draw the direction of the weights."""
    reach = 0.14 * min(frame[1] - frame[0], frame[3] - frame[2])
    tip = foot + reach * w / np.linalg.norm(w)
    look = {"arrowstyle": "-|>", "color": style.INK, "linewidth": 1.2}
    ax.annotate("", xy=tip, xytext=foot, arrowprops=look, zorder=4)
