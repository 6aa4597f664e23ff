"""A process killed at any moment loses the row that it writes at that moment, and no other."""

import multiprocessing
import random
import time
from itertools import count

from kfeat.experiments.store import Store, read_rows
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
