"""Findings quote numbers by name: none can stand there that the rows do not have."""

import re
from math import nan
from pathlib import Path

import pytest
import yaml

from kfeat.analysis.cells import summarise
from kfeat.analysis.judgement import judge_experiment
from kfeat.experiments.paper import Claim
from scripts.readme import BLOCK, DOCS, EXPLAINED, QUOTE
from scripts.values import Number, filled

ROOT = Path(__file__).parents[1]
FINDINGS = sorted(ROOT.glob("configs/*/finding.md"))
NOT_MEASURED = re.compile(
    r"{.*?}|\]\(.*?\)|`.*?`"  # what is filled in, the targets of links, and code
    r"|\b[A-Za-z]+ = [\d.,e-]*\d"
    r"|\b(?:Table|Figure|Theorem|Lemma)s? \d+(?: (?:to|and) \d+)?"
    r"|\b(?:of|in) (?:19|20)\d\d\b|H0/1|\(1 \+ ⟨x, y⟩\)|\(1 \+ <x, y>\)"
    r"|\b[a-z]\w*_\w+|\^\(?[\w+-]+\)?|-s \d|(?:LIBLINEAR|LIBSVM) \d\.\d+"  # names, powers, options
)
WORD = "three|four|five|six|seven|eight|nine|ten|eleven|twelve"
TYPED = re.compile(rf"[^.,;]*(?:\d|\b(?:{WORD})\b)[^,;]*", re.IGNORECASE)
# On a page that also describes protocols: decimals, numbers with the unit of a result, counts and intervals.
RESULT = re.compile(
    rf"[^.,;\n]*(?:\d\.\d|(?:\d|\b(?:{WORD})) (?:times|points?|%|seconds|s\b|minutes|hours|degrees|[GM]B)"
    rf"|(?:\d|\b(?:{WORD})) of (?:the |its )?(?:\d|{WORD})\b|\[[-+\d][^\]]*\])[^,;\n]*",
    re.IGNORECASE,
)
CODE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
NAMED = re.compile(r"95 %|\b(?:Section|Corollary|LIBLINEAR|version|Version|Python|before) \d+\.\d+|`[^`]*`")


def typed(text, settings, pattern=TYPED):
    """Return what has a number that is typed, beside the settings and all that is not measured."""
    for phrase in sorted(settings, key=len, reverse=True):
        text = re.sub(rf"(?<![\d.]){re.escape(phrase)}", "", text)
    return pattern.findall(NOT_MEASURED.sub("", text))


def written(page):
    """Return a page without its code and what is made of rows, but with the templates of what it quotes."""
    text = BLOCK.sub("", CODE.sub("", (ROOT / page).read_text(encoding="utf-8")))
    return NAMED.sub("", QUOTE.sub(lambda match: match[2], text))


def templates(page):
    return "".join(match[2] for match in QUOTE.finditer((ROOT / page).read_text(encoding="utf-8")))


def explanations(folder):
    """Return what the configs of a folder explain, with the templates of what it quotes."""

    def texts(entry):
        if isinstance(entry, dict):
            own = [entry[key] for key in ("explanation", "unexplained") if key in entry]
            return own + texts(list(entry.values()))
        return [text for item in entry for text in texts(item)] if isinstance(entry, list) else []

    configs = "\n---\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.yaml")))
    configs = EXPLAINED.sub(lambda match: f'{match[1]}"{match[2]}"', configs)
    return "\n".join(texts(list(yaml.load_all(configs, yaml.CSafeLoader))))


@pytest.mark.parametrize("path", FINDINGS, ids=lambda path: path.parent.name)
def test_no_number_is_typed_that_is_measured_or_printed(path):
    values = yaml.safe_load((path.parent / "_values.yaml").read_text(encoding="utf-8"))
    text = path.read_text(encoding="utf-8")
    page, explained = f"results/{path.parent.name}/README.md", explanations(path.parent)
    assert typed(text, values["settings"]) == []
    assert typed(written(page), values["settings"], RESULT) == []
    assert set(re.findall(r"{(\w+)", text + templates(page) + explained)) == values["values"].keys()
    lacking = [phrase for phrase in values["settings"] if phrase not in text + written(page) + explained]
    assert not lacking, f"{lacking} stand among the settings, and nowhere else"


@pytest.mark.parametrize("path", FINDINGS, ids=lambda path: path.parent.name)
def test_no_result_is_typed_in_what_configs_explain(path):
    values = yaml.safe_load((path.parent / "_values.yaml").read_text(encoding="utf-8"))
    assert typed(explanations(path.parent), values["settings"]) == []


def test_no_result_is_typed_on_the_pages_of_the_docs():
    values = yaml.safe_load((ROOT / "docs/_values.yaml").read_text(encoding="utf-8"))
    pages = [*DOCS, "README.md", "results/README.md", "configs/README.md", "kfeat/maps/README.md"]
    assert {
        str(page): found for page in pages if (found := typed(written(page), values["settings"], RESULT))
    } == {}
    assert set(re.findall(r"{(\w+)", "".join(map(templates, DOCS)))) == values["values"].keys()


def test_a_typed_number_is_seen():
    text = "It scores {ts:.1f} % at D = 200 (Table 1), four times, where the paper prints 81.9 %."
    assert typed(text, ["four times"]) == [" where the paper prints 81.9 %."]
    assert typed("It is ahead in eight cells of 10.", ["10"]) == ["It is ahead in eight cells of ."]
    page = "On five splits it scores 82.3 %. It is 4 times faster, in 3 of 4 cells, by 2 [1, 3]."
    assert len(typed(page, [], RESULT)) == 3
    assert not typed("With D = 200 on 20,000 rows.", [], RESULT)


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


def test_a_time_that_was_stopped_is_quoted_as_a_bound_alone(experiment, trials, make_rows, tmp_path):
    exact = trials[-1].id
    late = {"status": "stopped", "limit_s": 60.0, "phase": "train"}
    rows = {key: row | late if key == exact else row for key, row in make_rows([0.84] * 5).items()}
    first = experiment.model_copy(update={"name": f"{tmp_path.name}/first"})
    judgement = judge_experiment(first, summarise(experiment, trials, rows), {})
    (tmp_path / "_values.yaml").write_text("values: {time: {in: first, of: fit, value: {map: exact}}}")
    assert filled("{time.bound:.0f} [{time.low:.0f}", tmp_path, [judgement], tmp_path) == "60 [41"
    with pytest.raises(ValueError, match="do not say"):
        filled("{time:.0f}", tmp_path, [judgement], tmp_path)
