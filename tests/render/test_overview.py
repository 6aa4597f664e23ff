"""The scoreboard of all experiments, and how many runs would decide what is open."""

from math import ceil

import numpy as np
import pytest
from scipy.stats import t

from kfeat.analysis.judgement import judge_experiment
from kfeat.analysis.statistics import welch_half_width
from kfeat.analysis.tallies import in_short
from kfeat.experiments.config import load_experiment
from kfeat.experiments.paper import Claim
from kfeat.render.overview import (
    MOST,
    Undecided,
    passes,
    tally_lines,
    terminal,
    undecided,
    undecided_sentence,
    undecided_terminal,
)
from scripts.scoreboards import not_explained, papers, scoreboard_markdown
from tests.cells import cells_with, fake_row

CLAIM = {"text": "TS is good", "where": "Section 6", "value": {"map": "tensor_sketch"}}


def claims(*more):
    return [Claim.model_validate(CLAIM | keys) for keys in more]


@pytest.fixture
def judgements(experiment, make_cells, make_rows):
    """One experiment in which something differs and is explained, and one without rows."""
    judged = claims(
        {"above": 80},
        {"above": 80, "size": [90, 95], "printed": "90 %"},
        {"above": 86, "explanation": "Since a < b | c.", "evidence": ["paper/first#cold"]},
        {"above": 80, "id": "cold", "kind": "own"},
    )
    first = experiment.model_copy(update={"name": "paper/first", "claims": judged})
    second = experiment.model_copy(update={"name": "paper/second", "claims": claims({"above": 80})})
    published = make_rows([0.85, 0.85])
    return [
        judge_experiment(first, make_cells([0.85, 0.85]), published, place="runs"),
        judge_experiment(second, make_cells([], exact=None), {}, place="results"),
    ]


def test_a_line_per_experiment_and_the_tallies(judgements):
    lines = [line.split("  ") for line in terminal(judgements).splitlines()]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    judged = "1 reproduced; 1 holds in direction, not in size; 1", "1 reproduced"
    assert cells[2] == ["paper/first", "runs", "2 agrees", *judged, "2 same", "7.2 secs"]
    (second,) = (line for line in cells if line[:1] == ["paper/second"] and len(line) > 2)
    assert second == ["paper/second", "no rows", "2 missing", "1 missing", "–", "–", "–"]
    # The second config has the same cells, so that its printed numbers are those of the first.
    assert tally_lines(judgements) == [
        "printed numbers: 2: 2 agrees",
        "printed standard deviations: 1: 1 narrower",
        "printed times: 1: 1 quicker",
        "claims of the papers: 4: 1 reproduced; 1 holds in direction, not in size; "
        "1 not reproduced, explained; 1 missing",
        "claims of kfeat's own experiments: 1: 1 reproduced",
        "cells planned: 3: 2 with rows; 1 without rows",
    ]
    assert terminal(judgements).rstrip().endswith("1 without rows")


def test_four_lines_say_what_agrees_what_differs_and_what_is_undecided_or_missing(
    judgements, experiment, make_cells
):
    assert in_short(judgements) == [
        "agree: 2 of 2 printed numbers; 1 of 4 claims",
        "compatible or open: 0 of 2 printed numbers; 0 of 4 claims",
        "differ: 0 of 2 printed numbers; 2 of 4 claims (1 explained, 1 in size only)",
        "missing: 0 of 2 printed numbers; 1 of 4 claims",
    ]
    short = terminal(judgements, details=False)
    assert short.rstrip().endswith("\n".join(in_short(judgements)))
    assert "Since a < b" not in short
    asked = claims({"above": 80, "kind": "own"})
    own = judge_experiment(
        experiment.model_copy(update={"reported": None, "claims": asked}), make_cells([0.85, 0.85]), {}
    )
    assert in_short([own]) == ["claims of kfeat's own experiments: 1 reproduced"]
    assert not any(line.startswith("missing") for line in in_short([judgements[0]]))
    marked = claims({"above": 80, "kind": "stand_in"}, {"above": 86, "bound_before": "85"})
    asked = experiment.model_copy(update={"claims": marked})
    assert in_short([judge_experiment(asked, make_cells([0.85, 0.85]), {})])[-2:] == [
        "claims of the papers, judged on data that stand in for theirs: 1 of 1 reproduced",
        "claims of the papers, with bounds that were set after the rows were seen: 0 of 1 reproduced",
    ]
    assert in_short([]) == []


def test_what_is_lost_is_missing(experiment, make_cells):
    reported = experiment.reported.model_copy(update={"lost": ["Figure 1", "Figure 2"]})
    twice = [
        judge_experiment(experiment.model_copy(update={"reported": reported}), make_cells([0.85, 0.85]), {})
        for _ in range(2)
    ]
    assert "printed, but lost in the copies that there are: 2: 2 missing" in tally_lines(twice)


