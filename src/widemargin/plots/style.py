"""The common style of all plots: distinguishable colours, markers, and axes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from weakref import WeakSet

import numpy as np

from widemargin.errors import DataError
from widemargin.markup.words import short_names

#: Okabe and Ito's colours, which people with any colour vision can tell apart; two classes use
#: the first two: orange o for the first, blue x for the second.
COLOURS = (
    "#D55E00",
    "#0072B2",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#5B5B5B",
    "#B8A800",
)
MARKERS = ("o", "x", "^", "s", "v", "D", "P", "*")
INK, GREY, PALE = "#222222", "#777777", "#CCCCCC"
RIGHT, WRONG = "#0072B2", "#D55E00"

#: Size in inches, at 100 dots per inch: readable at a width of 400 dots.
SIZE = (4.0, 3.2)
SMALL, NORMAL = 8, 9

#: The height of a legend row in points, and the lengths to which names are cut until they fit.
_ROW, _LETTERS = 13.5, (32, 28, 24, 21, 18, 15, 12)
#: Figures that were created here, and so may grow.
_OWN: WeakSet[Any] = WeakSet()

#: Left, right, bottom, top.
Frame = tuple[float, float, float, float]
#: Width over height of a plot, and the range of ratios of the data that are drawn true to scale.
_SHAPE, _LEAST_RATIO, _MOST_RATIO = 1.3, 0.35, 4.0


def pyplot() -> Any:
    """Matplotlib's pyplot, or an error that says how to install it."""
    try:
        import matplotlib.pyplot
    except ImportError:
        raise ImportError(
            "plots need matplotlib, which is not installed: pip install 'widemargin[plot]'"
        ) from None
    return matplotlib.pyplot


def new_axes(ax: Any = None, size: tuple[float, float] = SIZE) -> Any:
    """The given axes, or new ones in a new figure."""
    if ax is not None:
        return ax
    figure, ax = pyplot().subplots(figsize=size, layout="constrained")
    _OWN.add(figure)
    return ax


def new_panels(rows: int, columns: int, size: tuple[float, float], **options: Any) -> Any:
    """The axes of a new figure, as an array (rows, columns)."""
    options = {"layout": "constrained", "squeeze": False, **options}
    figure, axes = pyplot().subplots(rows, columns, figsize=size, **options)
    _OWN.add(figure)
    return axes


def dress(ax: Any, title: str = "", x: str = "", y: str = "") -> None:
    """Set the title and axis labels in one font size, and remove the box around the plot."""
    ax.set_title(title, fontsize=NORMAL, color=INK, loc="left")
    ax.set_xlabel(x, fontsize=NORMAL)
    ax.set_ylabel(y, fontsize=NORMAL)
    ax.tick_params(labelsize=SMALL)
    ax.spines[["top", "right"]].set_visible(False)


def legend(ax: Any, **options: Any) -> None:
    """Add a legend without a frame, where it covers least."""
    options = {"fontsize": SMALL, "framealpha": 0.85, "edgecolor": "none", **options}
    ax.legend(**options)


