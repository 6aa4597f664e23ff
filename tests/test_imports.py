"""Data flows one way and imports flow the other way only; the command line starts quickly."""

import ast
import subprocess
import sys
from collections import Counter
from graphlib import TopologicalSorter
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
    "learnt_metric": {*FOUNDATION, "kernels", "solvers"},
    "data": {*FOUNDATION, "learnt_metric"},
    "experiments": {*FOUNDATION, "kernels", "diagnostics", "maps", "solvers", "data"},
    "analysis": {"errors", "parameters", "text", "data", "experiments"},
    "survey": {"errors", "text", "files", "experiments", "analysis"},
    "own": {*FOUNDATION, "learnt_metric", "kernels", "maps", "solvers", "data", "experiments", "survey"},
    "render": {"data", "errors", "text", "files", "experiments", "own", "analysis"},
    "__main__": {"cli"},
    "__init__": {"own", "analysis", "learnt_metric"},
}
MAY_IMPORT["cli"] = MAY_IMPORT.keys() - {"memory", "child", "batches", "diagnostics", "__main__", "__init__"}


def part(path):
    """The part of kfeat a file belongs to: its package, or its own name."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def modules(tree):
    """The modules, or names in modules, that a file imports, at its top or inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def imported(tree):
    """The parts of kfeat that a file imports."""
    found = {name.split(".")[1] for name in modules(tree) if name.startswith("kfeat.")}
    return found - {"__version__", "load_model"}


def test_no_two_modules_have_a_public_class_of_the_same_name():
    nodes = [node for path in ROOT.rglob("*.py") for node in ast.parse(path.read_text()).body]
    classes = [node.name for node in nodes if isinstance(node, ast.ClassDef) and node.name[0] != "_"]
    assert [name for name, n in Counter(classes).items() if n > 1] == []


def test_no_modules_import_each_other():
    """Nor lead imports inside functions back in several steps; those that only type checkers need may."""
    paths = {".".join(p.relative_to(ROOT.parent).with_suffix("").parts): p for p in ROOT.rglob("*.py")}
    paths = {name.removesuffix(".__init__"): path for name, path in paths.items()}
    graph = {}
    for module, path in paths.items():
        tree = ast.parse(path.read_text())
        tree.body = [
            node for node in tree.body if "TYPE_CHECKING" not in ast.unparse(node).partition("\n")[0]
        ]
        graph[module] = {name if name in paths else name.rpartition(".")[0] for name in modules(tree)}
    TopologicalSorter(graph).prepare()  # raises CycleError


def test_imports_point_one_way():
    for path in sorted(ROOT.rglob("*.py")):
        here = part(path)
        assert here in MAY_IMPORT, f"{here} has no place in the order of imports"
        wrong = imported(ast.parse(path.read_text())) - {here} - MAY_IMPORT[here]
        assert not wrong, f"{path.relative_to(ROOT)} imports {sorted(wrong)}"


def test_the_command_line_loads_nothing_heavy():
    code = "import sys, kfeat.cli; print([m for m in ('numpy', 'sklearn', 'pydantic') if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
