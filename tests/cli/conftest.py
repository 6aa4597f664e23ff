"""Commands run in an empty folder, and draw nothing."""

import pytest


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch, figures_of_words):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def quick(monkeypatch):
    """A search of one candidate beside the config's own, in this process, whose page draws nothing."""
    from kfeat.own import report, scorer, scorer_process, search
    from kfeat.render import tuning_page
    from tests.own.asking import Direct, few_trees

    monkeypatch.setattr(search, "MOST", 1)
    monkeypatch.setattr(scorer_process, "ScorerProcess", Direct)
    monkeypatch.setattr(scorer, "boosting_model", few_trees)
    monkeypatch.setattr(report, "REPEATS", 1)
    # Drawing takes seconds, and what it draws is read by tests/render/test_tuning.py.
    monkeypatch.setattr(tuning_page, "_figure", lambda result, evidence: f"figures of {evidence.classes}")
