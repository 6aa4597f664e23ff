"""The league: a newcomer among planted maps, its clock, data on which it fails, and the command on digits."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from matplotlib.figure import Figure

from kfeat.cli import main
from kfeat.errors import CodeError
from kfeat.experiments import plan
from kfeat.experiments.component import Origin, read_component
from kfeat.survey import rank, study
from tests.survey.test_study import ROW, planted

NAME = "my_map.py:Mine"
FILE = """\
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

class Mine(TransformerMixin, BaseEstimator):
    def __init__(self, n_components=8, gamma=1.0):
        self.n_components, self.gamma = n_components, gamma

    def fit(self, X, y=None):
        self.X_ = X[: self.n_components]
        return self

    def transform(self, X):
        return np.exp(-self.gamma * ((X[:, None] - self.X_) ** 2).sum(axis=2))
"""


@pytest.fixture(scope="module")
def published():
    return study.cells(*planted(noise=0.01))


def of_method(published, *methods, better=0.0, slower=1.0):
    """The cells of methods with 4,000 rows, with points more on each data set, and slower."""
    own = published[published["method"].isin(methods) & (published["n"] == 4000)].copy()
    own["score"] += better * own["dataset"].str[1:].astype(int)
    own["seconds"] *= slower
    return own


def entered(published, own, references=("nystrom",), slower=1.0):
    return rank.entered(own, of_method(published, *references, slower=slower), published, NAME)


def test_seconds_count_by_the_clock_of_the_references(published):
    of, told = entered(published, of_method(published, "orf", slower=3.0), ("nystrom", "random_fourier"), 3.0)
    assert told.startswith("This machine takes 3.00 [")
    assert told.endswith("by 84 cells of two maps; their scores agree with the published ones.")
    of = of[of["n"] == 4000].set_index(["method", "dataset", "D"])["seconds"]
    pd.testing.assert_series_equal(of[NAME], of["orf"])


def test_references_with_other_scores_are_named(published):
    references = of_method(published, "nystrom")
    references.loc[(references["dataset"] == "d3") & (references["D"] == 64), "score"] += 0.2
    _, told = rank.entered(of_method(published, "orf"), references, published, NAME)
    assert told.endswith("their scores differ from the published ones: nystrom 64 on d3.")


def test_a_better_map_is_first_and_its_difference_is_the_planted_one(published):
    of, _ = entered(published, of_method(published, "orf", better=0.5))
    told, lines = rank.standing(of, NAME, "gaussian", 0.5)
    assert f"Within 1/2 of exact's time {NAME} has the average rank 1." in told
    assert "of 9 maps on 14 data sets" in told
    line = lines.set_index("map").loc["orf"]
    # r is cut at 2: of the 5 points that exact gains, 0.5 points more on each data set than on that before.
    planted_difference = np.mean([min(0.1 * i, 1.2) for i in range(14)])
    shown = float(line[f"r of {NAME} less its r"].split()[0])
    assert shown == pytest.approx(planted_difference, abs=0.01)
    assert (line["data sets"], line["the newcomer is"]) == ("14", "better")
    assert (lines["map"][0], set(lines["within"])) == (NAME, {"1/2"})


def test_a_budget_that_nothing_meets_is_said(published, monkeypatch):
    monkeypatch.setitem(rank.BUDGETS, 0.001, "1/1000")
    told, lines = rank.standing(published, "orf", "gaussian", 0.001)
    assert told == "Within 1/1000 of exact's time no data set can be judged: the exact method is too fast."
    assert lines.empty


def test_the_newcomer_is_ranked_on_the_data_on_which_it_did_not_fail(published):
    own = of_method(published, "orf")
    of, _ = entered(published, own[own["dataset"] != "d0"])
    assert "d0" not in set(of["dataset"])
    assert "on 13 data sets" in rank.standing(of, NAME, "gaussian", 0.5)[0]


@pytest.mark.slow
def test_the_newcomer_has_its_curve_among_the_published_ones(published):
    of, _ = entered(published, of_method(published, "orf"))
    of.loc[(of["dataset"] == "d0") & (of["method"] == "exact"), "seconds"] = (
        0.1  # judged at large budgets alone
    )
    axes = Figure().subplots()
    study.curves(axes, of, "gaussian", 4000, {NAME: "#D55E00"})
    assert axes.get_title() == "gaussian, 4,000 rows, 13 data sets"
    assert [text.get_text() for text in axes.texts] == [NAME]
    assert [line.get_color() for line in axes.lines if line.get_linewidth() == 1.8] == ["#D55E00"]
    assert [line.get_color() for line in axes.lines].count(study.PALE) == 8  # of nine methods


def settings_of(*datasets, D=64):
    """Settings of the two references, as the study's configs have them."""
    split = {"kind": "fraction", "train": 0.8, "deal": 0, "max_train": study.TUNED, "max_test": 100}
    return [
        {"dataset": name, "protocol": {"scale": "none", "split": split}, "repeats": rank.SPLITS,
         "kernel": {"name": "gaussian", "gamma": 0.01}, "maps": [{"name": item, "n_components": D}],
         "solvers": {"mapped": {"name": "newton", "C": 1.0}}}
        for name in datasets for item in ("nystrom", "random_fourier")
    ]  # fmt: skip


