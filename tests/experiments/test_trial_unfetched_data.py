"""The configs of years, census and Gisette, whose files could not be had, run on files of their formats."""

from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from kfeat.data import Access, load_raw
from kfeat.data.registry import registry
from kfeat.experiments.config import load_experiment
from kfeat.experiments.plan import plan
from kfeat.experiments.trial import run_trial

ROWS, TEST_ROWS, FEATURES = 60, 20, 12
RNG = np.random.default_rng(0)
X = RNG.integers(0, 999, (ROWS + TEST_ROWS, FEATURES))
YEARS = RNG.integers(1950, 2010, len(X))
LABELS = np.where(X[:, 0] > np.median(X[:, 0]), 1, -1)


def years(folder):
    lines = [",".join(map(str, [year, *row / 8])) for year, row in zip(YEARS, X, strict=True)]
    (folder / "YearPredictionMSD.txt").write_text("\n".join(lines) + "\n")


def census(folder):
    train, test = slice(ROWS), slice(ROWS, None)
    arrays = {
        "Xtrain": X[train].T,
        "ytrain": YEARS[None, train],
        "Xtest": X[test].T,
        "ytest": YEARS[None, test],
    }
    savemat(folder / "census.mat", {name: array / 1.0 for name, array in arrays.items()})


def gisette(folder):
    for part, rows in (("train", slice(ROWS)), ("valid", slice(ROWS, None))):
        np.savetxt(folder / f"gisette_{part}.data", X[rows], fmt="%d", delimiter=" ", newline=" \n")
        np.savetxt(folder / f"gisette_{part}.labels", LABELS[rows], fmt="%d")


@pytest.mark.parametrize(
    ("write", "config"),
    [
        (years, "chang_2017/table2_years"),
        (census, "chang_2017/table2_census"),
        (gisette, "pham_pagh_2013/table1_gisette"),
    ],
)
def test_the_config_runs_once_its_files_are_there(write, config, tmp_path, monkeypatch):
    name = write.__name__
    (tmp_path / name).mkdir()
    write(tmp_path / name)
    entry = registry()[name]
    form = entry.forms[0]
    reading = form.reading.model_copy(update={"n_train": form.reading.n_train and ROWS})
    files = {role: one.model_copy(update={"sha256": None, "size": None}) for role, one in form.files.items()}
    smaller = {
        "shape": {"train": (ROWS, FEATURES), "test": (TEST_ROWS, FEATURES)},
        "labels": {},
        "forms": (form.model_copy(update={"files": files, "reading": reading}),),
    }
    monkeypatch.setitem(registry(), name, entry.model_copy(update=smaller))
    experiment = load_experiment(Path("configs") / f"{config}.yaml", [], repeats=1)
    found = load_raw(name, mirror=str(tmp_path), offline=True).fingerprint
    trials = plan(experiment, dict.fromkeys(experiment.datasets, found))
    for trial in trials[:: len(trials) // 4]:  # each kind of map, and the exact kernel SVM
        row = run_trial(trial, threads=1, alone=True, access=Access(str(tmp_path), offline=True))
        assert row["status"] == "done", row
        assert (row["n_train"], row["n_features"]) == (ROWS, FEATURES)
