import pytest

from kfeat.analysis.judgement import in_short, judge_experiment
from kfeat.experiments.paper import Claim
from kfeat.render.overview import passes, tally_lines, terminal
from scripts.scoreboards import not_explained, papers, scoreboard_markdown

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
