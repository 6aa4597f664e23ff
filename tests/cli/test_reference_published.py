"""The configs and published rows that come with kfeat serve any folder, from a clone and from a wheel."""

import shutil
from pathlib import Path
from zipfile import ZipFile

import pytest

from kfeat.files import known_configs
from tests.cli.commands import kfeat, refusal, succeed
from tests.cli.test_reference_configs import ROOT

NOTE = "no folder results here: the published rows are those that come with kfeat"


@pytest.fixture
def installed(monkeypatch):
    """A kfeat that has its configs and rows beside its modules, as a wheel brings them."""
    package = Path("site-packages/kfeat").resolve()
    (package / "configs").mkdir(parents=True)
    shutil.copy(ROOT / "configs/quickstart.yaml", package / "configs")
    with ZipFile(package / "results.zip", "w") as archive:
        archive.write(ROOT / "results/quickstart/trials.jsonl", "quickstart/trials.jsonl")
    for module in ("cli.completion", "experiments.config", "experiments.shipped"):
        monkeypatch.setattr(f"kfeat.{module}.known_configs", lambda: package / "configs")
    monkeypatch.setenv("KFEAT_CACHE", str(Path("cache").resolve()))
    return package


def test_rows_are_unpacked_once_and_said_to_come_with_kfeat(installed, monkeypatch, caplog):
    shown = succeed("rows", "quickstart", "--format", "jsonl")
    (folder,) = Path("cache/results").glob("[!.]*[0-9a-f]")
    assert shown.stdout.count("\n") == (folder / "quickstart/trials.jsonl").read_text().count("\n") == 7
    assert caplog.messages == [NOTE]
    monkeypatch.setattr(ZipFile, "extractall", lambda *_: pytest.fail("unpacked again"))
    assert succeed("rows", "quickstart", "--format", "jsonl", "-q").stdout == shown.stdout
    assert len(caplog.messages) == 1


def test_an_installed_kfeat_checks_and_explains_by_name(installed):
    checked = succeed("check", "quickstart")
    assert "`kfeat run quickstart` makes your own" in " ".join(checked.stdout.split())
    told = succeed("explain", "f8ab4ca2").stdout
    assert told.splitlines()[-1] == "  kfeat run quickstart --only f8ab4ca2fec27860"
    assert not Path("runs").exists()


def test_a_folder_of_ones_own_comes_first(installed, write, caplog):
    assert kfeat("check", write()).exit_code == 1  # no row of it comes with kfeat
    assert "no rows of" in refusal("rows", "quickstart", "--results", "elsewhere")
    Path("results").mkdir()
    assert "no rows of" in refusal("rows", "quickstart")
    assert caplog.messages == []


def test_a_clone_has_them_beside_the_configs():
    shown = succeed("rows", "quickstart", "--format", "csv")
    assert f"the published rows of {ROOT / 'results'}" in shown.stderr
    assert known_configs() == ROOT / "configs"
