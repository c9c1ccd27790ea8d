"""Small pieces of HTML: escaped text, tables, and a self-contained page."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

#: The style of a page: light or dark as the reader prefers, and black on white in print.
_LOOK = """
:root { --ink: #1d2329; --soft: #5a6570; --paper: #ffffff; --panel: #f4f6f8; --edge: #d5dbe1;
  --one: #0072B2; --two: #D55E00; --three: #009E73; --four: #8a6d00; --good: #00704f;
  --bad: #b34700; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --soft: #a3adb7; --paper: #14181c;
  --panel: #1e242a; --edge: #39424b; --one: #56B4E9; --two: #ff9c52; --three: #3fd0a4;
  --four: #f0e442; --good: #3fd0a4; --bad: #ff9c52; } }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; border-bottom: 1px solid var(--edge); }
p, li { max-width: 46rem; }
.soft, caption, figcaption { color: var(--soft); font-size: .9rem; }
.verdict { background: var(--panel); border-left: 4px solid var(--one); padding: .7rem 1rem;
  max-width: none; }
.verdict p { margin: .35rem 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .92rem; }
caption { text-align: left; padding-bottom: .3rem; }
th, td { padding: .2rem .7rem .2rem 0; text-align: left; vertical-align: top;
  overflow-wrap: anywhere; }
th { font-weight: 600; color: var(--soft); white-space: nowrap; overflow-wrap: normal; }
tbody tr { border-top: 1px solid var(--edge); }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums;
  white-space: nowrap; }
td.shade { text-align: right; padding: .2rem .5rem; font-variant-numeric: tabular-nums; }
pre, code { font-family: ui-monospace, monospace; font-size: .88rem; }
pre { background: var(--panel); padding: .7rem 1rem; overflow-x: auto; white-space: pre-wrap;
  overflow-wrap: anywhere; }
