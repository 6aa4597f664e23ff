"""What the README files and the pages of docs/ show must work as it stands."""

import re
import shlex
import subprocess
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

from kfeat.cli import main
from scripts.readme import DOCS, EXPLAINING, READMES, updated

ROOT = Path(__file__).parents[1]
README = Path("README.md")
OWN_DATA = ("start", "howto/own_data", "howto/choose_a_map")  # pages
SHOWN = [README, Path("CONTRIBUTING.md"), *DOCS]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def text_of(page):
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text_of(page), flags=re.DOTALL | re.MULTILINE)


def test_the_readme_is_one_page():
    lines = text_of(README).splitlines()
    assert len(lines) <= 150
    assert max(map(len, lines)) <= 100


def test_the_python_example_runs():
    names = {}
    (example,) = blocks(README, "python")
    exec(example, names)
    rng = np.random.default_rng(0)
    X = rng.random((60, 4))
    y = X[:, 0] * X[:, 1] > 0.25
    assert names["model"].fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize("page", [page for page in DOCS if blocks(page, "python")], ids=str)
def test_the_python_examples_of_a_page_run_one_after_the_other(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for example in blocks(page, "python"):
        exec(compile(example, str(page), "exec"), names)


@pytest.mark.slow
@pytest.mark.parametrize("page", ["README.md", *(f"docs/{page}.md" for page in OWN_DATA)])
def test_the_commands_on_own_data_run_one_after_the_other_in_an_empty_folder(page, tmp_path, monkeypatch):
    """Word for word, but for the budget of the search."""
    monkeypatch.chdir(tmp_path)
    (block,) = (block for block in blocks(page, "sh") if "kfeat advise own" in block or "kfeat new" in block)
    for line in block.splitlines():
        _, *arguments = shlex.split(line, comments=True)
        if arguments[0] == "tune":
            arguments[arguments.index("--budget") + 1] = "5s"
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0, f"{line}: {result.output}"
    assert block.startswith("kfeat data export digits own.csv")


@pytest.mark.slow
def test_the_config_example_runs_on_a_csv(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((1800, 3))
    lines = [f"{a},{b},{c},{'high' if a * b + c > 0 else 'low'}" for a, b, c in rows]
    Path("my.csv").write_text("age,hours,years,income\n" + "\n".join(lines) + "\n")
    (example,) = blocks(Path("docs/howto/own_experiment.md"), "yaml")
    Path("mine.yaml").write_text(example)
    result = CliRunner().invoke(main, ["run", "mine.yaml", "--repeats", "1", "-q"])
    assert result.exit_code == 0, result.output
    assert "Random Fourier, D = 1000" in result.stdout
    assert "Nystrom, D = 100 " in result.stdout


@pytest.mark.parametrize("page", SHOWN, ids=str)
def test_every_command_and_option_shown_exists(page):
    shown = [
        line.split("#")[0].split()
        for block in blocks(page, "sh")
        for line in block.splitlines()
        if line.startswith("kfeat ")
    ]
    shown += [code.split() for code in re.findall(r"`(kfeat [a-z][^`\n]*)`", text_of(page))]
    for _, name, *words in shown:
        assert name in main.commands, name
        command = main.commands[name]
        if isinstance(command, click.Group):
            given = words[0] if words else "show"
            command = command.commands.get(given, command.commands.get("show", command))
        options = {name for parameter in command.params for name in parameter.opts}
        named = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert named - {"--all", "--help"} <= options, (name, words)


def test_the_readme_shows_the_commands_of_its_main_jobs():
    shown = set(re.findall(r"^kfeat (\w+)", "".join(blocks(README, "sh")), flags=re.MULTILINE))
    assert shown >= {"run", "new", "tune", "fit", "predict", "score"}


def test_every_make_target_shown_exists():
    for page in SHOWN:
        lines = [line for block in blocks(page, "sh") for line in block.splitlines()]
        shown = [words for line in lines for words in re.findall(r"^make ([a-z-]+)", line)]
        shown += re.findall(r"`make ([a-z-]+)`", text_of(page))
        for target in shown:
            assert re.search(rf"^{target}:", MAKEFILE, flags=re.MULTILINE), f"{page}: {target}"


def leads_somewhere(page, target):
    """Whether a link leads to a file, a place on the web, or a page that is generated into docs/."""
    if "://" in target or (ROOT / page.parent / target).exists():
        return True
    made = (ROOT / page.parent / target).resolve().relative_to(ROOT.resolve())
    return made.parts[:2] in (("docs", "gallery"), ("docs", "generated"))


def test_every_link_leads_somewhere():
    for page in (*READMES, *DOCS):
        text = text_of(page)
        targets = re.findall(r"\]\(([^)#]+)\)", text)
        targets += re.findall(r"^\[[^\]]+\]: (\S+)$", text, re.MULTILINE)
        assert targets or page.parent.name == "maps" or page in DOCS, page
        for target in targets:
            assert leads_somewhere(page, target), f"{page}: {target}"


def test_every_page_of_the_docs_is_in_a_table_of_contents():
    listed = {
        (parent.parent / entry).as_posix()
        for parent in DOCS
        for tree in re.findall(r"^```\{toctree\}\n(.*?)^```$", text_of(parent), re.DOTALL | re.MULTILINE)
        for entry in tree.split()
    }
    lacking = {page.with_suffix("").as_posix() for page in DOCS} - listed
    assert lacking == {"docs/index"}


@pytest.mark.parametrize("page", [*EXPLAINING, *READMES, *DOCS], ids=str)
def test_its_tables_are_those_of_the_results(page, monkeypatch):
    monkeypatch.chdir(ROOT)
    text = text_of(page)
    line = re.search(r"<!-- \w+[^\n]*-->\n(\|[^\n]*)", text)
    changed = text.replace(line[1], line[1].upper()) if line else text
    assert updated(changed, page) == text, "`make pages` makes it anew"


def test_one_command_makes_the_texts_of_configs_then_tables_then_the_pages_that_show_them():
    shown = subprocess.run(["make", "-n", "pages"], cwd=ROOT, capture_output=True, text=True, check=True)
    steps = re.findall(r"python -m (scripts\.\w+)", shown.stdout)
    made = ["scripts.study", "scripts.wu_answers", "scripts.readme", "scripts.redraw", "scripts.readme"]
    assert steps == made


def test_the_page_of_a_paper_is_short_and_shows_everything_published():
    for page in [page for page in READMES if page.parent.parent == Path("results")]:
        text = text_of(page)
        assert (ROOT / page).stat().st_size <= 40_000, page
        for table in (ROOT / page).parent.glob("*/table.md"):
            assert f"]({table.parent.name}/table.md)" in text, table
