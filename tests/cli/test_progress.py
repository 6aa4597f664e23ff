"""What a run shows on a terminal of 60, 80 and 120 columns."""

import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from kfeat.cli.bars import Bars
from kfeat.errors import KfeatError
from kfeat.experiments.load import load_experiment
from kfeat.experiments.observer import Begun
from kfeat.experiments.plan import plan


@pytest.mark.parametrize("width", [60, 80, 120])
def test_one_bar_with_count_and_time_left_and_a_line_for_the_trial_in_hand(
    write: Callable[..., Path], width: int
) -> None:
    experiment = load_experiment(write(), ["kernel.degree=[2, 3]", "solvers.mapped.eps=[0.1, 0.01]"])
    trials = plan(experiment, dict.fromkeys(experiment.datasets, "f"))
    console = Console(file=io.StringIO(), width=width, height=20, force_terminal=True, color_system=None)
    bars = Bars(console)
    bars.begin(Begun("small", trials[1:], {}, done=1))
    row = {"id": trials[1].id, "status": "done", "accuracy": 0.5, "seconds": {}}
    bars.started(trials[1])
    bars.finished(trials[1], row)
    bars.started(trials[2])
    with console.capture() as captured:
        console.print(bars.shown)
    whole, in_hand = captured.get().splitlines()
    assert re.fullmatch(rf"trials +[━╸╺ ]+ +2/{len(trials)} 0:00:0\d left [-:\d]+ *", whole)
    assert len(whole) <= width
    assert "(1 + <x, y>)^2, random_maclaurin n_components=64" in in_hand
    assert "…" in in_hand or width == 120
    assert re.search(r" 0:00:0\d *$", in_hand)
    assert len(in_hand) <= width
    assert bars.told == {trials[1].id}


def test_markup_in_a_name_is_shown_as_it_stands() -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    bars = Bars(console)
    bars.downloads().add_task("[red]file[/nothing]", total=3)
    with console.capture() as captured:
        console.print(bars.shown)
    assert "[red]file[/nothing]" in captured.get()


def test_what_is_written_aside_stays_and_what_an_error_left_goes(write: Callable[..., Path]) -> None:
    """The bars clear as many lines above them as they have shown, once they are shown again."""
    experiment = load_experiment(write())
    trials = plan(experiment, dict.fromkeys(experiment.datasets, "f"))
    screen = io.StringIO()
    console = Console(file=screen, width=80, height=20, force_terminal=True, color_system=None)
    with Bars(console) as bars:
        bars.begin(Begun("small", trials, {}))
        for trial in trials[:3]:
            bars.started(trial)
        bars._live.refresh()
        with bars.aside():
            screen.write("the table\n")
        bars._live.refresh()
        after = screen.getvalue().rpartition("the table\n")[2]
        assert "trials" in after
        assert "\x1b[1A" not in after.partition("trials")[0]
        bars.end("small", {trial.id for trial in trials[1:]}, KfeatError("no space left"))
    with console.capture() as captured:
        console.print(bars.shown)
    whole, in_hand = captured.get().splitlines()
    assert re.search(r" 0/1 ", whole)
    assert "repeat 0" in in_hand
