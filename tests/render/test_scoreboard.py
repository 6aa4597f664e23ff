from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from kfeat.analysis.cells import Cell
from kfeat.analysis.standing import Standing, stand
from kfeat.experiments.load import Experiment
from kfeat.experiments.paper import Citation, Claim
from kfeat.experiments.quantities import SCORE
from kfeat.experiments.store import Row
from kfeat.render.terminal import LONGEST
from kfeat.render.verdicts import scoreboard

Make = Callable[..., list[Cell]]


def claim(**more: object) -> Claim:
    """That Tensor Sketch scores above 84 %."""
    values = {"text": "TS is good", "where": "Section 6", "value": {"map": "tensor_sketch"}, "above": 84.0}
    return Claim.model_validate(values | more)


def shown(
    experiment: Experiment, cells: Sequence[Cell], published: Mapping[str, Row] | None = None
) -> tuple[str, Standing]:
    standing = stand(experiment, cells, published or {})
    return scoreboard(standing, experiment.path, published=bool(published)), standing


def test_an_unexplained_difference_fails_and_an_explained_one_does_not(
    experiment: Experiment, make_cells: Make
) -> None:
    assert shown(experiment, make_cells([0.85, 0.85]))[1].passes
    cells = make_cells([0.805, 0.806])
    text, standing = shown(experiment, cells)
    assert not standing.passes
    assert "differs, not" in text
    sketch = cells[1].reported
    assert sketch is not None
    told = {"explanation": "Because of the weather.", "evidence": [Citation("small", "rain")]}
    explained = sketch.model_copy(update=told)
    assert experiment.reported is not None
    numbers = [explained if number is sketch else number for number in experiment.reported.numbers]
    reported = experiment.reported.model_copy(update={"numbers": numbers})
    rain = claim(id="rain", kind="own", below=84.0, above=None)
    text, standing = shown(
        replace(experiment, reported=reported, claims=[rain]),
        [
            replace(cell, printed={SCORE: explained}) if cell.rows and cell.trial.map else cell
            for cell in cells
        ],
    )
    assert standing.passes
    assert "because of the weather" in text.lower()
    assert [item.verdict for item in standing.numbers] == ["within the error", "differs, explained"]


def test_a_claim_that_fails_unexplained_fails_the_check(experiment: Experiment, make_cells: Make) -> None:
    cells = make_cells([0.855, 0.8551])

    def judged(**more: object) -> tuple[str, bool]:
        text, standing = shown(replace(experiment, claims=[claim(**more)]), cells)
        return text, standing.passes

    text, passes = judged()
    assert passes
    assert "1. TS is good" in text
    text, passes = judged(above=90.0)
    assert not passes
    assert "not explained" in text
    text, passes = judged(above=90.0, explanation="It rained.")
    assert not passes
    assert "1. It rained. Evidence: none, so nothing is explained." in text
    text, passes = judged(above=90.0, unexplained="It rained.")
    assert passes
    assert "1. not explained: It rained." in text
    assert judged(size=[90, None], printed="90 %")[1]


def test_missing_claims_and_numbers_are_shown_and_do_not_fail(
    experiment: Experiment, make_cells: Make
) -> None:
    cells = make_cells([], exact=0.9)
    text, standing = shown(replace(experiment, claims=[claim()]), cells)
    assert standing.passes
    assert [item.verdict for item in standing.numbers] == ["within the error", "missing"]
    assert [item.verdict for item in standing.claims] == ["missing"]
    assert "missing: Tensor Sketch" in text
    assert len(standing.missing()) == 2


def test_no_rows_are_told(experiment: Experiment, make_cells: Make) -> None:
    text, standing = shown(experiment, make_cells([], exact=None))
    assert not standing.has_rows
    assert "no rows" in text


def test_a_printed_number_outside_the_plan_is_named_and_missing(
    experiment: Experiment, make_cells: Make
) -> None:
    cells = [cell for cell in make_cells([0.85, 0.85]) if cell.trial.map is not None]
    text, standing = shown(experiment, cells)
    assert "not in this plan: Table 1, 90 for {'map': 'exact'}" in text
    assert [item.verdict for item in standing.numbers] == ["missing", "within the error"]


def test_failed_trials_fail_the_check(experiment: Experiment, make_cells: Make) -> None:
    text, standing = shown(experiment, make_cells([0.85, 0.85], status="failed", reason="out of luck"))
    assert not standing.passes
    assert "out of luck" in text


def test_a_regressed_cell_fails_the_check(
    experiment: Experiment, make_cells: Make, make_rows: Callable[..., dict[str, Row]]
) -> None:
    published = make_rows([0.85, 0.85])
    assert shown(experiment, make_cells([0.85, 0.85]), published)[1].passes
    text, standing = shown(replace(experiment, reported=None), make_cells([0.82, 0.82]), published)
    assert not standing.passes
    assert "regressed" in text


@pytest.mark.parametrize("words", [1, 60])
def test_the_text_fits_a_terminal(experiment: Experiment, make_cells: Make, words: int) -> None:
    long = claim(
        text="As we say " * words, where="Section 6.3, Table 1 (c)", explanation="since " * 50, above=86.0
    )
    cells = make_cells([0.85, 0.853])
    text, _ = shown(replace(experiment, claims=[long]), cells, {})
    assert max(map(len, text.splitlines())) <= LONGEST + 2
