"""The last line of a run."""

from collections.abc import Callable
from dataclasses import replace

from kfeat.analysis.cells import Cell, exact_of
from kfeat.render.notes import closing_line

Make = Callable[..., list[Cell]]


def test_the_best_map_is_compared_with_the_exact_svm(make_cells: Make) -> None:
    line = closing_line(make_cells([0.85, 0.87], exact=0.88))
    assert line == (
        "Tensor Sketch: accuracy 86.00 % where exact, LIBSVM has 88.00 %, and 0.333 times as quick to map "
        "and train."
    )


def test_a_time_of_a_busy_machine_is_marked(make_cells: Make) -> None:
    assert "~0.333 times" in (closing_line(make_cells([0.85], timed=False)) or "")


def test_without_an_exact_svm_or_a_score_there_is_nothing_to_say(make_cells: Make) -> None:
    assert closing_line(make_cells([0.85], exact=None)) is None
    assert closing_line(make_cells([], exact=0.9)) is None
    assert closing_line([]) is None


def test_of_several_exact_svms_the_one_that_scores_best_is_compared(make_cells: Make) -> None:
    *maps, exact = sorted(make_cells([0.85], exact=0.88), key=lambda cell: cell.trial.map is None)
    worse = replace(exact, rows=[{**row, "accuracy": 0.5} for row in exact.rows])
    assert "where exact, LIBSVM has 88.00 %" in (closing_line([worse, exact, *maps]) or "")
    assert exact_of(maps[0], [worse, exact, *maps]) is exact
