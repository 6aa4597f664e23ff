import numpy as np
import pytest

from kfeat.analysis.comparisons import FALSE_ALARM, FLIP_SHARE, comparisons, flips, number_compared


def test_equal_predictions_are_the_same_and_a_real_change_is_regressed(make_cells, make_rows):
    published = make_rows([0.85, 0.86, 0.84])
    assert {item.verdict for item in comparisons(make_cells([0.85, 0.86, 0.84]), published)} == {"same"}
    worse = comparisons(make_cells([0.82, 0.83, 0.81]), published)
    assert [item.verdict for item in worse] == ["same", "regressed"]
    assert worse[1].change == pytest.approx(-3.0)
    better = comparisons(make_cells([0.88, 0.89, 0.87]), published)
    assert better[1].verdict == "regressed"  # numbers that moved although nothing said they would


def test_a_trial_that_ran_again_is_compared_with_its_own_row_and_not_with_the_mean(make_cells, make_rows):
    published = make_rows([0.70, 0.80, 0.90])
    for score, verdict in ((0.7, "same"), (0.701, "same"), (0.8, "regressed")):
        (again,) = comparisons(make_cells([score], exact=None), published)
        assert (again.verdict, again.test[:8]) == (verdict, "1 shared")
        assert again.change == pytest.approx(100 * score - 70)


@pytest.mark.parametrize("rows", [20, 200, 1000])
@pytest.mark.parametrize("cells", [1, 100])
def test_the_limit_is_the_least_that_keeps_the_stated_rate(rows, cells):
    """By the law of the sum itself, rows of the test data one after another."""
    law = np.ones(1)
    for _ in range(rows):
        law = np.convolve(law, [FLIP_SHARE / 2, 1 - FLIP_SHARE, FLIP_SHARE / 2])
    change, limit = np.abs(np.arange(-rows, rows + 1)), flips(rows, FALSE_ALARM / cells)
    assert law[change > limit].sum() <= FALSE_ALARM / cells
    assert law[change > limit - 1].sum() > FALSE_ALARM / cells


def test_other_seeds_are_compared_by_welchs_test(make_cells, make_rows):
    published = {
        key + "x": {**row, "id": key + "x"} for key, row in make_rows([0.85, 0.86, 0.84, 0.85, 0.86]).items()
    }
    same = comparisons(make_cells([0.853, 0.847, 0.851, 0.848, 0.856]), published)[1]
    assert same.verdict == "same"
    assert "Welch" in same.test
    assert comparisons(make_cells([0.65, 0.66, 0.64, 0.65, 0.66]), published)[1].verdict == "regressed"


def test_errors_are_compared_to_rounding_trial_by_trial(make_cells, make_rows):
    published = make_rows([0.5, 0.5], relative_error=0.05)
    for row in published.values():
        del row["accuracy"]

    def verdicts(*errors, printed=0.05):
        for row in published.values():
            row["relative_error"] = printed
        rows = list(make_rows([0.5, 0.5], predictions="x").values())
        scores = {row["id"]: error for row, error in zip(rows, (*errors, printed), strict=True)}
        cells = make_cells([0.5, 0.5], predictions="x")
        for cell in cells:
            for row in cell.rows:
                row["relative_error"] = scores[row["id"]]
                del row["accuracy"]
        return [item.verdict for item in comparisons(cells, published)]

    assert verdicts(0.050049, 0.049951) == ["same", "same"]
    assert verdicts(0.0504, 0.0504) == ["same", "regressed"]
    assert verdicts(0.0504, 0.0496) == ["same", "regressed"]  # they cancel in the mean, and are not the same
    assert verdicts(4e-7, 2e-7, printed=3e-7) == ["same", "same"]  # nothing but rounding
    assert verdicts(3e-6, 2e-7, printed=3e-7) == ["same", "regressed"]


def test_the_cells_of_a_whole_check_share_the_false_alarms(make_cells, make_rows):
    published, cells = make_rows([0.85, 0.86]), make_cells([0.851, 0.86])
    assert number_compared([cells, cells], [published, {}]) == 2
    alone, among_many = comparisons(cells, published)[1], comparisons(cells, published, 40)[1]
    assert 0 < alone.limit < among_many.limit
