"""The page on the sources names experiments that exist, and all that their claims are about."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/concepts/sources.md").read_text(encoding="utf-8")
CONFIG = re.compile(r"(?:results/|`)(\w+_\d{4}/\w+|survey/\w+)(?:/table\.md|`)")
STATEMENT = re.compile(
    r"\b(Table|Figure|Lemma|Theorem|Corollary|Algorithm)s? (\d+(?:\.\d+)?)(?: \(\w\))?(?: and (\d+))?"
)


def section(paper):
    """Return what the page says of a paper, such as pham_pagh_2013."""
    author, *_, year = paper.split("_")
    sections = re.split(r"^## ", PAGE, flags=re.MULTILINE)
    return next(text for text in sections if re.match(rf"{author.title()}[^\n]* {year}\n", text))


def statements(text):
    return {(kind, number) for kind, *numbers in STATEMENT.findall(text) for number in numbers if number}


def test_it_names_every_experiment_of_a_paper_and_what_it_names_exists():
    names = set(CONFIG.findall(PAGE))
    assert len(names) > 70
    assert [name for name in names if not (ROOT / f"configs/{name}.yaml").exists()] == []
    papers = ROOT.glob("configs/*_[0-9]*/[!_]*.yaml")
    assert {f"{path.parent.name}/{path.stem}" for path in papers} - names == set()


@pytest.mark.parametrize(
    "paper", ["pham_pagh_2013", "kar_karnick_2012", "chang_2017", "yang_2014", "wu_2016", "bellet_2020"]
)
def test_it_names_what_the_claims_and_printed_numbers_are_about(paper):
    text = section(paper)
    lacking = set()
    for path in (ROOT / "configs" / paper).glob("*.yaml"):
        for where in re.findall(r"\bwhere: (.+)", path.read_text(encoding="utf-8")):
            lacking |= statements(where) - statements(text)
            lacking |= {slide for slide in re.findall(r'"slide: ([^"]+)"', where) if f'"{slide}"' not in text}
    assert lacking == set()
