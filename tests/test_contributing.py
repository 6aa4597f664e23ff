"""The recipes of CONTRIBUTING.md, taken from the page and carried out."""

import re
import sys
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import yaml
from scipy.sparse import csr_array, issparse
from sklearn.utils.estimator_checks import check_estimator

from kfeat.analysis.cells import summarise
from kfeat.analysis.judgement import judge_experiment
from kfeat.cli.reports import check_report
from kfeat.data import fingerprint, load
from kfeat.data.registry import Entry, registry
from kfeat.errors import ConfigError
from kfeat.experiments.component import Component
from kfeat.experiments.config import load_experiment
from kfeat.experiments.measures import MEASURES
from kfeat.experiments.plan import plan
from kfeat.experiments.quantities import QUANTITIES
from kfeat.kernels import KERNELS
from kfeat.maps import MAPS
from kfeat.parameters import parameter_model
from kfeat.render.figures.figure import figure_of
from kfeat.render.files import FILES, write_report
from kfeat.solvers import SOLVERS
from tests import test_kernels
from tests.cells import run
from tests.golden.experiments import made

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
REGISTRIES = {
    "kernel": KERNELS, "map": MAPS, "solver": SOLVERS, "measure": MEASURES,
}  # fmt: skip


def section(title):
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def blocks(title, language):
    """The blocks of a language in a section, by the file that their first line names."""
    found = re.findall(rf"^```{language}\n# (\S+)\n(.*?)^```$", section(title), re.M | re.S)
    assert len(dict(found)) == len(found)
    return dict(found)


def edited(place, diff):
    """The text of a file, or of the map of this page, with the lines of a block taken out and put in."""
    path = ROOT / place
    text = path.read_text(encoding="utf-8") if path.exists() else blocks("A map", "python")[place]
    for hunk in diff.split("@@\n"):
        lines = hunk.splitlines(keepends=True)
        before, after = ("".join(line[1:] for line in lines if line[0] in signs) for signs in (" -", " +"))
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    return text


@pytest.fixture(autouse=True)
def _restored():
    """Leave every registry as it was before the test."""
    changed = [*REGISTRIES.values(), QUANTITIES, registry()]
    before = [dict(one) for one in changed]
    yield
    for one, entries in zip(changed, before, strict=True):
        one.clear()
        one.update(entries)


@pytest.fixture
def recipe(monkeypatch):
    """Carry out a section: import its blocks as the modules that they name or change, and run their tests."""

    def carry_out(title):
        whole = {place: edited(place, diff) for place, diff in blocks(title, "diff").items()}
        for place, code in {**blocks(title, "python"), **whole}.items():
            name = place.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            module = ModuleType(name)
            if place not in whole and find_spec(name):  # lines to add to a file
                vars(module).update(vars(import_module(name)))
            else:
                monkeypatch.setitem(sys.modules, name, module)
            exec(compile(code, place, "exec"), vars(module))
            for key, value in list(vars(module).items()):
                if key.startswith("test_") and value.__globals__ is vars(module):
                    value()

    return carry_out


def config(title, folder):
    """The experiment that a section's config describes."""
    ((place, text),) = [item for item in blocks(title, "yaml").items() if item[0].startswith("configs/")]
    path = folder / place
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return load_experiment(path)


def planned(experiment):
    return plan(experiment, {source: fingerprint(source) or "" for source in experiment.datasets})


def first_row(experiment):
    return run(planned(experiment)[0])


@pytest.mark.parametrize("title", [*(f"A {part}" for part in REGISTRIES), "A parameter of a map"])
def test_a_class_has_the_defaults_that_the_page_enters(title, recipe):
    recipe(title)
    entered = yaml.safe_load(blocks(title, "yaml")["tests/experiments/defaults.yaml"])
    ((part, classes),) = entered.items()
    ((name, versions),) = classes.items()
    cls = REGISTRIES[part][name]
    fields = parameter_model(cls).model_fields
    numeric = Component(name, cls, {}, dict.fromkeys(fields)).numeric()
    assert versions == {cls.algorithm_version: {key: fields[key].default for key in numeric}}


@pytest.mark.parametrize(("part", "name"), [("map", "random_projection"), ("solver", "nearest_mean")])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_a_new_estimator_passes_scikit_learn_s_checks(part, name, recipe):
    recipe(f"A {part}")
    check_estimator(REGISTRIES[part][name]())


def test_a_new_parameter_leaves_the_ids_and_features_of_old_rows(recipe, write, monkeypatch):
    projections = ["maps=[{name: random_projection, n_components: 20}]", "kernel={name: linear}"]
    X = np.random.default_rng(0).standard_normal((5, 9))
    recipe("A map")
    old = [trial.id for trial in planned(load_experiment(write(), projections))]
    features = MAPS["random_projection"](random_state=0).fit_transform(X)
    recipe("A parameter of a map")
    assert [trial.id for trial in planned(load_experiment(write(), projections))] == old
    assert np.array_equal(MAPS["random_projection"](random_state=0).fit_transform(X), features)
    sparse = load_experiment(write(), [*projections, "maps.0.sparse=true"])
    row = first_row(sparse)
    assert (row["status"], row["map"]["sparse"], row["id"] in old) == ("done", True, False)
    monkeypatch.setitem(MAPS, "random_projection", partial(MAPS["random_projection"], sparse=True))
    statistics = sys.modules["tests.maps.test_random_projection"]
    statistics.test_inner_products_are_unbiased_with_the_variance_that_the_docstring_says()


