"""Drawing dependency trees as SVG, with arcs above and below the words, and as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from widemargin.markup.html import Markup, escape

#: The width of a letter, the space between words, and the height of a level of arcs.
_LETTER, _BETWEEN, _LEVEL = 7.6, 16.0, 22.0
#: The height of the row of words, and the space for labels at the top and the bottom.
_ROW, _EDGE = 24.0, 18.0


#: The style of a standalone SVG document.
_STYLE = (
    "text{font:14px sans-serif}text.label{font-size:11px;fill:#555}"
    "path.arc{fill:none;stroke:#336}svg{background:#fff}"
)
_SIDES = ("width", "height")
#: Box-drawing characters, indexed by the sides of the cell that their lines reach.
_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8
_LINES = " ╵╷│╴┘┐┤╶└┌├─┴┬┼"


class Arc(NamedTuple):
    """An arc from a head to a word, both counted from 1 (0 is the root)."""

    head: int
    word: int
    label: str
    kind: str  # the CSS class of its colour


def draw_tree(
    title: str, words: Sequence[str], above: Sequence[Arc], below: Sequence[Arc] = ()
) -> Markup:
    """Draw a sentence with arcs above and below it, as an SVG element.

    Examples
    --------
    >>> draw_tree("a tree", ["dogs", "bark"], [Arc(2, 1, "nsubj", "one")]).count("<path")
    1
    """
    widths = [max(34.0, _LETTER * len(word)) + _BETWEEN for word in words]
    centres = [sum(widths[:i]) + width / 2 for i, width in enumerate(widths)]
    high, low = (_levels(arcs) for arcs in (above, below))
    top = _EDGE + _LEVEL * max([*high.values(), 1])
    bottom = _LEVEL * max(low.values(), default=0) + (_EDGE if below else 0.0)
    width, height = sum(widths), top + _ROW + bottom
    parts = [
        _draw_arc(arc, centres, top, -_LEVEL * high[arc.head, arc.word], widths) for arc in above
    ]
    parts += [
        _draw_arc(arc, centres, top + _ROW, _LEVEL * low[arc.head, arc.word], widths)
        for arc in below
    ]
    parts += [
        _text(centre, top + 16.0, word, "name") for word, centre in zip(words, centres, strict=True)
    ]
    return Markup(
        f'<svg role="img" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}"'
        f' height="{height:.0f}"><title>{escape(title)}</title>{"".join(parts)}</svg>'
    )


def _levels(arcs: Sequence[Arc]) -> dict[tuple[int, int], int]:
    """The level of each arc: above all arcs within it; the root's arc is above all."""
    levels: dict[tuple[int, int], int] = {}
    spans: list[tuple[int, int, int]] = []
    for arc in sorted(arcs, key=lambda arc: (arc.head == 0, abs(arc.head - arc.word))):
        a, b = sorted((arc.head, arc.word)) if arc.head else (0, 1 << 30)
        level = 1 + max((n for c, d, n in spans if a <= c and d <= b), default=0)
        levels[arc.head, arc.word] = level
        if arc.head:
            spans.append((a, b, level))
    return levels


def _draw_arc(
    arc: Arc, centres: Sequence[float], base: float, reach: float, widths: Sequence[float]
) -> str:
    """Draw an arc with its label; `reach` is its height, negative for upwards."""
    to = centres[arc.word - 1] + (4.0 if arc.head < arc.word and arc.head else 0.0)
    far = base + reach
    down = 11.0 if reach > 0 else -3.0
    if not arc.head:
        path = f"M{to:.1f},{far:.1f} V{base:.1f}"
        return _path(path, arc.kind) + _text(to, far + down, arc.label)
    start = centres[arc.head - 1] + (-4.0 if arc.head > arc.word else 4.0)
    to = centres[arc.word - 1] - (4.0 if arc.head < arc.word else -4.0)
    # A curve whose middle is at three quarters of its control points.
    turn = base + reach * 4.0 / 3.0
    path = (
        f"M{start:.1f},{base:.1f} C{start:.1f},{turn:.1f} {to:.1f},{turn:.1f} {to:.1f},{base:.1f}"
    )
    tip = 4.0 if reach > 0 else -4.0
    arrow = f"M{to - 3:.1f},{base + tip:.1f} L{to:.1f},{base:.1f} L{to + 3:.1f},{base + tip:.1f}"
    return _path(f"{path} {arrow}", arc.kind) + _text((start + to) / 2, far + down, arc.label)


def _path(d: str, kind: str) -> str:
    return f'<path class="arc {kind}" d="{d}"/>'


def _text(x: float, y: float, words: str, kind: str = "label") -> str:
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="middle">{escape(words)}</text>'
    )


def draw_tree_text(words: Sequence[str], heads: Sequence[int], labels: Sequence[str]) -> str:
    """Draw a tree as text, one line per word, with its label and lines to its head and children.

    Parameters
    ----------
    words, heads, labels : of the same length
        The words, the numbers of their heads (0 for the root), and the labels of the arcs.

    Examples
    --------
    >>> print(draw_tree_text(["dogs", "bark", "."], [2, 0, 2], ["nsubj", "root", "punct"]))
    ┌─ 1 dogs  nsubj of bark
    ├─ 2 bark  root
    └─ 3 .     punct of bark
    """
    arcs = [Arc(h, d, "", "") for d, h in enumerate(heads, 1) if h]
    levels = _levels(arcs)
    deepest = max(levels.values(), default=0)
    grid = [[0] * (deepest + 1) for _ in words]
    for arc in arcs:
        column = deepest - levels[arc.head, arc.word]
        first, last = sorted((arc.head - 1, arc.word - 1))
        for row in range(first, last + 1):
            grid[row][column] |= (_UP if row > first else 0) | (_DOWN if row < last else 0)
        for row in (first, last):
            grid[row][column] |= _RIGHT
            for k in range(column + 1, deepest + 1):
                grid[row][k] |= _LEFT | _RIGHT
    wide, number = max(map(len, words), default=0), len(str(len(words)))
    lines = []
    for k, (cells, word, head, label) in enumerate(zip(grid, words, heads, labels, strict=True), 1):
        told = f"{label} of {words[head - 1]}" if head else label
        drawn = "".join(_LINES[cell] for cell in cells)
        lines.append(f"{drawn} {k:>{number}} {word:<{wide}}  {told}")
    return "\n".join(lines)


def draw_trees(trees: Sequence[tuple[Sequence[str], Sequence[int], Sequence[str]]]) -> str:
    """Draw trees, given as words, heads and labels, one below the other in one SVG document.

    Examples
    --------
    >>> draw_trees([(["dogs", "bark"], [2, 0], ["nsubj", "root"])]).startswith("<svg xmlns=")
    True
    """
    parts, top, wide = [], 0.0, 0.0
    for words, heads, labels in trees:
        arcs = [
            Arc(h, d, label, "") for d, (h, label) in enumerate(zip(heads, labels, strict=True), 1)
        ]
        drawn = str(draw_tree(" ".join(words), words, arcs))
        width, height = (float(drawn.split(f' {side}="')[1].split('"')[0]) for side in _SIDES)
        parts.append(drawn.replace("<svg ", f'<svg y="{top:.0f}" ', 1))
        top, wide = top + height + _EDGE, max(wide, width)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:.0f}" height="{top:.0f}">'
        f"<style>{_STYLE}</style>{''.join(parts)}</svg>\n"
    )
