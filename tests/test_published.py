"""What is published stands on its evidence: explanations cite claims that the published rows bear out."""

import contextlib
import json
import re
from collections import Counter
from math import inf
from pathlib import Path

import pytest

from kfeat.analysis.claims import MISSING, REPRODUCED
from kfeat.experiments.store import ROWS
from kfeat.render.files import published_files, texts
from scripts import readme

ROOT = Path(__file__).parents[1]
HOW = "its rows make another today; `make pages` draws it"
SCORES = ("predictions", "accuracy", "relative_error", "kernel_error", "failure_rate")


@pytest.fixture(scope="module")
def judgements():
    """Every config by its published rows."""
    with contextlib.chdir(ROOT):
        return readme.judgements()


def test_every_explanation_rests_on_claims_that_are_reproduced(judgements):
    explained = [
        (one.experiment.name, said, item.cited)
        for one in judgements
        for said, item in (
            *((item.number, item) for item in one.numbers),
            *((item.claim, item) for item in one.claims),
        )
        if said.explanation and item.verdict != MISSING
    ]
    assert explained
    cases = {
        (one.experiment.name, item.claim.id): item.claim.cases for one in judgements for item in one.claims
    }
    for name, said, cited in explained:
        assert cited, f"{name}: no evidence for: {said.explanation}"
        for one in cited:
            # That some case lies above a number, and some below, would hold for nearly any number.
            assert cases[one.citation] == "all", f"{name}: {one.citation}"
            assert one.verdict == REPRODUCED, f"{name}: {one.citation} is {one.verdict}: {said.explanation}"


def test_what_nobody_explains_is_listed_beside_the_results(judgements):
    page = (ROOT / "results/not_reproduced.md").read_text(encoding="utf-8")
    lacking = [one for item in judgements for one in item.disagreements() if "not explained" in one.verdict]
    assert lacking
    for one in lacking:
        assert one.entry.unexplained, one.what
        assert one.what.split(": ", 1)[1].replace("<", "&lt;").replace("|", "\\|") in page
    assert all(item.passes for item in judgements)


def test_every_verdict_on_a_number_is_what_its_interval_says_and_is_counted_where_it_is_published(judgements):
    """The rule and the counts once more, written otherwise: by the nearest and the farthest end."""
    board = (ROOT / "results/README.md").read_text(encoding="utf-8")
    counted = drawn = 0
    for one in judgements:
        for judged in one.numbers:
            for item in judged.reproductions:
                low, high = item.interval or (-inf, inf)
                nearest, farthest = max(low, -high, 0), max(-low, high)
                word = (
                    "agrees"
                    if farthest <= item.slack
                    else "differs"
                    if nearest > item.slack
                    else "compatible"
                )
                assert item.verdict.partition(",")[0] == word, one.experiment.name
        verdicts = Counter(judged.verdict for judged in one.numbers)
        if verdicts and one.has_rows:
            (line,) = re.findall(rf"^\| \[{one.experiment.name}\].*$", board, re.MULTILINE)
            cell = line.split("|")[2].strip()
            curves = Counter(curve.verdict for curve in one.curves)
            own = re.split(rf"; {len(one.curves)} curves: ", cell)
            for text, tally in zip(own, [verdicts, curves][: len(own)], strict=True):
                shown = {tuple(part.split(" ", 1)) for part in text.split("; ")}
                assert shown == {(str(n), verdict) for verdict, n in tally.items()}
            assert len(own) == 1 + bool(curves)
            counted += verdicts.total()
            drawn += curves.total()
    assert counted > 250
    assert drawn == 13 + 48  # of Figure 1 of Kar & Karnick, and of Wu et al.


@pytest.mark.slow
def test_every_published_table_is_what_its_rows_say_today(judgements, monkeypatch):
    """One that was left behind, by a change of the rules or of rows that it cites, contradicts the README."""
    monkeypatch.chdir(ROOT)
    there = [one for one in judgements if one.has_rows]
    assert len(there) > 60
    for one in there:
        folder, names = Path("results", one.experiment.name), published_files(one.experiment)
        assert {path.name for path in folder.iterdir() if path.is_file()} == {ROWS, *names}, folder
        for name, text in texts(one.experiment, one.cells, folder).items():
            if name in names:
                assert (folder / name).read_text(encoding="utf-8") == text, f"{folder / name}: {HOW}"


def test_a_trial_has_the_same_numbers_wherever_it_is_published():
    found = {}
    shared = 0
    for path in sorted((ROOT / "results").rglob("trials.jsonl")):
        for row in (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()):
            if row["status"] != "done":  # stopped under one limit, it may be done under another
                continue
            numbers = {key: row[key] for key in SCORES if key in row}
            place, first = found.setdefault(row["id"], (path, numbers))
            assert first == numbers, f"{row['id']} in {place} and in {path}"
            shared += place != path
    assert shared > 100
