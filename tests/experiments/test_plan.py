from dataclasses import replace

import pytest

from kfeat.data import RegisteredSource
from kfeat.errors import ConfigError
from kfeat.experiments.config import load_experiment
from kfeat.experiments.plan import plan
from kfeat.experiments.trial import header


def planned(path, *overrides, fingerprint="f"):
    experiment = load_experiment(path, overrides)
    return plan(experiment, dict.fromkeys(experiment.datasets, fingerprint))


def ids(trials):
    return {trial.id for trial in trials}


def test_mapped_trials_repeat_and_the_exact_machine_runs_once(write):
    trials = planned(write())
    assert [(t.map.name if t.map else "exact", t.repeat) for t in trials] == [
        ("tensor_sketch", 0),
        ("random_maclaurin", 0),
        ("tensor_sketch", 1),
        ("random_maclaurin", 1),
        ("exact", 0),
    ]


THRICE = {"repeats: 2": "repeats: 2\nexact_repeats: 3"}


@pytest.mark.parametrize(
    ("change", "repeats", "runs"),
    [
        ({"seed: 0": "seed: null"}, None, [0, 1]),  # once on each split
        (THRICE, None, [0, 1, 2]),
        (THRICE, 1, [0]),
        (THRICE, 2, [0, 1]),
        (THRICE, 9, [0, 1, 2]),
    ],
)
def test_the_exact_machine_repeats_where_splits_differ_or_for_its_times(write, change, repeats, runs):
    once = ids(planned(write()))
    trials = plan(load_experiment(write(**change), repeats=repeats), {RegisteredSource(name="digits"): "f"})
    exact = [one for one in trials if one.map is None]
    assert [one.repeat for one in exact] == runs
    assert len({one.cell for one in exact}) == 1
    assert len({one.seeds["data"] for one in exact}) == (1 if change is THRICE else 2)
    if change is THRICE and repeats is None:
        assert once < ids(trials)


def test_a_trial_in_another_repeat_is_the_one_that_is_made_from_scratch(write):
    for first in plan(load_experiment(write()), {RegisteredSource(name="digits"): "f"}):
        assert first.id
        assert first.seeds  # what is derived already must not be handed on
        again, scratch = first.at_repeat(7), replace(first, repeat=7)
        assert again == scratch
        assert (again.id, again.cell, again.seeds) == (scratch.id, scratch.cell, scratch.seeds)
        assert again.id != first.id
        assert again.seeds != first.seeds
        assert again.cell == first.cell


def test_identity_is_content(write):
    base = ids(planned(write()))
    assert ids(planned(write(), "maps.1.h01=false", "kernel.gamma=1.0", "title=Another")) == base
    assert ids(planned(write(), "repeats=1")) < base
    for change in ("seed=1", "kernel.degree=3", "protocol.dtype=float64", "solvers.mapped.C=2"):
        common = ids(planned(write(), change)) & base
        assert len(common) <= 1, change  # solvers.mapped leaves the exact trial as it was
    assert not ids(planned(write(), fingerprint="g")) & base


def test_rows_of_two_caches_are_not_rows_of_one_trial(write):
    given, default = planned(write(), "solvers.exact.cache_mb=50"), planned(write())
    assert ids(planned(write(), "solvers.exact.cache_mb=null")) == ids(default)
    assert len(ids(given) & ids(default)) == len(default) - 1
    assert [trial.seeds for trial in given] == [trial.seeds for trial in default]
    assert [header(trial)["solver"].get("cache_mb") for trial in given if trial.exact] == [50]
    assert not any("cache_mb" in header(trial)["solver"] for trial in default)


def test_an_algorithm_version_is_part_of_the_identity(write, monkeypatch):
    from kfeat.maps import MAPS

    before = {trial.id: trial.seeds for trial in planned(write())}
    monkeypatch.setattr(MAPS["tensor_sketch"], "algorithm_version", 99)
    after = planned(write())
    assert [trial.id in before for trial in after] == [False, True, False, True, True]
    assert [trial.seeds for trial in after] == list(before.values())  # the draws stay comparable


def test_seeds_pair_the_methods_of_a_repeat(write):
    trials = planned(write(), "protocol.split.seed=null", "solvers.mapped.C=[1, 10]")
    by_repeat = {r: [t for t in trials if t.repeat == r] for r in (0, 1)}
    splits = {r: {t.seeds["data"] for t in found} for r, found in by_repeat.items()}
    assert len(splits[0]) == len(splits[1]) == 1
    assert splits[0] != splits[1]
    sketches = [t for t in by_repeat[0] if t.map and t.map.name == "tensor_sketch"]
    assert len(sketches) == 2
    assert len({t.seeds["map"] for t in sketches}) == 1  # solvers share features
    assert len({t.seeds["map"] for t in by_repeat[0] if t.map}) == 2  # maps draw on their own


def test_identities_do_not_depend_on_the_order_of_the_config(write):
    turned = write(tensor_sketch="X", random_maclaurin="tensor_sketch")
    turned.write_text(turned.read_text().replace("X", "random_maclaurin"))
    assert ids(planned(turned)) == ids(planned(write()))


def test_the_identities_of_the_house_do_not_drift(write):
    """Published rows are found by these; whoever changes them changes the schema and publishes anew."""
    assert planned(write())[0].id == FIRST_ID


FIRST_ID = "c925ef79ad30be09"


def test_every_key_of_the_protocol_is_a_grid_and_a_chain_of_scaling_is_none(write):
    trials = planned(
        write(),
        "protocol={dtype: [float32, float64], scale: [{divide: [8, 16]}, unit_rows], "
        "constant_features: [keep, drop], split: [all, {kind: sample, n_train: [300, 400], seed: 0}]}",
        "repeats=1",
    )
    protocols = {trial.protocol: None for trial in trials}
    assert len(protocols) == 2 * 2 * 2 * 3
    assert {len(protocol.scale) for protocol in protocols} == {2}
    keys = {trial.describe().get("protocol.split.n_train") for trial in trials}
    assert keys == {None, 300, 400}


def test_a_problem_in_a_grid_of_protocols_is_told_with_its_path(write):
    with pytest.raises(ConfigError, match=r"protocol\.split\.n_train: .* \(got 0\)"):
        planned(write(), "protocol.split={kind: sample, n_train: [9, 0]}")
    with pytest.raises(ConfigError, match=r"protocol\[1\]\.dtype: .* \(got 'float8'\)"):
        planned(write(), "protocol=[{}, {dtype: [float32, float8]}]")
