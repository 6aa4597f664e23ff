"""`memory: out_of_core`: the same trials and the same answers, in less memory."""

import os
from pathlib import Path

import pytest

import kfeat.batches
from kfeat.errors import ConfigError
from kfeat.experiments.clock import peak_memory_mb, reset_peak_memory
from kfeat.experiments.config import load_experiment
from kfeat.experiments.cost import work_of
from tests import cells
from tests.cells import run

OUT = "memory=out_of_core"


def planned(path, *changes):
    return cells.planned(path, *changes, exact=False)


def mapped_with(solver):
    return [f"solvers={{mapped: {solver}}}"]


@pytest.mark.parametrize(
    "solver",
    [
        "{name: newton, C: 1, eps: 1.0e-6}",
        "{name: newton, loss: logistic, eps: 1.0e-6, bias: 1}",
        "{name: liblinear, solver_type: 2, eps: 1.0e-6}",
    ],
)
def test_the_answers_are_those_in_memory(write, solver, monkeypatch, cache):
    monkeypatch.setattr(kfeat.batches, "BATCH_BYTES", 2**13)
    monkeypatch.setattr(kfeat.batches, "WHOLE_BLOCKS", 7)
    held, out = planned(write(), *mapped_with(solver)), planned(write(), *mapped_with(solver), OUT)
    assert [trial.id for trial in held] == [trial.id for trial in out]
    assert [trial.seeds for trial in held] == [trial.seeds for trial in out]
    left = set(os.listdir(cache))
    for a, b in zip(held[1:2], out[1:2], strict=True):
        one, other = run(a), run(b)
        assert (one["status"], other["status"]) == ("done", "done")
        assert other["memory"] == "out_of_core"
        assert "memory" not in one
        assert [work_of(row).on_disk for row in (one, other)] == [False, True]
        assert abs(one["accuracy"] - other["accuracy"]) <= 1 / one["n_test"]
        assert other["solve"]["objective"] == pytest.approx(one["solve"]["objective"], rel=1e-5)
        assert (one["columns"], one["learnt"]) == (other["columns"], other["learnt"])
        assert one["seconds"].keys() == other["seconds"].keys()
    assert set(os.listdir(cache)) == left


@pytest.mark.parametrize("solver", ["{name: ridge, alpha: 0.1}", "{name: ridge_cv}"])
def test_ridge_maps_rows_while_it_reads_them(write, solver, tmp_path):
    data = "{name: large_quadric, n: 3000, d: 5, task: regression}"
    changes = [f"dataset={data}", "protocol={split: {kind: in_order, n_train: 2500}}", *mapped_with(solver)]
    held, out = planned(write(), *changes)[0], planned(write(), *changes, OUT)[0]
    one, other = run(held), run(out)
    assert set(other["seconds"]) == {"map_fit", "train", "predict"}
    if solver == "{name: ridge, alpha: 0.1}":  # folds are dealt by batches
        assert other["relative_error"] == pytest.approx(one["relative_error"], rel=1e-4)
    assert other["relative_error"] == pytest.approx(one["relative_error"], rel=0.02)
    assert other["columns"] == one["columns"]


def test_what_needs_all_rows_is_refused(write):
    with pytest.raises(ConfigError, match="an `exact` solver needs all rows in memory"):
        load_experiment(write(), [OUT])
    with pytest.raises(ConfigError, match=r"newton_cv needs all features .* liblinear, newton, ridge"):
        load_experiment(write(), [OUT, *mapped_with("{name: newton_cv}")])
    with pytest.raises(ConfigError, match="a `measure` needs all rows"):
        load_experiment(write(), [OUT, "solvers={}", "measure={name: map_time}"])
    with pytest.raises(ConfigError, match="memory"):
        load_experiment(write(), ["memory=on_disk", *mapped_with("{name: newton}")])


def test_a_disk_without_room_is_a_failed_row(write, monkeypatch):
    room = iter([None, None])  # for the rows that train and those that test, and not for their features

    def allocate(*_):
        if next(room, "none") == "none":
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", allocate)
    row = run(planned(write(), *mapped_with("{name: newton}"), OUT)[0])
    assert row["status"] == "failed"
    assert "No space left on device" in row["reason"]
    assert "set KFEAT_CACHE" in row["reason"]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak of memory is read on Linux")
def test_features_of_200_mb_take_a_fraction_of_that(write):
    changes = [
        "dataset={name: large_quadric, n: 101000, d: 20}",
        "protocol={split: {kind: in_order, n_train: 100000}}",
        "maps=[{name: tensor_sketch, n_components: 500}]",
        *mapped_with("{name: newton, max_iter: 2}"),
    ]
    more = []
    for memory in ([OUT], []):
        trial = planned(write(), *changes, *memory)[0]
        reset_peak_memory()
        before = peak_memory_mb() or 0.0
        more.append(run(trial)["peak_memory_mb"] - before)
    assert more[0] < 130 < 200 < more[1], more
