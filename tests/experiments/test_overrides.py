from collections.abc import Callable
from pathlib import Path

import pytest

from kfeat.errors import ConfigError
from kfeat.experiments.load import Experiment, load_experiment

Write = Callable[..., Path]
ADULT = Path(__file__).parents[2] / "configs" / "pham_pagh_2013" / "table1_adult.yaml"


@pytest.fixture
def in_settings(write: Write) -> Path:
    """A config whose settings replace solvers, maps or neither."""
    path = write()
    path.write_text(
        path.read_text()
        + """
settings:
  - {kernel: {name: polynomial, degree: 3}}
  - {solvers: {mapped: [{name: liblinear, C: 1}, {name: newton, C: 1}]}, protocol: {dtype: float64}}
  - {maps: [{name: tensor_sketch, n_components: 8}], repeats: 1}
"""
    )
    return path


def costs(experiment: Experiment) -> list[list[float]]:
    return [[item.parameters["C"] for item in setting.mapped_solvers] for setting in experiment.settings]


def sizes(experiment: Experiment) -> list[list[int]]:
    return [[item.parameters["n_components"] for item in setting.maps] for setting in experiment.settings]


def test_set_reaches_every_setting_that_has_the_key(in_settings: Path) -> None:
    assert costs(load_experiment(in_settings, ["solvers.mapped.C=7"])) == [[7], [7, 7], [7]]
    assert costs(load_experiment(in_settings, ["solvers.mapped.1.C=7"])) == [[1], [1, 7], [1]]
    assert sizes(load_experiment(in_settings, ["maps.n_components=5"])) == [[5, 5], [5, 5], [5]]
    assert sizes(load_experiment(in_settings, ["maps.1.n_components=5"])) == [[64, 5], [64, 5], [8]]
    experiment = load_experiment(in_settings, ["solvers.exact.C=3"])
    assert [[s.parameters["C"] for s in x.exact_solvers] for x in experiment.settings] == [[3], [], [3]]
    assert [x.repeats for x in load_experiment(in_settings, ["repeats=4"]).settings] == [4, 4, 4]
    assert [x.repeats for x in load_experiment(in_settings, repeats=4).settings] == [4, 4, 4]
    kinds = load_experiment(in_settings, ["protocol.constant_features=drop"]).settings
    assert {protocol.constant_features for x in kinds for protocol in x.protocols} == {"drop"}


def test_set_reaches_what_an_included_file_gives(write: Write) -> None:
    path = write()
    (path.parent / "_shared.yaml").write_text("seed: 7\nsolvers: {mapped: {name: newton, C: 1}}\n")
    own = path.read_text().replace("  mapped: {name: liblinear, C: 1}\n", "")
    path.write_text("include: _shared.yaml\n" + own)
    assert costs(load_experiment(path, ["solvers.mapped.C=7"])) == [[7]]


def test_a_misspelt_key_below_what_settings_replace_is_told() -> None:
    with pytest.raises(ConfigError, match=r"settings\[1\]\.solvers\.mapped\.Cc: unknown key .*'C'"):
        load_experiment(ADULT, ["solvers.mapped.Cc=7"])


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["solvers.exakt.C=1"], "changes nothing: the config has no `solvers.exakt`"),
        (["protocol.split.fold.x=1"], "`protocol.split.fold`"),
        (["maps.²=1"], "maps[0].²: unknown key"),
        (["maps.99999999999999999999=1"], "unknown key"),
        (["title.x=1"], "changes nothing: `title` has no key `x`"),
        (["solvers.mapped.C=7", "solvers.mapped={name: newton}"], "solvers.mapped.C=7: changes nothing"),
        (["settings.0.kernel.degree=4", "kernel.degree=5"], "0.kernel.degree=4: changes nothing"),
    ],
)  # fmt: skip
def test_a_key_that_changes_nothing_is_an_error(in_settings: Path, overrides: list[str], words: str) -> None:
    with pytest.raises(ConfigError) as error:
        load_experiment(in_settings, overrides)
    assert words in str(error.value)


def test_set_of_what_other_options_leave_out_is_an_error(write: Write) -> None:
    path = write()
    for override, choices in (
        ("maps.1.n_components=9", {"maps": ["tensor_sketch"]}),
        ("solvers.mapped.C=9", {"maps": ["exact"]}),
        ("solvers.exact.C=9", {"exact": False}),
        ("repeats=9", {"repeats": 3}),
    ):
        assert load_experiment(path, [override])
        with pytest.raises(ConfigError, match="changes nothing that is run"):
            load_experiment(path, [override], **choices)


def test_the_value_that_a_key_has_is_no_error(write: Write) -> None:
    assert load_experiment(write(), ["maps.0.n_components=64", "kernel.gamma=1.0"], maps=["tensor_sketch"])


def test_maps_set_and_repeats_combine(write: Write) -> None:
    experiment = load_experiment(write(), ["maps.0.n_components=9"], maps=["tensor_sketch"], repeats=4)
    assert sizes(experiment) == [[9]]
    assert [setting.repeats for setting in experiment.settings] == [4]
    assert not experiment.settings[0].exact_solvers


def test_exact_is_selected_by_name(write: Write) -> None:
    alone = load_experiment(write(), ["solvers.exact.C=9"], maps=["exact"]).settings[0]
    assert (list(alone.maps), list(alone.mapped_solvers)) == ([], [])
    assert [item.parameters["C"] for item in alone.exact_solvers] == [9]
    both = load_experiment(write(), maps=["exact", "tensor_sketch"]).settings[0]
    assert ([item.name for item in both.maps], len(both.exact_solvers)) == (["tensor_sketch"], 1)
    with pytest.raises(ConfigError, match="'exact' is not in"):
        load_experiment(write(), ["solvers.exact=null"], maps=["exact"])


def test_a_setting_of_which_nothing_is_selected_needs_no_data(write: Write) -> None:
    path = write()
    path.write_text(
        path.read_text() + "settings: [{}, {dataset: adult, solvers: {mapped: {name: newton}}}]\n"
    )
    assert load_experiment(path, maps=["exact"]).datasets == ["digits"]


def test_one_value_of_several_kinds_is_one_problem(write: Write) -> None:
    path = write(**{"kernel: {name: polynomial, degree: 2, coef0: 1}": "kernel: {name: gaussian, gamma: 1}"})
    path.write_text(
        path.read_text().replace("random_maclaurin", "nystrom").replace("tensor_sketch", "nystrom")
    )
    with pytest.raises(ConfigError) as error:
        load_experiment(path, ["kernel.gamma=-1"])
    assert "problems" not in str(error.value)
    assert "expected more than 0, or 'mean_distance' or 'median' (got -1)" in str(error.value)
