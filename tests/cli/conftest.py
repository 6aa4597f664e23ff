"""Commands run in an empty folder, and draw nothing."""

import pytest


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def _figures_of_words(monkeypatch):
    """Write scores in the place of a figure, which takes most of a second: tests/render draws figures."""

    def draw(experiment, cells, paths):
        for path in paths:
            path.write_text("\n".join(f"{cell.trial.id} {cell.score}" for cell in cells))

    monkeypatch.setattr("kfeat.render.figures.figure.draw", draw)
