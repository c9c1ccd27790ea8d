"""Check the documentation that was built: `python .ci/check_site.py FOLDER`.

Every link and anchor leads somewhere, every page is a few clicks from the start, nothing is fetched
from elsewhere, and the search knows the names that people look for. If there is a browser, pages
are opened at the width of a phone and of a desk, in light and in dark: no error on the console,
nothing that sticks out, text that can be read, and a search that finds the page of a name.
"""

from __future__ import annotations

import html.parser
import pathlib
import shutil
import sys
import urllib.parse
from typing import Any

#: Pages that are opened in a browser.
OPENED = (
    "index.html",
    "start/python.html",
    "start/which_learner.html",
    "start/coming_from.html",
    "glossary.html",
    "guide/index.html",
    "guide/online.html",
    "guide/certificates.html",
    "guide/kernels.html",
    "guide/sentences.html",
    "guide/shell.html",
    "guide/tables.html",
    "lectures/perceptron.html",
    "gallery/index.html",
    "gallery/boundaries.html",
    "reference/names/widemargin.Perceptron.html",
    "reference/shell.html",
)
#: What must be found by the search, and a page that must be among the first results.
SEARCHED = {
    "certify": "reference/names/widemargin.certify.html",
    "TextClassifier": "reference/names/widemargin.TextClassifier.html",
}
#: How many results somebody looks at.
FIRST = 10
WIDTHS = (400, 1400)
#: The folders of what people read, and in how many clicks each page of them can be reached.
CONTENTS = {"start", "guide", "lectures", "gallery", "reference"}
CLICKS = 3
#: The least contrast of text and ground (WCAG 2.1, level AA).
CONTRAST = 4.5


class Page(html.parser.HTMLParser):
    """The links and anchors of a page, and what it loads."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect what a tag names."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in ("img", "script", "source", "iframe") and "src" in given:
            self.loaded.append(given["src"])
        if tag == "link" and "href" in given and given.get("rel") != "canonical":
            self.loaded.append(given["href"])


def read_pages(folder: pathlib.Path) -> dict[pathlib.Path, Page]:
    """All pages of the site."""
    pages = {}
    for path in sorted(set(folder.rglob("*.html")) - set((folder / "_static").rglob("*.html"))):
        pages[path.resolve()] = page = Page()
        page.feed(path.read_text(encoding="utf-8"))
    return pages


def broken_links(pages: dict[pathlib.Path, Page]) -> list[str]:
    """Links that lead nowhere, and files that are loaded from elsewhere."""
    found = []
    for path, page in pages.items():
        for link in page.links + page.loaded:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme in ("http", "https", "mailto", "data"):
                if link in page.loaded and parts.scheme != "data":
                    found.append(f"{path}: loads {link}")
                continue
            named = urllib.parse.unquote(parts.path)
            target = (path.parent / named).resolve() if named else path
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                found.append(f"{path}: {link} leads nowhere")
            elif parts.fragment and target in pages:
                anchor = urllib.parse.unquote(parts.fragment)
                if anchor not in pages[target].anchors and anchor != "top":
                    found.append(f"{path}: {link} has no such anchor")
    return found


def too_far(pages: dict[pathlib.Path, Page], start: pathlib.Path) -> list[str]:
    """Pages that cannot be reached from the first one in a few clicks."""
    reached = {start}
    for _ in range(CLICKS):
        links = {(page, link) for page in reached for link in pages[page].links}
        paths = {(page, urllib.parse.urlsplit(link).path) for page, link in links}
        reached |= {(page.parent / urllib.parse.unquote(path)).resolve() for page, path in paths}
        reached &= pages.keys()
    return [
        f"{path}: is more than {CLICKS} clicks from the start"
        for path in pages.keys() - reached
        if path.relative_to(start.parent).parts[0] in CONTENTS
    ]


def unknown_to_search(folder: pathlib.Path) -> list[str]:
    """Names that the search's index does not have."""
    index = (folder / "searchindex.js").read_text(encoding="utf-8")
    return [f"the search does not know {name}" for name in SEARCHED if name not in index]


