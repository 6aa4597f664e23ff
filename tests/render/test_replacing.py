from collections.abc import Callable
from pathlib import Path

import pytest

from kfeat.errors import StoreError
from kfeat.experiments.load import Experiment
from kfeat.experiments.plan import Trial
from kfeat.experiments.store import Row, write_rows
from kfeat.render.files import FILES, publish
from kfeat.render.replacing import Replacing

MakeRows = Callable[..., dict[str, Row]]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_files_of_several_folders_take_their_places_together(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/old").write_text("stays")
    (tmp_path / "a/one").write_text("before")
    with Replacing() as replacing:
        for name in ("a", "b/c"):
            (replacing.beside(tmp_path / name) / "one").write_text(name)
        assert (tmp_path / "a/one").read_text() == "before"
    assert contents(tmp_path) == {"a/old": b"stays", "a/one": b"a", "b/c/one": b"b/c"}


def test_a_failed_block_leaves_everything_as_it_was(tmp_path: Path) -> None:
    def fail() -> None:
        with Replacing() as replacing:
            (replacing.beside(tmp_path / "a/b") / "one").write_text("new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_replaced_leaves_all_others_as_they_were(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("before")
    (tmp_path / "c").mkdir()

    def fail() -> None:
        with Replacing() as replacing:
            for name in "abc":
                (replacing.beside(tmp_path) / name).write_text("new")

    with pytest.raises(StoreError, match="cannot be written"):
        fail()
    assert contents(tmp_path) == {"a": b"before"}
    assert (tmp_path / "c").is_dir()


def test_a_publication_that_fails_half_way_leaves_the_old_one(
    experiment: Experiment, trials: list[Trial], make_rows: MakeRows, tmp_path: Path
) -> None:
    runs, results = tmp_path / "runs", tmp_path / "results"
    rows = make_rows([0.84] * 5)
    chosen = [trial for trial in trials if trial.id in rows]
    write_rows(runs / experiment.name, rows.values())
    publish([(experiment, chosen)], runs, results)
    old = contents(results)
    assert len(old) == len(FILES) + 1

    write_rows(runs / experiment.name, make_rows([0.86] * 5).values())
    with pytest.raises(StoreError, match="not done"):  # the second of two configs
        publish([(experiment, chosen), (experiment, trials)], runs, results)
    assert contents(results) == old
    (results / experiment.name / "table.tex").unlink()
    (results / experiment.name / "table.tex").mkdir()
    with pytest.raises(StoreError, match="cannot be written"):
        publish([(experiment, chosen)], runs, results)
    assert contents(results) == {key: value for key, value in old.items() if "table.tex" not in key}
    (results / experiment.name / "table.tex").rmdir()
    publish([(experiment, chosen)], runs, results)
    assert all(contents(results)[name] != content for name, content in old.items())
