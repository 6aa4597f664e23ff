import json
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kfeat.analysis.cells import summarise
from kfeat.errors import ConfigError
from kfeat.experiments.load import load_experiment
from kfeat.experiments.names import experiment_name
from kfeat.experiments.paper import reported_numbers
from kfeat.experiments.plan import plan

Write = Callable[..., Path]


def test_lists_are_grids_and_items_are_unions(write: Write) -> None:
    experiment = load_experiment(
        write(), ["maps.0.n_components=[16, 32]", "maps.1.degree_law=[geometric, truncated]"]
    )
    maps = experiment.settings[0].maps
    sketches = [m.parameters["n_components"] for m in maps if m.name == "tensor_sketch"]
    laws = [m.parameters["degree_law"] for m in maps if m.name == "random_maclaurin"]
    assert sketches == [16, 32]
    assert laws == ["geometric", "truncated"]
    both = load_experiment(write(), ["maps=[{name: [tensor_sketch, random_maclaurin], n_components: 8}]"])
    assert [item.name for item in both.settings[0].maps] == ["tensor_sketch", "random_maclaurin"]
    with pytest.raises(
        ConfigError, match=r"maps\[0\]: random_fourier cannot approximate the polynomial kernel"
    ):
        load_experiment(write(), ["maps=[{name: [tensor_sketch, random_fourier], n_components: 8}]"])


def test_all_problems_are_told_at_once_with_their_paths(write: Write) -> None:
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
repeats: 0
"""
    )
    with pytest.raises(ConfigError) as error:
        load_experiment(path)
    text = str(error.value)
    for words in (
        "titel: unknown key (did you mean 'title'?)",
        "title: missing",
        "adlut",
        "dataset: unknown dataset 'adlut' (did you mean 'adult'?)",
        "protocol.scale: expected 'minmax'",
        "(got 'zscor') (did you mean 'zscore'?)",
        "protocol.split: expected one of 'official'",
        "(got 'offical') (did you mean 'official'?)",
        "protocol.dtyp: unknown key (did you mean 'dtype'?)",
        "kernel.degree: expected at least 1 (got 0)",
        "maps[0].n_components: expected an integer (got 'many')",
        "maps[1].name: unknown map 'tensor_sketsh' (did you mean 'tensor_sketch'?)",
        "maps[2].degree_lw: unknown key (did you mean 'degree_law'?)",
        "maps[3]: expected a mapping with a `name`, as in {name: nonsense} (got 'nonsense')",
        "solvers.mapped.C: expected more than 0 (got -1)",
        "solvers.exact.name: unknown solver 'libsvn' (did you mean 'libsvm'?)",
        "solvers.exakt: unknown key (did you mean 'exact'?)",
        "reported.runs: missing",
        "reported.numbers[0].mean: missing",
        "reported.numbers[0].meen: unknown key (did you mean 'mean'?)",
        "repeats: expected at least 1 (got 0)",
    ):
        assert words in text, f"missing: {words}\nin: {text}"


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("repeats=2.5", "repeats"),
        ("seed=yes", "seed"),
        ("maps.0.n_components=true", "maps[0].n_components"),
        ("maps.0.n_components=[]", "a grid without points"),
        ("maps.0.n_components=[8, x]", "maps[0].n_components"),
        ("maps.9.n_components=8", "not a position from 0 to 1"),
        ("repeats", "expected key=value"),
        ("title.x=1", "title"),
        ("kernel={name: gaussian, gamma: 1}", "tensor_sketch cannot approximate the gaussian kernel"),
        ("solvers.mapped={name: libsvm}", "libsvm trains on a kernel"),
        ("solvers.exact={name: liblinear}", "liblinear trains on features"),
        ("dataset=cpu", "liblinear with these parameters is for classification, cpu is for regression"),
        ("solvers.mapped={name: ridge}", "ridge with these parameters is for regression, digits is for"),
        (
            "reported={source: A, runs: 1, numbers: [{for: {map.n_component: 8}, mean: 90, where: T}]}",
            "numbers[0].for: no trial has the key 'map.n_component' (did you mean 'map.n_components'?)",
        ),
        (
            "claims=[{text: A, where: T, above: 1, ratio: [{map: exact}, {mapp: exact}]}]",
            "claims[0].ratio[1]: no trial has the key 'mapp' (did you mean 'map'?)",
        ),
    ],
)
def test_bad_overrides_are_told_with_their_path(write: Write, override: str, words: str) -> None:
    with pytest.raises(ConfigError) as error:
        load_experiment(write(), [override])
    assert words in str(error.value)


def test_a_gaussian_kernel_names_the_maps_that_can(write: Write) -> None:
    with pytest.raises(ConfigError, match=r"maps that can: .*random_fourier"):
        load_experiment(write(), ["kernel={name: gaussian, gamma: 1}"])


def test_choices_of_the_command_line(write: Write) -> None:
    experiment = load_experiment(write(), repeats=7, maps=["tensor_sketch"], exact=False)
    assert experiment.settings[0].repeats == 7
    assert [item.name for item in experiment.settings[0].maps] == ["tensor_sketch"]
    assert not experiment.settings[0].exact_solvers
    with pytest.raises(ConfigError, match="did you mean 'tensor_sketch'"):
        load_experiment(write(), maps=["tensor_sketh"])
    with pytest.raises(ConfigError, match="nothing to run"):
        load_experiment(write(), ["maps=[]"], exact=False)


def test_a_config_below_configs_keeps_its_folder() -> None:
    assert experiment_name(Path("/x/configs/pham_pagh_2013/table1.yaml")) == "pham_pagh_2013/table1"
    assert experiment_name(Path("/x/configs/adult_poly4.yaml")) == "adult_poly4"
    assert experiment_name(Path("/x/y/mine.yaml")) == "mine"


@pytest.mark.parametrize(
    "path", sorted(Path(__file__).parents[2].glob("configs/**/[!_]*.yaml")), ids=lambda p: p.stem
)
def test_every_config_of_the_house_is_valid(path: Path) -> None:
    """Every printed number belongs to exactly one cell of the plan."""
    experiment = load_experiment(path)
    trials = plan(experiment, {source: str(source) for source in experiment.datasets})
    cells = summarise(experiment, trials, {})
    assert cells
    numbers = experiment.reported.numbers if experiment.reported else []
    held = [one.where for c in cells for one in reported_numbers(experiment.reported, c.trial).values()]
    assert sorted(number.where for number in numbers) == sorted(held)


def test_settings_replace_keys_of_the_file(write: Write) -> None:
    path = write()
    path.write_text(
        path.read_text()
        + """
