"""A config in, an experiment or sentences out."""

import json
import re
import time
from collections import Counter
from pathlib import Path

import pytest

from kfeat.analysis.cells import summarise
from kfeat.cli.reports import check_report
from kfeat.errors import ConfigError
from kfeat.experiments.config import load_experiment
from kfeat.experiments.names import experiment_name
from kfeat.experiments.paper import reported_numbers
from kfeat.experiments.plan import plan
from kfeat.render.paper_table import paper_table, paper_table_notes
from kfeat.render.report import records
from kfeat.render.switches import ranked

CONFIGS = Path(__file__).parents[2] / "configs"


def refusal(path, *overrides, **choices):
    with pytest.raises(ConfigError) as error:
        load_experiment(path, overrides, **choices)
    return str(error.value)


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("**/[!_]*.yaml")), ids=lambda p: p.stem)
def test_every_config_of_the_house_is_valid(path):
    """Every printed number belongs to one cell of the plan; claims, table and figure speak of its cells.

    In a ranking it belongs to one cell of a choice at most, since not every choice is tried on all.
    """
    experiment = load_experiment(path)
    trials = plan(experiment, {source: str(source) for source in experiment.datasets})
    cells = summarise(experiment, trials, {})
    assert cells
    numbers = experiment.reported.numbers if experiment.reported else []
    choices = [choice.cells for choice in ranked(experiment, cells)] if experiment.ranking else [cells]
    held = [
        [one.where for c in some for one in reported_numbers(experiment.reported, c.trial).values()]
        for some in choices
    ]
    assert {number.where for number in numbers} == set().union(*held)
    for places in held:
        assert Counter(places) <= Counter(number.where for number in numbers)
    if not experiment.ranking:
        assert sorted(number.where for number in numbers) == sorted(*held)
    check_report(experiment)
    named = [tuple(map(one.get, ("dataset", "kernel", "method"))) for one in records(experiment, cells)]
    assert len(set(named)) == len(cells)
    if experiment.table:
        assert paper_table(experiment.table, cells).lines
        assert not [note for note in paper_table_notes(experiment.table, cells) if "this plan" in note]


def test_lists_are_grids_and_items_are_unions(write):
    overrides = ["maps.0.n_components=[16, 32]", "maps.1.degree_law=[geometric, truncated]"]
    maps = load_experiment(write(), overrides).settings[0].maps
    assert [m.parameters["n_components"] for m in maps if m.name == "tensor_sketch"] == [16, 32]
    laws = [m.parameters["degree_law"] for m in maps if m.name == "random_maclaurin"]
    assert laws == ["geometric", "truncated"]
    both = load_experiment(write(), ["maps=[{name: [tensor_sketch, random_maclaurin], n_components: 8}]"])
    assert [item.name for item in both.settings[0].maps] == ["tensor_sketch", "random_maclaurin"]


def test_all_problems_are_told_at_once_with_their_paths(write):
    path = write()
    path.write_text(
        """\
titel: Misspelt
dataset: adlut
protocol: {scale: zscor, split: offical, dtyp: float64}
kernel: {name: polynomial, degree: 0}
maps:
  - {name: tensor_sketch, n_components: "many"}
  - {name: tensor_sketsh}
  - {name: random_maclaurin, degree_lw: geometric}
  - nonsense
solvers:
  mapped: {name: liblinear, C: -1}
  exact: {name: libsvn}
  exakt: {name: libsvm}
reported:
  source: A Paper
  numbers:
    - {for: {}, meen: 1.0, where: Table 1}
switches:
  - {key: map.degree_lw, status: open, evidence: none}
repeats: 0
"""
    )
    text = refusal(path)
    for words in (
        "line 1, titel: unknown key (did you mean 'title'?)",
        "title: missing",
        "line 2, dataset: unknown dataset 'adlut' (did you mean 'adult'?)",
        "protocol.scale: expected 'minmax'",
        "(got 'zscor') (did you mean 'zscore'?)",
        "protocol.split: expected one of 'official'",
        "(got 'offical') (did you mean 'official'?)",
        "protocol.dtyp: unknown key (did you mean 'dtype'?)",
        "kernel.degree: expected at least 1 (got 0)",
        "maps[0].n_components: expected an integer (got 'many')",
        "maps[1].name: unknown map 'tensor_sketsh' (did you mean 'tensor_sketch'?)",
        "line 8, maps[2].degree_lw: unknown key (did you mean 'degree_law'?)",
        "maps[3]: expected a mapping with a `name`, as in {name: nonsense} (got 'nonsense')",
        "solvers.mapped.C: expected more than 0 (got -1)",
        "solvers.exact.name: unknown solver 'libsvn' (did you mean 'libsvm'?)",
        "solvers.exakt: unknown key (did you mean 'exact'?)",
        "reported.runs: missing",
        "reported.numbers[0].mean: missing",
        "reported.numbers[0].meen: unknown key (did you mean 'mean'?)",
        "line 19, switches[0].key: 'map.degree_lw' is not a key of an experiment",
        "repeats: expected at least 1 (got 0)",
    ):
        assert words in text, f"missing: {words}\nin: {text}"


