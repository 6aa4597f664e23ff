"""Claims on made-up rows of two kernels and three sizes, with planted faults."""

from math import inf

import numpy as np
import pytest
from pydantic import ValidationError

from kfeat.analysis.claims import (
    DIRECTION_ONLY,
    EXPLAINED,
    MISSING,
    OPEN,
    REFUTED,
    REPRODUCED,
    UNEXPLAINED,
    Cited,
    claim_verdicts,
)
from kfeat.analysis.statistics import growth_exponent
from kfeat.cli.reports import check_report
from kfeat.errors import ConfigError
from kfeat.experiments.config import load_experiment
from kfeat.experiments.paper import Claim
from tests.cells import cells_with, fake_row

TS, RM, EXACT = {"map": "tensor_sketch"}, {"map": "random_maclaurin"}, {"map": "exact"}
SIZES = (64, 128, 256)
MAPPING = ("map_fit", "map_train", "map_test")


@pytest.fixture
def grid(write):
    """Two kernels (coef0 0 and 1), two maps of three sizes each, an exact kernel SVM, three repeats."""
    path = write(**{"coef0: 1": "coef0: [0, 1]", "n_components: 64": f"n_components: {list(SIZES)}"})
    return load_experiment(path, repeats=3)


def key(trial):
    """Map, size and coef0 of a trial."""
    size = trial.map.parameters["n_components"] if trial.map else None
    return trial.map.name if trial.map else "exact", size, trial.kernel.parameters["coef0"]


def scored(trial):
    """Tensor Sketch 5 points above Random Maclaurin for coef0 = 0 and 1 point for 1; D adds 1, 2, 3."""
    name, size, coef0 = key(trial)
    base = {"tensor_sketch": 0.85, "random_maclaurin": 0.84 if coef0 else 0.80, "exact": 0.90}[name]
    more = 0.01 * (SIZES.index(size) + 1) if size in SIZES else 0.0
    cpu = dict.fromkeys(MAPPING, size**2 / 1e4) if size else {}
    cpu |= dict.fromkeys(("train", "predict"), 2.0 if size else 8.0)
    accuracy = base + more + 0.001 * (trial.repeat - 1)
    return fake_row(trial, accuracy, seconds=timed(cpu), n_features=64)


def timed(cpu):
    """CPU seconds by phase, as rows have them."""
    return {phase: {"cpu": seconds, "wall": seconds} for phase, seconds in cpu.items()}


@pytest.fixture
def cells(grid):
    """Cells with these rows."""
    return cells_with(grid, scored)


def claim(**keys):
    return Claim.model_validate({"text": "So it is", "where": "Section 6"} | keys)


def one(grid, cells, **keys):
    (found,) = claim_verdicts(grid.model_copy(update={"claims": [claim(**keys)]}), cells)
    return found


def test_the_direction_holds_or_is_not_reproduced(grid, cells):
    assert one(grid, cells, difference=[TS, RM], above=0).verdict == REPRODUCED
    wrong = one(grid, cells, difference=[RM, TS], above=0)
    assert wrong.verdict == UNEXPLAINED
    assert one(grid, cells, difference=[RM, TS], below=0).verdict == REPRODUCED
    assert one(grid, cells, value=TS, above=80, below=87).verdict == UNEXPLAINED