def published_of(*datasets, D=64):
    """Cells of the study's methods on data sets with 4,000 rows."""
    methods = [("linear", 0, 50.0), ("exact", 0, 90.0), ("nystrom", D, 80.0), ("random_fourier", D, 70.0)]
    return pd.DataFrame(
        {
            "dataset": name, "kernel": "linear" if method == "linear" else "gaussian", "n": study.TUNED,
            "method": method, "D": size, "d": 64, "task": "classification", "splits": 5, "score": score,
            "held_out": score, "sd": 1.0, "seconds": 0.05 if size else 2.0, "predict": 1.0,
            "memory_mb": 200.0,
        }
        for name in datasets for method, size, score in methods
    )  # fmt: skip


@pytest.mark.parametrize(
    ("kernel", "plain", "sizes"),
    [("gaussian", "random_fourier", [64, 256]), ("laplacian", "random_fourier", [256]),
     ("polynomial", "tensor_sketch", [256])],
)  # fmt: skip
def test_the_references_are_those_of_the_configs_of_the_study(kernel, plain, sizes):
    found = rank.league(kernel, True)
    maps = [{"name": name, "n_components": D} for name in ("nystrom", plain) for D in sizes]
    for dataset in rank.QUICK:
        own = [one for one in found if one["dataset"] == dataset]
        assert sorted(str(one["maps"]) for one in own) == sorted(str([item]) for item in maps)
    assert {one["protocol"]["split"]["max_train"] for one in found} == {study.TUNED}
    assert {one["repeats"] for one in found} == {rank.SPLITS}
    everything = {one["dataset"] for one in rank.league(kernel, False)}
    assert len(everything) == (23 if kernel == "gaussian" else 12)


def test_a_choice_sees_no_row_that_tests():
    setting, item = settings_of("adult")[0], {"name": NAME, "n_components": 64}
    own = rank.choosing(setting, item)
    assert own["protocol"]["split"] == {
        "kind": "validation",
        "share": 0.25,
        "of": setting["protocol"]["split"],
    }
    assert own["kernel"] == {"name": "gaussian", "gamma": "mean_distance"}
    cubic = {"name": "polynomial", "degree": 3, "coef0": 1, "gamma": 0.3}
    assert rank.choosing({**setting, "kernel": cubic}, item)["kernel"] == {**cubic, "gamma": 1.0}
    assert own["solvers"] == {"exact": [{"name": "search", "solver": "newton", "map": item}]}


