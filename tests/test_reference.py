"""The reference documents all that is exported; docstrings name their parameters and have examples."""

import importlib
import re
from inspect import getdoc, signature
from pathlib import Path

import pytest

from kfeat.kernels import KERNELS
from kfeat.maps import MAPS
from kfeat.solvers import SOLVERS

DOCS = Path(__file__).parents[1] / "docs" / "reference"
PUBLIC = [*KERNELS.values(), *MAPS.values(), *SOLVERS.values()]


@pytest.mark.parametrize("cls", PUBLIC)
def test_a_docstring_names_every_parameter_and_no_other_and_has_an_example(cls):
    text = getdoc(cls) or ""
    sections = dict(re.findall(r"^(\w+)\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", text, re.M | re.S))
    told = re.findall(r"^(\w[\w, ]*) : ", sections.get("Parameters", ""), re.M)
    assert [name for names in told for name in names.split(", ")] == list(signature(cls).parameters)
    assert "\nExamples\n--------\n>>> " in text


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
