"""The files around the code: what CI, pre-commit, an issue, ruff and the names of tests refer to is there."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.cli.commands import succeed

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT, RUFF = PYPROJECT["project"], PYPROJECT["tool"]["ruff"]


def document(name):
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def test_ci_runs_the_script_with_every_python_that_the_package_names():
    (job,) = document(".github/workflows/ci.yml")["jobs"].values()
    assert job["steps"][-1] == {"run": ".ci/run"}
    script = (ROOT / ".ci/run").read_text()
    (versions,) = re.findall(r"^for version in (.*); do$", script, re.M)
    names = [text.rpartition(" ")[2] for text in PROJECT["classifiers"] if "Python :: 3." in text]
    (installed,) = [
        step["with"]["python-version"] for step in job["steps"] if "setup-python" in step.get("uses", "")
    ]
    assert sorted(installed.split()) == sorted(versions.split()) == sorted(names)
    assert installed.split()[-1] == names[0]  # the last one is python3, which makes the environment


def test_pre_commit_has_the_version_of_ruff_that_make_lint_has():
    (pinned,) = [text for text in PROJECT["optional-dependencies"]["dev"] if text.startswith("ruff")]
    (ruff,) = document(".pre-commit-config.yaml")["repos"]
    assert pinned == f"ruff=={ruff['rev'].removeprefix('v')}"


def test_an_issue_asks_for_the_version_and_the_id_of_a_row():
    fields = {part["id"]: part for part in document(".github/ISSUE_TEMPLATE/bug.yml")["body"]}
    assert "kfeat --version" in fields["version"]["attributes"]["description"]
    assert fields["version"]["validations"]["required"]
    assert "kfeat explain ID" in fields["row"]["attributes"]["description"]


@pytest.mark.parametrize("command", ["run", "plan", "fit", "tune"])
def test_the_commands_that_the_page_on_security_names_can_refuse_code(command):
    assert f"`{command}`" in (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert "--no-code" in succeed(command, "--help").stdout


def expanded(pattern):
    """The patterns that one with braces, as in `a/{b,c}.py`, stands for."""
    before, names, after = re.fullmatch(r"([^{]*)\{?([^}]*)\}?(.*)", pattern).groups()
    return [f"{before}{name}{after}" for name in names.split(",")]


@pytest.mark.parametrize("pattern", RUFF["lint"]["per-file-ignores"])
def test_every_file_with_rules_of_its_own_exists(pattern):
    assert [one for one in expanded(pattern) if not any(ROOT.glob(one))] == []


def mirrored_modules(folder):
    """The names of the modules and packages that a folder of tests is for."""
    mirrored = next((path for path in (ROOT / "kfeat" / folder, ROOT / folder) if path.is_dir()), None)
    return {path.stem for path in mirrored.iterdir()} if mirrored else set()


def is_named_after_a_module(file):
    name = file.stem.removeprefix("test_")
    modules = mirrored_modules(file.parent)
    return any(name == module or name.startswith(f"{module}_") for module in modules)


def test_a_test_file_is_named_after_its_module_or_listed_with_what_it_promises():
    tests = ROOT / "tests"
    files = [path.relative_to(tests) for path in tests.rglob("test_*.py")]
    others = [file.as_posix() for file in files if not is_named_after_a_module(file)]
    page = (tests / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"`(\S+\.py)`", page.partition("no single module promises:")[2])
    assert sorted(others) == sorted(listed)
