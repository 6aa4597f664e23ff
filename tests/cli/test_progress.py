"""What a run shows on a terminal of 48, 80 and 120 columns, and the time that it has left."""

import io
import re

import pytest
from rich.console import Console

from kfeat.analysis.names import Names
from kfeat.cli.bars import Bars
from kfeat.cli.progress import AROUND, Lines, TimeLeft, names
from kfeat.errors import KfeatError
from kfeat.experiments.config import load_experiment
from kfeat.experiments.cost import CostEstimate
from kfeat.experiments.plan import plan
from kfeat.experiments.schedule import Event
from tests.cells import fake_row

UNKNOWN = CostEstimate(None, None)


def of(write, *overrides):
    experiment = load_experiment(write(), overrides)
    return plan(experiment, dict.fromkeys(experiment.datasets, "f"))


def begin(trials, *seconds, done=0):
    expected = {trial.id: UNKNOWN for trial in trials}
    expected |= {trial.id: CostEstimate(one, None) for trial, one in zip(trials, seconds, strict=False)}
    return Event("begin", "small", trials, expected, done)


def started(trial):
    return Event("started", "small", [trial])


def finished(trial):
    return Event("finished", "small", [trial], row=fake_row(trial, 0.5))


def console(width):
    return Console(file=io.StringIO(), width=width, height=20, force_terminal=True, color_system=None)


def shown(bars):
    with bars.console.capture() as captured:
        bars.console.print(bars.shown)
    return captured.get().splitlines()


@pytest.mark.parametrize("width", [48, 80, 120])
def test_one_bar_with_count_and_time_left_and_a_line_for_the_trial_in_hand(write, width):
    trials = of(write, "kernel.degree=[2, 3]", "solvers.mapped.eps=[0.1, 0.01]")
    bars = Bars(console=console(width))
    for event in (
        begin(trials[1:], done=1), started(trials[1]), finished(trials[1]), started(trials[2]),
    ):  # fmt: skip
        bars.tell(event)
    whole, in_hand = shown(bars)
    assert re.fullmatch(rf"trials +[━╸╺ ]+ +2/{len(trials)} 0:00:0\d left [-:\d]+ *", whole)
    assert len(whole) <= width
    assert "(1 + <x, y>)^2, Random Mac" in in_hand
    assert ("…" in in_hand) == (width == 48)
    assert re.search(r" 0:00:0\d *$", in_hand)
    assert len(in_hand) <= width
    assert bars.reported == {trials[1].id}


def test_what_is_written_aside_stays_and_what_an_error_left_goes(write):
    """The bars clear as many lines above them as they have shown, once they are shown again."""
    trials, wide = of(write), console(80)
    screen = wide.file
    with Bars(console=wide) as bars:
        bars.tell(begin(trials))
        for trial in trials[:3]:
            bars.tell(started(trial))
        bars.console.print()
        with bars.aside():
            screen.write("the table\n")
        bars.console.print()
        after = screen.getvalue().rpartition("the table\n")[2]
        assert "trials" in after
        assert "\x1b[1A" not in after.partition("trials")[0]
        bars.tell(Event("end", "small", trials[1:], error=KfeatError("no space left")))
    whole, in_hand = shown(bars)
    assert re.search(r" 0/1 ", whole)
    assert "repeat 0" in in_hand


@pytest.mark.parametrize(("seconds", "said"), [(600.0, " (about 40.0 mins left)"), (1.0, "%")])
def test_lines_tell_a_time_left_of_a_minute_or_more(write, capsys, seconds, said):
    trials, lines = of(write), Lines(several=True)
    lines.tell(begin(trials, *[seconds] * 5, done=2))
    lines.tell(finished(trials[0]))
    first, second = capsys.readouterr().err.splitlines()
    assert first == "small: 7 trials, 2 done before, 5 to run"
    assert second.startswith("small: [3/7] Tensor Sketch, repeat 0: 50.00 %")
    assert said in second
    assert ("left)" in second) == (seconds > 60)


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_the_time_left_begins_with_what_is_expected_and_runs_down(write):
    trials, clock = of(write)[:2], Clock()
    time = TimeLeft(clock)
    assert time.left == 0.0
    time.tell(begin(trials, 10.0, 20.0))
    assert time.left == pytest.approx(30 + 2 * AROUND)
    time.tell(started(trials[0]))
    clock.now = 4.0
    assert time.left == pytest.approx(26 + 2 * AROUND)
    clock.now = 100.0  # the trial takes longer than expected: the other is still to come
    assert time.left == pytest.approx(20 + AROUND)
    time.tell(started(trials[1]))
    assert time.left == pytest.approx(20 + AROUND)  # two at once, of which the longest runs alone
    time.tell(Event("end", "small", trials, error=KfeatError("no space left")))
    assert time.left == 0.0


def test_what_is_not_known_counts_as_the_mean_of_the_others(write):
    trials = of(write)[:2]
    time = TimeLeft(Clock())
    time.tell(begin(trials))
    assert time.left is None
    time.tell(begin(trials, 10.0, None))
    assert time.left == pytest.approx(20 + 2 * AROUND)
    time.tell(finished(trials[0]))  # without a start: it was too big
    assert time.left == pytest.approx(10 + AROUND)


def test_a_cell_is_named_once_for_all_its_repeats(write, monkeypatch):
    name_of, named = Names.of, []
    monkeypatch.setattr(Names, "of", lambda self, cell: named.append(cell) or name_of(self, cell))
    trials = of(write, "repeats=50")
    assert len(names(trials)) == len(trials)
    assert len(named) == len({trial.cell for trial in trials})
