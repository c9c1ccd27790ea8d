"""Limits on the layout: small modules and functions, few top-level modules, one driver."""

import ast
import functools
import pathlib
import re

import pytest

import widemargin

PACKAGE = pathlib.Path(widemargin.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
FOLDERS = sorted({path.parent.relative_to(PACKAGE).as_posix() for path in MODULES})
#: The largest number of lines, not counting docstrings.
MOST_OF_A_MODULE, MOST_OF_A_FUNCTION = 400, 60
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def definitions(node):
    """The classes and functions in a node; expressions hold none and are skipped."""
    for name in ("body", "orelse", "handlers", "finalbody", "cases"):
        for part in getattr(node, name, ()):
            if isinstance(part, (ast.ClassDef, *FUNCTIONS)):
                yield part
            yield from definitions(part)


def docstring_lines(tree):
    """The numbers of the lines of all docstrings."""
    told = (part.body[0] for part in (tree, *definitions(tree)) if ast.get_docstring(part))
    return {line for one in told for line in range(one.lineno, one.end_lineno + 1)}


def lines_of(node, docstrings):
    """The number of lines of a node, without docstrings."""
    last = node.body[-1].end_lineno if node.body else 0
    return len(set(range(getattr(node, "lineno", 1), last + 1)) - docstrings)


@functools.cache
def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("folder", FOLDERS)
def test_modules_and_functions_are_small(folder):
    for path in (PACKAGE / folder).glob("*.py"):
        tree, place = parsed(path), path.relative_to(PACKAGE)
        docstrings = docstring_lines(tree)
        assert lines_of(tree, docstrings) <= MOST_OF_A_MODULE, f"{place} is asking to be two ideas"
        if place.parts[0] == "loops":
            continue  # there, a call costs more than a long function
        for node in definitions(tree):
            if isinstance(node, FUNCTIONS):
                assert lines_of(node, docstrings) <= MOST_OF_A_FUNCTION, f"{place}: {node.name}"


def test_docstrings_do_not_count():
    text = 'try:\n  def f(x):\n    """One.\n\n    Two.\n    """\n    return x\nfinally:\n  pass\n'
    tree = ast.parse(text)
    (function,) = definitions(tree)
    assert lines_of(function, docstring_lines(tree)) == 2


def test_few_modules_lie_at_the_top():
    assert len(list(PACKAGE.glob("*.py"))) <= 6


def test_one_driver_runs_all_epochs():
    """The end of an epoch is handled in one place for all trainings."""
    callers, runs = set(), set()
    for path in MODULES:
        text = path.read_text(encoding="utf-8")
        if "end_epoch" not in text and "class Run" not in text:
            continue
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                if node.func.attr == "end_epoch":
                    callers.add(path.relative_to(PACKAGE).as_posix())
            elif isinstance(node, ast.ClassDef) and node.name == "Run":
                runs.add(path.relative_to(PACKAGE).as_posix())
    assert callers == runs == {"training/run.py"}


def test_no_test_module_imports_another():
    """They share modules of their own. (Programs that they start may import themselves.)"""
    importing = re.compile(r"^(?:from|import) (tests\b|test_\w+)", re.MULTILINE)
    for path in pathlib.Path(__file__).parent.rglob("test_*.py"):
        found = set(importing.findall(path.read_text(encoding="utf-8")))
        assert found <= {path.stem}, f"{path.name} imports {found}"
