"""The reference documents all that kernels, maps and solvers export, and nothing else."""

import importlib
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs" / "reference"


@pytest.mark.parametrize("package", ["kernels", "maps", "solvers"])
def test_a_package_exports_what_the_reference_documents(package):
    page = (DOCS / f"{package}.rst").read_text(encoding="utf-8")
    documented = re.findall(r"^   (\w+)$", page, flags=re.MULTILINE)
    registry = package.upper()  # names to classes, for configs
    module = importlib.import_module(f"kfeat.{package}")
    assert sorted([*documented, registry]) == sorted(module.__all__)
    public = {name for name in vars(module) if not name.startswith("_")}
    submodules = {path.stem for path in Path(module.__path__[0]).glob("*.py")}
    assert public - submodules - {"annotations"} == set(module.__all__)
