"""`kfeat explain` and `kfeat run --only`, which its last line shows."""

from pathlib import Path

import pytest

from kfeat.experiments.clock import environment
from kfeat.experiments.store import read_rows, write_rows
from tests.cells import fake_row, planned
from tests.cli.commands import kfeat, refusal, succeed
from tests.cli.test_results_check import NUMBERS
from tests.experiments.rows import row


@pytest.fixture
def small(write):
    """The small config with printed numbers and claims, in the current folder."""
    return write(NUMBERS)


def sketches(path):
    return [trial for trial in planned(path) if trial.map is not None and trial.map.name == "tensor_sketch"]


def test_a_row_is_explained_by_the_beginning_of_its_id(small):
    first, second = sketches(small)
    rows = [fake_row(trial, 0.55, learnt={"solver": {"eps": 0.125}}) for trial in (first, second)]
    write_rows(Path("runs/small"), rows)
    shown = succeed("explain", first.id[:12], "small.yaml")
    text = " ".join(shown.stdout.split())
    for words in (
        f"trial {first.id}: done",
        "learnt.solver.eps 0.125",
        f"host {environment()['host']}",
        "claim 2, Section 7: Exact is best: missing",
    ):
        assert words in text, words
    command = shown.stdout.splitlines()[-1].split()
    assert command == ["kfeat", "run", "small.yaml", "--only", first.id, "--force"]
    write_rows(Path("my rows/small"), rows)
    own = kfeat("explain", first.id, "small.yaml", "--out", "my rows").stdout.splitlines()[-1]
    assert own.endswith(f"kfeat run small.yaml --only {first.id} --force --out 'my rows'")
    dry = kfeat(*command[1:], "--dry-run").stdout.splitlines()
    assert [line.split()[:2] for line in dry[1:-1]] == [[first.id, "to"]]  # the last says what they take


def test_a_claim_that_only_the_correction_for_cases_leaves_open_says_so(small):
    """Above 83.9: exact is, with 85; Tensor Sketch, with 83.00 ± 0.05, is not, but for the correction."""
    cases = "{value: {map: [tensor_sketch, exact]}, above: 83.9, text: Both learn, where: Section 8}"
    small.write_text(small.read_text().replace("claims:", f"claims:\n  - {cases}"))
    tried = planned(small)
    scores = {trial.id: 0.8295 + 0.001 * trial.repeat if trial.map else 0.85 for trial in tried}
    write_rows(Path("runs/small"), [fake_row(trial, scores[trial.id]) for trial in tried])
    said = "Open because of the correction for 2 cases: 1 fails by the 95 % interval, but none by the 97.5 %"
    for shown in (succeed("explain", sketches(small)[0].id[:12], "small.yaml"), kfeat("check", "small.yaml")):
        assert said in " ".join(shown.stdout.split())


def test_a_trial_without_a_row_and_a_row_without_a_config_are_explained(small):
    (trial, _) = sketches(small)
    no_row = kfeat("explain", trial.id, "small.yaml")
    assert "planned, and there is no row of it" in no_row.stdout
    assert no_row.stdout.splitlines()[-1] == f"  kfeat run small.yaml --only {trial.id}"
    Path("configs").mkdir()
    small.rename("configs/small.yaml")
    write_rows(Path("results/older"), [row("77aa", "failed"), row("77bb")])
    no_config = succeed("explain", "77aa")
    assert "trial 77aa: failed: no reason" in no_config.stdout
    assert "that were looked through plans this trial" in no_config.stdout
    assert "77aa, 77bb" in refusal("explain", "77")
    assert "begins with '78'" in kfeat("explain", "78").stderr
    assert kfeat("explain", "").exit_code == 2


def test_only_the_trials_named_are_run(small):
    trial = sketches(small)[1]
    result = succeed("run", small, "--only", trial.id[:10])
    assert list(read_rows(Path("runs/small"))) == [trial.id]
    assert "1 trial, 0 done before, 1 to run" in result.stderr
    assert "Tensor Sketch" in result.stdout
    assert "Random Maclaurin" not in result.stdout
    assert "(1 of the config's 5 trials; the others have not run)" in result.stdout
    assert "1 trial, 1 done before, 0 to run" in kfeat("run", small, "--only", trial.id[:10]).stderr
    assert "begins with 'zz'" in refusal("run", small, "--only", trial.id, "--only", "zz")
    assert len(read_rows(Path("runs/small"))) == 1
