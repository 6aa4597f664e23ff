"""What is published of the survey is what its rows say."""

from pathlib import Path

import pandas as pd
import pytest

from kfeat.survey.answers import trials
from scripts import survey

ROOT = Path(__file__).parents[2]


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
