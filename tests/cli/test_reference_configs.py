"""The configs that come with kfeat, by their names in any folder, from a clone and from a wheel."""

import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest

from kfeat.experiments.shipped import config_files
from tests.cli.commands import kfeat, refusal, succeed

ROOT = Path(__file__).parents[2]


def test_they_are_listed_with_their_titles():
    lines = kfeat("configs").output.splitlines()
    names = [line.split()[0] for line in lines]
    files = [path for path in (ROOT / "configs").rglob("*.yaml") if not path.name.startswith("_")]
    assert sorted(names) == sorted(
        one.relative_to(ROOT / "configs").with_suffix("").as_posix() for one in files
    )
    assert next(line for line in lines if line.startswith("adult_poly4 ")).split(maxsplit=1)[1]


@pytest.mark.parametrize("name", ["quickstart", "quickstart.yaml", "configs/quickstart.yaml"])
def test_a_name_is_enough_in_any_folder(name):
    assert config_files((Path(name),)) == [ROOT / "configs/quickstart.yaml"]
    succeed("run", name, "--dry-run")


def test_a_file_of_ones_own_comes_first():
    Path("quickstart").mkdir()
    Path("quickstart/mine.yaml").write_text("title: mine\n")
    assert config_files((Path("quickstart"),)) == [Path("quickstart/mine.yaml")]


def test_an_unknown_name_is_refused():
    assert "quickstrat" in refusal("run", "quickstrat")


def test_copies_are_made_into_an_empty_folder_alone():
    succeed("configs", "copy", "mine")
    assert Path("mine/quickstart.yaml").read_bytes() == (ROOT / "configs/quickstart.yaml").read_bytes()
    assert Path("mine/pham_pagh_2013/_paper.yaml").exists()
    assert kfeat("configs", "copy", "mine").exit_code == 2
    Path("file").write_text("")
    assert kfeat("configs", "copy", "file").exit_code == 2


def test_every_folder_with_files_is_a_package_of_the_wheel():
    named = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    files = [path for folder in ("kfeat", "configs") for path in (ROOT / folder).rglob("*") if path.is_file()]
    folders = {path.parent.relative_to(ROOT) for path in files if path.suffix != ".pyc"}
    below = {folder if folder.parts[0] == "kfeat" else Path("kfeat", folder) for folder in folders}
    assert sorted(named) == sorted(".".join(folder.parts) for folder in below)


@pytest.mark.slow
def test_the_wheel_brings_them(tmp_path):
    """Installed without its dependencies, which this environment has, and run from there."""
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run(
        [*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", "wheels", str(ROOT)],
        check=True,
        timeout=300,
    )
    (wheel,) = Path("wheels").glob("kfeat-*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", "there", str(wheel)], check=True, timeout=300)
    program = "import sys; sys.path.insert(0, 'there'); import kfeat.cli; kfeat.cli.main()"
    command = [sys.executable, "-c", program]
    listed = subprocess.run([*command, "configs"], capture_output=True, text=True, check=True)
    assert "pham_pagh_2013/table1_adult" in listed.stdout
    ran = subprocess.run(
        [*command, "run", "quickstart", "--repeats", "1", "-q"], capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "runs/quickstart/table.md").exists()
    assert (tmp_path / "there/kfeat/configs/quickstart.yaml").exists()
    archive = tmp_path / "there/kfeat/results.zip"
    assert archive.stat().st_size < 5e6
    names = {name.rpartition("/")[0] for name in ZipFile(archive).namelist()}
    rows = {
        path.parent.relative_to(ROOT / "results").as_posix() for path in ROOT.glob("results/**/trials.jsonl")
    }
    assert names == {name for name in rows if not name.startswith("survey/")}
    told = subprocess.run(
        [*command, "explain", "4f88fbc791b83dcd"], capture_output=True, text=True, check=True
    )
    assert "kfeat run adult_poly4 --only 4f88fbc791b83dcd" in told.stdout
    assert "those that come with kfeat" in told.stderr