def test_a_new_map_with_sparse_features_runs_and_its_row_has_its_columns(recipe, write):
    recipe("A map")
    X = csr_array(np.eye(9, dtype=np.float32))
    dense = MAPS["random_projection"](random_state=0).fit_transform(X)
    recipe("A map with sparse features")
    features = MAPS["random_projection"](random_state=0).fit_transform(X)
    assert issparse(features)
    assert MAPS["random_projection"].sparse_output
    assert np.array_equal(features.toarray(), dense)
    maps = "maps=[{name: random_projection, n_components: 20}]"
    row = first_row(load_experiment(write(), [maps, "kernel={name: linear}"]))
    assert (row["status"], row["sparse"]["columns"]) == ("done", 20)


def test_a_new_column_is_in_every_table_and_below_it(recipe, tmp_path, monkeypatch):
    recipe("A column of a table")
    for user in ("kfeat.render.files", "kfeat.cli.reports"):  # which have the functions of before
        monkeypatch.delitem(sys.modules, user, raising=False)
    texts = made("measure", tmp_path)
    for file, start in (("table.md", "| method "), ("table.csv", "cell,"), ("report.txt", "method ")):
        header = next(line for line in texts[file].splitlines() if line.startswith(start))
        assert "memory" in re.split(r"\W+", header), file
    lines = texts["table.md"].splitlines()
    assert [line for line in lines if line.startswith("| Nystrom ") and " 123 MB " in line]
    assert [line for line in lines if line.startswith("- memory: the most that the process")]


def test_a_new_kernel_is_its_formula(recipe, monkeypatch):
    monkeypatch.setattr(test_kernels, "FORMULAS", dict(test_kernels.FORMULAS))
    recipe("A kernel")
    test_kernels.test_gram_block_is_the_formula("cosh", "csr-dense")
    test_kernels.test_maclaurin_series_sums_to_the_kernel("cosh")


def test_a_config_names_the_new_kernel(recipe, tmp_path):
    recipe("A kernel")
    row = first_row(config("A kernel", tmp_path))
    assert row["kernel"] == {"name": "cosh", "version": 1}
    assert row["accuracy"] > 0.8


def test_a_config_names_the_new_solver(recipe, write):
    recipe("A solver")
    row = first_row(load_experiment(write(), ["solvers.mapped={name: nearest_mean}"], exact=False))
    assert row["solve"]["finished_by"] == "means"
    assert row["accuracy"] > 0.7


def test_the_new_dataset_is_read_and_verified(tmp_path):
    ((name, entry),) = yaml.safe_load(blocks("A dataset", "yaml")["kfeat/data/registry.yaml"]).items()
    (content,) = re.findall(r"^```text\n(.*?)^```$", section("A dataset"), re.M | re.S)
    known = registry()[name] = Entry.model_validate(entry)
    upstream = tmp_path / known.forms[0].files["train"].path
    upstream.parent.mkdir()
    upstream.write_text(content)
    data = load(name, mirror=tmp_path, cache=tmp_path / "cache", offline=True)
    assert data.verified
    assert data.X_train.tolist() == [[1, 2], [1.5, 1], [0.5, 2.5]]
    assert data.y_test.tolist() == [1]


@pytest.mark.parametrize("name", ["toy_eror", "kernel.degre", "nonsense"])
def test_a_quantity_that_nobody_declared_is_refused(recipe, tmp_path, name):
    recipe("A measure")
    path = tmp_path / "toy.yaml"
    ((_, text),) = blocks("A paper", "yaml").items()
    path.write_text(text.replace("of: toy_error", f"of: {name}", 1))
    with pytest.raises(ConfigError, match=r"claims\[0\].of: unknown quantity"):
        load_experiment(path)


@pytest.mark.slow
def test_the_toy_paper_has_its_table_its_figure_and_its_claims(recipe, tmp_path):
    recipe("A measure")
    experiment = config("A paper", tmp_path)
    check_report(experiment)
    trials = planned(experiment)
    rows = {trial.id: run(trial) for trial in trials}
    cells = summarise(experiment, trials, rows)
    write_report(experiment, cells, tmp_path / "out")
    assert all((tmp_path / "out" / name).stat().st_size for name in FILES)
    table = (tmp_path / "out/table.md").read_text()
    lines = [line for line in table.splitlines() if line.startswith("| (1 + <x, y>)^")][:2]
    assert [len(re.findall(r"0\.\d{3} ± 0\.\d{3}", line)) for line in lines] == [2, 2]
    assert [claim.verdict for claim in judge_experiment(experiment, cells, {}).claims] == ["reproduced"] * 2
    assert QUANTITIES["toy_error"].title in {axes.get_ylabel() for axes in figure_of(experiment, cells).axes}


def test_the_page_stays_short():
    assert len(PAGE.split()) <= 1800
