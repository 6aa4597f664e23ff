"""`kfeat check --rerun-budget`: published trials run again, and how their rows compare."""

from collections.abc import Iterable
from itertools import chain, zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from kfeat.analysis.cells import summarise
from kfeat.analysis.comparisons import REGRESSED
from kfeat.analysis.judgement import Judgement, compared, own_or_published
from kfeat.cli import output, values
from kfeat.data import Access
from kfeat.experiments.config import Experiment
from kfeat.experiments.engine import Local
from kfeat.experiments.plan import Trial
from kfeat.experiments.row import Row, wall_seconds
from kfeat.experiments.run import run_trials
from kfeat.experiments.store import read_rows
from kfeat.experiments.worker import WorkerOptions
from kfeat.text import counted


def rerun(
    experiments: list[Experiment], access: Access, out: Path, results: Path, budget: str, quiet: bool
) -> list[Judgement]:
    """Run published trials again in a temporary folder, and return how the rows of each experiment compare.

    A trial that several experiments share runs once and is compared with the published row of each. One that
    regressed from a row of another processor runs once more, on x86 with AVX2 alone, and counts as it is
    then: an ill-conditioned system in single precision magnifies the differences of rounding.
    """
    published = [read_rows(results / experiment.name) for experiment in experiments]
    candidates = [
        [
            (trial, row)
            for trial in own_or_published(experiment, out, results)[0]
            if (row := rows.get(trial.id, {})).get("status") == "done"
        ]
        for experiment, rows in zip(experiments, published, strict=True)
    ]
    chosen = {trial.id: trial for trial in choose(chain(*candidates), values.seconds_of(budget))}
    if not chosen:
        return []

    def run(trials: list[Trial], *, avx2: bool = False) -> dict[str, Row]:
        engine = Local(WorkerOptions(access=access, avx2=avx2))
        with TemporaryDirectory() as folder, engine, output.observer(quiet) as observing:
            return run_trials(trials, Path(folder), engine, observing)

    def judged(rows: dict[str, Row]) -> list[Judgement]:
        cells = [
            summarise(experiment, [trial for trial, _ in done if trial.id in chosen], rows)
            for experiment, done in zip(experiments, candidates, strict=True)
        ]
        return [judgement for judgement in compared(experiments, cells, published) if judgement.cells]

    rows = run(list(chosen.values()))
    judgements = judged(rows)
    elsewhere = {
        row["id"]: chosen[row["id"]]
        for judgement in judgements
        for comparison in judgement.comparisons
        if comparison.verdict == REGRESSED and comparison.elsewhere
        for row in comparison.cell.rows
    }
    if elsewhere:
        click.echo(
            f"{counted(len(elsewhere), 'trials')} regressed from rows of another processor; "
            "once more, on x86 with AVX2 alone:",
            err=True,
        )
        judgements = judged({**rows, **run(list(elsewhere.values()), avx2=True)})
    return judgements


def choose(candidates: Iterable[tuple[Trial, Row]], budget: float) -> list[Trial]:
    """Return trials whose recorded wall seconds add up to at most `budget`.

    One trial per cell is taken, since repeats test the same code. The pairs of dataset and map take turns,
    the fastest trial of each first, so that a small budget covers as many pairs as possible.
    """
    groups: dict[tuple[str, str], dict[str, tuple[float, Trial]]] = {}
    for trial, row in candidates:
        group = groups.setdefault((trial.data_key, trial.describe()["map"]), {})
        cost = wall_seconds(row)
        if trial.cell not in group or cost < group[trial.cell][0]:
            group[trial.cell] = (cost, trial)
    queues = [sorted(group.values(), key=lambda pair: pair[0]) for group in groups.values()]
    chosen: list[Trial] = []
    for cost, trial in filter(None, chain.from_iterable(zip_longest(*queues))):
        if cost <= budget:
            budget -= cost
            chosen.append(trial)
    return chosen
