"""The league: a newcomer among planted maps, its clock, data on which it fails, and the command on digits."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from matplotlib.figure import Figure

from kfeat.cli import main
from kfeat.errors import CodeError, ConfigError
from kfeat.experiments import plan
from kfeat.experiments.component import Origin, read_component
from kfeat.survey import parts, rank, study
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


def published_of(*datasets, kernel="gaussian"):
    """Cells of the study's methods on data sets with 4,000 rows."""
    lines = []
    for name in datasets:
        for method, D, score in (("linear", 0, 50.0), ("exact", 0, 90.0), ("nystrom", 64, 80.0),
                                 ("random_fourier", 64, 70.0)):  # fmt: skip
            own = "linear" if method == "linear" else kernel
            lines.append({
                "dataset": name, "kernel": own, "n": study.TUNED, "method": method, "D": D, "d": 64,
                "task": "classification", "splits": 5, "score": score, "sd": 1.0,
                "seconds": 0.05 if D else 2.0, "predict": 1.0, "memory_mb": 200.0, "held_out": score,
                "gamma": 0.01, "C": 1.0, "alpha": np.nan,
            })  # fmt: skip
    return pd.DataFrame(lines)


def test_the_parts_are_those_of_the_study_with_the_kernel():
    cells = published_of("adult", "magic", "letter")
    assert [part.dataset for part in rank.league("gaussian", True, cells)] == ["adult", "magic"]
    several = rank.league("gaussian", True, published_of(*rank.QUICK))
    assert [part.dataset for part in several] == ["adult", "magic", "cpu_act", "kin40k"]
    (part, *_), maps = rank.league("gaussian", False, cells), ("nystrom", "random_fourier")
    without_exact = cells[(cells["dataset"] != "magic") | (cells["method"] != "exact")]
    assert [part.dataset for part in rank.league("gaussian", False, without_exact)] == ["adult", "letter"]
    assert part.maps == [{"name": name, "n_components": D} for name in maps for D in (64, 256)]
    for kernel in ("laplacian", "sigmoid"):
        with pytest.raises(ConfigError, match=f"the study has no kernel '{kernel}'; it has gaussian"):
            rank.league(kernel, False, cells)


def test_a_newcomer_that_fails_is_reported_by_data_set(tmp_path, monkeypatch):
    (tmp_path / "my_map.py").write_text(FILE)
    item = read_component({"name": NAME}, "map", origin=Origin(tmp_path / "rank.yaml"))
    cells = published_of("adult", "magic")
    of = [part._replace(maps=[one for one in part.maps if one["n_components"] == 64])
          for part in rank.league("gaussian", True, cells)]  # fmt: skip
    taken = []

    def rows(name, settings, again, failing=("adult",)):
        taken.append((name, again, settings))
        return [row_of(one, one["dataset"] in failing and "references" not in name) for one in settings]

    monkeypatch.setattr(rank, "rows", rows)
    newcomer, references, failed = rank.run(item, of, cells, "rank/mine")
    assert failed == {"adult": "it is tired"}
    assert newcomer["dataset"].tolist() == ["magic"]
    assert set(references["method"]) == {"nystrom", "random_fourier"}
    runs = {"choices": "nothing", "newcomer": "untimed", "references": "untimed"}
    assert [(name, again) for name, again, _ in taken] == [(f"rank/mine/{run}", runs[run]) for run in runs]
    (own,) = taken[1][2]
    assert own["maps"] == [{"name": NAME, "n_components": 64, "gamma": 0.1235}]  # its own choice
    assert own["repeats"] == rank.SPLITS
    assert {one["kernel"]["gamma"] for one in taken[2][2]} == {0.01}  # the published one
    monkeypatch.setattr(rank, "rows", lambda *given: rows(*given, failing=("adult", "magic")))
    with pytest.raises(CodeError, match="failed on every data set: it is tired"):
        rank.run(item, of, cells, "rank/mine")


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
    for module in (study, parts):
        monkeypatch.setattr(module, "TUNED", 200)
    of = parts.Part("digits", parts.GAUSSIAN, 200, [{"name": "nystrom", "n_components": 8}], 5)
    monkeypatch.setattr(parts, "CLASSES", ("digits",))
    monkeypatch.setattr(rank, "parts", lambda names: [of])
    monkeypatch.setattr(rank, "SPLITS", 1)
    cells = published_of("digits").replace({"D": {64: 8}})
    monkeypatch.setattr(study, "published", lambda: cells)


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
        ([NAME, "--kernel", "cosine"], "the study has no kernel 'cosine'; it has gaussian"),
    ],
)
def test_bad_input_is_a_sentence(small, arguments, sentence):
    result = ranked(*arguments)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr
    assert not Path("runs").exists()
