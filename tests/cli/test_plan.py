"""What `kfeat plan` says: of time and memory, with --missing and with --to-settle; and `kfeat protocol`."""

import json
import re
from pathlib import Path

from kfeat.data import Access
from kfeat.experiments.config import load_experiment
from kfeat.experiments.run import planned
from kfeat.experiments.store import Store
from kfeat.experiments.trial import run_trial
from tests.cli.commands import kfeat, succeed
from tests.cli.test_reference_configs import ROOT
from tests.switches import SWITCHED


def test_the_plan_says_what_each_trial_will_take_and_all_of_them(write):
    path = write()
    shown = kfeat("plan", path).stdout.splitlines()
    each = [re.fullmatch(r"\w{16}  to run  +[\d.]+ secs +[\d.]+ MB  \S.*", line) for line in shown[1:-1]]
    assert len(each) == 5
    assert all(each)
    assert re.fullmatch(
        r"estimated: [\d.]+ secs of CPU time in all, [\d.]+ secs of it pending; "
        r"[\d.]+ MB of memory for the largest trial, 1.\d GB for all at once",
        shown[-1],
    )


def test_the_protocol_needs_no_data_and_no_rows():
    Path("switched.yaml").write_text(SWITCHED)
    assert "known       map.degree_law" in succeed("protocol", "switched.yaml").stdout
    assert not Path("runs").exists()


def missing(path):
    result = succeed("plan", path, "--missing")
    return result.stdout.replace(f"missing: {path}: ", "").splitlines()


def test_it_tells_what_has_no_row_what_failed_what_was_stopped_and_what_was_not_timed(write):
    path = write()
    assert missing(path) == ["5 trials without a row", "5 trials planned, 0 done, 5 are missing"]
    trials = planned(load_experiment(path))
    made = [run_trial(trial, threads=1, alone=False, access=Access(offline=True)) for trial in trials]
    stopped = {"status": "stopped", "reason": "too long", "limit_s": 9.0}
    with Store(Path("runs/small")) as store:
        for row, change in zip(made, ({}, {"status": "failed", "reason": "no luck"}, stopped), strict=False):
            store.append(row | change)
    assert missing(path) == [
        "2 trials without a row; 1 trial failed (no luck); 1 trial stopped (too long); "
        "no time that counts for 2 of 2 methods",
        "5 trials planned, 1 done, 4 are missing",
    ]
    with Store(Path("runs/small")) as store:
        for row in made:
            store.append(row | {"timed": True, "seconds": {"train": {"cpu": 1.0, "wall": 1.0}}})
    assert missing(path) == ["5 trials planned, 5 done, nothing is missing"]


def test_a_plan_outside_the_clone_estimates_by_the_rows_that_come_with_kfeat():
    """As check, explain and rows read them."""
    inside = succeed("plan", "quickstart", "--results", ROOT / "results", "--format", "json")
    outside = succeed("plan", "quickstart", "--format", "json")
    nothing = succeed("plan", "quickstart", "--results", "nothing", "--format", "json")
    assert json.loads(outside.stdout) == json.loads(inside.stdout) != json.loads(nothing.stdout)


def test_what_would_settle_open_verdicts_is_shown_in_the_place_of_trials(write):
    result = kfeat("plan", write(), "--to-settle")
    assert (result.exit_code, result.stdout) == (0, "nothing is open\n")
