from collections.abc import Callable
from pathlib import Path

import pytest

from kfeat.errors import ConfigError
from kfeat.experiments.config import experiment_name, load_experiment
from kfeat.experiments.plan import plan
from kfeat.reports.cells import summarise

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
        "protocol.scale: input should be 'minmax'",
        "(got 'zscor') (did you mean 'zscore'?)",
        "protocol.split: expected one of 'official'",
        "(got 'offical') (did you mean 'official'?)",
        "protocol.dtyp: unknown key (did you mean 'dtype'?)",
        "kernel.degree: input should be greater than or equal to 1 (got 0)",
        "maps[0].n_components: input should be a valid integer (got 'many')",
        "maps[1].name: unknown map 'tensor_sketsh' (did you mean 'tensor_sketch'?)",
        "maps[2].degree_lw: unknown key (did you mean 'degree_law'?)",
        "maps[3]: expected a mapping with a `name` (got 'nonsense')",
        "solvers.mapped.C: input should be greater than 0 (got -1)",
        "solvers.exact.name: unknown solver 'libsvn' (did you mean 'libsvm'?)",
        "solvers.exakt: unknown key (did you mean 'exact'?)",
        "reported.runs: missing",
        "reported.numbers[0].mean: missing",
        "reported.numbers[0].meen: unknown key (did you mean 'mean'?)",
        "repeats: input should be greater than or equal to 1 (got 0)",
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
    assert sorted(number.where for number in numbers) == sorted(c.reported.where for c in cells if c.reported)


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
        "settings[0].kernel.degree: input should be greater than or equal to 1 (got 0)",
        "settings[0].repeats: input should be",
        "settings[1].mapps: unknown key (did you mean 'maps'?)",
    ):
        assert words in str(error.value)


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
