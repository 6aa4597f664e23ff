"""`kfeat --version` tells a release from a clone, as rows do."""

import shutil
import subprocess
import sys
from importlib.metadata import version as version_of

import pytest

from kfeat import version
from kfeat.experiments.clock import environment
from kfeat.version import commit
from tests.cli.commands import succeed

RELEASE = f"kfeat {version_of('kfeat')}"


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_clone_has_its_commit_and_a_plus_if_kfeat_was_changed(tmp_path):
    def git(*words):
        names = ["-c", "user.name=me", "-c", "user.email=me@example.org"]
        return subprocess.run(
            ["git", *names, *words], cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout

    assert commit(tmp_path) is None
    git("init")
    assert commit(tmp_path) is None  # nothing is committed yet
    (tmp_path / "kfeat").mkdir()
    (tmp_path / "kfeat/a.py").write_text("a = 1\n")
    git("add", ".")
    git("commit", "-m", "first")
    head = git("rev-parse", "HEAD")[:12]
    (tmp_path / "notes.md").write_text("mine\n")
    assert commit(tmp_path) == head
    (tmp_path / "kfeat/a.py").write_text("a = 2\n")
    assert commit(tmp_path) == f"{head}+"


@pytest.mark.parametrize(
    ("tree", "shown"), [(None, RELEASE), ("1a2b3c4d5e6f+", f"{RELEASE} (tree 1a2b3c4d5e6f+)")]
)
def test_the_command_shows_a_release_or_the_tree(monkeypatch, tree, shown):
    monkeypatch.setattr(version, "commit", lambda: tree)
    assert succeed("--version").stdout == f"{shown}\n"


def test_a_row_has_the_same_commit():
    environment.cache_clear()
    assert environment()["commit"] == commit()


def test_the_version_is_shown_without_a_slow_import():
    code = (
        "import sys; from kfeat.cli import main\n"
        "try:\n    main(['--version'])\nexcept SystemExit as ended:\n    assert not ended.code\n"
        "assert not {'numpy', 'psutil', 'pydantic', 'sklearn'} & {*sys.modules}"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