def test_each_listed_value_is_a_case_with_its_own_printed_number(grid, cells):
    both = {"map": ["tensor_sketch", "random_maclaurin"], "map.n_components": list(SIZES)}
    near = [86, 87, 88, 85, 86, 87]  # at coef0 = 1; Random Maclaurin's are a point below Tensor Sketch's
    found = one(grid, cells, **{"for": {"kernel.coef0": 1}}, value=both, minus=near, above=-0.5, below=0.5)
    assert [round(case.number or 0, 9) for case in found.cases] == [0] * 6
    assert found.verdict == REPRODUCED
    far = one(grid, cells, **{"for": {"kernel.coef0": 1}}, value=both, minus=[80, *near[1:]], below=0.5)
    assert (far.verdict, far.decisive and far.decisive.name) == (UNEXPLAINED, far.cases[0].name)
    assert "Tensor Sketch, D =" in far.cases[0].name
    assert far.ours.startswith("5 of 6 hold, 1 fails; least favourable: ")
    assert "+6.00" in far.ours
    assert far.paper == "80, 87, 88, 85, 86, 87; < 0.5"
    with pytest.raises(ConfigError, match="minus has 2 numbers for 6 cases"):
        one(grid, cells, value=both, minus=[1, 2], below=0)
    with pytest.raises(ConfigError, match="minus has 1 number for 6 cases"):
        one(grid, cells, value=both, minus=[1], below=0)
    with pytest.raises(ConfigError, match="no planned cell for one of the numbers"):
        one(
            grid,
            cells,
            value={"map": ["tensor_sketch", "exact"], "map.n_components": 64},
            minus=[86, 90],
            below=1,
        )


def test_over_divides_each_listed_value_by_its_printed_number_and_shows_all(grid, cells):
    sizes = {**TS, "map.n_components": list(SIZES)}
    keys = {"for": {"kernel.coef0": 1}, "value": sizes, "over": [43, 87, 88]}
    found = one(grid, cells, **keys, above=0.9, below=1.1)
    assert [round(case.number or 0, 9) for case in found.cases] == [2, 1, 1]
    low, high = (
        one(grid, cells, **{"for": keys["for"]}, value=sizes | {"map.n_components": 64}, above=0)
        .cases[0]
        .interval
    )
    assert found.cases[0].interval == pytest.approx((low / 43, high / 43))
    assert found.verdict == UNEXPLAINED
    assert found.ours.startswith("2 of 3 hold, 1 fails; Tensor Sketch, D = 64: 2×")
    assert found.ours.count("; Tensor Sketch, D = ") == 3
    assert (found.paper, one(grid, cells, **keys, above=0.9).verdict) == ("0.9 to 1.1", REPRODUCED)
    with pytest.raises(ConfigError, match="over has 2 numbers for 3 cases"):
        one(grid, cells, **keys | {"over": [1, 2]}, below=0)
    for wrong in ({"minus": [1, 2, 3]}, {"value": None, "difference": [TS, RM]}, {"over": [0]}):
        with pytest.raises(
            ValidationError, match=r"minus or over, not both|only value takes it|greater than 0"
        ):
            claim(**keys | wrong, above=0)


def test_a_list_that_both_sides_have_is_one(grid, cells):
    common = {"kernel.coef0": [0, 1], "map.n_components": 64}
    sides = [TS | common, RM | common]
    across = one(grid, cells, difference=sides, across=True, above=0)
    assert [round(case.number or 0) for case in across.cases] == [5, 1]


def test_an_explanation_needs_evidence_that_is_reproduced(grid, cells):
    def verdict(cited, **keys):
        said = claim(difference=[RM, TS], above=0, explanation="Rain.", **keys)
        (found,) = claim_verdicts(
            grid.model_copy(update={"claims": [said]}), cells, lambda citation: Cited(citation, cited or "")
        )
        return found.verdict

    assert verdict(None) == UNEXPLAINED  # words alone explain nothing
    assert verdict(REPRODUCED, evidence=["other#wet"]) == EXPLAINED
    assert verdict(OPEN, evidence=["other#wet"]) == UNEXPLAINED
    assert verdict(DIRECTION_ONLY, evidence=["other#wet", "other#cold"]) == UNEXPLAINED
    assert verdict(REPRODUCED, evidence=["other#wet"], kind="own") == REFUTED  # a claim of one's own asks


