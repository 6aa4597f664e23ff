"""The reference of a table: which cell it is, and the difference from it with its interval."""

import numpy as np
import pytest
from scipy.stats import ttest_1samp, ttest_ind, ttest_rel

from kfeat.analysis import claim_cases
from kfeat.analysis.cells import paired
from kfeat.analysis.claim_cases import references
from kfeat.errors import ConfigError
from kfeat.render.notes import difference
from tests.cells import cells_with, fake_row

CONFIG = """
title: Maps, small
dataset: digits
protocol: {split: {kind: sample, n_train: 300, n_test: 200}}
kernel: {name: gaussian, gamma: 0.05}
maps:
  - {name: random_fourier, n_components: [32, 64]}
  - {name: orf, n_components: [32, 64]}
  - {name: nystrom, n_components: 32}
solvers:
  mapped: {name: liblinear}
  exact: {name: libsvm}
repeats: 6
"""
FIXED = {"n_test: 200}": "n_test: 200, seed: 0}"}
TWO_MAPPED = {"{name: liblinear}": "[{name: liblinear}, {name: newton}]"}
TWO_EXACT = {"{name: libsvm}": "[{name: libsvm}, {name: svc}]"}


@pytest.fixture
def load(load_text):
    """Load the config with a reference and with replacements."""

    def loader(reference="{map: orf}", replacements=(), **choices):
        text = f"{CONFIG}reference: {reference}\n"
        for old, new in dict(replacements).items():
            assert old in text
            text = text.replace(old, new)
        return load_text(text, name="my_maps.yaml", **choices)

    return loader


def row(trial):
    """A row whose accuracy has a part of its split, which all methods share, and one of its own."""
    shared = np.random.default_rng(trial.repeat).normal(0.9, 0.03)
    own = np.random.default_rng(int(trial.id[:8], 16)).normal(0, 0.01)
    return fake_row(trial, float(shared + own))


def by_name(cells):
    def name(cell):
        size = f" {cell.D}" if cell.D else ""
        return f"{cell.trial.map.name if cell.trial.map else 'exact'}{size}"

    assert len({name(cell) for cell in cells}) == len(cells)
    return {name(cell): cell for cell in cells}


def chosen(experiment):
    cells = cells_with(experiment, row)
    named = {cell: name for name, cell in by_name(cells).items()}
    return {named[cell]: named[reference] for cell, reference in references(experiment, cells).items()}


def accuracies(cell):
    """The accuracies in per cent by the seed of the split."""
    return {row["seeds"]["data"]: 100 * row["accuracy"] for row in cell.rows}


def check_pairs(cells):
    """Compare each difference with the test of pairs on the same split."""
    for ours, theirs in (
        ("random_fourier 32", "orf 32"),
        ("random_fourier 64", "orf 64"),
        ("exact", "orf 64"),
    ):
        a, b = by_name(cells)[ours], by_name(cells)[theirs]
        x, y = accuracies(a), accuracies(b)
        expected = ttest_rel(list(x.values()), [y[seed] for seed in x])
        shown = difference(a, b)
        assert shown.number.value == pytest.approx(np.mean(list(x.values())) - np.mean(list(y.values())))
        assert shown.interval == pytest.approx(tuple(expected.confidence_interval(0.95)), rel=1e-9)


def test_on_random_splits_the_interval_is_that_of_pairs(load, monkeypatch):
    cells = cells_with(load("{map: orf}"), row)
    check_pairs(cells)
    for cell in cells:
        cell.rows.reverse()  # of all methods, and then of one: the seeds tell what belongs together
    check_pairs(cells)
    by_name(cells)["orf 32"].rows.reverse()
    check_pairs(cells)

    def wrong(a, b, name):
        pairs = paired(a, b, name)
        return [(x, pairs[i - 1][1]) for i, (x, _) in enumerate(pairs)]

    monkeypatch.setattr(claim_cases, "paired", wrong)
    with pytest.raises(AssertionError):
        check_pairs(cells)


def test_on_a_fixed_split_it_is_welchs_and_beside_an_exact_number_students(load):
    cells = by_name(cells_with(load("{map: orf}", FIXED), row))
    ours, reference, exact = cells["random_fourier 32"], cells["orf 32"], cells["exact"]
    a, b = ([100 * row["accuracy"] for row in cell.rows] for cell in (ours, reference))
    welch = ttest_ind(a, b, equal_var=False).confidence_interval(0.95)
    assert difference(ours, reference).interval == pytest.approx(tuple(welch), rel=1e-9)
    student = ttest_1samp(np.array(a) - exact.score.mean, 0).confidence_interval(0.95)
    assert difference(ours, exact).interval == pytest.approx(tuple(student), rel=1e-9)


