"""Rows that were changed in any way give a report or a sentence: no traceback, no hang, no file elsewhere.

A few hundred cases by default; KFEAT_FUZZ=5000 runs so many. The seed of a case is its number.
"""

import copy
import json
import os
import random

import pytest
from click.testing import CliRunner

from kfeat.cli import main
from kfeat.experiments.row import to_line
from kfeat.experiments.store import ROWS
from tests.cells import planned, run
from tests.fuzz.patience import at_most
from tests.fuzz.test_configs import wrong
from tests.small import SMALL

CASES = int(os.environ.get("KFEAT_FUZZ", "150"))
CONFIGS = {
    "small": SMALL,
    "measured": SMALL[: SMALL.index("solvers:")] + "measure: {name: kernel_error, n_rows: 50}\nrepeats: 2\n",
}
COMMANDS = (
    ("plan",), ("report",), ("check",), ("publish", "--partial"), ("check", "--all"),
    ("rows",), ("rows", "--format", "csv"), ("rows", "--format", "jsonl"),
)  # fmt: skip

NESTED = 1
for _ in range(60):
    NESTED = [NESTED]
FOREIGN = [
    None, True, False, 0, 1, -1, 2**31, 10**30, 10**400, 0.0, 1e-300, 1e308, -0.5, float("nan"), float("inf"),
    "", "text", "done", "failed", "stopped", "\x1b[31m", "\x00", "\ud800", "<script>", "a\nb", "x" * 5000,
    [], [1], {}, {"a": 1}, {"name": "x"}, {"cpu": 1.0, "wall": 0.0}, NESTED,
]  # fmt: skip
BOM = b"\xef\xbb\xbf"
GARBAGE = (b"", b"", b"\n", b"\r\n", b"\x00", BOM, b"\xff\xfe", b"}", b'"', b"[" * 3000, b"null\n")


@pytest.fixture(scope="module")
def rows(tmp_path_factory, cache):
    """The rows of two small experiments, one with solvers and one with a measure; some stopped and failed."""
    made = {}
    folder = tmp_path_factory.mktemp("configs")
    for name, text in CONFIGS.items():
        path = folder / f"{name}.yaml"
        path.write_text(text)
        made[name] = [run(trial) for trial in planned(path)]
    ended = {"status": "stopped", "reason": "too long", "limit_s": 60.0}
    made["small"].append(made["small"][0] | {"id": "another"} | ended)
    made["small"].append(made["small"][1] | {"id": "a third", "status": "failed", "reason": "no reason"})
    return made


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder in a folder of its own, which is the current one, with the configs."""
    folder = tmp_path / "outer" / "here"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    for name, text in CONFIGS.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder


def places(value):
    """Every container and key below a value."""
    for key, item in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, key
        if isinstance(item, dict | list):
            yield from places(item)


def changed_fields(lines, rng):
    """Rows with up to three fields removed, replaced, renamed or taken from elsewhere."""
    lines = copy.deepcopy(lines)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        container, key = rng.choice([place for line in lines for place in places(line)])
        what = rng.choice(("remove", "foreign", "foreign", "foreign", "rename", "swap"))
        if what == "foreign":
            container[key] = copy.deepcopy(rng.choice(FOREIGN))
        elif what == "swap":
            other, its = rng.choice([place for line in lines for place in places(line)])
            container[key] = copy.deepcopy(other[its])
        else:
            value = container.pop(key)
            if what == "rename" and isinstance(container, dict):
                container[rng.choice(("x", "accuracy", "relative_error", "id", "timed", ""))] = value
    rng.shuffle(lines)
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def changed_bytes(lines, rng):
    """The file with bytes cut, flipped, put in, glued or repeated."""
    text = b"".join(map(to_line, lines))
    for _ in range(rng.choice((1, 1, 2, 5))):
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.choice((1, 1, 20, 3000)))
        put = rng.choice((*GARBAGE, rng.randbytes(30), text[start:end] * 2))
        text = text[:start] + put + text[end:]
    return rng.choice((text, text, BOM + text, text[: rng.randrange(len(text) + 1)]))


def attacked(case, rows, here):
    """Carry out one case; return what is wrong with how the command line took it."""
    rng = random.Random(case)
    name = rng.choice(list(CONFIGS))
    change = rng.choice((changed_fields, changed_fields, changed_bytes))
    texts = {place: b"".join(map(to_line, rows[name])) for place in ("runs", "results")}
    texts[rng.choice(("runs", "runs", "results"))] = change(rows[name], rng)
    for place, text in texts.items():
        (here / place / name).mkdir(parents=True, exist_ok=True)
        (here / place / name / ROWS).write_bytes(text)
    command = rng.choice(COMMANDS)
    with at_most(20):
        result = CliRunner().invoke(main, [command[0], f"{name}.yaml", *command[1:]])
    problems = [problem] if (problem := wrong(result)) else []
    if (here / "runs" / name / ROWS).read_bytes() != texts["runs"]:
        problems.append("who only reads changed the rows")
    below = {path.name for path in here.iterdir()} | {path.name for path in here.parent.iterdir()}
    if stray := below - {"here", "runs", "results", *(f"{name}.yaml" for name in CONFIGS)}:
        problems.append(f"files elsewhere: {stray}")
    return f"case {case} ({change.__name__}, {' '.join(command)}): {'; '.join(problems)}" if problems else ""


@pytest.mark.slow
def test_changed_rows_give_a_report_or_a_sentence(rows, here, monkeypatch):
    from kfeat.render.figures import figure

    draw = figure.draw
    problems = []
    for case in range(CASES):
        # Drawing takes a second: every 50th case does it.
        monkeypatch.setattr(figure, "draw", draw if case % 50 == 0 else lambda *arguments: None)
        problems.append(attacked(case, rows, here))
    assert not any(problems), "\n".join(filter(None, problems))