def test_there_is_a_case_per_setting_and_size_and_the_least_favourable_is_named(grid, cells):
    found = one(grid, cells, difference=[TS, RM], above=0)
    assert len(found.cases) == 6
    assert found.decisive.number == pytest.approx(1.0)
    assert "(1 + <x, y>)^2, D = " in found.decisive.name
    assert "6 of 6 hold; least favourable: (1 + <x, y>)^2, D = " in found.ours
    assert "+1.00 [+" in found.ours
    assert "all: +1.00 to +5.00" in found.ours


def test_for_selects_settings_and_sizes_and_a_list_means_one_of(grid, cells):
    def number(**keys):
        return len(one(grid, cells, above=-100, **keys).cases)

    assert number(difference=[TS, RM], **{"for": {"kernel.coef0": 0.0}}) == 3
    assert number(difference=[TS, RM], **{"for": {"map.n_components": 128}}) == 2
    assert number(difference=[TS, RM], **{"for": {"map.n_components": [64, 128]}}) == 4
    assert number(difference=[TS, EXACT], **{"for": {"map.n_components": 128}}) == 2
    assert number(value=EXACT) == 2
    assert number(difference=[EXACT, {"map.n_components": 64, **TS}]) == 2
    assert number(difference=[{"map.n_components": 64, **TS}, RM]) == 6


def test_all_needs_every_case_and_any_one_of_them(grid, cells):
    keys = {"difference": [TS, RM], "above": 3}
    assert one(grid, cells, **keys).verdict == UNEXPLAINED
    some = one(grid, cells, **keys, cases="any")
    assert some.verdict == REPRODUCED
    assert "3 of 6 hold, 3 fail; most favourable: <x, y>^2" in some.ours
    assert one(grid, cells, difference=[TS, RM], above=6, cases="any").verdict == UNEXPLAINED


def test_the_size_is_that_of_the_same_cases(grid, cells):
    keys = {"difference": [TS, RM], "above": 0}
    assert one(grid, cells, **keys, size=[0.5, 6]).verdict == REPRODUCED
    off = one(grid, cells, **keys, size=[4, 6], printed="5 points")
    assert off.verdict == DIRECTION_ONLY
    assert off.paper == "5 points"
    assert "+1.00" in off.ours
    assert one(grid, cells, **keys, size=[4, 6], cases="any").verdict == REPRODUCED
    assert one(grid, cells, **keys, size=[6, None], cases="any").verdict == DIRECTION_ONLY
    assert one(grid, cells, **keys, size=[None, 2]).verdict == DIRECTION_ONLY


def noisy(trial, shift=0.0):
    """Three draws 5 points apart; `shift` moves Tensor Sketch."""
    moved = shift * (key(trial)[0] == TS["map"])
    return scored(trial) | {"accuracy": 0.8 + 0.05 * (trial.repeat - 1) + moved}


@pytest.mark.parametrize("shift", [0.001, -0.001])
@pytest.mark.parametrize("which", ["all", "any"])
def test_a_bound_inside_the_interval_is_open_on_either_side(grid, shift, which):
    cells = cells_with(grid, lambda trial: noisy(trial, shift))
    found = one(grid, cells, difference=[TS, RM], above=0, cases=which)
    assert found.verdict == OPEN
    assert "0 of 6 hold, 6 open" in found.ours
    explained = one(grid, cells, difference=[TS, RM], above=0, cases=which, explanation="Rain.")
    assert explained.verdict == OPEN  # nothing is refuted, so that nothing is explained away


