"""Public names are listed once for people and once for type checkers, and loaded on first use."""

import ast
import importlib
import pathlib
import subprocess
import sys

import pytest

import widemargin
import widemargin.structured

PACKAGE = pathlib.Path(widemargin.__file__).parent
PUBLIC = [widemargin, widemargin.structured]
HEAVY = ["numpy", "scipy", "numba", "llvmlite", "pyarrow", "sklearn", "matplotlib", "safetensors"]


def imports_for_type_checkers(path):
    """What a file imports under `if TYPE_CHECKING:`, as {name: (module, name there)}."""
    found = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for line in node.body:
                assert isinstance(line, ast.ImportFrom)
                for alias in line.names:
                    found[alias.asname or alias.name] = (line.module, alias.name)
    return found


@pytest.mark.parametrize("module", PUBLIC, ids=lambda module: module.__name__)
def test_lists_of_public_names_agree(module):
    told = imports_for_type_checkers(pathlib.Path(module.__file__))
    homes = {name: (home, name) for name, home in module._HOMES.items()}
    for name, home in getattr(module, "_MODULES", {}).items():
        homes[name] = tuple(home.rsplit(".", 1))
    assert told == homes
    assert sorted(told) == sorted(module.__all__)
    assert set(module.__all__) <= set(dir(module))


@pytest.mark.parametrize("module", PUBLIC, ids=lambda module: module.__name__)
def test_public_names_are_what_type_checkers_are_told(module):
    for name, (home, its_name) in imports_for_type_checkers(pathlib.Path(module.__file__)).items():
        there = importlib.import_module(home)
        wanted = getattr(there, its_name, None) or importlib.import_module(f"{home}.{its_name}")
        assert getattr(module, name) is wanted


def test_only_the_public_lists_import_for_type_checkers():
    """Otherwise an import up the layers could hide there from the import rule.

    The shell, which is the top layer, defers heavy imports and those that only some commands need.
    """
    with_them = {path for path in PACKAGE.rglob("*.py") if "TYPE_CHECKING" in path.read_text()}
    allowed = ("__init__.py", "structured/__init__.py")
    shell = ("learners", "options", "class_weights", "data_checks", "training_data")
    allowed += tuple(f"cli/{name}.py" for name in shell)
    assert with_them == {PACKAGE / path for path in allowed}


@pytest.mark.parametrize("module", [module.__name__ for module in PUBLIC])
def test_import_loads_nothing_heavy(module):
    code = f"import sys, {module}; print(*set(sys.modules) & set({HEAVY}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_unknown_names_are_refused():
    for module in PUBLIC:
        with pytest.raises(AttributeError, match=f"module '{module.__name__}' has no attribute"):
            module.Perceptrn  # noqa: B018
