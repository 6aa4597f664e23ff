"""A process killed at any moment loses the row that it writes at that moment, and no other.

Processes are killed in a few cases, and what a killed one leaves is made in a few hundred: KFEAT_FUZZ=5000
runs so many. The seed of a case is its number.
"""

import multiprocessing
import os
import random
import time
from itertools import count

from kfeat.experiments.row import to_line
from kfeat.experiments.store import DAMAGED, ROWS, Store, read_rows
from tests.experiments.rows import row

SIZE = 200_000  # of a row in characters, so that being killed while it is written is likely


def append_for_ever(folder, told, seed):
    """Save one row after another, and tell of each once it is saved."""
    with Store(folder) as store:
        for number in count():
            store.append(row(f"{seed}-{number}", "failed", reason="x" * SIZE))
            told.send(f"{seed}-{number}")


def test_a_killed_process_loses_the_row_in_hand_at_most(tmp_path):
    context = multiprocessing.get_context("spawn")
    saved = set()
    for seed in range(4):
        ours, theirs = context.Pipe()
        process = context.Process(target=append_for_ever, args=(tmp_path, theirs, seed))
        process.start()
        theirs.close()
        saved.add(ours.recv())
        time.sleep(random.Random(seed).uniform(0.0, 0.05))
        process.kill()
        process.join()
        while True:
            try:
                saved.add(ours.recv())
            except EOFError:
                break
        found = read_rows(tmp_path).keys()
        assert saved <= found
        assert len(found - saved) <= seed + 1  # one per process may be saved and not told of
    with Store(tmp_path) as store:
        store.append(row("last"))
    assert read_rows(tmp_path).keys() == found | {"last"}


CASES = int(os.environ.get("KFEAT_FUZZ", "150"))
GARBAGE = (b"", b"null", b"[1]", b"\x00" * 40, b"\xff\xfe", b"{" * 100, b'{"schema": 2, "id": "cut', b"}")


def leave(folder, rng, number):
    """Leave what a killed process, or another program, may leave; return the garbage among it."""
    rows, what = folder / ROWS, rng.choice(("nothing", "torn", "torn", "new file", "garbage"))
    line = to_line(row(f"lost-{number}"))
    if what == "torn":  # while a row was appended
        rows.write_bytes(rows.read_bytes() + line[: rng.randrange(1, len(line) - 1)])
    elif what == "new file":  # while the file was written anew
        rows.with_name(f"{ROWS}.part").write_bytes(line[: rng.randrange(len(line))])
    elif what == "garbage":  # in the middle, by anything
        lines, garbage = rows.read_bytes().splitlines(keepends=True), rng.choice(GARBAGE)
        place = rng.randrange(len(lines) + 1)
        rows.write_bytes(b"".join([*lines[:place], garbage + b"\n", *lines[place:]]))
        return garbage
    return b""


def test_whatever_killed_processes_leave_every_saved_row_stays(tmp_path, monkeypatch):
    monkeypatch.setattr("os.fsync", lambda descriptor: None)
    for case in range(CASES):
        rng, folder = random.Random(case), tmp_path / str(case)
        saved = []
        garbage = []
        for number in range(rng.randrange(2, 5)):
            with Store(folder) as store:
                new = [f"{number}-{i}" for i in range(rng.randrange(3))]
                if rng.random() < 0.5:
                    store.append_together(map(row, new))
                else:
                    for identity in new:
                        store.append(row(identity))
                saved += new
            garbage += filter(None, [leave(folder, rng, number)])
            assert list(read_rows(folder)) == saved, f"case {case}"
        with Store(folder):
            pass
        lines = [line for line in (folder / ROWS).read_bytes().splitlines(keepends=True) if line.strip()]
        assert lines == [to_line(one) for one in read_rows(folder).values()], f"case {case}"
        aside = (folder / DAMAGED).read_bytes().splitlines() if garbage else []
        assert aside == garbage, f"case {case}"