def test_a_newcomer_that_fails_is_reported_by_data_set(tmp_path, monkeypatch):
    (tmp_path / "my_map.py").write_text(FILE)
    item = read_component({"name": NAME}, "map", origin=Origin(tmp_path / "rank.yaml"))
    monkeypatch.setattr(study, "shipped", lambda name: published_of("adult", "magic"))
    of, taken = settings_of("adult", "magic"), []

    def rows(name, settings, again, failing=("adult",)):
        taken.append((name, again, settings))
        return [row_of(one, one["dataset"] in failing and "references" not in name) for one in settings]

    monkeypatch.setattr(rank, "rows", rows)
    newcomer, references, failed = rank.run(item, of, "rank/mine")
    assert failed == {"adult": "it is tired"}
    assert newcomer["dataset"].tolist() == ["magic"]
    assert set(references["method"]) == {"nystrom", "random_fourier"}
    runs = {"choices": "nothing", "newcomer": "untimed", "references": "untimed"}
    assert [(name, again) for name, again, _ in taken] == [(f"rank/mine/{run}", runs[run]) for run in runs]
    (own,) = taken[1][2]
    assert own["maps"] == [{"name": NAME, "n_components": 64, "gamma": 0.1235}]  # its own choice
    assert own["kernel"]["gamma"] == 0.1235
    assert own["solvers"] == {"mapped": {"name": "newton", "C": 10.0}}
    assert own["repeats"] == rank.SPLITS
    assert {one["kernel"]["gamma"] for one in taken[2][2]} == {0.01}  # the published one
    monkeypatch.setattr(rank, "rows", lambda *given: rows(*given, failing=("adult", "magic")))
    with pytest.raises(CodeError, match="failed on every data set: it is tired"):
        rank.run(item, of, "rank/mine")


def row_of(setting, fails):
    """A row of a setting, of a choice or of a trial."""
    common = {
        **ROW,
        "dataset": setting["dataset"],
        "protocol": setting["protocol"],
        "kernel": setting["kernel"],
    }
    if fails:
        return {**common, "status": "failed", "reason": "it is tired"}
    ((solver,),) = ([part] if isinstance(part, dict) else part for part in setting["solvers"].values())
    seconds = {"train": {"cpu": 0.1, "wall": 0.1}, "predict": {"cpu": 0.1, "wall": 0.1}}
    learnt = {"solver": {"gamma": 0.12345, "C": 10.0}}
    feature_map = setting["maps"][0] if "maps" in setting else None
    return {**common, "map": feature_map, "solver": solver, "seconds": seconds, "learnt": learnt}


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A study of the digits: 200 rows, 8 columns."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_map.py").write_text(FILE)
    monkeypatch.setattr(study, "TUNED", 200)
    monkeypatch.setattr(rank, "SPLITS", 1)
    (tmp_path / "survey").mkdir()
    (tmp_path / "survey/study_digits.yaml").write_text(json.dumps({"settings": settings_of("digits", D=8)}))
    monkeypatch.setattr(rank, "known_configs", lambda: tmp_path)
    monkeypatch.setattr(study, "shipped", lambda name: published_of("digits", D=8))


def ranked(*arguments):
    return CliRunner().invoke(main, ["rank", *arguments])


@pytest.mark.slow
def test_the_command_ranks_a_map_in_a_file_and_resumes(small, monkeypatch):
    for module in (study, plan):  # on a busy machine too
        monkeypatch.setattr(module, "counts_as_timed", lambda row: row["status"] == "done")
    result = ranked(NAME, "--quiet")
    assert result.exit_code == 0, result.output
    assert f"Within 1/2 of exact's time {NAME} has the average rank" in result.stdout
    folder = Path("runs/rank/my_map_py_Mine_gaussian")
    assert r"\toprule" in (folder / "rank.tex").read_text()
    assert "</svg>" in (folder / "rank.svg").read_text()
    times = {path: path.stat().st_mtime_ns for path in folder.rglob("trials.jsonl")}
    assert {path.parent.name: len(path.read_text().splitlines()) for path in times} == {
        "choices": 1, "newcomer": 1, "references": 2,
    }  # fmt: skip
    assert ranked(NAME, "--quiet").stdout == result.stdout
    assert {path: path.stat().st_mtime_ns for path in times} == times


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["my_map.py:Other"], "has no 'Other'"),
        (["other.py:Mine"], "this file of code cannot be read"),
        (["nystrm"], "unknown map 'nystrm' (did you mean 'nystrom'?"),
        (["tensor_sketch"], "tensor_sketch cannot approximate the gaussian kernel"),
        (
            [NAME, "--kernel", "cosine"],
            "the study has no kernel 'cosine'; it has gaussian, laplacian, polynomial",
        ),
    ],
)
def test_bad_input_is_a_sentence(small, arguments, sentence):
    result = ranked(*arguments)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr
    assert not Path("runs").exists()
