import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from kfeat.analysis.ranking import ranked
from kfeat.data import fingerprint
from kfeat.errors import StoreError
from kfeat.experiments.config import load_experiment
from kfeat.experiments.row import Row
from kfeat.experiments.search import Search, search_space
from kfeat.experiments.store import read_rows
from kfeat.render.protocol import publish_search, render_csv, render_ranking, write_ranking
from tests.cells import fake_row
from tests.switches import SWITCHED

Planted = dict[str, tuple[float, float]]
SCALES: Planted = {"none": (0.91, 0.70), "unit_rows": (0.88, 0.81), "zscore": (0.95, 0.80)}


@pytest.fixture
def search(tmp_path: Path) -> Search:
    """Three values of one switch, two printed numbers: 90 ± 1 and 80 ± 0.1."""
    path = tmp_path / "switched.yaml"
    path.write_text(SWITCHED)
    overrides = ["switches.1.alternatives=[]", "switches.2.alternatives=[]"]
    experiment = load_experiment(path, overrides, repeats=2, exact=False)
    return search_space(experiment, dict.fromkeys(experiment.datasets, "f"))


@pytest.fixture
def plant(search: Search) -> Callable[..., dict[str, Row]]:
    def planter(scores: Planted = SCALES) -> dict[str, Row]:
        rows = {}
        for combination in search.combinations:
            means = scores[combination.turned.get("protocol.scale", "none")]
            for cell, mean in zip(combination.cells, means, strict=True):
                for trial, shift in zip(cell, (-0.01, 0.01), strict=True):
                    rows[trial.id] = fake_row(trial, mean + shift)
        return rows

    return planter


def test_the_score_is_the_mean_of_the_differences_in_slacks_or_two_sd(
    search: Search, plant: Callable[..., dict[str, Row]]
) -> None:
    found = ranked(search, plant())
    scales = [combination.turned.get("protocol.scale") for combination in found["combination"]]
    assert scales == ["unit_rows"] * 2 + ["zscore"] * 2 + [None] * 2
    assert list(found["rank"]) == [1, 1, 2, 2, 3, 3]
    # max(1, 2 sd) is 2 for the first number and 1, not 0.2, for the second.
    assert list(found["distance"]) == pytest.approx([2 / 2, 1 / 1, 5 / 2, 0, 1 / 2, 10 / 1])
    assert list(found["score"])[::2] == pytest.approx([1.0, 1.25, 5.25])
    table = render_ranking(search, found, "terminal").splitlines()
    assert [line.split()[-1] for line in table[4:7]] == ["-2.00", "+5.00", "-10.00"]  # the furthest off


def test_equal_scores_share_a_rank_and_missing_rows_leave_without(
    search: Search, plant: Callable[..., dict[str, Row]]
) -> None:
    rows = plant(SCALES | {"zscore": SCALES["unit_rows"]})
    assert list(ranked(search, rows)["rank"]) == [1, 1, 1, 1, 3, 3]
    lost = search.combinations[1].cells[0][1].id
    rows[lost] = {**rows[lost], "status": "failed", "reason": "planted"}
    found = ranked(search, rows)
    assert list(found["number"])[::2] == [3, 1, 2]
    assert list(found["rank"])[:4] == [1, 1, 2, 2]
    assert found[["rank", "score"]].iloc[4:].isna().all(axis=None)
    text = render_ranking(search, found, "terminal")
    assert "without all of its trials nothing is ranked" in text
    assert len(found["cell"].iloc[4].failed) == 1


def test_the_files_hold_every_number(
    search: Search, plant: Callable[..., dict[str, Row]], tmp_path: Path
) -> None:
    rows = plant()
    found = ranked(search, rows)
    lines = list(csv.DictReader(render_csv(search, found).splitlines()))
    assert len(lines) == 3 * 2
    first, last = lines[0], lines[5]
    assert (first["rank"], first["protocol.scale"], first["difference"]) == ("1", "unit_rows", "-2.0")
    assert (last["present"], last["mean"], last["distance"]) == ("True", "70.0", "10.0")
    write_ranking(search, found, tmp_path / "out")
    assert "| 3 (present) |" in (tmp_path / "out" / "ranking.md").read_text()
    assert (tmp_path / "out" / "ranking.csv").read_text() == render_csv(search, found)


def test_a_search_is_published_whole_or_not_at_all(
    search: Search, plant: Callable[..., dict[str, Row]], tmp_path: Path
) -> None:
    rows = plant()
    assert publish_search(search, ranked(search, rows), rows, tmp_path / "results") == 12
    folder = tmp_path / "results" / "switched" / "search"
    assert read_rows(folder).keys() == rows.keys()
    assert (folder / "ranking.md").exists()
    rows.popitem()
    with pytest.raises(StoreError, match="1 of 12 trials of the search are not done"):
        publish_search(search, ranked(search, rows), rows, tmp_path / "results")


def test_the_published_ranking_is_what_its_rows_give() -> None:
    root = Path(__file__).parents[2]
    experiment = load_experiment(root / "configs/pham_pagh_2013/table1_adult.yaml", repeats=2, exact=False)
    folder = root / "results" / experiment.name / "search"
    rows = read_rows(folder)
    search = search_space(experiment, {source: fingerprint(source) or "" for source in experiment.datasets})
    assert [trial.id for trial in search.trials] == list(rows)
    found = ranked(search, rows)
    assert render_csv(search, found) == (folder / "ranking.csv").read_text()
    assert render_ranking(search, found, "markdown") == (folder / "ranking.md").read_text()
