"""Advice from a planted survey whose answer is known, and from the published one."""

import json
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kfeat.experiments.component import read_component
from kfeat.experiments.config import load_experiment
from kfeat.survey.advice import (
    CELL,
    EXACT,
    Advice,
    Traits,
    advise,
    described,
    expected,
    published,
    regret,
    regrets,
    weights,
)

ROOT = Path(__file__).parents[2]
CONFIGS, RESULTS = ROOT / "configs/survey", ROOT / "results/survey"
NARROW, WIDE = ["n1", "n2", "n3"], ["w1", "w2", "w3"]
ABOUT = pd.DataFrame(
    [
        {"dataset": name, "task": "classification", "n": 10_000, "d": d, "density": 1.0, "spread": spread}
        for names, d, spread in ((NARROW, 10, 5.0), (WIDE, 1000, 300.0))
        for name in names
    ]
).set_index("dataset")


def planted():
    """Nystrom is best on few features, ORF on many; the exact method takes ten seconds."""
    lines = []
    for name, method, size in product(ABOUT.index, ("nystrom", "orf"), (64, 1024)):
        suited = (method == "nystrom") == (name in NARROW)
        score = 80.0 + 5 * suited + (4 if size == 1024 else 0)
        lines.append([name, "gaussian", method, "", size, score, size / 1000])
    lines += [[name, "gaussian", EXACT, "", 0, 90.0, 10.0] for name in ABOUT.index]
    frame = pd.DataFrame(lines, columns=[*CELL, "score", "seconds"])
    return frame.assign(n=10_000, memory_mb=500.0, task="classification")


def traits(d, spread, n=10_000):
    """The traits of some data."""
    return Traits("classification", n, d, 1.0, spread)


@pytest.mark.parametrize(("d", "spread", "method"), [(12, 6.0, "nystrom"), (900, 250.0, "orf")])
def test_data_get_the_method_of_data_like_them(d, spread, method):
    found = advise(traits(d, spread), 2.0, planted(), ABOUT)
    assert found.entry == {"name": method, "n_components": 1024}
    assert type(found.n_components) is int  # which a config can have
    assert 1.0 <= found.loss < 2.5  # 90 less 89 on such data, and a little of the others
    assert set(found.evidence) == set(NARROW if method == "nystrom" else WIDE)


def test_the_budget_limits_the_size_and_allows_the_exact_method():
    at = {budget: advise(traits(12, 6.0), budget, planted(), ABOUT) for budget in (0.01, 0.1, 2.0, 60.0)}
    assert at[0.01] is None
    sizes = [one.n_components for one in at.values() if one]
    assert sizes == [64, 1024, 0]
    assert at[60.0].exact
    assert at[60.0].entry is None
    assert at[60.0].loss == pytest.approx(0.0)


def test_seconds_grow_with_the_rows_and_quadratically_for_the_exact_method():
    small, large = (
        expected(traits(12, 6.0, n), planted(), ABOUT).set_index(CELL[1:])["seconds"]
        for n in (10_000, 40_000)
    )
    growth = large / small
    assert growth["gaussian", EXACT, "", 0] == pytest.approx(16)
    assert growth["gaussian", "orf", "", 64] == pytest.approx(4)


def test_memory_grows_by_the_features_of_more_rows():
    """500 MB at 10,000 rows, of which an empty process has 230."""
    large = expected(traits(12, 6.0, 40_000), planted(), ABOUT).set_index(CELL[1:])["memory_mb"]
    assert large["gaussian", "orf", "", 1024] == pytest.approx(500 + 30_000 * 1024 * 4e-6)
    assert large["gaussian", EXACT, "", 0] == pytest.approx(230 + 270 * 16)


def test_no_more_landmarks_than_rows_are_advised():
    sizes = expected(traits(12, 6.0, 500), planted(), ABOUT).groupby("map")["n_components"].max()
    assert sizes.to_dict() == {"exact": 0, "nystrom": 64, "orf": 1024}