.row { display: flex; flex-wrap: wrap; gap: 1.2rem; }
.row > * { flex: 1 1 18rem; min-width: 0; }
figure { margin: 0 0 1rem; }
svg { display: block; max-width: 100%; height: auto; color: var(--ink); }
svg text { fill: var(--soft); font: 12px system-ui, sans-serif; }
svg .axis { stroke: var(--edge); stroke-width: 1; fill: none; }
svg .line { fill: none; stroke-width: 2; }
svg .one { stroke: var(--one); } svg .two { stroke: var(--two); }
svg .three { stroke: var(--three); } svg .four { stroke: var(--four); }
svg .fill.one { fill: var(--one); stroke: none; } svg .fill.two { fill: var(--two); stroke: none; }
svg .fill.three { fill: var(--three); stroke: none; }
svg .fill.four { fill: var(--four); stroke: none; }
svg .name { fill: var(--ink); }
svg .arc { fill: none; stroke-width: 1.5; } svg text.label { font-size: 11px; }
.drawn svg { max-width: none; }
mark { background: color-mix(in srgb, var(--four) 35%, transparent); color: inherit; }
img.frame { background: #fff; max-width: 100%; } [hidden] { display: none !important; }
button, input { font: inherit; vertical-align: middle; }
@media print { :root { --ink: #000; --soft: #333; --paper: #fff; --panel: #fff; --edge: #999;
  --one: #0072B2; --two: #D55E00; --three: #009E73; --four: #8a6d00; --good: #000;
  --bad: #000; } body { max-width: none; padding: 0; font-size: 11pt; }
  .verdict { border: 1px solid #999; } section, figure, tr { break-inside: avoid; } nav,
  button { display: none; } }
"""

#: The style of a fragment within another page; each rule applies to the fragment only.
_NOTEBOOK = (
    "svg .line { fill: none; stroke-width: 2 }",
    "svg .axis { stroke: #9998; fill: none }",
    "svg text { fill: currentColor; font: 12px sans-serif }",
    "svg .one { stroke: #0072B2 }",
    "svg .two { stroke: #D55E00 }",
    "svg .three { stroke: #009E73 }",
    "svg .fill { stroke: none }",
    "svg .fill.one { fill: #0072B2 }",
    "svg .fill.two { fill: #D55E00 }",
    "svg .fill.three { fill: #009E73 }",
    ".number { text-align: right }",
)


class Markup(str):
    """Text that is already HTML and is not escaped again."""

    __slots__ = ()


def escape(text: Any) -> Markup:
    """Escape text for HTML, whatever it contains.

    Examples
    --------
    >>> escape('<script>alert("hello")</script>')
    '&lt;script&gt;alert(&quot;hello&quot;)&lt;/script&gt;'
    """
    if isinstance(text, Markup):
        return text
    # Control characters are not text, and some of them would end a page early.
    plain = "".join(
        c if c in "\n\t" or c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(text)
    )
    return Markup(html.escape(plain, quote=True))


def tag(name: str, *inside: Any, **attributes: Any) -> Markup:
    """An element with its content and attributes, all escaped.

    Examples
    --------
    >>> tag("p", "a < b", tag("b", "!"), kind="loud")
    '<p class="loud">a &lt; b<b>!</b></p>'
    """
    names = {"kind": "class"}
    listed = "".join(
        f' {names.get(key, key).replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{listed}>{''.join(map(escape, inside))}</{name}>")


def joined(parts: Iterable[Any]) -> Markup:
    """Concatenate pieces."""
    return Markup("".join(map(escape, parts)))


def table(heads: Sequence[Any], rows: Iterable[Sequence[Any]], caption: str = "") -> Markup:
    """A table; numbers, and text that looks like numbers, are aligned to the right.

    Examples
    --------
    >>> table(["name", "n"], [["a", 1]])[:41]
    '<div class="wide"><table><thead><tr><th s'
    """
    body = [list(row) for row in rows]
    right = [
        bool(body) and all(_is_number(row[j]) for row in body if row[j] not in ("", "-"))
        for j in range(len(heads))
    ]

    def cell(name: str, value: Any, j: int, **more: Any) -> Markup:
        return tag(name, value, kind="number" if right[j] else None, **more)

    head = tag("tr", *(cell("th", text, j, scope="col") for j, text in enumerate(heads)))
    lines = [tag("tr", *(cell("td", value, j) for j, value in enumerate(row))) for row in body]
    named = [tag("caption", caption)] if caption else []
    inside = tag("table", *named, tag("thead", head), tag("tbody", *lines))
    return tag("div", inside, kind="wide")


def facts(pairs: Iterable[tuple[str, Any]]) -> Markup:
    """A table of names and values, one pair per line."""
    lines = [tag("tr", tag("th", name, scope="row"), tag("td", value)) for name, value in pairs]
    return tag("div", tag("table", tag("tbody", *lines)), kind="wide")


def lines_of(text: str) -> Markup:
    """Lines of plain text, the first of them in bold."""
    first, _, rest = text.partition("\n")
    return joined([tag("p", tag("strong", first)), *([tag("pre", rest)] if rest else [])])


def section(name: str, title: str, *inside: Any) -> Markup:
    """A section of a page, which can be linked to."""
    return tag("section", tag("h2", title), *inside, id=name)


def page(title: str, body: str, scripts: bool = False) -> str:
    """A self-contained page: no network, no other files, and no scripts unless `scripts`."""
    # Whatever the data contain, nothing is fetched and nothing is executed.
    allowed = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    if scripts:
        allowed += "; script-src 'unsafe-inline'"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{allowed}">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{escape(title)}</title>\n<style>{_LOOK}</style>\n</head>\n<body>\n{body}\n"
        "</body>\n</html>\n"
    )


def fragment(*inside: Any) -> str:
    """A fragment for a notebook, whose style does not affect the rest of the page."""
    look = "\n".join(f".widemargin {rule}" for rule in _NOTEBOOK)
    return tag("div", tag("style", Markup(look)), *inside, kind="widemargin")


class ShownAsLines:
    """Mixin for objects that a notebook shows as the lines of their text."""

    def _repr_html_(self) -> str:
        return fragment(lines_of(str(self)))


def _is_number(value: Any) -> bool:
    text = str(value).replace(",", "").rstrip(" %s")
    try:
        float(text)
    except ValueError:
        return False
    return True