def open_browser(width: int) -> Any:
    """A browser without a window, as wide as this."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--allow-file-access-from-files",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    # A window cannot be narrower than some 500 dots; a device can.
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    return browser


def seen_in_browser(folder: pathlib.Path) -> list[str]:
    """Errors on the console, and pages that are wider than the screen."""
    found = []
    for width in WIDTHS:
        browser = open_browser(width)
        try:
            for name in OPENED:
                browser.get((folder.resolve() / name).as_uri())
                wide = browser.execute_script("return document.documentElement.scrollWidth")
                if wide > width:
                    found.append(f"{name}: is {wide} wide on a screen of {width}")
                found += [f"{name}: {fault}" for fault in hard_to_read(browser)]
                errors = [one for one in browser.get_log("browser") if one["level"] == "SEVERE"]
                found += [f"{name}: {error['message']}" for error in errors]
            if width == WIDTHS[-1]:
                found += search_in(browser, folder)
        finally:
            browser.quit()
    return found


#: The theme, and the colours of the text and of what is behind it, as [red, green, blue].
_COLOURS = """
document.documentElement.dataset.theme = document.documentElement.dataset.mode = arguments[0];
const numbers = colour => colour.match(/[\\d.]+/g).slice(0, 3).map(Number);
const text = document.querySelector("article p") || document.body;
return [numbers(getComputedStyle(text).color),
        numbers(getComputedStyle(document.body).backgroundColor)];
"""


def luminance(colour: list[float]) -> float:
    """How bright a colour looks, from 0 to 1 (WCAG 2.1)."""
    parts = [part / 255 for part in colour]
    red, green, blue = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def hard_to_read(browser: Any) -> list[str]:
    """What is wrong with the colours of the open page, in light and in dark."""
    found = []
    for theme in ("light", "dark"):
        text, ground = (luminance(one) for one in browser.execute_script(_COLOURS, theme))
        contrast = (max(text, ground) + 0.05) / (min(text, ground) + 0.05)
        if contrast < CONTRAST:
            found.append(f"text has a contrast of {contrast:.1f} in the {theme} theme")
        if (ground < text) != (theme == "dark"):
            found.append(f"the {theme} theme is not {theme}")
    return found


def search_in(browser: Any, folder: pathlib.Path) -> list[str]:
    """Search as a reader does, and see whether the right page is among the first results."""
    from selenium.common.exceptions import TimeoutException
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    found = []
    for name, wanted in SEARCHED.items():
        browser.get((folder.resolve() / "search.html").as_uri() + f"?q={name}")

        def seen(page: Any, wanted: str = wanted) -> bool:
            links = page.find_elements(By.CSS_SELECTOR, "#search-results ul.search li a")[:FIRST]
            return any(wanted in (link.get_attribute("href") or "") for link in links)

        try:
            WebDriverWait(browser, 20).until(seen)
        except TimeoutException:
            found.append(f"searching for {name} does not find {wanted} among the first {FIRST}")
    return found


def main() -> int:
    """Say what is wrong; 0 if nothing is."""
    folder = pathlib.Path(sys.argv[1])
    pages = read_pages(folder)
    wrong = broken_links(pages) + unknown_to_search(folder)
    wrong += too_far(pages, (folder / "index.html").resolve())
    if shutil.which("chromium") and shutil.which("chromedriver"):
        wrong += seen_in_browser(folder)
    else:
        print("there is no browser: pages were not opened")
    print("\n".join(wrong[:40]))
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    heaviest = max(path.stat().st_size for path in pages)
    print(f"{len(pages)} pages, {size / 1e6:.1f} MB; the heaviest page {heaviest / 1e3:.0f} kB")
    print(f"{len(wrong)} faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
