"""Versions are tested, the source distribution is complete, and what is missing is named."""

import fnmatch
import pathlib
import re
import sys
import tomllib

import pytest
from packaging.requirements import Requirement

from widemargin import ClusterError, Distributed, Perceptron, lab, load
from widemargin.plots import animate, plot_history

ROOT = pathlib.Path(__file__).parent.parent
X, Y = [[0.0, 1.0], [1.0, 0.0]], [0, 1]


def test_ci_tests_the_oldest_versions_that_are_allowed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    assert all(extras.values()), "an extra that installs nothing"
    allowed = {}
    for line in [*project["dependencies"], *extras["plot"], *extras["test"]]:
        requirement = Requirement(line)
        (oldest,) = (bound for bound in requirement.specifier if bound.operator == ">=")
        allowed[requirement.name] = oldest.version
    tested = [Requirement(line) for line in _lines(ROOT / ".ci" / "oldest.txt")]
    assert {requirement.name for requirement in tested} == set(allowed)
    for requirement in tested:  # 1.26 is 1.26.0
        assert requirement.specifier.contains(allowed[requirement.name]), requirement


def test_no_file_of_the_tests_is_ignored():
    """Git would not add it, and the source distribution would lack it."""
    names = [line.rstrip("/") for line in _lines(ROOT / ".gitignore")]
    names.remove("__pycache__")
    ignored = [
        str(file)
        for file in (ROOT / "tests").rglob("*")
        if any(fnmatch.fnmatch(file.name, name) for name in names)
    ]
    assert ignored == []


@pytest.mark.parametrize(
    ("package", "needs", "use"),
    [
        ("matplotlib", "widemargin[plot]", plot_history),
        ("matplotlib", "widemargin[plot]", lambda p: animate(p, X, Y, "learning.gif")),
        ("distributed", "widemargin[dask]", lambda p: Distributed(Perceptron()).fit("rows.svm")),
        ("fsspec", "widemargin[stores]", lambda p: load("s3://bucket/p.wm")),
        ("fsspec", "widemargin[stores]", lambda p: p.save("s3://bucket/p.wm")),
        ("starlette", "widemargin[lab]", lambda p: lab()),
        ("pandas", "pandas", lambda p: p.history_.to_pandas()),
    ],
)
def test_an_error_says_how_to_install_what_is_needed(package, needs, use, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    pathlib.Path("rows.svm").write_text("+1 1:1\n-1 2:1\n")
    learned = Perceptron(keep="vote", random_state=0).fit(X, Y)
    for name in [package, *(name for name in sys.modules if name.startswith(f"{package}."))]:
        monkeypatch.setitem(sys.modules, name, None)
    how = f"pip install '{needs}'" if "[" in needs else f"pip install {needs}"
    with pytest.raises((ImportError, ValueError, ClusterError)) as caught:
        use(learned)
    assert re.search(f"not (both )?installed: {re.escape(how)}$", str(caught.value))
    assert "\n" not in str(caught.value)


def _lines(path):
    return [line for line in path.read_text().splitlines() if not line.startswith("#")]
