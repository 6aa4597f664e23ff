"""Files that take their places whole, and what a killed process leaves of them."""

import subprocess
import sys
from multiprocessing import get_context

import pytest

from kfeat.files import replacing, replacing_together

KILLED = """
import os, signal
from pathlib import Path
from kfeat.files import replacing, replacing_together
with replacing(Path("model")) as new, replacing_together() as beside:
    new.write_text("half")
    (beside(Path("report")) / "table.md").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def _write(path, begun, goes_on):
    with replacing(path) as new:
        begun.set()
        goes_on.wait(60)
        new.write_text("of the other process")


def names(folder):
    return sorted(path.name for path in folder.rglob("*"))


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path):
    subprocess.run([sys.executable, "-c", KILLED], cwd=tmp_path, check=False)
    assert len(names(tmp_path)) == 5
    with replacing(tmp_path / "model") as new:
        new.write_text("whole")
    with replacing_together() as beside:
        (beside(tmp_path / "report") / "table.md").write_text("whole")
    assert names(tmp_path) == ["model", "report", "table.md"]


def test_what_a_process_is_writing_stays(tmp_path):
    fork, path = get_context("fork"), tmp_path / "model"
    begun, goes_on = fork.Event(), fork.Event()
    other = fork.Process(target=_write, args=(path, begun, goes_on))
    other.start()
    assert begun.wait(60)
    with replacing(path) as new:
        new.write_text("of this process")
    goes_on.set()
    other.join(60)
    assert path.read_text() == "of the other process"
    assert names(tmp_path) == ["model"]


@pytest.mark.parametrize("error", [FileNotFoundError, KeyboardInterrupt])
def test_an_error_of_the_block_is_raised_and_leaves_nothing(error, tmp_path):
    with pytest.raises(error), replacing(tmp_path / "model"):
        raise error
    assert names(tmp_path) == []
