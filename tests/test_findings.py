"""Findings quote numbers by name: none can stand there that the rows do not have."""

import re
from math import nan
from pathlib import Path

import pytest
import yaml

from kfeat.analysis.judgement import judge_experiment
from kfeat.experiments.paper import Claim
from scripts.readme import DOCS, QUOTE
from scripts.values import Number, filled

ROOT = Path(__file__).parents[1]
FINDINGS = sorted(ROOT.glob("configs/*/finding.md"))
NOT_MEASURED = re.compile(
    r"{.*?}|\]\(.*?\)|`.*?`"  # what is filled in, the targets of links, and code
    r"|\b[A-Za-z]+ = [\d.,e-]*\d"
    r"|\b(?:Table|Figure|Theorem|Lemma)s? \d+(?: (?:to|and) \d+)?"
    r"|\b(?:of|in) (?:19|20)\d\d\b|H0/1|\(1 \+ ⟨x, y⟩\)"
)
TYPED = re.compile(
    r"[^.,;]*(?:\d|\b(?:three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b)[^,;]*", re.IGNORECASE
)


def typed(text, settings):
    """Return what has a number that is typed, beside the settings and all that is not measured."""
    left = text
    for phrase in sorted(settings, key=len, reverse=True):
        assert phrase in text, f"{phrase} stands among the settings, and nowhere else"
        left = re.sub(rf"(?<![\d.]){re.escape(phrase)}", "", left)
    return TYPED.findall(NOT_MEASURED.sub("", left))


@pytest.mark.parametrize("path", FINDINGS, ids=lambda path: path.parent.name)
def test_no_number_is_typed_that_is_measured_or_printed(path):
    values = yaml.safe_load((path.parent / "_values.yaml").read_text(encoding="utf-8"))
    text = path.read_text(encoding="utf-8")
    assert typed(text, values["settings"]) == []
    answers = path.with_name("short_answers.md").read_text(encoding="utf-8")
    assert set(re.findall(r"{(\w+)", text + answers)) == values["values"].keys()


def test_every_value_of_the_docs_is_quoted():
    values = yaml.safe_load((ROOT / "docs/_values.yaml").read_text(encoding="utf-8"))["values"]
    pages = [(ROOT / page).read_text(encoding="utf-8") for page in DOCS]
    templates = [match[2] for page in pages for match in QUOTE.finditer(page)]
    assert set(re.findall(r"{(\w+)", "".join(templates))) == values.keys()


def test_a_typed_number_is_seen():
    text = "It scores {ts:.1f} % at D = 200 (Table 1), four times, where the paper prints 81.9 %."
    assert typed(text, ["four times"]) == [" where the paper prints 81.9 %."]
    assert typed("It is ahead in eight cells of 10.", ["10"]) == ["It is ahead in eight cells of ."]


def test_a_number_is_written_as_its_format_says():
    number = Number(3294.0, low=0.5, agree=2, all=2)
    assert (
        f"{number:~2} {number:,.0f} {number:/60 .1f} {number.low:.2f}{number:so}" == "3,300 3,294 54.9 0.50"
    )
    assert f"{Number(8):word} of {Number(12)}" == "eight of 12"
    for wrong, spec in ((Number(1, agree=1, all=2), "so"), (Number(nan), ".1f")):
        with pytest.raises(ValueError, match="do not say"):
            format(wrong, spec)


def test_values_are_those_of_the_rows_and_of_the_paper(experiment, make_cells, tmp_path):
    claim = {"text": "TS is good", "where": "Section 6", "id": "good", "value": {"map": "tensor_sketch"}}
    judged = [Claim.model_validate(claim | {"above": bound}) for bound in (80, 90)]
    first = experiment.model_copy(update={"name": f"{tmp_path.name}/first", "claims": judged[:1]})
    other = experiment.model_copy(update={"name": f"{tmp_path.name}/other", "claims": judged[1:]})
    cells = make_cells([0.84, 0.86, 0.85, 0.85, 0.85], exact=0.9)
    judgements = [judge_experiment(one, cells, {}) for one in (first, other)]
    (tmp_path / "page.md").write_text("from 3,294 [1, 2] rows on")
    (tmp_path / "_values.yaml").write_text("""
values:
  sketch: {in: first, value: {map: tensor_sketch}}
  gap: {in: first, difference: [{map: exact}, {map: tensor_sketch}]}
  longer: {in: first, of: fit, value: {map: exact}}
  good: {in: first, claim: good}
  both: {in: first, value: {map: [exact, tensor_sketch]}, above: 80}
  claims: {in: [first, other], count: claims, where: {of: score}}
  numbers: {in: [first], count: numbers, where: {map: exact}}
  rows: {page: page.md, text: 'from (\\S+) \\[(\\d), \\d\\]'}
""")

    def text(template):
        return filled(template, tmp_path, judgements, tmp_path)

    assert text("{sketch:.1f} ± {sketch.sd:.2f} for {sketch.paper:.1f} ± {sketch.paper.sd}") == (
        "85.0 ± 0.71 for 85.0 ± 0.5"
    )
    assert text("{gap:.1f} for {gap.paper:.1f}; {longer.paper:/60 .0f} minutes") == "5.0 for 5.0; 60 minutes"
    assert text("{both.least:.0f} to {both.most:.0f}, {both.agree} of {both.all}") == "85 to 90, 2 of 2"
    assert text("{claims}: {claims.agree}, {claims.differ}") == "2: 1, 1"
    assert text("{numbers.agree} of {numbers}; {rows:~2}, {rows.low:.0f}") == "1 of 1; 3,300, 1"
    for wrong in ("{both:.1f}", "{rows.paper}", "{claims:so}"):
        with pytest.raises((ValueError, AttributeError)):
            text(wrong)
