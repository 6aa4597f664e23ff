"""A user's type checker finds kfeat, and the names that are imported lazily have their types."""

import re
import subprocess
import sys

import pytest

import kfeat

SCRIPT = """
import kfeat
from kfeat import KernelClassifier, load_model
reveal_type(KernelClassifier())
reveal_type(load_model("a"))
reveal_type(kfeat.read_rows("a"))
kfeat.Nope
"""


def test_dir_names_what_is_imported_lazily():
    assert {"KernelClassifier", "KernelRegressor", "load_model", "read_rows", "__version__"} <= {*dir(kfeat)}
    assert not {"Any", "TYPE_CHECKING", "import_module"} & {*dir(kfeat)}


@pytest.mark.parametrize("name", kfeat.__all__)
def test_each_exported_name_is_there(name):
    assert getattr(kfeat, name)


@pytest.mark.slow
def test_mypy_finds_the_installed_kfeat_and_its_types(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "script.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    assert 'Revealed type is "kfeat.own.estimators.KernelClassifier"' in checked
    assert 'Revealed type is "kfeat.own.model.KernelModel"' in checked
    assert re.search(r'Revealed type is "pandas\.[\w.]*DataFrame"', checked)
    assert 'has no attribute "Nope"' in checked
    assert checked.count("error") == 2, checked  # that one, and the count of errors
