"""Small SVG charts, drawn without any other library, in the colours of the surrounding page."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import NamedTuple

from widemargin.markup.html import Markup, escape, joined, tag

_KINDS = ("one", "two", "three", "four")
#: A curve of more points than this is thinned out.
_POINTS = 400
#: The size of a chart, and its margins.
_WIDTH, _HEIGHT = 440, 210
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 12, 22, 34
#: The width of a chart of intervals.
_WIDE = 640


class Curve(NamedTuple):
    """A name and points; points that are not finite are not drawn."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


class Mark(NamedTuple):
    """A highlighted point of a chart."""

    x: float
    y: float
    words: str


def line_chart(
    title: str,
    curves: Sequence[Curve],
    *,
    x_name: str = "",
    logarithmic: bool = False,
    from_zero: bool = False,
    counted: bool = False,
    mark: Mark | None = None,
) -> Markup:
    """Draw curves over a common axis, as an SVG element.

    With `counted`, x are whole numbers, and so are those along the axis.

    Examples
    --------
    >>> line_chart("mistakes", [Curve("mistakes", [1, 2], [3, 0])])[:4]
    '<svg'
    """
    points = [
        [(float(x), float(y)) for x, y in _thinned(curve) if _drawable(x, y, logarithmic)]
        for curve in curves
    ]
    every = [point for some in points for point in some]
    if mark is not None and _drawable(mark.x, mark.y, logarithmic):
        every.append((mark.x, mark.y))
    if not every:
        return tag("p", f"{title}: nothing was measured", kind="soft")
    across = _Scale([x for x, _ in every], _LEFT, _WIDTH - _RIGHT)
    values = [y for _, y in every] + ([0.0] if from_zero and not logarithmic else [])
    up = _Scale(values, _HEIGHT - _BOTTOM, _TOP, logarithmic)
    parts: list[Markup] = [_axes(across, up, counted)]
    for kind, some in zip(_KINDS * len(points), points, strict=False):
        place = [(across(x), up(y)) for x, y in some]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in place)
        parts.append(Markup(f'<polyline class="line {kind}" points="{path}"/>'))
        if len(place) <= 40:
            parts += [
                Markup(f'<circle class="fill {kind}" cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>')
                for x, y in place
            ]
    if mark is not None and _drawable(mark.x, mark.y, logarithmic):
        parts.append(_pointed_out(mark, across(mark.x), up(mark.y)))
    parts.append(_text(_LEFT, 13, title if len(curves) == 1 else "", kind="name"))
    if len(curves) > 1:
        parts.append(_key(curves))
    if x_name:
        parts.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 4, x_name, anchor="middle"))
    return _svg(title, _WIDTH, _HEIGHT, parts)


def thin_path(x: Sequence[float], y: Sequence[float], points: int = _POINTS) -> list[int]:
    """Select points to draw, evenly spaced along a curve within the unit square.

    A ROC curve has most of its points where it hardly moves; drawing every n-th point would cut
    off its corner.

    Examples
    --------
    >>> thin_path([0.0, 0.0, 0.0, 0.001, 1.0], [0.0, 0.5, 1.0, 1.0, 1.0], points=3)
    [0, 2, 4]
    """
    steps = [math.hypot(x[i] - x[i - 1], y[i] - y[i - 1]) for i in range(1, len(x))]
    least, walked, kept = sum(steps) / max(1, points - 1), 0.0, [0]
    for i, step in enumerate(steps, 1):
        walked += step
        if walked >= least * (1.0 - 1e-9) or i == len(steps):
            kept.append(i)
            walked = 0.0
    return kept


def bar_chart(title: str, bars: Sequence[tuple[str, float]], *, kind: str = "one") -> Markup:
    """Draw horizontal bars, with their names to the left and their values to the right.

    Examples
    --------
    >>> bar_chart("weights", [("good", 2.0), ("bad", -1.0)]).count("<rect")
    2
    """
    height, side = 24 + 19 * len(bars), 170
    largest = max((abs(value) for _, value in bars), default=0.0) or 1.0
    low = min(0.0, *(value for _, value in bars)) if bars else 0.0
    reach = _WIDTH - side - 64
    scale = reach / (largest if low == 0.0 else 2 * largest)
    zero = side + (0.0 if low == 0.0 else reach / 2)
    parts = [_text(0, 13, title, kind="name")]
    for i, (name, value) in enumerate(bars):
        y = 24 + 19 * i
        x = zero + min(0.0, value * scale)
        size = max(abs(value) * scale, 0.5)
        parts += [
            _text(side - 6, y + 11, _cut(name), anchor="end", kind="name"),
            Markup(
                f'<rect class="fill {kind}" x="{x:.1f}" y="{y}" width="{size:.1f}" height="14"/>'
            ),
            _text(zero + max(0.0, value * scale) + 5, y + 11, f"{value:.3g}"),
        ]
    return _svg(title, _WIDTH, height, parts)