@pytest.mark.parametrize(("which", "others", "odd"), [("all", 0.9, 0.78), ("any", 0.7, 0.82)])
def test_a_claim_that_the_correction_for_several_cases_leaves_open_is_named(grid, which, others, odd):
    """A bound of 80: one of six cases is 2 points beyond it, with 95 % within 1.2 and 99.17 % within 3.2."""

    def row(trial, moved=0.0):
        mean = odd if key(trial) == (TS["map"], 64, 0) else others
        return fake_row(trial, mean + moved + 0.005 * (trial.repeat - 1), n_test=100_000)

    def found(moved=0.0, **keys):
        return one(grid, cells_with(grid, lambda trial: row(trial, moved)), value=TS, **keys)

    open_ = found(above=80, cases=which)
    assert (open_.verdict, len(open_.cases)) == (OPEN, 6)
    verb = "fails" if which == "all" else "holds"
    assert open_.correction == (
        f"Open because of the correction for 6 cases: 1 {verb} by the 95 % interval, but none by the 99.17 % "
        "interval that decides"
    )
    alone = found(above=80, cases=which, **{"for": {"kernel.coef0": 0, "map.n_components": 64}})
    assert (alone.verdict == OPEN, alone.correction) == (False, "")  # one case needs no correction
    assert found(0.1 if which == "all" else -0.1, above=80, cases=which).correction == ""  # decided
    near = found(0.015 if which == "all" else -0.015, above=80, cases=which)
    assert (near.verdict, near.correction) == (OPEN, "")  # open by its own interval, too


def test_single_draws_are_open_whichever_side_they_are_on(grid):
    single = cells_with(grid, lambda trial: scored(trial) if trial.repeat == 0 else None)
    for sides in ([TS, RM], [RM, TS]):
        found = one(grid, single, difference=sides, above=0)
        assert (found.verdict, "of single draws" in found.ours) == (OPEN, True)
        assert one(grid, single, of="error_rate", difference=sides, above=0).verdict == OPEN
    assert one(grid, single, growth=TS, above=0, kind="own").verdict == OPEN
    assert one(grid, single, of="fit", ratio=[RM, TS], below=0.5).verdict == UNEXPLAINED


def test_draws_that_tie_are_as_uncertain_as_the_rounding_to_whole_test_rows(grid):
    """Of 1,000 test rows here: a tenth of a row more is no difference, and a hundred rows are one."""

    def tied(more, **others):
        return lambda trial: fake_row(trial, 0.8 + more * (key(trial)[0] == TS["map"]), **others)

    keys = {"difference": [TS, RM], "above": 0}
    assert one(grid, cells_with(grid, tied(0.0001)), **keys).verdict == OPEN
    assert one(grid, cells_with(grid, tied(0.1)), **keys).verdict == REPRODUCED
    same = cells_with(grid, tied(0.0001, predictions="of a map without a draw"))
    assert one(grid, same, **keys).verdict == REPRODUCED


def test_times_of_those_that_ended_are_none_where_others_were_stopped(grid):
    """The mean over those that ended is that of the quickest."""

    def row(trial):
        late = key(trial)[0] == TS["map"] and trial.repeat == 2
        stop = {"status": "stopped", "limit_s": 99.0, "timed": False}
        return {**scored(trial), **(stop if late else {})}

    found = one(grid, cells_with(grid, row), of="fit", ratio=[TS, EXACT], below=1)
    assert (found.verdict, "stopped at the time limit" in found.ours) == (MISSING, True)


def stopped(*names):
    """Rows of 2 s, but the trials of these methods were stopped after 600 s."""

    def row(trial):
        late = {"status": "stopped", "limit_s": 600.0, "phase": "train", "timed": True}
        return scored(trial) | {"seconds": timed({"train": 2.0})} | (late if key(trial)[0] in names else {})

    return row


@pytest.mark.parametrize(
    ("size", "verdict"),
    [
        (None, REPRODUCED),
        ([100, None], REPRODUCED),
        ([100, 900], OPEN),  # it may be 300, or 3,000
        ([400, None], OPEN),
        ([400, 900], OPEN),
        ([10, 100], DIRECTION_ONLY),
    ],
)
def test_a_ratio_to_a_time_that_was_stopped_is_judged_by_its_lower_bound(grid, size, verdict):
    """600 s and more, over 2 s: more than 300, whose interval has no upper end."""
    cells = cells_with(grid, stopped("exact"))
    found = one(grid, cells, of="fit", ratio=[EXACT, TS], above=1, size=size)
    assert (found.verdict, found.cases[0].interval[1]) == (verdict, inf)
    assert "favourable" in found.ours
    assert "> 300× [" in found.ours
    assert ", ∞]" in found.ours


