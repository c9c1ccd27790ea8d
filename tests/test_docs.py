"""README and docs/ are correct: their examples run, and their links resolve."""

from __future__ import annotations

import contextlib
import doctest
import importlib.util
import io
import pathlib
import pkgutil
import re
import shlex
import sys

import pytest
from shell import run_shell

import widemargin

DOCS = pathlib.Path(__file__).parent.parent / "docs"
MADE = {"_build", "gallery", "names"}  # what building the site leaves behind
PAGES = [
    DOCS.parent / "README.md",
    *sorted(page for page in DOCS.rglob("*.md") if not MADE & set(page.parts)),
]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
#: The last column of a history's table, the seconds, which differ from run to run.
SECONDS = re.compile(r"^(\s*\d+ .*\s)\d+\.\d\d$", re.MULTILINE)

each_page = pytest.mark.parametrize(
    "page", PAGES, ids=[str(page.relative_to(DOCS.parent)) for page in PAGES]
)


class Checker(doctest.OutputChecker):
    """Compares output except for the seconds."""

    def check_output(self, want, got, optionflags):
        want, got = (SECONDS.sub(r"\1-", text) for text in (want, got))
        return super().check_output(want, got, optionflags)


def blocks(page, language):
    """The page with every line outside blocks of this language blanked."""
    inside, lines = None, []
    for line in page.read_text(encoding="utf-8").splitlines():
        fence = re.match(r"```(\w*)", line)
        if fence:
            inside = fence[1] if inside is None else None
        lines.append(line if inside == language and not fence else "")
    return "\n".join(lines) + "\n"


#: The files that pages show, by the language of their blocks.
SAMPLES = {"conllu": "train.conllu", "csv": "pets.csv"}


def write_sample(page, folder):
    """Write the files that a page shows to where its examples expect them."""
    for language, name in SAMPLES.items():
        block = rf"^```{language}\n(.*?)^```"
        shown = re.search(block, page.read_text(encoding="utf-8"), re.M | re.S)
        if shown:
            (folder / name).write_text(shown[1] + "\n", encoding="utf-8")


@each_page
def test_python_examples(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_sample(page, tmp_path)
    session = doctest.DocTestParser().get_doctest(
        blocks(page, "python"), {}, page.name, str(page), 0
    )
    runner = doctest.DocTestRunner(checker=Checker(), optionflags=FLAGS, verbose=False)
    said = []
    runner.run(session, out=said.append)
    assert not runner.failures, "".join(said)


MODULES = [found.name for found in pkgutil.walk_packages(widemargin.__path__, "widemargin.")]


def test_every_module_can_be_imported():
    for name in MODULES:
        if not name.endswith("__main__"):
            importlib.import_module(name)


def with_examples(name):
    """Whether a module has a docstring with an example."""
    return b">>>" in pathlib.Path(importlib.util.find_spec(name).origin).read_bytes()


def run_when(name):
    """Pictures take a second each; the plain run draws those of `tests/plots`."""
    return pytest.mark.exhaustive if name.startswith("widemargin.plots.") else ()


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=run_when(name)) for name in MODULES if with_examples(name)],
)
def test_examples_in_docstrings(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        failures, _ = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert not failures, said.getvalue()
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@each_page
def test_shell_examples(page, tmp_path):
    write_sample(page, tmp_path)
    for example in re.split(r"^\$ ", blocks(page, "console"), flags=re.MULTILINE)[1:]:
        command, wanted = example.split("\n", 1)
        program, *words = shlex.split(command)
        assert program == "widemargin"
        said = run_shell(tmp_path, *words).stdout
        assert Checker().check_output(wanted.strip(), said.strip(), FLAGS), said


@each_page
def test_no_example_is_hidden_from_the_tests(page):
    """Blocks in lists are indented, so they would not be run."""
    assert not re.search(r"^[ \t]+```(python|console)", page.read_text(encoding="utf-8"), re.M)


def anchors(page):
    """What links to the headings of a page are called after the number sign."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@each_page
def test_links(page):
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", page.read_text(encoding="utf-8")):
        file, _, heading = target.partition("#")
        found = page.parent / file if file else page
        assert found.exists(), f"{page.name} links to {target}"
        assert not heading or heading in anchors(found), f"{page.name} links to {target}"


#: Pages of the guide about guarantees and programs rather than a learner.
OTHER_GUIDES = {"index", "trust", "lab", "serving", "cluster"}
GUIDE = [page for page in PAGES if page.parent.name == "guide" and page.stem not in OTHER_GUIDES]


@pytest.mark.parametrize("page", GUIDE, ids=[page.stem for page in GUIDE])
def test_guide_pages_say_what_to_do_and_what_goes_wrong(page):
    headings = re.findall(r"^## (.+)$", page.read_text(encoding="utf-8"), re.M)
    assert headings[0] == "The smallest example"
    assert {"How to choose", "What goes wrong", "Further reading"} <= set(headings)


def lecture_rows():
    """The table of docs/lectures.md as (item, code, tests)."""
    for line in (DOCS / "lectures.md").read_text(encoding="utf-8").splitlines():
        if re.match(r"\| L\d", line):
            item, _, code, tests = (cell.strip() for cell in line.strip("|").split("|"))
            yield item, re.findall(r"`([^`]+)`", code), re.findall(r"`([^`]+)`", tests)


def test_lectures_table_names_every_test():
    listed = {name for _, _, tests in lecture_rows() for name in tests}
    written = {
        name
        for path in pathlib.Path(__file__).parent.rglob("test_*.py")
        for name in re.findall(r"^def (test_L\d\w*)", path.read_text(encoding="utf-8"), re.M)
    }
    assert listed == written
    for item, _, tests in lecture_rows():
        assert all(name.startswith(f"test_L{int(item[1:]):02d}_") for name in tests)


@pytest.mark.filterwarnings("ignore::widemargin.NotSeparableWarning")
def test_lectures_table_code_runs():
    setup = doctest.DocTestParser().get_examples(blocks(DOCS / "lectures.md", "python"))
    for item, code, _ in lecture_rows():
        assert code, item
        names = {}
        for example in setup:
            exec(example.source, names)
        for line in code:
            exec(line, names)
