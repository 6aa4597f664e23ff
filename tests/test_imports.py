"""Data flows one way and imports flow the other way only; the command line starts quickly."""

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import kfeat

ROOT = Path(kfeat.__file__).parent
FOUNDATION = {
    "errors", "parameters", "memory", "text", "files", "child", "batches", "place", "weights", "version",
}  # fmt: skip
MAY_IMPORT = {
    "errors": set(),
    "parameters": {"errors"},
    "memory": {"errors"},
    "text": set(),
    "files": {"errors"},
    "child": {"errors", "memory"},
    "batches": {"errors"},
    "weights": set(),
    "version": set(),
    "place": {"errors", "parameters", "text"},
    "kernels": FOUNDATION,
    "diagnostics": {"errors", "kernels"},
    "maps": {*FOUNDATION, "kernels", "diagnostics"},
    "testing": {"errors", "text", "kernels"},
    "solvers": {*FOUNDATION, "kernels"},
    "data": FOUNDATION,
    "experiments": {*FOUNDATION, "kernels", "diagnostics", "maps", "solvers", "data"},
    "analysis": {"errors", "parameters", "text", "data", "experiments"},
    "survey": {"errors", "text", "files", "experiments", "analysis"},
    "own": {*FOUNDATION, "kernels", "maps", "solvers", "data", "experiments", "survey"},
    "render": {"data", "errors", "text", "files", "experiments", "own", "analysis"},
    "__main__": {"cli"},
    "__init__": {"own", "analysis"},
}
MAY_IMPORT["cli"] = MAY_IMPORT.keys() - {"memory", "child", "batches", "diagnostics", "__main__", "__init__"}


def part(path):
    """The part of kfeat a file belongs to: its package, or its own name."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(tree, path):
    """The parts of kfeat that a file imports, at its top or inside functions."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("kfeat.")}
    return found - {"__version__", "load_model"}


def test_no_two_modules_have_a_public_class_of_the_same_name():
    nodes = [node for path in ROOT.rglob("*.py") for node in ast.parse(path.read_text()).body]
    classes = [node.name for node in nodes if isinstance(node, ast.ClassDef) and node.name[0] != "_"]
    assert [name for name, n in Counter(classes).items() if n > 1] == []


def test_imports_point_one_way():
    for path in sorted(ROOT.rglob("*.py")):
        here = part(path)
        assert here in MAY_IMPORT, f"{here} has no place in the order of imports"
        wrong = imported(ast.parse(path.read_text()), path) - {here} - MAY_IMPORT[here]
        assert not wrong, f"{path.relative_to(ROOT)} imports {sorted(wrong)}"


def test_the_command_line_loads_nothing_heavy():
    code = "import sys, kfeat.cli; print([m for m in ('numpy', 'sklearn', 'pydantic') if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