def interval_chart(title: str, lines: Sequence[tuple[str, float, float, float]]) -> Markup:
    """Draw intervals, one per line: each has a name, a low end, a middle and a high end.

    Examples
    --------
    >>> interval_chart("difference", [("a", -0.2, -0.1, 0.0)]).count("<circle")
    1
    """
    height, side = 44 + 22 * len(lines), 190
    ends = [value for _, low, _, high in lines for value in (low, high)] + [0.0]
    across = _Scale(ends, side, _WIDE - 30)
    zero, bottom = across(0.0), height - 20
    parts = [
        _text(0, 13, title, kind="name"),
        Markup(f'<path class="axis" d="M{zero:.1f},20 V{bottom} M{side},{bottom} H{_WIDE}"/>'),
        *(_text(across(x), height - 5, f"{x:.3g}", anchor="middle") for x in across.ticks(5)),
    ]
    for i, (name, low, middle, high) in enumerate(lines):
        y = 34 + 22 * i
        path = f"M{across(low):.1f},{y} H{across(high):.1f}"
        parts += [
            _text(side - 8, y + 4, _cut(name), anchor="end", kind="name"),
            Markup(f'<path class="line one" d="{path}"/>'),
            Markup(f'<circle class="fill one" cx="{across(middle):.1f}" cy="{y}" r="4"/>'),
        ]
    return _svg(title, _WIDE, height, parts)


class _Scale:
    """Maps values to coordinates of the chart."""

    def __init__(
        self, values: Sequence[float], start: float, end: float, logarithmic: bool = False
    ) -> None:
        self.logarithmic = logarithmic
        low, high = float(min(values)), float(max(values))
        if logarithmic:
            low = float(math.floor(math.log10(low) + 1e-9))
            high = float(math.ceil(math.log10(high) - 1e-9))
        if not high > low:
            low, high = low - max(1e-9, abs(low) * 0.1), high + max(1e-9, abs(high) * 0.1)
        self.low, self.high, self.start, self.end = low, high, start, end

    def __call__(self, value: float) -> float:
        at = math.log10(value) if self.logarithmic else value
        return self.start + (self.end - self.start) * (at - self.low) / (self.high - self.low)

    def ticks(self, about: int, counted: bool = False) -> list[float]:
        """Round numbers within the scale, or whole ones."""
        if self.logarithmic:
            jump = max(1, math.ceil((self.high - self.low) / about))
            first = math.ceil(self.low)
            last = min(math.floor(self.high), sys.float_info.max_10_exp)
            return [10.0**e for e in range(first, last + 1, jump)]
        rough = (self.high - self.low) / about
        unit = 10.0 ** math.floor(math.log10(rough))
        step = next((unit * m for m in (1, 2, 5) if unit * m >= rough), unit * 10)
        step = max(step, 1.0) if counted else step
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [i * step for i in range(first, last + 1)]


def _axes(across: _Scale, up: _Scale, counted: bool) -> Markup:
    bottom, marks = _HEIGHT - _BOTTOM, across.ticks(6, counted)
    parts = [
        Markup(f'<path class="axis" d="M{_LEFT},{_TOP} V{bottom} H{_WIDTH - _RIGHT}"/>'),
        *(_text(_LEFT - 6, up(y) + 4, f"{y:.4g}", anchor="end") for y in up.ticks(4)),
        *(_text(across(x), bottom + 15, f"{x:.6g}", anchor="middle") for x in marks),
    ]
    return joined(parts)


def _key(curves: Sequence[Curve]) -> Markup:
    parts, x = [], float(_LEFT)
    for kind, curve in zip(_KINDS * len(curves), curves, strict=False):
        parts.append(Markup(f'<path class="line {kind}" d="M{x:.0f},9 h16"/>'))
        parts.append(_text(x + 20, 13, curve.name, kind="name"))
        x += 34 + 7.0 * len(curve.name)
    return joined(parts)


def _pointed_out(mark: Mark, x: float, y: float) -> Markup:
    far = x > _WIDTH * 0.6
    below = 16 if y < _TOP + 14 else -6  # leave room for the title
    words = _text(x + (-8 if far else 8), y + below, mark.words, anchor="end" if far else "start")
    return joined([Markup(f'<circle class="fill two" cx="{x:.1f}" cy="{y:.1f}" r="5"/>'), words])


def _text(x: float, y: float, words: str, anchor: str = "start", kind: str = "") -> Markup:
    named = f' class="{kind}"' if kind else ""
    return Markup(
        f'<text{named} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'
    )


def _svg(title: str, width: int, height: int, parts: Sequence[Markup]) -> Markup:
    return Markup(
        f'<svg role="img" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
        f"<title>{escape(title)}</title>{''.join(parts)}</svg>"
    )


def _thinned(curve: Curve) -> list[tuple[float, float]]:
    pairs = list(zip(curve.x, curve.y, strict=True))
    if len(pairs) <= _POINTS:
        return pairs
    step = (len(pairs) - 1) / (_POINTS - 1)
    return [pairs[round(i * step)] for i in range(_POINTS)]


def _drawable(x: float, y: float, logarithmic: bool) -> bool:
    return math.isfinite(x) and math.isfinite(y) and (y > 0.0 or not logarithmic)


def _cut(name: str) -> str:
    return name if len(name) <= 24 else name[:23] + "…"
