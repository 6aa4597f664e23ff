"""What a config includes, and what the command line sets and selects."""

import pytest

from kfeat.data import RegisteredSource
from kfeat.experiments.config import load_experiment
from tests.experiments.test_config import refusal

OPEN = "switches: [{key: solver.C, status: open, evidence: z}]\n"


@pytest.fixture
def including(write):
    """The small config, with more keys at its end, that includes a file of this text."""

    def writer(shared, more="", without=""):
        path = write()
        (path.parent / "_shared.yaml").write_text(shared)
        path.write_text(f"include: _shared.yaml\n{path.read_text().replace(without, '')}{more}")
        return path

    return writer


@pytest.fixture
def in_settings(write):
    """A config whose settings replace solvers, maps or neither."""
    return write(
        """
settings:
  - {kernel: {name: polynomial, degree: 3}}
  - {solvers: {mapped: [{name: liblinear, C: 1}, {name: newton, C: 1}]}, protocol: {dtype: float64}}
  - {maps: [{name: tensor_sketch, n_components: 8}], repeats: 1}
"""
    )


def costs(experiment):
    return [[item.parameters["C"] for item in setting.mapped_solvers] for setting in experiment.settings]


def sizes(experiment):
    return [[item.parameters["n_components"] for item in setting.maps] for setting in experiment.settings]


def test_a_file_completes_itself_from_the_one_it_includes(including):
    experiment = load_experiment(including("seed: 7\ntitle: Not this one\n"))
    assert (experiment.seed, experiment.title) == (7, "Digits, small")
    keys = (("solver.C", "x"), ("repeats", "y"))
    shared = [f"{{key: {key}, status: known, evidence: {evidence}}}" for key, evidence in keys]
    switches = load_experiment(including(f"switches: [{', '.join(shared)}]", OPEN)).switches
    assert [(one.key, one.evidence) for one in switches] == [("solver.C", "z"), ("repeats", "y")]
    solver = "  mapped: {name: liblinear, C: 1}\n"
    path = including("solvers: {mapped: {name: newton, C: 1}}\n", without=solver)
    assert costs(load_experiment(path, ["solvers.mapped.C=7"])) == [[7]]


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
def test_an_included_file_of_the_wrong_shape_is_told(including, shared, words):
    assert words in refusal(including(shared, OPEN))


def test_included_files_lie_beside_the_config(write):
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
        text = refusal(path)
        assert "hunter2" not in text
        assert "root:" not in text
    (path.parent / "below" / "_shared.yaml").write_text("seed: 7\n")
    path.write_text("include: below/_shared.yaml\n" + own)
    assert load_experiment(path).seed == 7


def test_settings_replace_keys_of_the_file(in_settings):
    experiment = load_experiment(in_settings)
    assert [setting.kernels[0].parameters["degree"] for setting in experiment.settings] == [3, 2, 2]
    assert (costs(experiment), sizes(experiment)) == ([[1], [1, 1], [1]], [[64, 64], [64, 64], [8]])
    assert [setting.repeats for setting in experiment.settings] == [2, 2, 1]


def test_set_reaches_every_setting_that_has_the_key(in_settings):
    for override, expected in (
        ("solvers.mapped.C=7", [[7], [7, 7], [7]]),
        ("solvers.mapped.1.C=7", [[1], [1, 7], [1]]),
    ):
        assert costs(load_experiment(in_settings, [override])) == expected
    for override, features in (
        ("maps.n_components=5", [[5, 5], [5, 5], [5]]),
        ("maps.1.n_components=5", [[64, 5], [64, 5], [8]]),
    ):
        assert sizes(load_experiment(in_settings, [override])) == features
    experiment = load_experiment(in_settings, ["solvers.exact.C=3"])
    assert [[s.parameters["C"] for s in x.exact_solvers] for x in experiment.settings] == [[3], [], [3]]
    assert [x.repeats for x in load_experiment(in_settings, ["repeats=4"]).settings] == [4, 4, 4]
    assert [x.repeats for x in load_experiment(in_settings, repeats=4).settings] == [4, 4, 4]
    kinds = load_experiment(in_settings, ["protocol.constant_features=drop"]).settings
    assert {protocol.constant_features for x in kinds for protocol in x.protocols} == {"drop"}


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["repeats"], "--set repeats: expected key=value"),
        (["maps.9.n_components=8"], "changes nothing: the config has no place `maps.9.n_components`"),
        (["solvers.exakt.C=1"], "the config has no place `solvers.exakt.C`"),
        (["protocol.split.fold.x=1"], "`protocol.split.fold.x`"),
        (["maps.²=1"], "maps[0].²: unknown key"),
        (["maps.99999999999999999999=1"], "unknown key"),
        (["title.x=1"], "the config has no place `title.x`"),
    ],
)  # fmt: skip
def test_a_key_that_changes_nothing_is_an_error(in_settings, overrides, words):
    assert words in refusal(in_settings, *overrides)


@pytest.mark.parametrize(
    ("override", "choices"),
    [
        ("maps.1.n_components=9", {"maps": ["tensor_sketch"]}),
        ("solvers.mapped.C=9", {"maps": ["exact"]}),
        ("solvers.exact.C=9", {"exact": False}),
        ("repeats=9", {"repeats": 3}),
    ],
)
def test_set_of_what_other_options_leave_out_is_an_error(write, override, choices):
    assert load_experiment(write(), [override])
    assert "changes nothing that is run" in refusal(write(), override, **choices)


def test_maps_set_and_repeats_combine(write):
    experiment = load_experiment(write(), ["maps.0.n_components=9"], maps=["tensor_sketch"], repeats=4)
    assert sizes(experiment) == [[9]]
    assert [setting.repeats for setting in experiment.settings] == [4]
    assert not experiment.settings[0].exact_solvers
    alone = load_experiment(write(), ["solvers.exact.C=9"], maps=["exact"]).settings[0]
    assert (alone.maps, alone.mapped_solvers) == ([], [])
    assert [item.parameters["C"] for item in alone.exact_solvers] == [9]
    both = load_experiment(write(), maps=["exact", "tensor_sketch"]).settings[0]
    assert ([item.name for item in both.maps], len(both.exact_solvers)) == (["tensor_sketch"], 1)


def test_a_setting_of_which_nothing_is_selected_needs_no_data(write):
    path = write("settings: [{}, {dataset: adult, solvers: {mapped: {name: newton}}}]\n")
    assert load_experiment(path, maps=["exact"]).datasets == [RegisteredSource(name="digits")]
