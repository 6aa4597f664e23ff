"""What the survey answers, on frames whose answers are known, and that its files are those of its rows."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kfeat.survey.advice import published
from scripts import survey
from scripts.survey_answers import (
    PaperClaim,
    crossover,
    curves,
    equal_time,
    front,
    improvement,
    interval,
    paper_claims,
    profiles,
    trials,
    within,
)

ROOT = Path(__file__).parents[2]

A, B = {"map": "a"}, {"map": "b"}


def frame(*lines):
    """Cells with these values, the others as usual."""
    usual = {"dataset": "x", "kernel": "k", "map": "a", "variant": "", "n_components": 1, "score": 50.0}
    usual |= {"seconds": 1.0, "kernel_error": np.nan, "map_seconds": np.nan}
    return pd.DataFrame([usual | line for line in lines])


def test_the_front_has_what_no_other_beats_in_less_time():
    cells = frame(
        {"map": "a", "seconds": 1.0, "score": 60.0},
        {"map": "b", "seconds": 2.0, "score": 60.0},  # as good, and slower
        {"map": "c", "seconds": 3.0, "score": 70.0},
        {"map": "d", "seconds": np.nan, "score": 99.0},  # without a time
        {"dataset": "y", "map": "b", "seconds": 9.0, "score": 10.0},
    )
    assert list(front(cells)["map"]) == ["a", "c", "b"]


def test_a_method_counts_with_its_best_size_within_the_budget():
    cells = frame(
        {"map": "exact", "n_components": 0, "seconds": 100.0, "score": 90.0},
        {"n_components": 16, "seconds": 1.0, "score": 80.0},
        {"n_components": 64, "seconds": 3.0, "score": 89.0},
        {"n_components": 256, "seconds": 5.0, "score": 85.0},
    )
    losses = within(cells, [0.5, 1.0, 10.0]).query("map == 'a'").set_index("budget")["loss"]
    assert losses.to_dict() == {1.0: 10.0, 10.0: 1.0}


def test_a_curve_needs_every_data_set():
    cells = frame(
        {"map": "exact", "score": 90.0},
        {"map": "exact", "score": 90.0, "dataset": "y"},
        {"seconds": 1.0, "score": 80.0},
        {"seconds": 4.0, "score": 70.0, "dataset": "y"},
    )
    found = curves(cells, [1.0, 4.0]).query("map == 'a'")
    assert found[["budget", "mean", "size"]].to_numpy().tolist() == [[4.0, 15.0, 2]]


def test_a_profile_counts_a_data_set_without_a_size_in_time_as_lost():
    cells = frame(
        {"map": "exact", "score": 90.0},
        {"map": "exact", "score": 90.0, "dataset": "y"},
        {"score": 89.5},
        {"score": 90.0, "dataset": "y", "seconds": 60.0},
    )
    found = profiles(cells, 1.0, [0.0, 1.0]).loc[("k", "a", "")]
    assert found[1.0] == 0.5
    assert not found[0.0] > 0


def test_the_probability_of_improvement_is_the_share_of_pairs():
    runs = [(1.0, "a"), (3.0, "a"), (2.0, "b"), (3.0, "b")]
    probability, (low, high) = improvement(
        frame(*({"map": name, "score": score} for score, name in runs)), A, B
    )
    assert probability == (0 + 0 + 1 + 0.5) / 4
    assert low <= probability <= high
    assert low < high
    runs = [(5.0, "a"), (6.0, "a"), (1.0, "b"), (2.0, "b")]
    better = frame(*({"map": name, "score": score} for score, name in runs))
    assert improvement(better, A, B) == (1.0, (1.0, 1.0))


def test_the_bootstrap_covers_the_probability():
    """95 % intervals of P = 0.5, five runs in 20 strata: of 60, at most 9 may miss (chance below 0.3 %)."""
    rng = np.random.default_rng(0)
    missed = 0
    for seed in range(60):
        lines = [
            {"map": name, "dataset": str(stratum), "score": score}
            for stratum in range(20)
            for name in "ab"
            for score in rng.normal(size=5)
        ]
        _, (low, high) = improvement(frame(*lines), A, B, seed=seed)
        missed += not low <= 0.5 <= high
    assert missed <= 9


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_errors_are_compared_at_equal_time_not_at_equal_size(factor):
    """Errors fall as t^(-1/2), those of b from twice the level; a takes `factor` of b's time per column."""
    sizes = np.array([16, 64, 256, 1024])
    lines = []
    for name, level, per_column in (("a", 1.0, 1e-3 * factor), ("b", 2.0, 1e-3)):
        for size in sizes:
            seconds = per_column * size
            lines.append({"map": name, "map_seconds": seconds, "kernel_error": level * seconds**-0.5})
    assert equal_time(frame(*lines), A, B, "kernel_error")["x"] == pytest.approx(0.5)