def test_every_problem_is_told_with_the_line_that_it_stands_on(write):
    path = write()
    shared = path.with_name("_shared.yaml")
    shared.write_text("# shared\nswitches:\n  - {key: solver.C, status: guessed, evidence: x}\nseed: -1\n")
    path.write_text(
        f"""\
include: {shared.name}
{path.read_text()}
settings:
  - {{}}
  - kernel:
      name: polynomial
      degree: [0, 1]
      coef: 1
    maps:
      - name: tensor_sketch
        n_components: [4,
          x]
rows_from: &names [a b]
switches: []
"""
    )
    found = refusal(path, "repeats=0", "solvers.mapped={name: liblinear, C: x}").splitlines()
    assert found[0] == f"{path}: 8 problems in this file:"
    for place, words in (
        ("--set repeats=0", "repeats: expected at least 1"),
        ("--set solvers.mapped={name: liblinear, C: x}", "solvers.mapped.C: expected a number"),
        (f"{path}, line 18", "settings[1].kernel.degree: expected at least"),
        (f"{path}, line 19", "settings[1].kernel.coef: unknown key (did you mean 'coef0'?)"),
        (f"{path}, line 22", "settings[1].maps[0].n_components: expected an integer (got 'x')"),
        (f"{path}, line 24", "rows_from[0]: expected letters"),
        (f"{shared}, line 3", "switches[0].status: expected 'known'"),
        (f"{shared}, line 4", "seed: expected at least 0"),
    ):
        assert any(line.startswith(f"  {place}, {words}") for line in found), (place, words, found)


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("repeats=2.5", "repeats: expected an integer (got 2.5)"),
        ("seed=yes", "seed: expected an integer (got True)"),
        ("maps.0.n_components=true", "maps[0].n_components: expected an integer (got True)"),
        ("maps.0.n_components=[]", "maps[0].n_components: an empty list is a grid without points"),
        ("maps.0.n_components=[8, x]", "maps[0].n_components: expected an integer (got 'x')"),
        ("kernel={name: gaussian, gamma: 1}", "tensor_sketch cannot approximate the gaussian kernel; maps"),
        ("maps=[{name: [tensor_sketch, orf]}]", "maps[0]: orf cannot approximate the polynomial kernel"),
        ("solvers.mapped={name: libsvm}", "solvers.mapped: libsvm trains on a kernel, not on features"),
        ("solvers.exact={name: liblinear}", "solvers.exact: liblinear trains on features, not on a kernel"),
        ("measure={name: kernel_error}", "measure: replaces `solvers`; use only one of the two"),
        ("memory=out_of_core", "memory: an `exact` solver needs all rows in memory"),
        (
            "reported={source: A, runs: 1, numbers: [{for: {map.n_component: 8}, mean: 90, where: T}]}",
            "numbers[0].for: no trial has the key 'map.n_component' (did you mean 'map.n_components'?)",
        ),
        (
            "claims=[{text: A, where: T, above: 1, ratio: [{map: exact}, {mapp: exact}]}]",
            "claims[0].ratio[1]: no trial has the key 'mapp' (did you mean 'map'?)",
        ),
        ("stand_ins={adlut: Adult}", "stand_ins: unknown dataset 'adlut' (did you mean 'adult'?)"),
        ("figure=ratios", "figure: ratios need a `table` with columns that have `over`"),
        ("figure={kind: curves, log: [z]}", "figure.log: expected true, or some of x, y, score, fit (got z)"),
        ("settings=5", "settings: expected a list (got 5)"),
        ("settings=[5, {}]", "settings[0]: expected a mapping (got 5)"),
        ("settings=[]", "settings: list should have at least 1 item"),
        ("settings=[{maps: 5}]", "settings[0].maps: expected a list (got 5)"),
        ("settings=[{mapps: []}]", "settings[0].mapps: unknown key (did you mean 'maps'?)"),
        ("settings=[{protocol: {split: {kind: sample, n_train: []}}}]", "a grid without points"),
        ("claims={}", "claims: expected a list"),
        *((f"rows_from=[{name!r}]", "rows_from[0]: expected letters, digits")
          for name in ("../x", "/etc", "a//b", "", "..", "a b")),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_path(write, override, words):
    assert words in refusal(write(), override)