@pytest.mark.parametrize(
    ("bounds", "verdict"),
    [
        ({"above": 400}, OPEN),
        ({"above": 280}, OPEN),  # the bound is that of one run, and its interval reaches below
        ({"below": 10_000}, OPEN),
        ({"above": 1, "below": 10}, UNEXPLAINED),
    ],
)
def test_a_lower_bound_refutes_what_lies_below_it_alone(grid, bounds, verdict):
    cells = cells_with(grid, stopped("exact"))
    assert one(grid, cells, of="fit", ratio=[EXACT, TS], **bounds).verdict == verdict


def test_a_ratio_below_which_a_time_was_stopped_has_an_upper_bound(grid):
    cells = cells_with(grid, stopped("exact"))
    keys = {"of": "fit", "ratio": [TS, EXACT]}
    found = one(grid, cells, **keys, below=1, size=[0, 0.5])
    assert (found.verdict, found.cases[0].sign, found.cases[0].interval[0]) == (REPRODUCED, "< ", 0)
    assert one(grid, cells, **keys, below=1, size=[0.001, 0.5]).verdict == OPEN
    assert one(grid, cells, **keys, below=1, size=[0.1, 0.5]).verdict == DIRECTION_ONLY
    assert one(grid, cells, **keys, above=0.5, below=2).verdict == UNEXPLAINED
    assert one(grid, cells, **keys, above=0.0001).verdict == OPEN


def test_a_time_that_was_stopped_is_at_least_its_limit(grid):
    cells = cells_with(grid, stopped("exact"))
    assert one(grid, cells, of="fit", value=EXACT, above=300).verdict == REPRODUCED
    assert one(grid, cells, of="train", value=EXACT, above=300).verdict == REPRODUCED
    assert one(grid, cells, of="fit", value=EXACT, above=700).verdict == OPEN
    assert one(grid, cells, of="test", value=EXACT, above=0).verdict == MISSING
    assert one(grid, cells, of="fit", difference=[TS, EXACT], below=0).verdict == REPRODUCED
    both = cells_with(grid, stopped("exact", TS["map"]))
    assert one(grid, both, of="fit", ratio=[EXACT, TS], above=0).verdict == MISSING


def test_the_case_that_refutes_is_judged_as_one_of_many(grid):
    """The worst of six cases is beyond its own 95 % interval, and within that of six chosen from."""

    def slightly(trial):
        lower = -0.006 if key(trial) == (TS["map"], 64, 0.0) else 0.02
        moved = lower * (key(trial)[0] == TS["map"]) + 0.002 * (trial.repeat - 1)
        return scored(trial) | {"accuracy": 0.8 + moved}

    found = one(grid, cells_with(grid, slightly), difference=[TS, RM], above=0)
    worst = found.decisive
    assert worst.interval[1] < 0
    wider = worst.interval_at(1 - 0.05 / 6)
    assert wider[1] > 0
    assert "5 of 6 hold, 1 fails" in found.ours
    assert found.verdict == OPEN


@pytest.mark.parametrize("keys", [{"above": 0.0}, {"above": -0.5, "below": 0.5}])
def test_false_alarms_are_as_rare_as_stated(grid, keys):
    """Nothing tells the maps apart: claims that they differ stand, or fall, in few of many worlds."""
    random, n, decided = np.random.default_rng(3), 100, 0
    for _ in range(n):
        cells = cells_with(grid, lambda trial: fake_row(trial, float(random.normal(0.8, 0.01))))
        decided += one(grid, cells, difference=[TS, RM], **keys).verdict in (REPRODUCED, UNEXPLAINED)
    assert decided / n < 0.05 + 3 * (0.05 * 0.95 / n) ** 0.5