def test_two_solvers_of_the_same_features_are_pairs_on_a_fixed_split_too(load):
    experiment = load("{map: orf, solver: newton}", {**FIXED, **TWO_MAPPED})
    cells = cells_with(experiment, row)
    orf = [cell for cell in cells if cell.trial.map and cell.trial.map.name == "orf" and cell.D == 64]
    ours, theirs = sorted(orf, key=lambda cell: cell.trial.solver.name)
    assert references(experiment, cells)[ours] is theirs
    x, y = ({row["seeds"]["map"]: 100 * row["accuracy"] for row in cell.rows} for cell in (ours, theirs))
    expected = ttest_rel(list(x.values()), [y[seed] for seed in x]).confidence_interval(0.95)
    assert difference(ours, theirs).interval == pytest.approx(tuple(expected), rel=1e-9)


def test_a_single_run_and_two_exact_numbers_have_no_interval(load):
    single = by_name(cells_with(load("{map: orf}", {"repeats: 6": "repeats: 1"}), row))
    shown = difference(single["random_fourier 32"], single["orf 32"])
    assert (shown.number.value is None, shown.interval) == (False, None)
    both = load("{solver: libsvm}", {**FIXED, **TWO_EXACT})
    exact, other = [cell for cell in cells_with(both, row) if cell.trial.map is None]
    assert difference(exact, other).interval is None
    assert difference(exact, other).number.value != 0


def test_the_reference_has_the_methods_size_or_is_the_only_one(load):
    assert chosen(load("{map: orf}")) == {
        "random_fourier 32": "orf 32", "random_fourier 64": "orf 64", "nystrom 32": "orf 32",
        "orf 32": "orf 32", "orf 64": "orf 64",
    }  # fmt: skip
    assert set(chosen(load("{map: exact}")).values()) == {"exact"}
    assert len(chosen(load("{map: nystrom}"))) == 6
    assert set(chosen(load("{map: orf, map.n_components: 64}")).values()) == {"orf 64"}
    # Two that fit equally well are none.
    assert chosen(load("{map: [orf, nystrom]}"))["random_fourier 64"] == "orf 64"
    assert "random_fourier 32" not in chosen(load("{map: [orf, nystrom]}"))


def test_of_several_references_a_method_has_that_of_its_solver(load):
    experiment = load("{map: orf}", TWO_MAPPED)
    pairs = references(experiment, cells_with(experiment, row))
    assert len(pairs) == 10
    for cell, reference in pairs.items():
        assert (cell.D, cell.trial.solver) == (reference.D, reference.trial.solver)


def test_settings_are_not_compared_with_each_other(load):
    experiment = load("{map: exact}", {"gamma: 0.05": "gamma: [0.05, 0.1]"})
    pairs = references(experiment, cells_with(experiment, row))
    assert len(pairs) == 12
    assert all(cell.setting == reference.setting for cell, reference in pairs.items())


def test_a_baseline_is_the_reference_of_all_kernels(load):
    two = {
        "gamma: 0.05": "gamma: [0.05, 0.1]",
        "{name: libsvm}": "{name: libsvm}\n  baseline: {name: liblinear}",
    }
    experiment = load("{map: baseline}", two)
    cells = cells_with(experiment, row)
    pairs = references(experiment, cells)
    assert len(pairs) == len(cells) == 13
    (baseline,) = set(pairs.values())
    assert (baseline.trial.map, baseline.trial.solver.name) == (None, "liblinear")
    other = next(cell for cell in cells if cell.setting != baseline.setting and cell.trial.map)
    x, y = accuracies(other), accuracies(baseline)
    expected = ttest_rel(list(x.values()), [y[seed] for seed in x]).confidence_interval(0.95)
    assert difference(other, baseline).interval == pytest.approx(tuple(expected), rel=1e-9)


@pytest.mark.parametrize(
    ("reference", "problem"),
    [
        ("{map: orff}", "map: orff (did you mean 'orf'?)"),
        ("{map.n_components: 65}", "map.n_components: 65"),
        ("{map: nystrom, map.n_components: 64}", "all of these values"),
    ],
)
def test_a_reference_that_is_no_method_is_named(load, reference, problem):
    experiment = load(reference)
    with pytest.raises(ConfigError) as error:
        references(experiment, cells_with(experiment, row))
    assert str(error.value) == (
        f"{experiment.path}: reference: no method of the plan has {problem}; `kfeat plan` shows the methods"
    )


def test_a_key_that_no_method_has_is_named_with_its_line(load):
    with pytest.raises(
        ConfigError, match=r"maps.yaml, line 14, reference: no trial has the key 'mapp' \(did"
    ):
        load("{mapp: orf}")


def test_a_part_of_the_config_may_lack_the_reference(load):
    experiment = load("{map: orf}", maps=["nystrom"])
    assert references(experiment, cells_with(experiment, row)) == {}
