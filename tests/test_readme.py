"""What the README files show must work as it stands."""

import re
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

from kfeat.cli import main
from scripts.readme import READMES, updated

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_the_python_example_runs() -> None:
    names: dict[str, object] = {}
    (example,) = blocks("python")
    exec(example, names)
    rng = np.random.default_rng(0)
    X = rng.random((60, 4))
    y = X[:, 0] * X[:, 1] > 0.25
    assert names["model"].fit(X, y).score(X, y) > 0.9  # type: ignore[attr-defined]


@pytest.mark.slow
def test_the_config_example_runs_on_a_csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((1800, 3))
    lines = [f"{a},{b},{c},{'high' if a * b + c > 0 else 'low'}" for a, b, c in rows]
    Path("my.csv").write_text("age,hours,years,income\n" + "\n".join(lines) + "\n")
    (example,) = blocks("yaml")
    Path("mine.yaml").write_text(example)
    result = CliRunner().invoke(main, ["run", "mine.yaml", "--repeats", "1", "-q"])
    assert result.exit_code == 0, result.output
    assert "Random Fourier, D = 1000" in result.stdout
    assert "Nystrom, D = 100 " in result.stdout


def test_every_command_and_option_shown_exists() -> None:
    shown = [
        line.split("#")[0].split()
        for block in blocks("sh")
        for line in block.splitlines()
        if "kfeat " in line
    ]
    calls = [words[words.index("kfeat") + 1 :] for words in shown if "kfeat" in words]
    assert len(calls) > 8
    for words in calls:
        command = main.commands.get(words[0])
        if isinstance(command, click.Group):
            command = command.commands.get(words[1], command.commands.get("show"))
        if words[0] == "COMMAND" or command is None:
            continue
        options = {name for parameter in command.params for name in parameter.opts}
        assert {word for word in words if word.startswith("--") and word != "--all"} <= options


@pytest.mark.parametrize("page", READMES, ids=str)
def test_every_link_leads_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)\)", (ROOT / page).read_text(encoding="utf-8"))
    assert targets or page.parent.name == "maps"
    for target in targets:
        assert "://" in target or (ROOT / page.parent / target).exists(), target


@pytest.mark.parametrize("page", READMES, ids=str)
def test_its_tables_are_those_of_the_results(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    text = page.read_text(encoding="utf-8")
    assert updated(text) == text, "run python -m scripts.readme"
    in_blocks = re.findall(r"<!-- \w+[^\n]*-->\n(\|[^\n]*)", text)
    for line in in_blocks[:1]:
        assert updated(text.replace(line, line.upper())) == text


def test_the_page_of_a_paper_shows_everything_published() -> None:
    for page in [page for page in READMES if page.parent.parent == Path("results")]:
        text = (ROOT / page).read_text(encoding="utf-8")
        for table in (ROOT / page).parent.glob("*/table.md"):
            assert f"]({table.parent.name}/table.md)" in text, table
