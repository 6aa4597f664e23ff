"""What goes wrong around a run ends it with a sentence or is a row, and nothing finished is lost.

Elsewhere: kill -9, Ctrl-C and a solver that never ends (tests/cli/test_run.py, test_worker.py), a full disk
and damaged lines (test_row.py), killed stores (tests/fuzz/test_killed_store.py), two runs at once and a
config that changes between two (tests/cli/test_run_beside_others.py).
"""

import errno
import logging
import os

import numpy as np
import pytest

from kfeat.cli.progress import Quiet
from kfeat.data import Access
from kfeat.errors import StoreError
from kfeat.experiments.engine import Local
from kfeat.experiments.row import check_row
from kfeat.experiments.run import run_trials
from kfeat.experiments.store import ROWS, Store, read_rows
from kfeat.experiments.worker import WorkerOptions
from kfeat.maps import TensorSketch
from tests.cells import planned, run
from tests.experiments.rows import row
from tests.experiments.stand_ins import Quick, stand_ins

OPTIONS = WorkerOptions(access=Access(offline=True))


class ReadOnlyAfterwards(Quiet):
    """Makes the file system refuse every row after the first, as one does that was mounted anew.

    Root writes whatever the modes of a folder are, so that the refusal has to be made up.
    """

    def __init__(self, patch):
        super().__init__()
        self.patch = patch

    def tell(self, event):
        def refuse(descriptor):
            raise OSError(errno.EROFS, "Read-only file system")

        if event.what == "finished":
            self.patch.setattr(os, "fsync", refuse)


def test_a_folder_that_becomes_read_only_in_mid_run_ends_it_with_a_sentence(write, tmp_path, monkeypatch):
    trials, folder = stand_ins(write, Quick(), Quick(), Quick()), tmp_path / "out"
    with (
        Local(OPTIONS) as engine,
        monkeypatch.context() as patch,
        pytest.raises(StoreError, match="Read-only file system"),
    ):
        run_trials(trials, folder, engine, ReadOnlyAfterwards(patch))
    assert list(read_rows(folder)) == [trials[0].id]
    with Store(folder) as store:  # it is not locked, and takes rows again
        store.append(row("later"))
    assert len((folder / ROWS).read_bytes().splitlines()) == 2


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.ESTALE])
def test_a_row_that_does_not_reach_the_disk_leaves_nothing(tmp_path, monkeypatch, number):
    def refuse(descriptor):
        raise OSError(number, os.strerror(number))

    with Store(tmp_path) as store:
        store.append(row("a"))
        before = (tmp_path / ROWS).read_bytes()
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", refuse)
            for write_rows in (lambda: store.append(row("b")), lambda: store.append_together([row("b")])):
                with pytest.raises(StoreError, match="cannot be written"):
                    write_rows()
        assert (tmp_path / ROWS).read_bytes() == before
        store.append(row("c"))
    assert list(read_rows(tmp_path)) == ["a", "c"]


def raises(self, X):
    raise MemoryError("no room for the features")


@pytest.mark.parametrize(
    ("transform", "words"),
    [
        (raises, "MemoryError: no room for the features"),
        (lambda self, X: np.full((X.shape[0], 8), np.nan), "NaN"),
        (lambda self, X: np.full((X.shape[0], 8), np.inf), "infinity"),
        (lambda self, X: np.zeros((X.shape[0] - 1, 8)), "inconsistent numbers of samples"),
        (lambda self, X: None, "Error"),
    ],
)
def test_a_map_that_raises_or_gives_no_numbers_is_a_failed_row(write, monkeypatch, transform, words):
    trial = planned(write())[0]
    assert trial.map is not None
    assert trial.map.cls is TensorSketch
    assert run(trial)["status"] == "done"
    monkeypatch.setattr(TensorSketch, "transform", transform)
    made = run(trial)
    check_row(made)
    assert made["status"] == "failed"
    assert words in made["reason"]
    assert "map_fit" in made["seconds"]


def test_an_error_that_nobody_foresaw_is_a_failed_row(write, caplog):
    caplog.set_level(logging.DEBUG, logger="kfeat")
    made = run(*stand_ins(write, Quick(0.0, "fails")))
    assert (made["status"], made["reason"]) == ("failed", "RecursionError: out of luck")
    assert "Traceback" in caplog.text


@pytest.mark.parametrize("score", [float("nan"), float("inf"), -1e200])
def test_a_score_that_is_not_finite_is_a_failed_row_and_the_others_run(write, tmp_path, score):
    made = run(*stand_ins(write, Quick(0.0, score=score)))
    assert made["status"] == "failed"
    assert "mean_square: " in made["reason"]
    with Store(tmp_path) as store:
        store.append(made)
    assert read_rows(tmp_path)