def test_only_the_allowed_kernels_are_advised():
    other = planted().assign(kernel="laplacian")
    other["score"] -= 20
    both = pd.concat([planted(), other])
    found = advise(traits(12, 6.0), 2.0, both, ABOUT, ["laplacian"])
    assert found.kernel == "laplacian"
    best = advise(traits(12, 6.0), 2.0, both, ABOUT)
    assert best.kernel == "gaussian"


def test_weights_prefer_alike_data_and_the_same_task():
    found = weights(traits(10, 5.0), ABOUT)
    assert found[NARROW].min() > 3 * found[WIDE].max() > 0
    mixed = ABOUT.assign(task=["regression", *["classification"] * 5])
    assert weights(traits(10, 5.0), mixed)["n1"] == 0


def test_advice_for_a_data_set_does_not_see_it():
    """A method that is good on n1 alone must not be advised for it, so its regret there is large."""
    cells = planted()
    magic = cells[cells["map"] == "orf"].assign(map="magic", score=50.0)
    magic.loc[magic["dataset"] == "n1", "score"] = 99.0
    rules = cells[(cells["map"] == "orf") & (cells["n_components"] == 64)].assign(rule="always orf 64")
    found = regrets(pd.concat([cells, magic]), ABOUT, rules)
    own = found[(found["rule"] == "advise") & (found["dataset"] == "n1") & (found["budget"] == 3.0)]
    assert own["regret"].item() == pytest.approx(99 - 89)
    rule = found[(found["rule"] == "always orf 64") & (found["dataset"] == "n2") & (found["budget"] == 3.0)]
    assert rule["regret"].item() == pytest.approx(89 - 80)
    assert not found.loc[found["rule"] == "advise", "over"].any()


def test_traits_of_equal_rows_and_of_far_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 200))
    far = Traits.of(X, X * (rng.random(X.shape) < 0.25), "classification", 7)
    assert (far.n, far.d) == (7, 200)
    assert far.density == pytest.approx(0.25, abs=0.01)
    line = Traits.of(np.outer(rng.normal(size=300), np.ones(200)), X, "classification")
    assert line.n == 300
    assert 1 <= line.spread < 10 < far.spread <= 300


def test_every_published_method_is_a_map_of_the_configs():
    configs = [load_experiment(path) for path in sorted(CONFIGS.glob("[!_]*_[glp]*.yaml"))]
    ran = {str(item.identity()) for one in configs for setting in one.settings for item in setting.maps}
    methods = published()[CELL[1:]].drop_duplicates().to_dict("records")
    entries = [Advice(**line, loss=0.0, seconds=1.0, memory_mb=1.0, evidence={}).entry for line in methods]
    assert len(entries) > 150
    assert {str(read_component(entry, "map").identity()) for entry in entries if entry} <= ran


@pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "polynomial2", "polynomial4"])
def test_gamma_and_c_are_the_best_of_the_rule(kernel):
    """The pair of the best mean on rows held out; of equal ones the smaller gamma, then the smaller cost."""
    text = (RESULTS / f"tuning_{kernel}/trials.jsonl").read_text()
    rows = [json.loads(line) for line in text.splitlines()]
    scores = {}
    for row in rows:
        pair = row["kernel"]["gamma"], row["solver"].get("C", row["solver"].get("alpha"))
        scores.setdefault((row["dataset"], *pair), []).append(row.get("accuracy", row.get("r2")))
    names = {name for name, _, _ in scores}
    assert len(names) == (9 if kernel == "laplacian" else 10)
    for name in names:
        means = {key[1:]: round(float(np.mean(each)), 6) for key, each in scores.items() if key[0] == name}
        best = max(means, key=lambda pair: (means[pair], -pair[0], -pair[1]))
        (setting, *_) = load_experiment(CONFIGS / f"{name}_{kernel}.yaml").settings
        solver = setting.mapped_solvers[0].description()
        assert (setting.kernels[0].given["gamma"], solver.get("C", solver.get("alpha"))) == best, name


def test_the_published_advice_beats_the_rules_of_thumb():
    means = regret().groupby("rule")["regret"].mean()
    assert set(described().index) == set(regret()["dataset"])
    assert means["advise"] == means.min()
    assert (means.drop("advise") > means["advise"]).all()