settings:
  - {kernel: {name: polynomial, degree: 3}}
  - {maps: [{name: tensor_sketch, n_components: 8}], repeats: 1}
"""
    )
    first, second = load_experiment(path).settings
    assert first.kernels[0].parameters["degree"] == 3
    assert [item.name for item in first.maps] == ["tensor_sketch", "random_maclaurin"]
    assert [item.parameters["n_components"] for item in second.maps] == [8]
    assert (first.repeats, second.repeats) == (2, 1)
    assert second.kernels[0].parameters["degree"] == 2


def test_a_problem_in_a_setting_is_told_where_it_stands(write: Write) -> None:
    path = write()
    path.write_text(
        path.read_text()
        + """
settings:
  - {kernel: {name: polynomial, degree: 0}, repeats: 0}
  - {mapps: []}
"""
    )
    with pytest.raises(ConfigError) as error:
        load_experiment(path)
    for words in (
        "settings[0].kernel.degree: expected at least 1 (got 0)",
        "settings[0].repeats: expected",
        "settings[1].mapps: unknown key (did you mean 'maps'?)",
    ):
        assert words in str(error.value)


def test_every_problem_is_told_with_the_line_that_it_stands_on(write: Write) -> None:
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
    with pytest.raises(ConfigError) as error:
        load_experiment(path, ["repeats=0", "solvers.mapped={name: liblinear, C: x}"])
    found = str(error.value).splitlines()
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


def test_a_file_completes_itself_from_the_one_it_includes(write: Write) -> None:
    path = write()
    (path.parent / "_shared.yaml").write_text("seed: 7\ntitle: Not this one\n")
    path.write_text("include: _shared.yaml\n" + path.read_text())
    experiment = load_experiment(path)
    assert experiment.seed == 7
    assert experiment.title != "Not this one"


def test_switches_of_an_included_file_yield_to_the_files_own(write: Write) -> None:
    path = write()
    shared = "switches:\n" + "".join(
        f"  - {{key: {key}, status: known, evidence: {evidence}}}\n"
        for key, evidence in (("solver.C", "x"), ("repeats", "y"))
    )
    (path.parent / "_shared.yaml").write_text(shared)
    own = "switches: [{key: solver.C, status: open, evidence: z}]\n"
    path.write_text("include: _shared.yaml\n" + path.read_text() + own)
    found = [(switch.key, switch.evidence) for switch in load_experiment(path).switches]
    assert found == [("solver.C", "z"), ("repeats", "y")]


@pytest.mark.parametrize("name", ["...yaml", "..yaml", ".yaml", "a b.yaml", "a\nb.yaml", "x;y.yaml"])
def test_a_name_that_leads_out_of_the_folder_of_rows_is_refused(write: Write, name: str) -> None:
    path = write().rename(write().with_name(name))
    with pytest.raises(ConfigError, match="its name is that of a folder of rows; expected letters, digits"):
        load_experiment(path)


def test_names_that_are_safe_are_kept() -> None:
    for name in ("table1", "table.1-b_c", "größe", "configs"):
        assert experiment_name(Path(f"/x/configs/y/{name}.yaml")) == f"y/{name}"
    with pytest.raises(ConfigError):
        experiment_name(Path("/x/configs/my folder/table1.yaml"))


def test_rows_come_from_configs_that_there_are(write: Write, tmp_path: Path) -> None:
    folder = tmp_path / "configs" / "paper"
    folder.mkdir(parents=True)
    (folder / "table1.yaml").touch()
    text = write().read_text() + "rows_from: [paper/NAME]\n"
    (folder / "own.yaml").write_text(text.replace("NAME", "tabel1"))
    told = (
        r"rows_from\[0\]: there is no config 'paper/tabel1' below configs/ \(did you mean 'paper/table1'\?\)"
    )
    with pytest.raises(ConfigError, match=told):
        load_experiment(folder / "own.yaml")
    (folder / "own.yaml").write_text(text.replace("NAME", "table1"))
    assert load_experiment(folder / "own.yaml").rows_from == ["paper/table1"]
    (tmp_path / "alone.yaml").write_text(text.replace("NAME", "tabel1"))  # nobody knows where the others are
    assert load_experiment(tmp_path / "alone.yaml").rows_from == ["paper/tabel1"]


@pytest.mark.parametrize("name", ["../x", "/etc", "a//b", "", "..", "a\nb"])
def test_rows_come_from_below_the_folder_of_rows_only(write: Write, name: str) -> None:
    path = write()
    path.write_text(path.read_text() + f"rows_from: [{name!r}]\n")
    with pytest.raises(ConfigError, match=r"rows_from\[0\]: expected letters, digits"):
        load_experiment(path)


def test_included_files_lie_beside_the_config(write: Write) -> None:
    path = write()
    outside = path.parent.parent / "secret.yaml"
    outside.write_text("password: hunter2\n")
    (path.parent / "link.yaml").symlink_to(outside)
    (path.parent / "below").mkdir()
    (path.parent / "below" / "link").symlink_to(path.parent.parent)
    own = path.read_text()
    for name in (
        str(outside), "../secret.yaml", "link.yaml", "below/link/secret.yaml", "~/x", "/etc/passwd", ".",
        f"../{path.parent.name}/small.yaml", "5", "[a]", "missing.yaml",
    ):  # fmt: skip
        path.write_text(f"include: {name}\n" + own)
        with pytest.raises(ConfigError) as error:
            load_experiment(path)
        assert "hunter2" not in str(error.value)
        assert "root:" not in str(error.value)
    (path.parent / "below" / "_shared.yaml").write_text("seed: 7\n")
    path.write_text("include: below/_shared.yaml\n" + own)
    assert load_experiment(path).seed == 7


@pytest.mark.parametrize(
    ("shared", "words"),
    [
        ("switches: [5]", "switches[1]: expected a mapping"),
        ("switches: {}", "switches: expected a list"),
        ("reported: [1]", "reported: expected a mapping"),
        ("solvers: 5", "solvers: expected a mapping"),
        ("include: x.yaml", "an included file cannot include another"),
        ("- 1", "found list"),
    ],
)
def test_an_included_file_of_the_wrong_shape_is_told(write: Write, shared: str, words: str) -> None:
    path = write()
    (path.parent / "_shared.yaml").write_text(shared)
    own = "switches: [{key: solver.C, status: open, evidence: z}]\n"
    path.write_text("include: _shared.yaml\n" + path.read_text() + own)
    with pytest.raises(ConfigError) as error:
        load_experiment(path)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("addition", "words"),
    [
        ("settings: 5", "settings: expected a list (got 5)"),
        ("settings: [5, {}]", "settings[0]: expected a mapping (got 5)"),
        ("settings: []", "settings"),
        ("settings: [{maps: 5}]", "settings[0].maps: expected a list (got 5)"),
        ("settings: [{protocol: {split: {kind: k_fold, fold: []}}}]", "a grid without points"),
        ("claims: {}", "claims"),
    ],
)
def test_a_key_of_the_wrong_shape_is_told(write: Write, addition: str, words: str) -> None:
    path = write()
    path.write_text(path.read_text() + addition + "\n")
    with pytest.raises(ConfigError) as error:
        load_experiment(path)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("override", "repeats", "number"),
    [
        ("repeats=1000000000000", None, "3,000,000,000,000"),
        ("repeats=3", 10**9, "3,000,000,000"),
        ("exact_repeats=1000000", None, "1,000,004"),
        (f"kernel.coef0={[*range(1000)]}", 10**5, "300,000,000"),
        (
            f"maps=[{{name: random_maclaurin, base: {[2] * 3000}, n_components: {[1] * 3000}}}]",
            1,
            "9,000,001",
        ),
        (f"protocol.split={{kind: k_fold, k: {[5] * 3000}, fold: {[1] * 3000}}}", 1, "27,000,000"),
    ],
)
def test_a_grid_is_counted_before_it_is_laid_out(
    write: Write, override: str, repeats: int | None, number: str
) -> None:
    started = time.monotonic()
    words = f"its grids have up to {number} trials, and 100,000 are allowed"
    with pytest.raises(ConfigError, match=words):
        load_experiment(write(), [override], repeats=repeats)
    assert time.monotonic() - started < 2  # a second on a machine with nothing else to do


TITLES = ["two\nlines", "a\ttab", "\u2028", r"$\frac{1}$", "$x^$", "x" * 501, "$" + "{" * 300 + "$"]


@pytest.mark.parametrize("title", TITLES)
def test_a_title_or_label_that_cannot_be_drawn_is_told(write: Write, title: str) -> None:
    path = write()
    good = path.read_text()
    text = json.dumps(title)
    for key, old, new in (
        ("title", "title: Digits, small", f"title: {text}"),
        ("maps[0].label", "n_components: 64}", f"n_components: 64, label: {text}}}"),
        ("table.columns[0].title", "repeats: 2",
         f"table: {{lines: kernel, columns: [{{title: {text}, for: {{map: exact}}}}]}}"),
    ):  # fmt: skip
        path.write_text(good.replace(old, new, 1))
        with pytest.raises(ConfigError) as error:
            load_experiment(path)
        assert f"{key}: " in str(error.value)


def test_a_data_file_whose_name_cannot_be_drawn_is_told(write: Write) -> None:
    for name in ("$x^$.csv", "x" * 600 + ".csv", "two\nlines.csv"):
        with pytest.raises(ConfigError, match="dataset: the file's name: "):
            load_experiment(write(), [f"dataset={{path: {json.dumps(name)}}}"])


def test_mathematics_and_dollars_can_be_drawn(write: Write) -> None:
    for title in (r"$(1 + \langle x, y \rangle)^4$", "price in $", r"\$5 or \$6", "κ, 'x' & <y>"):
        assert load_experiment(write(), [f"title={json.dumps(title)}"]).title == title


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
def test_a_solver_of_the_wrong_task_is_told_with_those_that_fit(
    write: Write, dataset: str, solver: str, words: str
) -> None:
    overrides = [f"dataset={dataset}", f"solvers={{mapped: {{name: {solver}}}}}"]
    with pytest.raises(ConfigError) as error:
        load_experiment(write(), overrides)
    assert f"solvers: {solver} with these parameters is for" in str(error.value)
    assert words in str(error.value)


def test_the_readme_example_states_its_switches() -> None:
    configs = Path(__file__).parents[2] / "configs"
    experiment = load_experiment(configs / "adult_poly4.yaml")
    stated = {switch.key: switch.status for switch in experiment.switches}
    assert stated["protocol.scale"] == "inferred"
    assert stated["map.h01"] == "known"
    assert len(stated) >= 20
    assert experiment.reported is not None
    assert experiment.reported.source == "Pham & Pagh 2013"


def test_maps_without_a_solver_and_solvers_without_a_map_are_refused(write: Write) -> None:
    whole = write().read_text()
    path = write()
    path.write_text(whole.replace("  mapped: {name: liblinear, C: 1}\n", ""))
    with pytest.raises(ConfigError, match=r"line 5, maps: nothing is done with the features: add a `mapped`"):
        load_experiment(path)
    assert not load_experiment(path, ["solvers.mapped=null"]).settings[0].maps  # said to be so
    path.write_text(re.sub("(?s)maps:.*(?=solvers:)", "", whole))
    with pytest.raises(ConfigError, match=r"solvers: `mapped` solvers need features: add `maps`"):
        load_experiment(path)
    assert load_experiment(path, ["maps=[]"]).settings[0].exact_solvers
