"""Commands run in an empty folder, and draw nothing."""

import pytest


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch, figures_of_words):
    monkeypatch.chdir(tmp_path)