def test_without_common_times_the_largest_meets_the_smallest():
    lines = [{"seconds": t, "score": t} for t in (1.0, 2.0)]
    lines += [{"map": "b", "seconds": t, "score": t} for t in (3.0, 4.0)]
    assert equal_time(frame(*lines), A, B, "score")["x"] == pytest.approx(2.0 - 3.0)
    assert equal_time(frame(*lines[:2]), A, B, "score").empty


def test_a_larger_size_that_scores_less_does_not_count():
    lines = [{"seconds": t, "score": s} for t, s in ((1.0, 10.0), (2.0, 30.0), (4.0, 20.0))]
    lines += [{"map": "b", "seconds": t, "score": 0.0} for t in (2.0, 4.0)]
    assert equal_time(frame(*lines), A, B, "score")["x"] == pytest.approx(30.0)


def test_the_crossover_is_where_the_times_are_equal():
    lines = [{"n": n, "seconds": 1e-3 * n} for n in (100, 10_000)]
    lines += [{"map": "exact", "n": n, "seconds": 1e-6 * n**2} for n in (100, 10_000)]
    assert crossover(frame(*lines), A) == pytest.approx(1000)
    slow = [{**line, "seconds": 1e9} if "map" not in line else line for line in lines]
    assert crossover(frame(*slow), A) is None


def charge(of, *numbers):
    """A sentence with these numbers on the data sets."""
    return PaperClaim("a beats b", "nobody", A, B, of, pd.Series(numbers))


def test_verdicts_follow_the_interval():
    assert charge("kernel_error", 0.5, 0.55, 0.6).verdict == "holds"
    assert charge("kernel_error", 1.5, 1.6, 1.7).verdict == "fails"
    assert charge("kernel_error", 0.5, 1.0, 2.0).verdict == "open"
    assert charge("score", 1.0, 1.1, 1.2).verdict == "holds"
    assert charge("score", -1.0, -1.1, -1.2).verdict == "fails"
    assert charge("kernel_error", 0.25, 1.0, 4.0).judged[0] == pytest.approx(1.0)
    assert charge("score", 1.0, -0.5).favour == 1


def test_an_interval_over_data_sets_is_students():
    middle, (low, high) = interval([1.0, 2.0, 3.0])
    assert middle == 2.0
    assert high - middle == pytest.approx(4.30265 / 3**0.5, rel=1e-4)  # t with 2 degrees of freedom
    assert middle - low == pytest.approx(high - middle)


def test_every_sentence_of_the_papers_is_judged_on_the_published_survey():
    found = paper_claims(published())
    assert len({one.text + str(one.a) for one in found}) == len(found) > 25
    assert all(len(one.by_dataset) >= 5 for one in found)


@pytest.mark.slow
def test_its_files_are_those_of_its_rows(monkeypatch):
    monkeypatch.chdir(ROOT)
    lines = trials(row for part in survey.parts() for row in survey.rows_of(part))
    described = pd.read_csv(survey.SHIPPED / "datasets.csv", index_col="dataset")
    for path, text in survey.texts(lines, described).items():
        assert path.read_text(encoding="utf-8") == text, "run python -m scripts.survey"
    kept = pd.read_parquet(survey.RESULTS / "survey.parquet")
    assert list(kept.columns) == list(survey.SCHEMA)
    assert kept["id"].tolist() == lines["id"].tolist()
    assert kept["score"].equals(lines["score"])


def test_there_is_a_part_for_each_data_set_and_kernel():
    assert len(survey.parts()) == 39  # gisette_mnist has none with the Laplacian kernel
