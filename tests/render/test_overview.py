from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kfeat.analysis.cells import Cell
from kfeat.analysis.standing import Standing, stand
from kfeat.experiments.load import Experiment
from kfeat.experiments.schema import Claim
from kfeat.experiments.store import Row
from kfeat.render.overview import markdown, passes, terminal
from kfeat.render.terminal import LONGEST

Make = Callable[..., list[Cell]]
MakeRows = Callable[..., dict[str, Row]]
CLAIM = {"text": "TS is good", "where": "Section 6", "value": {"map": "tensor_sketch"}}


def claims(*more: dict[str, Any]) -> list[Claim]:
    return [Claim.model_validate(CLAIM | keys) for keys in more]


@pytest.fixture
def standings(experiment: Experiment, make_cells: Make, make_rows: MakeRows) -> list[Standing]:
    """One experiment in which something differs and is explained, and one without rows."""
    judged = claims(
        {"above": 80},
        {"above": 80, "size": [90, 95], "printed": "90 %"},
        {"above": 86, "explanation": "Since a < b | c."},
    )
    first = replace(experiment, name="paper/first", claims=judged)
    second = replace(experiment, name="paper/second", claims=claims({"above": 80}))
    published = make_rows([0.85, 0.85])
    return [
        stand(first, make_cells([0.85, 0.85]), published, place="runs"),
        stand(second, make_cells([], exact=None), {}, place="results"),
    ]


def test_a_line_per_experiment_and_a_total(standings: list[Standing]) -> None:
    lines = [line.split("  ") for line in terminal(standings).splitlines()]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    assert cells[2] == ["paper/first", "runs", "2 / 0 / 0 / 0", "2 / 0", "1 / 1 / 1 / 0 / 0", "7.2 secs"]
    assert cells[3] == ["paper/second", "no rows", "0 / 0 / 0 / 2", "–", "0 / 0 / 0 / 0 / 1", "–"]
    assert cells[4] == ["total", "2 / 0 / 0 / 2", "2 / 0", "1 / 1 / 1 / 0 / 1", "7.2 secs"]


def test_what_differs_is_listed_with_both_sizes_and_the_explanation(standings: list[Standing]) -> None:
    text = terminal(standings)
    assert (
        "holds in direction, not in size: Section 6: TS is good: ours 85.00 [85.00, 85.00]; paper 90 %"
        in text
    )
    assert "not reproduced, explained: Section 6: TS is good" in text
    assert "      Since a < b | c." in text
    assert "missing: all of it; `kfeat run " in text
    assert max(map(len, text.splitlines())) <= LONGEST


def test_the_check_passes_unless_something_is_wrong_or_nothing_is_there(
    standings: list[Standing],
    experiment: Experiment,
    make_cells: Make,
    make_rows: Callable[..., dict[str, Row]],
) -> None:
    cells = make_cells([0.85, 0.85])
    unexplained = stand(replace(experiment, claims=claims({"above": 86})), cells, {})
    regressed = stand(experiment, make_cells([0.85, 0.84]), make_rows([0.65, 0.65]))
    differs = stand(experiment, make_cells([0.65, 0.65]), {})
    failed = stand(experiment, make_cells([0.85], status="failed", reason="out of luck"), {})
    assert passes(standings)
    assert not passes(standings[1:])
    for bad in (unexplained, regressed, differs, failed):
        assert not passes([*standings, bad])
    text = terminal([regressed, failed, differs])
    assert "regressed: Tensor Sketch: +" in text
    assert "out of luck" in text
    assert "differs, unexplained: Table 1: Tensor Sketch: ours 65.00 ± 0.00; paper 85.00 ± 0.50" in text


def test_markdown_links_the_published_tables_there_are(standings: list[Standing], tmp_path: Path) -> None:
    (tmp_path / "paper/first").mkdir(parents=True)
    (tmp_path / "paper/first/table.md").write_text("")
    text = markdown(standings, tmp_path)
    assert f"| [paper/first]({tmp_path.as_posix()}/paper/first/table.md) | 2 / 0 / 0 / 0 |" in text
    assert "| paper/second " in text
    widths = {line.replace("\\|", "").count("|") for line in text.splitlines() if line.startswith("|")}
    assert widths == {4}  # numbers, claims: what differs between the two
    assert "- cells held" not in text
