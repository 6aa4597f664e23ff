"""Commands that compute nothing load none of the heavy libraries that they could do without."""

import subprocess
import sys
from pathlib import Path

import pytest

from kfeat.cli.postponed import POSTPONED
from kfeat.experiments.store import write_rows
from tests.cells import fake_row, planned
from tests.cli.commands import kfeat, refusal

# A module whose loading is postponed stands in sys.modules, as one of another class than ModuleType.
CODE = """
import sys
from types import ModuleType
from kfeat.cli import main

def loaded(names):
    return {name for name in names if type(sys.modules.get(name)) is ModuleType}

names = set(sys.argv[1].split())
# The intervals of the ratios in a table ask for quantiles.
quantiles = {"scipy.special"}
for command, used in (("rows", set()), ("plan", set()), ("run", quantiles), ("check", quantiles)):
    try:
        main([command, "small.yaml", "-q"])
    except SystemExit as ended:
        assert not ended.code, command
    assert not loaded(names - used), (command, loaded(names))
from sklearn import svm
svm.SVC
print(sorted(loaded(names)))
"""


@pytest.mark.parametrize("command", [["configs"], ["plan", "/none.yaml"], ["data", "list"], ["maps"]])
def test_a_working_folder_that_is_gone_is_said_in_a_sentence(command, tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert refusal(*command).startswith(
        "kfeat: the working folder cannot be used (No such file or directory)"
    )


def test_a_finished_run_and_a_check_load_nothing_that_they_do_not_use(write):
    path = write("figure: {kind: curves}\n")
    write_rows(Path("runs/small"), [fake_row(trial, 0.5 + i / 10) for i, trial in enumerate(planned(path))])
    assert kfeat("report", path).exit_code == 0  # so that the run has nothing to draw
    names = " ".join([*POSTPONED, "matplotlib", "PIL", "requests", "rich.console"])
    shown = subprocess.run([sys.executable, "-c", CODE, names], capture_output=True, text=True)
    assert shown.returncode == 0, shown.stderr
    # And what is used is loaded, so that the test sees it: sklearn.svm, and what comes with it.
    assert "'sklearn.svm'" in shown.stdout.splitlines()[-1]


def test_advice_loads_no_linear_models():
    Path("own.csv").write_text("a,b,y\n" + "".join(f"{i % 7},{i % 5},{'ny'[i % 2]}\n" for i in range(100)))
    code = (
        "import sys; from types import ModuleType; from kfeat.cli import main\n"
        "try:\n    main(['advise', 'own.csv', '--target', 'y'])\n"
        "except SystemExit as ended:\n    assert not ended.code\n"
        "assert type(sys.modules.get('sklearn.linear_model')) is not ModuleType"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