@pytest.mark.parametrize(
    ("dataset", "solver", "words"),
    [
        ("cpu", "liblinear", "liblinear with solver_type 11 or 12 or 13, ridge, ridge_cv"),
        ("digits", "ridge", "solvers that fit: liblinear, dual_descent, newton, newton_cv"),
        (f"{{name: cpu, fingerprint: {'a' * 64}}}", "newton", "cpu is for regression"),
        ("{name: dense, n: 10, d: 2}", "ridge", "dense is for classification"),
        ("{path: x.csv, task: regression}", "newton", "x.csv is for regression"),
    ],
)
def test_a_solver_of_the_wrong_task_is_told_with_those_that_fit(write, dataset, solver, words):
    text = refusal(write(), f"dataset={dataset}", f"solvers={{mapped: {{name: {solver}}}}}")
    assert f"solvers: {solver} with these parameters is for" in text
    assert words in text


def test_maps_without_a_solver_and_solvers_without_a_map_are_refused(write):
    whole = write().read_text()
    path = write(**{"  mapped: {name: liblinear, C: 1}\n": ""})
    assert "line 5, maps: nothing uses the features: add a `mapped`" in refusal(path)
    assert not load_experiment(path, ["solvers.mapped=null"]).settings[0].maps  # said to be so
    path.write_text(re.sub("(?s)maps:.*(?=solvers:)", "", whole))
    assert "solvers: `mapped` solvers need features: add `maps`" in refusal(path)
    assert load_experiment(path, ["maps=[]"]).settings[0].exact_solvers


@pytest.mark.parametrize(
    ("override", "repeats", "number"),
    [
        ("repeats=1000000000000", None, "up to 3,000,000,000,000 trials"),
        ("repeats=3", 10**9, "up to 3,000,000,000 trials"),
        ("exact_repeats=1000000", None, "up to 1,000,004 trials"),
        (f"kernel.coef0={[*range(1000)]}", 10**5, "up to 300,000,000 trials"),
        (f"maps=[{{name: random_maclaurin, base: {[2] * 3000}, n_components: {[1] * 3000}}}]", 1, "maps"),
        (f"protocol.split={{kind: sample, n_train: {[5] * 3000}, n_test: {[1] * 3000}}}", 1, "protocol"),
    ],
)
def test_a_grid_is_counted_before_it_is_laid_out(write, override, repeats, number):
    started = time.monotonic()
    text = refusal(write(), override, repeats=repeats)
    assert number in text
    assert "100,000 are allowed" in text
    assert ("a grid of 9,000,000 points" in text) == (number in ("maps", "protocol"))
    assert time.monotonic() - started < 2  # a second on a machine with nothing else to do


TITLES = ["two\nlines", "a\ttab", "\u2028", r"$\frac{1}$", "$x^$", "x" * 501, "$" + "{" * 300 + "$"]


@pytest.mark.parametrize("title", TITLES)
def test_a_title_or_label_that_cannot_be_drawn_is_told(write, title):
    text = json.dumps(title)
    column = f"{{title: {text}, for: {{map: exact}}}}"
    assert "title: " in refusal(write(), f"title={text}")
    assert "maps[0].label: " in refusal(write(), f"maps.0.label={text}")
    assert "table.columns[0].title: " in refusal(write(), f"table={{lines: kernel, columns: [{column}]}}")
    file = f"dataset={{path: {json.dumps(title.replace('/', '') + '.csv')}}}"
    assert "dataset: the file's name: " in refusal(write(), file)


def test_an_experiment_is_called_by_its_place_below_configs(write):
    for place, name in (
        ("configs/pham_pagh_2013/table1.yaml", "pham_pagh_2013/table1"),
        ("configs/adult_poly4.yaml", "adult_poly4"),
        ("y/mine.yaml", "mine"),
        ("configs/y/table.1-b_c.yaml", "y/table.1-b_c"),
        ("configs/y/größe.yaml", "y/größe"),
        ("configs/y/configs.yaml", "y/configs"),
    ):
        assert experiment_name(Path("/x") / place) == name
    for name in ("...yaml", "..yaml", ".yaml", "a b.yaml", "a\nb.yaml", "x;y.yaml"):
        path = write().rename(write().with_name(name))
        assert "its name is that of its folder of rows; expected letters, digits" in refusal(path)
    with pytest.raises(ConfigError):
        experiment_name(Path("/x/configs/my folder/table1.yaml"))


def test_rows_come_from_configs_that_there_are(write, tmp_path):
    folder = tmp_path / "configs" / "paper"
    folder.mkdir(parents=True)
    (folder / "table1.yaml").touch()
    text = write().read_text()
    (folder / "own.yaml").write_text(text)
    told = "rows_from[0]: there is no config 'paper/tabel1' below configs/ (did you mean 'paper/table1'?)"
    assert told in refusal(folder / "own.yaml", "rows_from=[paper/tabel1]")
    there = load_experiment(folder / "own.yaml", ["rows_from=[paper/table1]"])
    assert there.rows_from == ["paper/table1"]
    (tmp_path / "alone.yaml").write_text(text)  # nobody knows where the others are
    assert load_experiment(tmp_path / "alone.yaml", ["rows_from=[paper/tabel1]"]).rows_from
