"""Classes by their place in a config: maps, kernels, solvers, baselines and measures of the user's own."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kfeat.experiments.component import read_component
from kfeat.experiments.config import load_experiment
from kfeat.experiments.store import read_rows
from kfeat.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial
from kfeat.text import say_once
from tests.cli.commands import kfeat, refusal, succeed

ROOT = Path(__file__).parents[2]
SOURCE = """
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils import check_random_state


class Mine(TransformerMixin, BaseEstimator):
    def __init__(self, n_components=20, gamma=1.0, fault="", random_state=None):
        self.n_components, self.gamma = n_components, gamma
        self.fault, self.random_state = fault, random_state

    def fit(self, X, y=None):
        W = check_random_state(self.random_state).normal(size=(X.shape[1], self.n_components // 2))
        self.W_ = np.sqrt(2 * self.gamma) * W
        return self

    def transform(self, X):
        Z = np.hstack([np.cos(X @ self.W_), np.sin(X @ self.W_)]) * np.sqrt(2 / self.n_components)
        if self.fault == "rows":
            return Z[1:]
        if self.fault == "nan":
            return Z * np.nan
        if self.fault == "view":
            return X[:, :3]
        if self.fault == "error":
            return 1 / 0
        return Z


class Kernel:
    def __init__(self, gamma=1.0, scale=1.0):
        self.gamma, self.scale = gamma, scale

    def __call__(self, X, Y):
        return self.scale * np.exp(-self.gamma * ((X[:, None] - Y[None]) ** 2).sum(axis=2))


class Nearest(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.centres_ = np.array([X[y == label].mean(axis=0) for label in self.classes_])
        return self

    def predict(self, X):
        return self.classes_[((X[:, None] - self.centres_[None]) ** 2).sum(axis=2).argmin(axis=1)]


class Norms:
    def __init__(self, n_rows=50):
        self.n_rows = n_rows

    def of(self, feature_map, X):
        Z = feature_map.fit(X).transform(X[: self.n_rows])
        return {"largest": np.linalg.norm(Z, axis=1).max(), "width": Z.shape[1]}


class Neither:
    pass
"""
CONFIG = {
    "title": "Classes of my own",
    "dataset": "digits",
    "protocol": {
        "scale": "minmax",
        "split": {"kind": "fraction", "train": 0.5, "max_train": 100, "max_test": 100},
    },
    "kernel": {"name": "gaussian", "gamma": 0.05},
    "maps": [{"name": "my.py:Mine", "gamma": 0.05}],
    "solvers": {"mapped": {"name": "newton"}},
    "repeats": 1,
}


@pytest.fixture(autouse=True)
def _code(monkeypatch):
    say_once.cache_clear()
    monkeypatch.setattr(sys, "path", [*sys.path])
    Path("my.py").write_text(SOURCE)


def config(**changes):
    """Write the config; JSON is YAML."""
    Path("own.yaml").write_text(json.dumps(CONFIG | changes))
    return Path("own.yaml")


def rows(name="own", out="runs"):
    return list(read_rows(Path(out, name)).values())


def test_a_transformer_of_a_file_and_of_a_package_run_beside_those_of_kfeat(caplog):
    rbf = {"name": "sklearn.kernel_approximation:RBFSampler", "gamma": 0.05}
    maps = [{"name": "my.py:Mine", "gamma": [0.05, 0.1]}, {"name": "orf"}, rbf]
    solvers = {"mapped": {"name": "newton"}, "exact": {"name": "libsvm"}}
    shown = succeed("run", config(maps=maps, solvers=solvers))
    for name in ("Mine, gamma = 0.1", "ORF", "RBFSampler", "exact, LIBSVM"):
        assert name in shown.stdout
    assert caplog.messages.count("my.py is imported, since own.yaml names it") == 1
    assert all(row["status"] == "done" for row in rows())
    own = next(row for row in rows() if row["map"] and row["map"]["name"] == "my.py:Mine")
    assert own["map"]["n_components"] == 20  # a default of the constructor, which the config leaves out
    assert "0 to run" in succeed("run", config(maps=maps)).stderr


def test_features_are_those_of_the_class_itself():
    succeed("run", config(solvers={"mapped": {"name": "sklearn.linear_model:RidgeClassifier"}}))
    from sklearn.linear_model import RidgeClassifier

    from kfeat.data import load
    from kfeat.place import Place

    row = rows()[0]
    data = load("digits", CONFIG["protocol"], random_state=row["seeds"]["data"])
    own = Place.of("my.py:Mine").load()(gamma=0.05, random_state=row["seeds"]["map"]).fit(data.X_train)
    solver = RidgeClassifier(random_state=row["seeds"]["solver"])
    solver.fit(own.transform(data.X_train), data.y_train)
    assert row["accuracy"] == np.mean(solver.predict(own.transform(data.X_test)) == data.y_test)


@pytest.mark.slow
def test_a_default_that_json_cannot_hold_is_left_out_of_the_row():
    succeed("run", config(maps=[{"name": "sklearn.impute:SimpleImputer"}]))
    assert "missing_values" not in rows()[0]["map"]
    assert rows()[0]["map"]["strategy"] == "mean"


def test_an_edited_file_runs_again_and_says_so(caplog):
    succeed("run", config())
    before = {row["id"] for row in rows()}
    Path("my.py").write_text(SOURCE + "\n# edited\n")
    succeed("run", config())
    assert "my.py:Mine has changed since its rows were made: its trials run again" in caplog.messages
    assert len(rows()) == 2
    assert len({row["map"]["version"] for row in rows()}) == 2
    assert "0 to run" in succeed("run", config()).stderr
    Path("my.py").write_text(SOURCE)
    assert "0 to run" in succeed("run", config()).stderr
    assert before < {row["id"] for row in rows()}


def test_reports_need_no_code():
    succeed("run", config())
    table = Path("runs/own/table.md").read_text()
    identity = rows()[0]["id"]
    Path("my.py").write_text("raise SystemExit('imported')\n")
    Path("my.py").unlink()
    for command in (["report", "own.yaml"], ["rows", "own.yaml"], ["explain", identity, "own.yaml"]):
        assert "Mine" in succeed(*command).output
    assert Path("runs/own/table.md").read_text() == table
    assert "Mine" not in kfeat("check", "own.yaml").stderr
    assert "this file of code cannot be read" in refusal("run", "own.yaml")


def test_a_baseline_is_trained_on_the_rows_themselves():
    baselines = [{"name": "sklearn.neighbors:NearestCentroid"}, {"name": "my.py:Nearest"}, {"name": "newton"}]
    kernels = [{"name": "gaussian", "gamma": [0.05, 0.1]}]
    solvers = {"mapped": {"name": "newton"}, "baseline": baselines}
    shown = succeed("run", config(solvers=solvers, kernel=kernels, repeats=2)).stdout
    assert "baseline, NearestCentroid" in shown
    found = [row for row in rows() if row["map"] is None]
    assert len(found) == 6  # two repeats of three, once for both kernels
    assert all(row["kernel"] is None and row["columns"] is None for row in found)
    scores = {row["solver"]["name"]: row["accuracy"] for row in found if row["repeat"] == 0}
    assert scores["my.py:Nearest"] == scores["sklearn.neighbors:NearestCentroid"]
    only = succeed("run", "own.yaml", "--maps", "baseline", "--dry-run").stdout
    assert "Mine" not in only


def test_a_kernel_of_a_file_is_taken_by_nystrom_and_the_exact_solver():
    maps = [{"name": "nystrom", "n_components": 30}]
    solvers = {"mapped": {"name": "newton"}, "exact": {"name": "libsvm"}}
    succeed(
        "run",
        config(kernel={"name": "my.py:Kernel", "gamma": 0.05}, maps=maps, solvers=solvers),
        "--out",
        "a",
    )
    succeed("run", config(maps=maps, solvers=solvers), "--out", "b")
    ours, theirs = (sorted(rows(out=out), key=lambda row: row["repeat"]) for out in "ab")
    exact = [[row["accuracy"] for row in side if row["map"] is None] for side in (ours, theirs)]
    assert exact[0] == pytest.approx(exact[1], abs=0.02)
    assert ours[0]["kernel"] == {
        "name": "my.py:Kernel",
        "version": ours[0]["kernel"]["version"],
        "gamma": 0.05,
        "scale": 1.0,
    }
    lists = {
        "name": "my.py:Kernel",
        "gamma": 0.05,
        "scale": [0.5, 2],
    }  # `scale` is a list in a protocol alone
    assert "scale=0.5" in succeed("run", config(kernel=lists, maps=maps[:1]), "--dry-run").stdout
    refused = refusal("run", config(kernel={"name": "my.py:Kernel"}, maps=[{"name": "orf"}]))
    assert "orf cannot approximate the my.py:Kernel kernel; maps that can: nystrom" in refused


DERIVED = """
from dataclasses import dataclass

import numpy as np

from kfeat.kernels import DotProductKernel
from kfeat.maps import FeatureMap


class Square(DotProductKernel):
    formula, last_degree = "<x, y>^2", 2

    def maclaurin(self, n_terms):
        return (np.arange(n_terms) == 2) * 1.0

    def _f(self, t):
        return t**2


@dataclass(eq=False, repr=False)
class Products(FeatureMap):
    approximates = Square
    default_kernel = Square()
    n_components: int = 50

    def _draw(self, X, rng):
        self.signs_ = rng.choice([-1.0, 1.0], size=(2, X.shape[1], self.n_components))
        return self.n_components

    def _block_mapper(self, dtype):
        def map_block(X, out):
            out[:] = (X @ self.signs_[0]) * (X @ self.signs_[1]) / np.sqrt(self.n_components)

        return map_block
"""


@pytest.mark.slow
def test_classes_of_kfeats_own_bases_are_used_as_they_are():
    Path("derived.py").write_text(DERIVED)
    maps = [{"name": name} for name in ("derived.py:Products", "random_maclaurin", "nystrom")]
    succeed("run", config(kernel={"name": "derived.py:Square"}, maps=maps))
    succeed("run", config(kernel={"name": "polynomial", "degree": 2}, maps=maps[2:]), "--out", "b")
    scores = {row["map"]["name"]: row["accuracy"] for row in rows()}
    assert scores.keys() == {"derived.py:Products", "random_maclaurin", "nystrom"}
    refused = refusal("run", config(maps=maps[:1]))
    assert "derived.py:Products cannot approximate the gaussian kernel; maps that can: " in refused
    stacked = [{"name": "stacked", "maps": [{"name": "my.py:Mine"}]}]
    assert "expected a registered map, or a FeatureMap of kfeat" in refusal("run", config(maps=stacked))


def test_a_kernel_of_a_file_with_a_negative_coefficient_is_refused():
    Path("derived.py").write_text(DERIVED.replace("== 2) * 1.0", "== 2) * -1.0"))
    maps = [{"name": "nystrom"}]
    refused = refusal("run", config(kernel={"name": "derived.py:Square"}, maps=maps))
    assert "maps[0]: Square() has the negative Maclaurin coefficient a_2 = -1, so it is not" in refused


@pytest.mark.parametrize(
    ("kernel", "named"),
    [
        (Gaussian(0.3), {"kernel": "rbf", "gamma": 0.3}),
        (Laplacian(0.3), {"kernel": "laplacian", "gamma": 0.3}),
        (Polynomial(3, gamma=0.5, coef0=2.0), {"kernel": "poly", "degree": 3, "gamma": 0.5, "coef0": 2.0}),
        (Linear(), {"kernel": "linear"}),
        (Matern(0.3), None),
    ],
)
def test_a_class_whose_kernel_is_a_name_gets_that_of_the_trial(kernel, named):
    component = read_component({"name": "sklearn.kernel_approximation:Nystroem", "n_components": 9}, "map")
    X = np.random.default_rng(0).random((9, 4))
    made = component.build(kernel=kernel, random_state=0)
    Z = made.fit(X).transform(X)
    np.testing.assert_allclose(Z @ Z.T, kernel(X), atol=1e-6)
    assert named is None or named.items() <= made.transformer.get_params().items()


def test_a_measure_of_a_file_gives_quantities():
    shown = succeed("run", config(solvers={}, measure={"name": "my.py:Norms", "n_rows": [5, 50]})).stdout
    assert "largest" in shown
    assert rows()[0]["measured"] == {"largest": pytest.approx(1.0), "width": 20.0}
    assert "measured.width" in succeed("rows", "own.yaml", "--format", "csv").stdout


FAULTS = {
    "rows": "Mine.transform returned features of shape (99, 20) for 100 rows",
    "nan": "Mine.transform returned features that are NaN or infinite",
    "view": "Mine.transform returned a view of its input, which the next step may change; return a copy",
    "error": "ZeroDivisionError: division by zero",
}


def test_a_map_that_fails_is_a_failed_row_with_the_line():
    maps = [{"name": "my.py:Mine", "fault": list(FAULTS)}, {"name": "orf"}]
    assert kfeat("run", config(maps=maps)).exit_code == 1
    reasons = {row["map"]["fault"]: row["reason"] for row in rows() if row["status"] == "failed"}
    lines = SOURCE.split("\n")
    where = {fault: lines.index("class Mine(TransformerMixin, BaseEstimator):") + 1 for fault in FAULTS}
    where["error"] = lines.index("            return 1 / 0") + 1
    for fault, reason in FAULTS.items():
        assert reasons[fault] == f"CodeError: my.py, line {where[fault]}: {reason}"
    assert [row["status"] for row in rows()].count("done") == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"maps": [{"name": "my.py:Mine", "gama": 1}]}, "maps[0].gama: unknown key (did you mean 'gamma'?)"),
        ({"maps": [{"name": "my.py:Min"}]}, "maps[0].name: my.py has no 'Min' (did you mean 'Mine'?)"),
        ({"maps": [{"name": "my.Mine"}]}, "unknown map 'my.Mine'; a class has a place: my_map.py:Mine for"),
        ({"maps": [{"name": "my.py:Neither"}]}, "my.py:Neither has no fit and no transform, so it is not"),
        ({"maps": [{"name": "broken.py:Mine"}]}, "cannot be imported: broken.py, line 2: SyntaxError"),
        ({"maps": [{"name": "absent.py:Mine"}]}, "absent.py: this file of code cannot be read"),
        ({"solvers": {"mapped": {"name": "sklearn.linear_model:Ridge"}}}, "for regression, digits is"),
        ({"solvers": {"exact": {"name": "my.py:Nearest"}}}, "my.py:Nearest trains on features, not on a k"),
        ({"solvers": {"baseline": {"name": "libsvm"}}}, "libsvm trains on a kernel, not on features"),
        ({"maps": [{"name": "my.py:Mine", "label": 3}]}, "maps[0].label: expected text (got 3)"),
        ({"memory": "out_of_core"}, "a map by its place needs all rows in memory"),
    ],
)  # fmt: skip
def test_what_cannot_run_is_refused_with_its_line_in_the_config(changes, message):
    Path("broken.py").write_text("\nclass Mine\n")
    assert message in refusal("run", config(**changes))


def test_no_code_is_imported_where_it_is_refused():
    Path("my.py").write_text("raise SystemExit('imported')\n")
    assert "'my.py:Mine' is code, which --no-code refuses" in refusal("run", "--no-code", config())


def test_a_model_file_cannot_keep_it():
    assert "a model file holds classes of kfeat and boosting alone, so my.py:Mine cannot" in refusal(
        "fit", config(), "--model", "m"
    )


def test_configs_that_come_with_kfeat_name_code_beside_them_or_scikit_learn():
    for path in (ROOT / "configs").rglob("*.yaml"):
        for _, file in re.findall(r"(name|loader): *[\"']?([^\s\"']+):\w", path.read_text(encoding="utf-8")):
            assert file.startswith("sklearn.") or (path.parent / file).is_file(), path
    load_experiment(ROOT / "configs/quickstart.yaml", code="refuse")


@pytest.mark.slow
def test_packages_give_short_names(tmp_path, monkeypatch):
    folder = tmp_path / "their-1.2.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: their\nVersion: 1.2\n")
    (folder / "entry_points.txt").write_text("[kfeat.maps]\nshort = my:Mine\n")
    monkeypatch.syspath_prepend(tmp_path)
    succeed("run", config(maps=[{"name": "short", "gamma": 0.05}]))
    assert {row["map"]["name"] for row in rows()} == {"short"}
    named = {row["id"] for row in rows()}
    succeed("run", config(maps=[{"name": "my:Mine", "gamma": 0.05}]))
    assert {row["id"] for row in rows()} == named  # the same class, whatever its name


def test_sparse_rows_are_made_dense_for_a_class_that_does_not_take_them():
    from scipy.sparse import csr_array

    from kfeat.experiments.adapters import rows_for
    from kfeat.place import Place

    X = csr_array(np.eye(3))
    mine = Place.of("my.py:Mine").load()()
    assert isinstance(rows_for(mine, X), np.ndarray)
    assert isinstance(rows_for(Place.of("my.py:Kernel").load()(), X), np.ndarray)  # it has no tags
    from sklearn.kernel_approximation import RBFSampler

    assert rows_for(RBFSampler(), X) is X


@pytest.mark.slow
def test_the_page_on_own_maps_does_what_it_says():
    page = (ROOT / "docs/howto/new_map.md").read_text(encoding="utf-8")
    small = f"dataset: digits\nprotocol: {json.dumps(CONFIG['protocol'])}"
    for language in ("python", "yaml"):
        name, text = re.search(rf"^```{language}\n# (\S+)\n(.*?)^```$", page, re.M | re.S).groups()
        Path(name).write_text(text.replace("dataset: adult", small).replace("repeats: 5", "repeats: 1"))
    shown = succeed("run", "mine.yaml").stdout
    for name in ("exact, LIBSVM", "Mine, D = 400", "RBFSampler, D = 100", "ORF", "baseline, HistGradient"):
        assert name in shown
    assert Path("runs/mine/table.tex").is_file()


@pytest.mark.slow
def test_two_dask_workers_give_the_same_rows():
    maps = [{"name": "my.py:Mine", "gamma": [0.05, 0.1]}, {"name": "orf"}]
    solvers = {"mapped": {"name": "newton"}, "baseline": {"name": "my.py:Nearest"}}
    command = [sys.executable, "-m", "kfeat", "run", str(config(maps=maps, solvers=solvers, repeats=2))]
    for more in (["--out", "here"], ["--out", "there", "--engine", "dask", "--jobs", "2"]):
        subprocess.run([*command, *more], check=True, capture_output=True)
    here, there = (
        {row["id"]: (row["accuracy"], row["map"]) for row in rows(out=out)} for out in ("here", "there")
    )
    assert here == there
    assert len(here) == 8


ODD = """
import builtins, locale, os, signal, sys, threading, time
import numpy as np
from my import Mine


class Odd(Mine):
    def __init__(self, does="", n_components=20, random_state=None):
        super().__init__(n_components, random_state=random_state)
        self.does = does

    def transform(self, X):
        exec(self.does)
        return super().transform(X)
"""
RUINS = (
    "os.chdir('/'); os.umask(0o777); os.environ.clear(); sys.path.clear(); sys.stdout = sys.stderr = None; "
)
RUINS += "np.seterr(all='raise'); threading.Thread(target=time.sleep, args=(999,)).start(); "
RUINS += "signal.signal(signal.SIGTERM, signal.SIG_IGN)"


def odd(does):
    """Run a map that does this in `transform`, and ORF after it; return their two rows."""
    Path("odd.py").write_text(ODD)
    data = np.random.default_rng(0).random((60, 3))
    np.savetxt("own.csv", np.c_[data, data[:, 0] > 0.5], delimiter=",", header="a,b,c,y", comments="")
    maps = [{"name": "odd.py:Odd", "does": does}, {"name": "orf", "n_components": 20}]
    source = {"path": "own.csv", "target": "y"}
    split = {"split": {"kind": "stratified", "train": 0.8, "seed": 0}}
    kfeat("run", config(maps=maps, dataset=source, protocol=split))
    lines = Path("runs/own/trials.jsonl").read_text().splitlines()
    assert len(lines) == 2
    return sorted(map(json.loads, lines), key=lambda row: ":" not in row["map"]["name"])


def test_what_a_map_does_to_its_process_is_gone_in_the_next_trial():
    _, orf = odd(RUINS)
    assert orf["status"] == "done", orf["reason"]


@pytest.mark.parametrize(
    ("does", "reason"),
    [
        ("sys.exit(0)", "odd.py, line 13: SystemExit: 0"),
        ("raise GeneratorExit('now')", "GeneratorExit: now"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("os._exit(0)", "the process died (exit status 0)"),
        (
            "os.fork()",
            "RuntimeError: it forked this process, and the copy came back; end the copy with os._exit",
        ),
        ("os.fork() or sys.exit(3)", "it forked this process, and the copy came back"),
        # The copy would keep the connection open, so that nobody saw that its parent is gone.
        ("os.fork() and os._exit(5); time.sleep(30); os._exit(0)", "the process died (exit status 5)"),
    ],
)
def test_a_map_that_ends_or_doubles_its_process_is_a_failed_row(does, reason):
    own, orf = odd(does)
    assert own["status"] == "failed"
    assert reason in own["reason"]
    assert orf["status"] == "done"


def test_a_map_that_keeps_memory_is_named(caplog):
    own, orf = odd("builtins.kept = np.ones(2**27)")
    assert (own["status"], orf["status"]) == ("done", "done")
    assert any(
        re.match(r"odd\.py:Odd keeps [\d,]+ MB of memory after a trial", said) for said in caplog.messages
    )


def test_what_code_prints_is_not_in_the_json():
    Path("my.py").write_text("print('PRINTED')\nimport os\nos.system('echo PRINTED')\n" + SOURCE)
    command = [sys.executable, "-m", "kfeat", "plan", config(), "--format", "json"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout)["totals"]["trials"] == 1
    assert ran.stderr.count("PRINTED") == 2
