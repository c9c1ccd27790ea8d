"""The scripts in examples/ run, and docs/lectures is what docs/build.py makes of the source."""

import doctest
import importlib.util
import pathlib
import re
import runpy

import pytest

ROOT = pathlib.Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
LECTURES = ROOT / "docs" / "lectures"
needs_matplotlib = pytest.mark.skipif(
    importlib.util.find_spec("matplotlib") is None,
    reason="pictures need matplotlib: pip install 'widemargin[plot]'",
)


def load_build():
    found = importlib.util.spec_from_file_location("docs_build", ROOT / "docs" / "build.py")
    build = importlib.util.module_from_spec(found)
    found.loader.exec_module(build)
    return build


BUILD = load_build()
PAGES = BUILD.pages()
each_page = pytest.mark.parametrize("name", PAGES)


@needs_matplotlib
@pytest.mark.parametrize("script", EXAMPLES, ids=[script.stem for script in EXAMPLES])
def test_examples_run(script, tmp_path, monkeypatch, capsys):
    import matplotlib

    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [str(script)])  # not the arguments of pytest
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out
    written = re.search(r"Writes (.+)\.\n", script.read_text(encoding="utf-8"))
    for name in re.split(r",? and |, ", written[1]) if written else ():
        assert (tmp_path / name).stat().st_size > 1000, name
    matplotlib.pyplot.close("all")


@each_page
def test_lecture_pages_are_up_to_date(name):
    found = (LECTURES / name).read_text(encoding="utf-8")
    assert found == PAGES[name], "run python docs/build.py"


@each_page
def test_lecture_pages_link_to_what_there_is(name):
    for target in re.findall(r'\]\(([^)#]+)\)|href="([^"]+)"', PAGES[name]):
        target = target[0] or target[1]
        if not target.startswith("http"):
            assert (LECTURES / target).exists(), target


@each_page
def test_lecture_pages_examples(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGES[name], flags=re.DOTALL))
    session = doctest.DocTestParser().get_doctest(code, {}, name, name, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE, verbose=False)
    said = []
    runner.run(session, out=said.append)
    assert not runner.failures, "".join(said)


def test_loops_stand_beside_their_pseudocode():
    text = BUILD.loop_beside_pseudocode("widemargin.loops.linear.passes", "binary_pass")
    pseudocode, code = re.findall(r"<pre>(.*?)</pre>", text, flags=re.DOTALL)
    assert pseudocode.startswith("for i in order:")
    assert code.startswith("def binary_pass(")
    assert '"""' not in code
    assert code.rstrip().endswith("return Tally(mistakes, updates, total, logged, bad)")
    with pytest.raises(ValueError, match="no pseudocode"):
        BUILD.loop_beside_pseudocode("widemargin.loops.linear.passes", "append_to_log")


def test_pictures_are_small_and_all_can_be_made():
    shown = {path.stem: path.stat().st_size for path in (LECTURES / "pictures").glob("*.png")}
    assert set(shown) == BUILD.wanted_pictures()
    assert set(BUILD.figures()) == set(shown)
    for path in (ROOT / "docs" / "pictures").iterdir():
        shown[path.name] = path.stat().st_size
    assert max(shown.values()) < 60_000
    assert {"learning.gif", "margin.png"} <= set(shown)
