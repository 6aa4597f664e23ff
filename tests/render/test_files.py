"""The files of a report: whole, current or not, published all or none."""

from pathlib import Path

import pytest

from kfeat.cli.reports import publish
from kfeat.errors import StoreError
from kfeat.experiments.store import ROWS, read_rows, write_rows
from kfeat.files import replacing_together
from kfeat.render.files import FILES, PUBLISHED, is_current, write_report


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def replace_files(folder, names, error=None):
    with replacing_together() as beside:
        for name in names:
            (beside(folder) / name).write_text("new")
        if error:
            raise error


@pytest.mark.usefixtures("figures_of_words")
def test_reports_are_written_whole_and_known_to_be_current(experiment, make_cells, tmp_path):
    cells = make_cells([0.84, 0.86])
    assert not is_current(experiment, cells, tmp_path / "a")
    write_report(experiment, cells, tmp_path / "a")
    assert all((tmp_path / "a" / name).stat().st_size for name in FILES)
    assert is_current(experiment, cells, tmp_path / "a")
    assert not is_current(experiment, make_cells([0.84, 0.87]), tmp_path / "a")
    write_report(experiment, cells, tmp_path / "b")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_files_of_several_folders_take_their_places_together(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/old").write_text("stays")
    (tmp_path / "a/one").write_text("before")
    with replacing_together() as beside:
        for name in ("a", "b/c"):
            (beside(tmp_path / name) / "one").write_text(name)
        assert (tmp_path / "a/one").read_text() == "before"
    assert contents(tmp_path) == {"a/old": b"stays", "a/one": b"a", "b/c/one": b"b/c"}


def test_a_block_that_fails_leaves_everything_as_it_was(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        replace_files(tmp_path / "x/y", "a", KeyboardInterrupt)
    with pytest.raises(StoreError, match="y: cannot be written"):
        replace_files(tmp_path / "x/y", "a", OSError)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "a").write_text("before")
    with pytest.raises(KeyboardInterrupt):
        replace_files(tmp_path, "ab", KeyboardInterrupt)
    assert contents(tmp_path) == {"a": b"before"}
    (tmp_path / "c").mkdir()
    with pytest.raises(StoreError, match="c: cannot be written"):
        replace_files(tmp_path, "c")


@pytest.mark.usefixtures("figures_of_words")
def test_only_a_whole_plan_is_published_and_a_publication_that_fails_leaves_the_old_one(
    experiment, trials, make_rows, tmp_path
):
    runs, results = tmp_path / "runs", tmp_path / "results"
    rows = make_rows([0.84] * 5)
    chosen = [trial for trial in trials if trial.id in rows]
    write_rows(runs / experiment.name, rows.values())
    with pytest.raises(StoreError, match="5 of 11 planned trials are not done"):
        publish([(experiment, trials)], runs, results)
    assert not results.exists()
    assert publish([(experiment, chosen)], runs, results) == [6]
    assert set(read_rows(results / experiment.name)) == set(rows)
    old = contents(results)
    assert {Path(name).name for name in old} == {ROWS, *PUBLISHED}
    publish([(experiment.model_copy(update={"publish": "rows"}), chosen)], runs, tmp_path / "rows")
    assert {Path(name).name for name in contents(tmp_path / "rows")} == {ROWS}

    write_rows(runs / experiment.name, make_rows([0.86] * 5).values())
    with pytest.raises(StoreError, match="not done"):  # the second of two configs
        publish([(experiment, chosen), (experiment, trials)], runs, results)
    assert contents(results) == old
    publish([(experiment, chosen)], runs, results)
    assert all(contents(results)[name] != content for name, content in old.items())
