"""What the README shows must work as it stands."""

import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from kfeat.cli import main
from scripts.readme import updated

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


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
    assert "Nystrom, D = 100," in result.stdout


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
        if words[0] == "COMMAND" or command is None:
            continue
        options = {name for parameter in command.params for name in parameter.opts}
        assert {word for word in words if word.startswith("--") and word != "--all"} <= options


def test_every_link_leads_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        if "://" not in target:
            assert (Path(__file__).parents[1] / target).exists(), target


def test_its_tables_are_those_of_the_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[1])
    assert updated(README) == README, "run python -m scripts.readme"
    assert updated(README.replace("| total", "| tatol")) == README