def legend_above(ax: Any, columns: int = 3) -> None:
    """Add a legend between the plot and its title, where it covers nothing.

    It has as many columns as there is room for in the figure, at most `columns`; names that are
    too long even for one column are cut. A figure that was created here grows with the legend.
    """
    handles, labels = ax.get_legend_handles_labels()
    if not handles:
        return
    figure, size = ax.figure, ax.figure.get_size_inches().copy()
    figure.draw_without_rendering()  # to know where the axes are
    room = (figure.bbox.x1 - ax.get_window_extent().x0) * 72.0 / figure.dpi
    ways = [
        (count, names)
        for letters in _LETTERS
        for names in [short_names(labels, letters)]
        for count in range(min(columns, len(labels)), 0, -1)
        if _legend_width(names, count) <= room
    ]
    # More than three rows are too many above a small plot, so names are cut instead.
    ways.sort(key=lambda way: max(3, -(-len(labels) // way[0])))
    for count, names in ways or [(1, short_names(labels, _LETTERS[-1]))]:
        rows = -(-len(labels) // count)
        _place_above(ax, handles, names, count, rows)
        if figure in _OWN:
            figure.set_size_inches(size[0], size[1] + max(0, rows - 1) * _ROW / 72.0)
        figure.draw_without_rendering()  # axes that are true to scale move with their height
        if ax.get_legend().get_window_extent().x1 <= figure.bbox.x1:
            break


def _place_above(ax: Any, handles: Any, names: Sequence[str], columns: int, rows: int) -> None:
    """Put a legend above the plot, and the title above the legend."""
    look: dict[str, Any] = {"columnspacing": 1.2, "handletextpad": 0.4, "borderaxespad": 0.1}
    look |= {"handles": handles, "labels": names, "handlelength": 1.6, "ncols": columns}
    legend(ax, loc="lower left", bbox_to_anchor=(-0.02, 1.0), **look)
    # The title reserves the height of the legend, whose width must not narrow the plot.
    ax.get_legend().set_in_layout(False)
    title = ax.get_title(loc="left")
    ax.set_title(title, fontsize=NORMAL, color=INK, loc="left", pad=6.0 + _ROW * rows)


def text_width(words: str, size: float) -> float:
    """The width of a text in points."""
    from matplotlib.font_manager import FontProperties

    return _text_width(words, size, FontProperties())


@lru_cache(maxsize=4096)
def _text_width(words: str, size: float, font: Any) -> float:
    """The width of a text, cached because legends need it often and it takes 15 ms."""
    from matplotlib.textpath import TextPath

    return float(TextPath((0, 0), words, size=size, prop=font).get_extents().width)


def _legend_width(names: Sequence[str], columns: int) -> float:
    """The width of a legend in points: names fill it column by column."""
    widths = [text_width(name, SMALL) for name in names]
    columns = min(columns, len(names))
    taken = sum(float(max(some)) for some in np.array_split(widths, columns))
    return taken + SMALL * (columns * (1.6 + 0.4) + (columns - 1) * 1.2 + 1.6)


def colour_of(code: int) -> str:
    """The colour of a class."""
    return COLOURS[code % len(COLOURS)]


def draw_points(ax: Any, points: np.ndarray, codes: np.ndarray, labels: Sequence[Any]) -> None:
    """Draw every class with its own marker and colour."""
    size = 42.0 if len(points) <= 60 else 20.0 if len(points) <= 400 else 8.0
    for code, label in enumerate(labels):
        mine = points[codes == code]
        marker = MARKERS[code % len(MARKERS)]
        look: dict[str, Any] = {"linewidths": 1.6 if size > 10 else 0.9}
        if marker in "xP*":
            look["color"] = colour_of(code)
        else:
            look |= {"facecolors": "none", "edgecolors": colour_of(code)}
        ax.scatter(*mine.T, marker=marker, s=size, label=str(label), zorder=3, **look)


def ring(ax: Any, points: np.ndarray, label: str) -> None:
    """Draw a ring around each of these points."""
    if len(points):
        look = {"facecolors": "none", "edgecolors": INK, "linewidths": 0.9}
        size = 130.0 if len(points) <= 60 else 55.0
        ax.scatter(*points.T, s=size, marker="o", label=label, zorder=2.5, **look)


def frame_of(points: np.ndarray, room: float = 0.12) -> Frame:
    """Left, right, bottom and top of a frame around points, with some space.

    If both directions have about the same scale, the frame has the aspect ratio of the plot, so
    that it can be drawn true to scale and a weight vector is perpendicular to its line.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    span, size = high - low, np.maximum(np.abs(low), np.abs(high))
    flat = span <= 1e-9 * size
    if flat.all():  # one point, perhaps several times
        span = np.full(2, 0.1 * float(size.max()) or 1.0)
    else:
        span = np.where(flat, span.max(), span)
    span = span * (1.0 + 2.0 * room)
    if _LEAST_RATIO <= span[0] / span[1] <= _MOST_RATIO:
        span = np.array([max(span[0], _SHAPE * span[1]), max(span[1], span[0] / _SHAPE)])
    middle = (low + high) / 2.0
    low, high = middle - span / 2.0, middle + span / 2.0
    return float(low[0]), float(high[0]), float(low[1]), float(high[1])


def set_frame(ax: Any, frame: Frame) -> None:
    """Show this part of the plane, true to scale if its aspect ratio allows."""
    ax.set_xlim(frame[:2])
    ax.set_ylim(frame[2:])
    if abs((frame[1] - frame[0]) / (frame[3] - frame[2]) - _SHAPE) < 1e-6:
        ax.set_aspect("equal", adjustable="box")


def settle(ax: Any) -> None:
    """Draw until the layout stops moving axes of a fixed shape, whose labels may else be cut off.

    A figure that was not created here is left alone.
    """
    before, figure = None, ax.figure
    for _ in range(5 if figure in _OWN else 0):
        figure.draw_without_rendering()
        now = ax.get_window_extent().x0
        if before is not None and abs(now - before) < 0.1:
            return
        before = now


def draw_line(ax: Any, frame: Frame, w: np.ndarray, b: float, **look: Any) -> Any:
    """Draw the line w.p + b = 0 within a frame; nothing if it does not cross the frame."""
    ends = line_ends(frame, w, b)
    if ends is None:
        return None
    return ax.plot(*ends.T, **look)[0]


def line_ends(frame: Frame, w: np.ndarray, b: float) -> np.ndarray | None:
    """Where the line w.p + b = 0 enters and leaves a frame.

    Examples
    --------
    >>> line_ends((0.0, 1.0, 0.0, 1.0), np.array([1.0, 0.0]), -0.25).tolist()
    [[0.25, 0.0], [0.25, 1.0]]
    """
    left, right, bottom, top = frame
    met = []
    if w[1] != 0.0:
        met += [(x, -(w[0] * x + b) / w[1]) for x in (left, right)]
    if w[0] != 0.0:
        met += [(-(w[1] * y + b) / w[0], y) for y in (bottom, top)]
    slack_x, slack_y = 1e-9 * (right - left), 1e-9 * (top - bottom)
    inside = sorted(
        {
            (min(max(x, left), right), min(max(y, bottom), top))
            for x, y in met
            if left - slack_x <= x <= right + slack_x and bottom - slack_y <= y <= top + slack_y
        }
    )
    if len(inside) < 2:
        return None
    return np.array([inside[0], inside[-1]])


def plain_model(fitted: Any) -> Any:
    """The model inside an estimator, or the argument itself if it is not an estimator."""
    return getattr(fitted, "model_", fitted)


def need_log(model: Any) -> Any:
    """The mistake log of a model, or an error that says how to get one."""
    log = getattr(getattr(model, "state", None), "log", None)
    if log is None:
        raise DataError(
            "this plot is drawn from the mistake log, which was not kept: train with keep='vote'"
        )
    return log
