"""A user's type checker finds kfeat, and the names that are imported lazily have their types."""

import subprocess
import sys

import pytest

import kfeat

SCRIPT = """
import kfeat
from kfeat import KernelClassifier, load_model
reveal_type(KernelClassifier())
reveal_type(load_model("a"))
kfeat.Nope
"""


def test_dir_names_what_is_imported_lazily():
    assert {"KernelClassifier", "KernelRegressor", "load_model", "__version__"} <= {*dir(kfeat)}
    assert not {"Any", "TYPE_CHECKING"} & {*dir(kfeat)}


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
    assert 'Revealed type is "kfeat.own.training.KernelClassifier"' in checked
    assert 'Revealed type is "kfeat.own.model.KernelModel"' in checked
    assert 'has no attribute "Nope"' in checked
    assert checked.count("error") == 2, checked  # that one, and the count of errors