def test_the_check_passes_unless_something_is_wrong_or_nothing_is_there(
    judgements, experiment, make_cells, make_rows
):
    cells = make_cells([0.85, 0.85])
    unexplained = judge_experiment(experiment.model_copy(update={"claims": claims({"above": 86})}), cells, {})
    named = judge_experiment(
        experiment.model_copy(update={"claims": claims({"above": 86, "unexplained": "Odd."})}), cells, {}
    )
    higher = judge_experiment(
        experiment.model_copy(update={"claims": claims({"above": 87, "unexplained": "Odd."})}), cells, {}
    )
    bare = judge_experiment(
        experiment.model_copy(update={"claims": claims({"above": 86, "explanation": "Rain."})}), cells, {}
    )
    regressed = judge_experiment(experiment, make_cells([0.85, 0.84]), make_rows([0.65, 0.65]))
    differs = judge_experiment(experiment, make_cells([0.65, 0.65]), {})
    failed = judge_experiment(experiment, make_cells([0.85], status="failed", reason="out of luck"), {})
    assert passes(judgements)
    assert passes([*judgements, named])
    item = "- Section 6: TS is good: ours 85.00 [84.74, 85.26]; paper > 8"
    assert (
        not_explained([unexplained, named, higher]) == f"{item}6\n\nNot explained: Odd.\n\n{item}6\n{item}7"
    )
    assert not passes(judgements[1:])
    for bad in (unexplained, bare, regressed, differs, failed):
        assert not passes([*judgements, bad])
    text = terminal([regressed, failed, differs])
    assert "regressed: Tensor Sketch: +" in text
    assert "out of luck" in text
    assert "differs, not explained: Table 1: Tensor Sketch: ours 65.00 ± 0.00; paper 85.00 ± 0.50" in text


def test_markdown_links_the_published_tables_there_are(judgements, tmp_path):
    (tmp_path / "paper/first").mkdir(parents=True)
    (tmp_path / "paper/first/table.md").write_text("")
    text = scoreboard_markdown(judgements, tmp_path)
    assert f"| [paper/first]({tmp_path.as_posix()}/paper/first/table.md) | 2 agrees " in text
    assert "| paper/second " in text
    widths = {line.replace("\\|", "").count("|") for line in text.splitlines() if line.startswith("|")}
    assert widths == {4}  # numbers, claims: what differs between the two


def test_the_findings_stand_above_a_line_per_paper_with_its_verdicts_counted(judgements):
    findings = [("paper", "A & B 2013", "All is well."), ("survey", "The study", "Maps pay.")]
    text = papers(judgements, findings)
    assert text.splitlines()[:2] == [
        "- [A & B 2013](paper/README.md): All is well.",
        "- [The study](survey/README.md): Maps pay.",
    ]
    (line,) = (line for line in text.splitlines() if line.startswith("| [A & B"))
    assert [cell.strip() for cell in line.split("|")[2:-1]] == [
        "2",
        "0",
        "0",
        "0",
        "1",
        "0",
        "2",
        "1",
        "0",
        "0",
    ]


def undecided_of(experiment, cells):
    """What the small experiment with these cells leaves open."""
    return undecided([judge_experiment(experiment, cells, {})])


def claim_on_sketches(above):
    """The claim that Tensor Sketch's accuracy is above a bound at every size."""
    about = {"text": "It is high", "where": "Section 1", "of": "accuracy", "value": {"map": "tensor_sketch"}}
    return Claim.model_validate(about | {"above": above})


def claiming(experiment, above):
    """The experiment with a claim on Tensor Sketch's accuracy, and nothing that is printed."""
    experiment.claims[:] = [claim_on_sketches(above)]
    experiment.reported.numbers[:] = []
    return experiment


@pytest.mark.parametrize("distance", [0.3, 0.8, 1.0])
def test_an_open_claim_needs_the_runs_that_students_interval_says(experiment, make_cells, distance):
    scores = np.array([0.83, 0.84, 0.85, 0.86, 0.87])
    mean, n = 85.0, len(scores)

    def half(runs):
        return float(t.ppf(0.975, runs - 1) * 100 * scores.std(ddof=1) / np.sqrt(runs))

    least = next(runs for runs in range(2, 10_000) if half(runs) < distance)
    (item,) = undecided_of(claiming(experiment, mean - distance), make_cells(scores, exact=None))
    assert (item.runs, item.needed) == (n, ceil(n * (half(n) / distance) ** 2))
    assert least <= item.needed <= 2 * least  # Student's quantile falls with the runs
    assert item.seconds == pytest.approx((item.needed - n) * 5 * 0.6)  # five phases of 0.6 s a run


def test_what_is_decided_needs_nothing(experiment, make_cells):
    assert not undecided_of(claiming(experiment, 80.0), make_cells([0.83, 0.84, 0.85], exact=None))
    assert undecided_terminal([]) == "nothing is open"


