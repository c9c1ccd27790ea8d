"""The scripts in examples/ run, and the site's generated parts match the package."""

import importlib.util
import pathlib
import re
import runpy
import sys

import pytest

ROOT = pathlib.Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
DOCS = ROOT / "docs"
PAGES = [page for page in DOCS.rglob("*.md") if "_build" not in page.parts]
needs_matplotlib = pytest.mark.skipif(
    importlib.util.find_spec("matplotlib") is None,
    reason="pictures need matplotlib: pip install 'widemargin[plot]'",
)


@pytest.fixture
def site(monkeypatch):
    """Make `docs` importable, which is not installed."""
    monkeypatch.syspath_prepend(str(ROOT))
    for name in [name for name in sys.modules if name.split(".")[0] == "docs"]:
        monkeypatch.delitem(sys.modules, name)


#: The examples that the plain test command runs; building the site runs all of them.
QUICK = ("losses", "worked_example", "your_own_argmax")


@needs_matplotlib
@pytest.mark.parametrize(
    "script",
    [
        pytest.param(
            script, id=script.stem, marks=() if script.stem in QUICK else pytest.mark.exhaustive
        )
        for script in EXAMPLES
    ],
)
def test_examples_run(script, tmp_path, monkeypatch, capsys):
    import matplotlib.pyplot

    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(script)])
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out
    assert matplotlib.pyplot.get_fignums(), "draws nothing: the gallery has no thumbnail for it"
    assert re.match(r'"""\n(.+)\n=+\n\n', script.read_text(encoding="utf-8")), "has no title"
    assert not list(tmp_path.iterdir())
    matplotlib.pyplot.close("all")


def test_every_public_name_is_in_the_reference_with_an_example(site):
    from docs.site.reference import find_faults, public_names, read_pages

    pages = read_pages(DOCS / "reference")
    assert find_faults(pages) == []
    assert {("widemargin", "certify"), ("widemargin.structured", "Task")} <= public_names()
    assert find_faults(pages.replace("   certify\n", "")) == [
        "widemargin.certify is on no page of docs/reference"
    ]
    assert find_faults(pages + "\n   surprise\n") == [
        "widemargin.structured.tasks.surprise is in docs/reference, but not public"
    ]


def test_names_without_docstring_or_example_are_faults(site):
    from docs.site.reference import faults_of

    class Bare:
        pass

    class Told:
        """One line."""

        def learn(self):
            pass

    class Shown:
        """One line.

        Examples
        --------
        >>> 1 + 1
        2
        """

    Told.learn.__module__ = "widemargin.online"
    assert faults_of("Bare", Bare) == ["Bare has no docstring"]
    assert faults_of("Told", Told) == [
        "Told has no example in its docstring",
        "Told.learn has no docstring",
    ]
    assert faults_of("Shown", Shown) == []


def test_every_command_is_in_the_reference():
    from widemargin.cli.main import main

    text = (DOCS / "reference" / "shell.md").read_text("utf-8")
    assert set(re.findall(r"^```\{shell-help\} (\w+)$", text, flags=re.M)) == set(main.commands)


def used(directive):
    """The arguments that pages pass to a directive."""
    found = set()
    for page in PAGES:
        text = page.read_text("utf-8")
        found |= set(re.findall(rf"^```\{{{directive}\}} (\S+)$", text, flags=re.MULTILINE))
    return found


@needs_matplotlib
def test_every_picture_of_the_pages_is_drawn_and_no_other(site):
    from docs.site.drawings import DRAWINGS, STORED

    assert used("picture") | set(STORED) == set(DRAWINGS)


@needs_matplotlib
@pytest.mark.parametrize(("name", "file"), [("learning", "learning.gif"), ("soft", "margin.png")])
def test_pictures_of_the_readme_are_what_is_drawn(site, name, file, tmp_path):
    from docs.site.drawings import STORED, write
    from PIL import Image

    assert STORED[name] == file
    write(name, tmp_path / file, dpi=100)
    stored, drawn = (Image.open(folder / file) for folder in (DOCS / "pictures", tmp_path))
    assert stored.size == drawn.size
    assert getattr(stored, "n_frames", 1) == getattr(drawn, "n_frames", 1)
    assert (DOCS / "pictures" / file).stat().st_size < 60_000


def test_loops_stand_beside_their_pseudocode(site):
    pytest.importorskip("docutils")
    from docs.site.loops import find_loop

    for path in used("loop"):
        found = find_loop(path)
        assert found.code.startswith(f"def {found.name}(")
        assert '"""' not in found.code
    assert find_loop("widemargin.loops.linear.passes.binary_pass").pseudocode.startswith("for i in")
    with pytest.raises(ValueError, match="no pseudocode"):
        find_loop("widemargin.loops.linear.passes.append_to_log")
    with pytest.raises(ValueError, match="no such function"):
        find_loop("widemargin.loops.linear.passes.nothing")


def test_docstrings_become_what_sphinx_reads(site):
    from docs.site.docstrings import escape_marks, readable

    assert escape_marks("|x - z|^2 and `a|b` * 2") == r"\|x - z\|^2 and `a|b` \* 2"
    written = [
        "A rule.",
        "",
        "    w += x",
        "",
        "It adds |x|.",
        "",
        "Parameters",
        "----------",
        "x : array",
    ]
    assert readable(written)[:6] == ["A rule.", "", "::", "", "    w += x", ""]
    assert readable(written)[6:] == [r"It adds \|x\|.", *written[5:]]
    assert readable([">>> 2 * 3", "6"]) == [">>> 2 * 3", "6"]


def test_every_lecture_has_exercises_with_solutions():
    lectures = [page for page in (DOCS / "lectures").glob("*.md") if page.stem != "index"]
    assert len(lectures) == 10
    for page in lectures:
        exercises = page.read_text("utf-8").split("## Exercises\n")[1]
        assert exercises.count(":::{dropdown} Solution") == len(
            re.findall(r"^\*\*\d", exercises, re.M)
        )
