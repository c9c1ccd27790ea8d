"""The limits of the layout: small modules and functions, few modules at the top, one driver."""

import ast
import functools
import pathlib

import pytest

import widemargin

PACKAGE = pathlib.Path(widemargin.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
FOLDERS = sorted({path.parent.relative_to(PACKAGE).as_posix() for path in MODULES})
#: Lines, docstrings not counted.
MOST_OF_A_MODULE, MOST_OF_A_FUNCTION = 400, 60
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def lines_of(node):
    """How many lines something takes, without the docstrings in it."""
    taken = set(range(getattr(node, "lineno", 1), node.end_lineno + 1))
    for part in ast.walk(node):
        if isinstance(part, (ast.Module, ast.ClassDef, *FUNCTIONS)) and ast.get_docstring(part):
            told = part.body[0]
            taken -= set(range(told.lineno, told.end_lineno + 1))
    return len(taken)


@functools.cache
def parsed(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    tree.end_lineno = tree.body[-1].end_lineno if tree.body else 0
    return tree


@pytest.mark.parametrize("folder", FOLDERS)
def test_modules_and_functions_are_small(folder):
    for path in (PACKAGE / folder).glob("*.py"):
        tree, place = parsed(path), path.relative_to(PACKAGE)
        assert lines_of(tree) <= MOST_OF_A_MODULE, f"{place} is asking to be two ideas"
        if place.parts[0] == "loops":
            continue  # a call costs more there than a long function
        for node in ast.walk(tree):
            if isinstance(node, FUNCTIONS):
                assert lines_of(node) <= MOST_OF_A_FUNCTION, f"{place}: {node.name}"


def test_docstrings_do_not_count():
    tree = ast.parse('def f(x):\n    """One.\n\n    Two.\n    """\n    return x\n')
    assert lines_of(tree.body[0]) == 2


def test_few_modules_lie_at_the_top():
    assert len(list(PACKAGE.glob("*.py"))) <= 6


def test_one_driver_runs_all_epochs():
    """What a training does at the end of an epoch is asked for in one place."""
    callers, runs = set(), set()
    for path in MODULES:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                if node.func.attr == "end_epoch":
                    callers.add(path.relative_to(PACKAGE).as_posix())
            elif isinstance(node, ast.ClassDef) and node.name == "Run":
                runs.add(path.relative_to(PACKAGE).as_posix())
    assert callers == runs == {"training/run.py"}