def test_no_runs_help_against_the_error_of_the_papers_own(experiment, make_cells):
    """It prints 85.0 ± 0.5 over five runs, so its mean is known to 0.6: ours, 84.5, may be off by 1.1."""
    (item,) = undecided_of(experiment, make_cells([0.825, 0.835, 0.845, 0.855, 0.865], exact=None))
    assert (item.verdict, item.needed, item.never) == ("compatible", None, True)
    assert "never: no number of our runs decides 1 of 1" in undecided_terminal([item])


def test_check_says_how_many_open_verdicts_runs_decide(experiment, make_cells):
    scores = 0.851 + np.array([-0.02, -0.01, 0, 0.01, 0.02])
    for values, told in (
        (scores, "decide 1, no number of runs 0"),
        (scores - 0.006, "decide 0, no number of runs 1"),
    ):
        judged = judge_experiment(experiment, make_cells(values, exact=None), {})
        assert told in undecided_sentence(judged, "a.yaml")
    decided = judge_experiment(claiming(experiment, 80.0), make_cells([0.83, 0.84, 0.85], exact=None), {})
    assert undecided_sentence(decided, "a.yaml") == ""


def test_a_number_at_the_bound_is_not_decided_by_many_runs(experiment, make_cells):
    scores = 0.85 + 0.00328 + np.array([-0.02, -0.01, 0, 0.01, 0.02])
    (item,) = undecided_of(experiment, make_cells(scores, exact=None))
    assert (item.needed, item.never) == (None, False)
    assert f"{MOST} times the runs would not decide 1 of" in undecided_terminal([item])


@pytest.mark.parametrize("middle", [0.851, 0.869, 0.831])
def test_a_printed_number_needs_the_runs_that_welchs_interval_says(experiment, make_cells, middle):
    """Ours is 0.1 or 1.9 off, 0.9 from the slack of 1.0: it is decided once its interval is within 0.9."""
    scores = middle + np.array([-0.02, -0.01, 0, 0.01, 0.02])
    (item,) = undecided_of(experiment, make_cells(scores, exact=None))

    def half(runs):
        ours = 100 * scores.std(ddof=1) / np.sqrt(runs), runs - 1
        return welch_half_width(ours, papers) + 0.05  # the paper prints 85.0

    papers = 0.5 / np.sqrt(5), 4
    part = welch_half_width(papers) + 0.05
    assert item.needed == ceil(5 * (half(5) ** 2 - part**2) / (0.9**2 - part**2))
    assert half(item.needed) < 0.9


def test_a_single_run_says_nothing_of_its_spread(experiment, make_cells):
    (item,) = undecided_of(claiming(experiment, 84.0), make_cells([0.85], exact=None))
    assert (item.runs, item.needed, item.first) == (1, 3, True)
    assert "3 (first)" in undecided_terminal([item])


def test_the_table_says_what_needs_an_idle_machine():
    dear = Undecided("a", "x", "open", 5, 10, 60.0, timed=True)
    cheap = Undecided("b", "y", "open", 5, 20, 1.0, timed=False)
    shown = undecided_terminal([cheap, dear])
    assert shown.index("1.0 secs") < shown.index("1.0 mins")
    assert "10 (timed)" in shown


def test_a_case_that_fails_but_not_at_the_level_of_several_is_undecided(write):
    """With two cases, one that fails alone has to fail at 97.5 %: 0.30 below is within 0.36 of three runs."""
    path = write(**{"n_components: 64}\n  - {name: random": "n_components: [32, 64]}\n  - {name: random"})
    experiment = load_experiment(path, repeats=3)
    assert experiment.reported is None

    def row(trial):
        if not trial.map or trial.map.name != "tensor_sketch":
            return None
        middle = 0.86 if trial.map.parameters["n_components"] == 32 else 0.847
        return fake_row(trial, middle + 0.001 * (trial.repeat - 1))

    experiment.claims[:] = [claim_on_sketches(85.0)]
    (item,) = undecided_of(experiment, cells_with(experiment, row))
    assert (item.runs, item.needed) == (3, 5)


def test_runs_on_the_same_splits_stay_in_pairs(write):
    """The maps differ by 0, 0.5 and 1 points on splits that differ by 8: pairs tell, runs do not."""
    experiment = load_experiment(write(**{", seed: 0}}": "}}"}), repeats=3)
    scores = {"tensor_sketch": (0.80, 0.84, 0.88), "random_maclaurin": (0.795, 0.84, 0.87)}
    cells = cells_with(experiment, lambda t: fake_row(t, scores[t.map.name][t.repeat]) if t.map else None)
    about = {"text": "It is ahead", "where": "Section 1", "above": 0}
    sides = [{"map": "tensor_sketch"}, {"map": "random_maclaurin"}]
    experiment.claims[:] = [Claim.model_validate(about | {"difference": sides})]
    (item,) = undecided_of(experiment, cells)
    assert (item.runs, item.needed) == (3, 19)  # 3 (4.303 * 0.5 / sqrt(3) / 0.5)^2