def test_times_are_seconds_and_factors(grid, cells):
    speed = one(grid, cells, of="train", ratio=[EXACT, TS], above=1, size=[3, 5])
    assert speed.verdict == REPRODUCED
    assert "4×" in speed.ours
    assert one(grid, cells, of="test", value=TS, below=100).ours.count(" s") >= 1
    assert one(grid, cells, of="live", value=RM, above=10).ours.startswith("6 of 6 hold")


def test_growth_is_the_growth_exponent(grid, cells):
    found = one(grid, cells, of="map", growth=RM, above=1.9, below=2.1)
    assert [case.number for case in found.cases] == pytest.approx([2.0, 2.0])
    assert found.verdict == REPRODUCED
    upper_half_only = growth_exponent([(1, 5.0), (2, 5.0), (4, 16.0), (8, 64.0)])
    assert upper_half_only == (pytest.approx(2), None)
    assert growth_exponent([(10, 3.0), (1, 3.0)]) == (pytest.approx(0), None)
    assert growth_exponent([(1, 0.0), (2, 0.0)]) is None


def test_growth_with_the_features_of_the_data(write):
    settings = "\n".join(
        f"  - {{dataset: {{name: dense, n: 50, d: {d}}}, maps: [{{name: tensor_sketch, n_components: {d}}}]}}"
        for d in (8, 16, 32)
    )
    path = write(**{"dataset: digits": f"settings:\n{settings}", "n_train: 300, n_test: 200": "n_train: 30"})
    experiment = load_experiment(path)

    def row(trial):
        d = key(trial)[1] or 1
        return scored(trial) | {"n_features": d, "seconds": timed(dict.fromkeys(MAPPING, d**1.5))}

    keys = {"of": "map", "growth": TS, "against": "n_features", "across": True, "above": 1}
    found = one(experiment, cells_with(experiment, row), **keys)
    assert [case.number for case in found.cases] == pytest.approx([1.5])
    assert one(experiment, cells_with(experiment, lambda _: None), **keys).verdict == MISSING


def test_what_is_not_there_is_missing_unless_the_rest_decides(grid):
    def without(names):
        return lambda trial: None if key(trial)[0] in names or key(trial)[2] == 1 else scored(trial)

    none = cells_with(grid, lambda _: None)
    half = cells_with(grid, without(()))
    above = {"difference": [TS, RM], "above": 0}
    assert one(grid, none, **above).verdict == MISSING
    assert "6 of 6 missing: no rows" in one(grid, none, **above).ours
    late = cells_with(grid, lambda trial: {**scored(trial), "status": "stopped", "limit_s": 9.0})
    assert "6 of 6 missing: stopped at the time limit" in one(grid, late, **above).ours
    assert one(grid, half, **above).verdict == MISSING
    assert one(grid, half, **above, cases="any").verdict == REPRODUCED
    assert one(grid, half, **above, cases="any", size=[0, 9]).verdict == MISSING
    assert one(grid, half, difference=[RM, TS], above=0).verdict == UNEXPLAINED
    assert one(grid, half, difference=[RM, TS], above=0, cases="any").verdict == MISSING
    assert (
        one(grid, cells_with(grid, without(("exact",))), difference=[TS, EXACT], above=0).verdict == MISSING
    )


def test_times_that_do_not_count_are_missing(grid):
    cells = cells_with(grid, lambda trial: scored(trial) | {"timed": False})
    found = one(grid, cells, of="fit", ratio=[RM, TS], above=0)
    assert found.verdict == MISSING
    assert "no times that count" in found.ours
    assert one(grid, cells, difference=[TS, RM], above=0).verdict == REPRODUCED
    assert one(grid, cells, of="map", growth=TS, above=0).verdict == MISSING


