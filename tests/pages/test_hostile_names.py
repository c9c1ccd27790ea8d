"""Names that are meant to break out of a page: as labels, features, files and words."""

import base64
import html
import io
import json
import urllib.parse
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from reading_pages import Page

import widemargin
from widemargin.markup.charts import Curve, bar_chart, interval_chart, line_chart
from widemargin.markup.html import facts, page, section, table, tag

#: Every one would change the title of the page, if it were run.
RUN = "document.title='broken'"
HOSTILE = [
    f"<script>{RUN}</script>",
    f"</script><script>{RUN}</script>",
    f"</title><script>{RUN}</script>",
    f"</style><script>{RUN}</script>",
    f"</textarea></svg></math></table><img src=x onerror={RUN}>",
    f"<img src=x onerror={RUN}>",
    f"<svg onload={RUN}>",
    f"<svg><script>{RUN}</script></svg>",
    f"<svg><animate onbegin={RUN} attributeName=x></svg>",
    f"<body onload={RUN}>",
    f'<iframe srcdoc="<script>parent.{RUN}</script>">',
    f'<a href="javascript:{RUN}">x</a>',
    f"<details open ontoggle={RUN}>",
    f"<input autofocus onfocus={RUN}>",
    f'<math><mi//xlink:href="data:x,<script>{RUN}</script>">',
    f'" onmouseover={RUN} x="',
    f"' onmouseover={RUN} x='",
    f'"><script>{RUN}</script>',
    f"'><script>{RUN}</script>",
    f"`${{{RUN}}}`",
    f'{{{{constructor.constructor("{RUN}")()}}}}',
    f"]]><script>{RUN}</script>",
    f"--><script>{RUN}</script><!--",
    f"<!--<script>{RUN}//",
    f"%3Cscript%3E{RUN}%3C/script%3E",
    f"&lt;script&gt;{RUN}&lt;/script&gt;",
    f"&#60;script&#62;{RUN}&#60;/script&#62;",
    f"\\u003cscript\\u003e{RUN}\\u003c/script\\u003e",
    f"\x00<script>{RUN}</script>",
    f"<scr\x00ipt>{RUN}</scr\x00ipt>",
    f"\u202e<script>{RUN}</script>",
    f"<style>@import 'http://192.0.2.1/{RUN}'</style>",
    "<style>*{background:url(http://192.0.2.1/x)}</style>",
    "<link rel=stylesheet href=http://192.0.2.1/x>",
    "<base href=http://192.0.2.1/>",
    "<meta http-equiv=refresh content='0;url=http://192.0.2.1/'>",
    "<form action=http://192.0.2.1/><input name=a>",
    "\ud800<b>half a pair",
    "$\\href{javascript:1}{x}$ _{^ %# \\",
    "\x1b[31mred\x07",
]
#: What can be encoded.
PLAIN = [name for name in HOSTILE if "\ud800" not in name and "\x00" not in name]
#: Elements that no page has.
NEVER = ("script", "iframe", "form", "base", "object", "embed", "textarea", "animate", "math", "a")


def check_page(text):
    """Nothing of the names has become markup."""
    text.encode()
    found = Page(text)
    assert not set(NEVER) & set(found.tags)
    assert found.tags.count("body") == 1
    assert all(target.startswith("data:") for target in found.targets)
    return found


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_pieces_of_pages_show_a_name_as_text(name):
    parts = [
        tag("p", name, title=name),
        table([name], [[name]], name),
        facts([(name, name)]),
        section("x", name, name),
        bar_chart(name, [(name, 1.0), ("other", -1.0)]),
        line_chart(name, [Curve(name, [1, 2], [1.0, 2.0])]),
        interval_chart(name, [(name, 0.0, 0.5, 1.0)]),
    ]
    found = check_page(page(name, "".join(parts)))
    shown = "".join(c if c in "\n\t" or c.isprintable() else "\ufffd" for c in name)
    assert shown in "".join(found.words)
    for part in parts[4:]:  # SVG is XML, too
        for drawn in part.split("<svg")[1:]:
            ElementTree.fromstring("<svg" + drawn.partition("</svg>")[0] + "</svg>")


