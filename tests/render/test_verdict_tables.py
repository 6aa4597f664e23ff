import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from kfeat.analysis.cells import Cell
from kfeat.analysis.standing import stand
from kfeat.experiments.load import Experiment
from kfeat.experiments.paper import Claim
from kfeat.render.files import write_report
from kfeat.render.verdicts import beside, parts, scoreboard, verdicts_markdown

Make = Callable[..., list[Cell]]
CLAIM = {"text": "TS is good", "where": "Section 6", "value": {"map": "tensor_sketch"}, "above": 86}


def test_every_printed_number_has_a_line_that_missing_ones_share(
    experiment: Experiment, make_cells: Make
) -> None:
    lines = parts(stand(experiment, make_cells([0.80, 0.81], exact=None), {}))[0].lines
    assert lines[0] == ["exact, LIBSVM", "–", "0/1", "90.00", "–", "–", "missing", "Table 1"]
    assert lines[1][:5] == ["Tensor Sketch", "80.50 ± 0.71", "2/5", "85.00 ± 0.50", "-4.50"]
    assert lines[1][6:] == ["differs, not explained", "Table 1"]


def test_the_markdown_of_a_table_ends_with_the_verdicts(
    experiment: Experiment, make_cells: Make, tmp_path: Path
) -> None:
    cold = {"id": "cold", "kind": "own", "above": 80, "bound_before": "above 90"}
    because = {"explanation": "Since a < b | c.", "evidence": [f"{experiment.name}#cold"]}
    claims = [Claim.model_validate(CLAIM | more) for more in (because, cold)]
    claiming = replace(experiment, claims=claims)
    write_report(claiming, make_cells([0.85, 0.8501]), tmp_path / experiment.name)
    text = (tmp_path / experiment.name / "table.md").read_text()
    assert text.startswith(f"# {experiment.title}")
    numbers, claimed = text.split("\n## Printed numbers\n\n")[1].split("\n## Claims\n\n")
    numbers, beside = numbers.split("\n## Printed deviations and times\n\n")
    assert "| Tensor Sketch" in numbers
    assert "- within the error, within the slack: the difference is at most " in numbers
    assert re.search(r"\| Tensor Sketch +\| 0.01 +\| 0.50 +\| 0.0141× \[.*\| narrower", beside)
    assert re.search(r"\| exact, LIBSVM .*\| 1 hour +\| 0.000139× \[.*\| quicker", beside)
    assert "| 1. TS is good | Section 6              | 85.00 [" in claimed
    assert "| 2. TS is good | Section 6, kfeat's own | 85.00 [" in claimed
    assert "- 2. The bound was set after the rows were seen; before: above 90" in claimed
    assert "not reproduced, explained |" in claimed
    assert f"- 1. Since a &lt; b \\| c. Evidence: {experiment.name}#cold (reproduced)." in claimed


def test_an_explained_number_that_the_plan_lacks_is_named(experiment: Experiment, make_cells: Make) -> None:
    assert experiment.reported is not None
    lacking = experiment.reported.numbers[1].model_copy(
        update={"cell": {"map": "tensor_sketch", "map.n_components": 999}, "unexplained": "Odd."}
    )
    reported = experiment.reported.model_copy(update={"numbers": [experiment.reported.numbers[0], lacking]})
    text = verdicts_markdown(stand(replace(experiment, reported=reported), make_cells([0.85, 0.84]), {}))
    assert "not in this plan: Table 1, 85 for" in text


def test_a_table_without_anything_printed_has_no_verdicts(experiment: Experiment, make_cells: Make) -> None:
    assert verdicts_markdown(stand(replace(experiment, reported=None), make_cells([0.85]), {})) == ""


def test_a_printed_test_time_has_columns_of_its_own(experiment: Experiment, make_cells: Make) -> None:
    cells = make_cells([0.85, 0.8501])
    before = stand(experiment, cells, {})
    assert len(beside(before).headers) == 10
    assert experiment.reported is not None
    first, second = experiment.reported.numbers
    numbers = [first.model_copy(update={"test_time": "0.8 s"}), second]
    reported = experiment.reported.model_copy(update={"numbers": numbers})
    cells = [
        replace(cell, printed={"score": numbers[0]}) if cell.printed.get("score") is first else cell
        for cell in cells
    ]
    after = stand(replace(experiment, reported=reported), cells, {})
    headers = beside(after).headers
    assert headers[5:] == [
        "map + train", "runs", "paper's time", "ours / paper's", "its verdict",
        "test", "runs", "paper's test time", "ours / paper's", "its verdict",
    ]  # fmt: skip
    exact, sketch = beside(after).lines
    assert [exact[:10], sketch[:10]] == beside(before).lines
    assert (exact[10:13], exact[14]) == (["0.5 secs", "1", "0.8 s"], "alike")
    assert sketch[10:] == ["1.0 secs", "2", "–", "–", "–"]
    assert "| 0.8 s " in verdicts_markdown(after)
    assert scoreboard(after, experiment.path, published=False).count("0.8 s ") == 1
