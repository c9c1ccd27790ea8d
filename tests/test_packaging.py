"""CI tests the versions that pyproject.toml declares; a source distribution is complete."""

import fnmatch
import pathlib
import tomllib

from packaging.requirements import Requirement

ROOT = pathlib.Path(__file__).parent.parent


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


def _lines(path):
    return [line for line in path.read_text().splitlines() if not line.startswith("#")]