@pytest.fixture(scope="module")
def learned():
    """A learner whose classes and features are hostile, and its examples."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3 * len(PLAIN), len(PLAIN)))
    y = np.array(PLAIN)[np.arange(len(X)) % len(PLAIN)]
    import pandas

    frame = pandas.DataFrame(X, columns=PLAIN)
    return widemargin.Perceptron(random_state=0, epochs=2).fit(frame, y), frame, y


@pytest.fixture(scope="module")
def reports(learned, tmp_path_factory):
    """Reports about such learners, as files."""
    folder = tmp_path_factory.mktemp("reports")
    learner, frame, y = learned
    learner.report(folder / "rows.html", frame, y, data=PLAIN[0], title=PLAIN[2])
    texts = widemargin.TextClassifier(random_state=0, analyzer="char").fit(PLAIN, PLAIN)
    texts.report(folder / "texts.html", PLAIN, PLAIN)
    words = [[name.replace(" ", "_"), "."] for name in PLAIN]
    tags = [[f"B-{name}", "O"] for name in PLAIN]
    tagger = widemargin.Tagger(epochs=1, random_state=0).fit(words, tags)
    widemargin.report(tagger, folder / "tags.html", words, tags)
    cells = {"a": PLAIN, PLAIN[1]: PLAIN, "label": PLAIN}
    widemargin.TableClassifier(random_state=0).fit(cells, "label").report(
        folder / "table.html", {name: cells[name] for name in ("a", PLAIN[1])}, PLAIN
    )
    return sorted(folder.glob("*.html"))


def test_reports_hold_no_markup_of_names(reports):
    assert len(reports) == 4
    for path in reports:
        found = check_page(path.read_text(encoding="utf-8"))
        assert f"<script>{RUN}</script>" in "".join(found.words)


def test_what_a_notebook_shows_holds_no_markup_of_names(learned):
    learner, _, _ = learned
    for thing in (learner.model_, learner.history_):
        found = Page(thing._repr_html_())
        assert not {*NEVER, "img"} & set(found.tags)
    first = next(name for name in sorted(PLAIN) if name.isprintable())
    assert html.escape(first) in learner.model_._repr_html_()


def test_pictures_hold_no_markup_of_names(learned):
    pytest.importorskip("matplotlib")
    learner, frame, y = learned
    for drawn in (
        widemargin.plot_weights(learner, n=5, classes=PLAIN[:3]),
        widemargin.plot_confusion(learner, frame, y),
    ):
        written = io.BytesIO()
        drawn.figure_.savefig(written, format="svg", metadata={"Title": PLAIN[0], "Date": None})
        root = ElementTree.fromstring(written.getvalue())
        kinds = {element.tag.partition("}")[2] for element in root.iter()}
        assert not kinds & {"script", "animate", "foreignObject", "iframe"}
        assert not any(key.startswith("on") for element in root.iter() for key in element.attrib)


def requests_of(browser):
    """The addresses that pages have asked for."""
    messages = (json.loads(entry["message"])["message"] for entry in browser.get_log("performance"))
    sent = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    return [one["request"]["url"] for one in sent]


def test_a_browser_runs_and_fetches_nothing(reports, browser):
    requests_of(browser)  # those of other tests
    # Without the policy that pages carry, so that escaping alone is looked at.
    drawn = [(tag("p", name, title=name), bar_chart(name, [(name, 1.0)])) for name in HOSTILE]
    pieces = "".join(part for parts in drawn for part in parts)
    plain = page(PLAIN[2], pieces).replace("Content-Security-Policy", "X-None")
    assert "default-src" in plain
    pages = [path.read_text(encoding="utf-8") for path in reports]
    without = [text.replace("Content-Security-Policy", "X-None") for text in pages]
    for text in (plain, *without):
        browser.get("data:text/html;base64," + base64.b64encode(text.encode()).decode())
        assert browser.title != "broken"
        for kind in ("script", "iframe", "form", "a", "base"):
            assert not browser.find_elements("css selector", kind)
        browser.execute_script(
            "for (const e of document.querySelectorAll('*')) {"
            " e.dispatchEvent(new MouseEvent('mouseover', {bubbles: true}));"
            " if (e.focus) e.focus(); }"
        )
        assert browser.title != "broken"
    asked = [address for address in requests_of(browser) if not address.startswith("data:")]
    assert asked == []


def test_the_lab_shows_hostile_names_as_text(browser):
    pytest.importorskip("starlette", reason="the lab needs starlette")
    requests_of(browser)  # those of other tests
    rng = np.random.default_rng(0)
    names = [PLAIN[0], PLAIN[5], PLAIN[15]]
    X = rng.normal(size=(30, 3))
    labels = np.where(X[:, 0] > 0, PLAIN[6], PLAIN[1])
    with widemargin.lab(X, labels, names=names) as lab:
        browser.get(lab.url)
        browser.implicitly_wait(10)
        assert browser.find_elements("css selector", "svg, canvas")
        browser.implicitly_wait(0)
        text = browser.execute_script("return document.documentElement.outerHTML")
        assert browser.title != "broken"
        host = urllib.parse.urlsplit(lab.url).netloc
        inline = browser.execute_script(
            "return [...document.scripts].filter(s => !s.src && s.textContent.includes('broken')"
            " && s.type !== 'application/json').length"
        )
        assert inline == 0
        assert "onerror=document" not in text.replace("&lt;img src=x onerror=document", "")
        asked = [a for a in requests_of(browser) if a.startswith("http") and host not in a]
        assert asked == []
