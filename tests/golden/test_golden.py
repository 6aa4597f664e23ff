"""What readers see of eight small experiments is as it is kept here, to the letter.

After a wanted change `python -m tests.golden.write` writes the files again.
"""

from dataclasses import replace
from difflib import unified_diff

import pytest

from kfeat.experiments.quantities import QUANTITIES
from kfeat.render import report
from tests.golden.experiments import EXPERIMENTS, HERE, made, made_of_all


def changes(name, texts):
    """The lines in which texts differ from the files that are kept, as a diff."""
    lines = []
    for file, text in texts.items():
        kept = (HERE / name / file).read_text(encoding="utf-8")
        lines += unified_diff(kept.splitlines(), text.splitlines(), f"{name}/{file}", "now", lineterm="", n=0)
    return lines


def check(name, texts):
    assert set(texts) | {"config.yaml"} >= {path.name for path in (HERE / name).iterdir()}
    found = "\n".join(changes(name, texts))
    assert not found, f"if this is wanted, `python -m tests.golden.write` writes these files again:\n{found}"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_report_and_its_verdicts_are_as_they_are_kept(name, tmp_path):
    check(name, made(name, tmp_path))


def test_a_run_a_scoreboard_and_rows_are_as_they_are_kept(tmp_path):
    check("all", made_of_all(tmp_path))


def more_memory(monkeypatch):
    records = report.records
    monkeypatch.setattr(
        report, "records", lambda *a, **k: [one | {"memory (MB)": "9"} for one in records(*a, **k)]
    )


def fewer_decimals(monkeypatch):
    monkeypatch.setitem(QUANTITIES, "accuracy", replace(QUANTITIES["accuracy"], spec=".1f"))


def no_footnote(monkeypatch):
    notes = report.notes
    monkeypatch.setattr(
        report, "notes", lambda *a: [line for line in notes(*a) if "busy machine" not in line]
    )


def another_unit(monkeypatch):
    monkeypatch.setitem(QUANTITIES, "accuracy", replace(QUANTITIES["accuracy"], unit="percent"))


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        (more_memory, "memory (MB)"),
        (fewer_decimals, "86.0 ± 1.0"),
        (no_footnote, "-- ~: a time of a busy machine"),
        (another_unit, "accuracy (percent)"),
    ],
)
def test_a_planted_change_of_a_table_is_seen(change, lines, monkeypatch, tmp_path):
    change(monkeypatch)
    assert any(lines in line for line in changes("busy", made("busy", tmp_path)))