def test_the_ratio_of_two_spreads_has_the_f_interval(grid):
    def wider(trial):
        factor = 3 if key(trial)[0] == "random_maclaurin" else 1
        return fake_row(trial, 0.8 + 0.01 * factor * (trial.repeat - 1))

    found = one(grid, cells_with(grid, wider), of="spread", ratio=[RM, TS], above=1)
    (low, high) = found.cases[0].interval or (0, 0)
    assert found.cases[0].number == pytest.approx(3)
    assert (low, high) == pytest.approx((3 / 39**0.5, 3 * 39**0.5), rel=1e-3)  # F(2, 2) at 0.975 is 39
    assert found.verdict == OPEN
    assert "3× [0.48×, 18.7×]" in found.ours


def test_across_compares_settings(grid, cells):
    small = {"map.n_components": 64, **RM}
    keys = {"across": True, "above": 0}
    sides = [{**small, "kernel.coef0": 1.0}, {**small, "kernel.coef0": 0.0}]
    found = one(grid, cells, **keys, difference=sides)
    assert [case.number for case in found.cases] == pytest.approx([4.0])
    assert found.cases[0].name == "(1 + <x, y>)^2, D = 64 against <x, y>^2, D = 64"
    with pytest.raises(ConfigError, match=r"ambiguous.*Random Maclaurin.*D = 64"):
        one(grid, cells, **keys, difference=[small, sides[1]])
    with pytest.raises(ConfigError, match="with itself"):
        one(grid, cells, **keys, difference=[sides[0], sides[0]])


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"value": {"map": "nystrom"}}, "no planned cell has map: 'nystrom'"),
        ({"value": {"map.n_components": [64, 65]}}, "no planned cell has map.n_components: 65"),
        ({"value": TS, "for": {"dataset": "adult"}}, "no planned cell has dataset: 'adult'"),
        ({"value": {**EXACT, "map.n_components": 64}}, "no planned cells give a case"),
        ({"growth": EXACT}, "no planned cells give a case"),
        ({"growth": TS, "against": "kernel"}, "ambiguous"),
        ({"difference": [{}, EXACT]}, "Tensor Sketch.*Random Maclaurin.*match the same selector"),
    ],
)
def test_a_vacuous_or_ambiguous_claim_is_an_error_before_any_run(grid, cells, keys, words):
    wrong = grid.model_copy(update={"claims": [claim(above=0, **keys)]})
    with pytest.raises(ConfigError, match=f"'So it is' \\(Section 6\\).*{words}"):
        check_report(wrong)
    assert claim_verdicts(wrong.model_copy(update={"changed": True}), cells) == []


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"value": TS}, "bound"),
        ({"above": 0}, "exactly one"),
        ({"value": TS, "ratio": [TS, RM], "above": 0}, "exactly one"),
        ({"value": TS, "above": 0, "against": "map.n_components"}, "only growth"),
        ({"growth": TS, "above": 0, "against": "n_features"}, "across"),
        ({"value": TS, "above": 0, "size": [2, 1]}, "size"),
        ({"value": TS, "above": 0, "size": [None, None]}, "size"),
    ],
)
def test_a_claim_that_makes_no_sense_is_refused_at_load_time(keys, words):
    with pytest.raises(ValidationError, match=words):
        claim(**keys)


def test_what_is_known_exactly_is_not_above_what_it_equals(grid):
    cells = cells_with(grid, lambda trial: fake_row(trial, 0.9))
    assert one(grid, cells, value=EXACT, above=90).verdict == UNEXPLAINED
    assert one(grid, cells, value=EXACT, above=89.9, below=90.1).verdict == REPRODUCED


def test_one_case_that_fails_beyond_chance_refutes(grid):
    def one_far(trial):
        noise = 0.0 if key(trial)[1:] == (64, 0.0) else 0.5 * (trial.repeat - 1)
        return scored(trial) | {"accuracy": scored(trial)["accuracy"] + noise}

    keys = {"difference": [RM, TS], "above": 0}
    assert one(grid, cells_with(grid, one_far), **keys).verdict == UNEXPLAINED
    assert one(grid, cells_with(grid, one_far), **keys, cases="any").verdict == OPEN
