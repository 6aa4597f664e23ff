"""The verdicts on one experiment, for the terminal and in Markdown, of odd numbers too."""

import warnings
from dataclasses import replace

import pytest

from kfeat.analysis.cells import summarise
from kfeat.analysis.judgement import judge_experiment
from kfeat.experiments.paper import Citation, Claim
from kfeat.experiments.quantities import SCORE
from kfeat.render.files import PUBLISHED, write_report
from kfeat.render.overview import terminal
from kfeat.render.report import render
from kfeat.render.table import LONGEST
from kfeat.render.verdicts import claim_notes, scoreboard
from tests.cells import fake_row

CLAIMS = [
    Claim.model_validate({"text": "a", "where": "b", "above": 0, **form})
    for form in (
        {"ratio": [{"map": "exact"}, {"map": "tensor_sketch"}]},
        {"difference": [{"map": "exact"}, {"map": "tensor_sketch"}]},
        {"ratio": [{"map": "random_maclaurin"}, {"map": "tensor_sketch"}], "of": "spread"},
        {"ratio": [{"map": "exact"}, {"map": "tensor_sketch"}], "of": "fit"},
    )
]


def claim(**more):
    """That Tensor Sketch scores above 84 %."""
    values = {"text": "TS is good", "where": "Section 6", "value": {"map": "tensor_sketch"}, "above": 84.0}
    return Claim.model_validate(values | more)


def shown(experiment, cells, published=None):
    judgement = judge_experiment(experiment, cells, published or {})
    return scoreboard(judgement, experiment.path), judgement


def printing(experiment, numbers):
    reported = experiment.reported.model_copy(update={"numbers": numbers})
    return experiment.model_copy(update={"reported": reported})


def test_an_unexplained_difference_fails_and_an_explained_one_does_not(experiment, make_cells):
    assert shown(experiment, make_cells([0.85, 0.85]))[1].passes
    cells = make_cells([0.805, 0.806])
    text, judgement = shown(experiment, cells)
    assert not judgement.passes
    assert "differs, not" in text
    sketch = cells[1].reported
    why = {"explanation": "Because of the weather.", "evidence": [Citation("small", "rain")]}
    explained = sketch.model_copy(update=why)
    numbers = [explained if number is sketch else number for number in experiment.reported.numbers]
    rain = claim(id="rain", kind="own", below=84.0, above=None)
    cells = [replace(one, printed={SCORE: explained}) if one is cells[1] else one for one in cells]
    text, judgement = shown(printing(experiment, numbers).model_copy(update={"claims": [rain]}), cells)
    assert judgement.passes
    assert "because of the weather" in text.lower()
    assert [item.verdict for item in judgement.numbers] == ["agrees", "differs, explained"]


@pytest.mark.parametrize(
    ("more", "passes", "said"),
    [
        ({}, True, "1. TS is good"),
        ({"above": 90.0}, False, "not explained"),
        ({"above": 90.0, "explanation": "It rained."}, False,
         "1. It rained. Evidence: none, so nothing is explained."),
        ({"above": 90.0, "unexplained": "It rained."}, True, "1. not explained: It rained."),
        ({"size": [90, None], "printed": "90 %"}, True, "1. TS is good"),
    ],
)  # fmt: skip
def test_a_claim_that_fails_unexplained_fails_the_check(experiment, make_cells, more, passes, said):
    changed = experiment.model_copy(update={"claims": [claim(**more)]})
    text, judgement = shown(changed, make_cells([0.855, 0.8551]))
    assert judgement.passes == passes
    assert said in text


def test_what_is_missing_or_not_planned_is_shown_and_does_not_fail(experiment, make_cells):
    text, judgement = shown(experiment.model_copy(update={"claims": [claim()]}), make_cells([], exact=0.9))
    assert judgement.passes
    assert [item.verdict for item in judgement.numbers] == ["agrees", "missing"]
    assert [item.verdict for item in judgement.claims] == ["missing"]
    assert "missing: Tensor Sketch" in text
    assert len(judgement.missing()) == 2
    text, judgement = shown(experiment, [cell for cell in make_cells([0.85, 0.85]) if cell.trial.map])
    assert "not in this plan: Table 1, 90 for {'map': 'exact'}" in text
    assert [item.verdict for item in judgement.numbers] == ["missing", "agrees"]
    text, judgement = shown(experiment, make_cells([], exact=None))
    assert not judgement.has_rows
    assert "no rows" in text


def test_failed_trials_and_a_regressed_cell_are_named(experiment, make_cells, make_rows):
    assert (
        "out of luck" in shown(experiment, make_cells([0.85] * 2, status="failed", reason="out of luck"))[0]
    )
    assert "regressed" in shown(experiment, make_cells([0.82, 0.82]), make_rows([0.85, 0.85]))[0]


@pytest.mark.parametrize("words", [1, 60])
def test_the_text_fits_a_terminal(experiment, make_cells, words):
    more = {"where": "Section 6.3, Table 1 (c)", "explanation": "since " * 50, "above": 86.0}
    long = claim(text="As we say " * words, **more)
    text, _ = shown(experiment.model_copy(update={"claims": [long]}), make_cells([0.85, 0.853]), {})
    assert max(map(len, text.splitlines())) <= LONGEST + 2


def reported(experiment, trials, rows, folder):
    """Make a report and verdicts without a warning, and return the text for the terminal."""
    claiming = experiment.model_copy(update={"claims": CLAIMS})
    cells = summarise(claiming, trials, rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write_report(claiming, cells, folder, PUBLISHED)
    judgement = judge_experiment(
        claiming, cells, {key: row | {"predictions": "other"} for key, row in rows.items()}
    )
    terminal([judgement], 80)
    return render(claiming, cells, "terminal") + scoreboard(judgement, folder)


@pytest.mark.parametrize(
    ("score", "scores", "seconds"),
    [
        ("accuracy", (0.0, 0.0), 0.0), ("accuracy", (1.0, 1.0), 5e-324), ("accuracy", (0.0, 1.0), 9e11),
        ("relative_error", (0.0, 0.0), 1.0), ("relative_error", (5e-324, 1e308), 1.0),
        ("relative_error", (1e300, -1e300), 1.0),
    ],
)  # fmt: skip
def test_any_score_and_any_time(
    experiment, trials, tmp_path, score, scores,
    seconds,
):  # fmt: skip
    rows = {}
    for i, trial in enumerate(trials):
        rows[trial.id] = row = fake_row(trial, 0.0)
        del row["accuracy"]
        row |= {score: scores[i % 2]}
        row["seconds"] = {phase: {"cpu": seconds, "wall": seconds} for phase in row["seconds"]}
    text = reported(experiment, trials, rows, tmp_path)
    assert max(map(len, text.split())) < 80  # 1e308 is not written with 308 digits


def test_what_only_the_correction_leaves_open_is_said_wherever_the_verdict_is(experiment, make_cells):
    """Two cases above 83.6: 85 is, and 83 is not by the interval of 95 %, but may be by that of 97.5 %."""
    sketches = {"value": {"map": ["tensor_sketch", "exact"]}}
    cells = make_cells([0.828, 0.832, 0.83], exact=0.85)
    claiming = experiment.model_copy(update={"claims": [claim(**sketches, above=83.6)]})
    judged = judge_experiment(claiming, cells, {})
    (found,) = judged.claims
    said = "Open because of the correction for 2 cases: 1 fails by the 95 % interval, but none by the 97.5 %"
    assert found.correction.startswith(said)
    assert claim_notes(judged) == [f"1. {found.correction}."]
    assert said in " ".join(terminal([judged]).split())
