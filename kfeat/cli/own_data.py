"""The commands on your own data: a map for them, a config, and a search for a better one."""

import re
from dataclasses import asdict
from functools import partial
from itertools import takewhile
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from kfeat.cli import completion, options, output, selection, signals, values
from kfeat.errors import ConfigError
from kfeat.files import replacing, writing
from kfeat.text import counted, plain

if TYPE_CHECKING:
    from kfeat.own.result import Scored

_LATE = 1.2  # times the budget after which a search says what it took
_PAGE = 0.05  # share of the budget for what a page shows of test rows
_FILE: Any = click.Path(path_type=Path)


@click.command()
@click.argument("data", shell_complete=completion.completes(completion.dataset_names))
@click.option("--target", metavar="COLUMN", help="The column of a file with the labels, by name or number.")
@click.option("--budget", metavar="TIME", default="60s", show_default=True, callback=values.seconds,
              help="The CPU time of mapping and training on one thread (10s, 5m).")  # fmt: skip
@click.option("--rows", type=click.IntRange(min=10), metavar="N",
              help="Advise for N training rows; by default as many as DATA has.")  # fmt: skip
@options.form
@options.access
@options.verbosity
def advise(
    data: str, target: str | None, budget: float, rows: int | None, form: str, mirror: str | None,
    offline: bool, quiet: bool,
) -> None:  # fmt: skip
    """Recommend a map and its size for DATA, the name of a dataset or a file of yours.

    The recommendation is a rule of thumb. The output has the estimated cost, and what this rule and others
    lost on the published study of 23 data sets.
    """
    from kfeat.data import load_raw
    from kfeat.data.reading import Reading
    from kfeat.data.registry import registry
    from kfeat.files import names_beside
    from kfeat.own.advice import sentences, sizes
    from kfeat.own.new_config import described_file, first_split, training_rows
    from kfeat.parameters import did_you_mean
    from kfeat.survey.advice import advise as advice_for
    from kfeat.survey.advice import skill

    if data in registry() and not Path(data).exists():
        raw = load_raw(data, mirror=mirror, offline=offline)
    elif not Path(data).exists() and (near := did_you_mean(data, [*registry(), *names_beside(Path(data))])):
        raise ConfigError(f"{data}: no such dataset and no such file{near}")
    else:
        raw, _, _ = described_file(Path(data), target=target, test=None, task=None, reading=Reading())
    n = rows or len(training_rows(raw, {"split": first_split(raw)}))
    advised = advice_for(raw.task, n, raw.n_features, budget)
    if advised is None:
        raise ConfigError(
            f"no linear model trains {counted(n, 'rows')} within {budget:g} s; give a longer --budget"
        )
    regret, others = skill()
    asked_for = f"{counted(n, 'training rows')}, {counted(raw.n_features, 'features')}"
    words = sentences(raw, asked_for if rows else sizes(raw, n), advised, regret, others)
    if form == "json":
        asked = {"data": data, "budget": budget, "task": raw.task, "n": n, "d": raw.n_features}
        advice = {**asdict(advised), "entry": advised.entry}
        skilled = {"regret": regret, "others_lose_more": others}
        output.show_json({**asked, "advice": advice, **skilled, "sentences": words})
        return
    for sentence in words:
        click.echo(plain(sentence))


@click.command()
@click.argument("data", type=_FILE)
@click.option(
    "--target", metavar="COLUMN", help="The column with the labels or targets, by name, or by number from 0."
)
@click.option("--test", metavar="FILE", help="A file with the test rows; by default a fifth of the rows.")
@click.option("--task", type=click.Choice(["classification", "regression"]),
              help="What to predict; by default words, or up to 20 whole numbers, are classes.")  # fmt: skip
@click.option("--group", metavar="COLUMN",
              help="Rows of one customer, patient or the like all train or all test.")  # fmt: skip
@click.option("--time", metavar="COLUMN", help="Test on the rows that are last by this date or number.")
@click.option("--weight", metavar="COLUMN", help="Rows count by this number, in training and in scores.")
@click.option("--maps", metavar="A,B", shell_complete=selection.completes_maps(),
              help="Compare these maps; by default the one that `kfeat advise` recommends.")  # fmt: skip
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE",
              help="How the file is read, as in a config's dataset: --set missing=drop, --set 'drop=[id]', "
              "--set header=false, --set delimiter=whitespace; repeatable.")  # fmt: skip
@click.option("--out", type=_FILE, metavar="CONFIG",
              help="The config to write; by default, in this folder, DATA's name with .yaml.")  # fmt: skip
@options.verbosity
def new(
    data: Path, target: str | None, test: str | None, task: Any, group: str | None, time: str | None,
    weight: str | None, maps: str | None, settings: tuple[str, ...], out: Path | None, quiet: bool,
) -> None:  # fmt: skip
    """Write a commented config for DATA, a file of yours.

    The file is inspected (columns, target, task, classes, missing values, size) to choose scaling, map,
    D and solver, and a comment gives the reason for each choice. `kfeat run`, `kfeat tune` and `kfeat
    fit` accept the config unchanged.
    """
    from kfeat.data.base import validated
    from kfeat.data.reading import Reading
    from kfeat.own.new_config import new_config

    reading = validated(Reading, values.key_values(settings), "--set")
    stem = re.sub(r"[^\w.-]", "_", data.name.split(".")[0]).lstrip(".-") or "config"
    path = out or Path(f"{stem}.yaml")
    if path.exists():
        raise ConfigError(f"{path} exists; give another name with --out, or remove it")
    if sum(option is not None for option in (group, time, test)) > 1:
        raise ConfigError("--group, --time, --test: expected one of them, got more")
    columns = {"group": group, "time": time, "weight": weight}
    by = {kind: column for kind, column in columns.items() if column is not None}
    names = values.map_names(maps)
    text = new_config(data, path, target=target, test=test, task=task, reading=reading, by=by, maps=names)
    with writing(path, ConfigError), replacing(path) as file:
        file.write_text(text, encoding="utf-8")
    if not quiet:
        remarks = takewhile(lambda line: not line.startswith("# `kfeat run"), text.splitlines())
        for line in remarks:
            click.echo(line.removeprefix("# "))
        tunes = f"`kfeat tune {path}` searches for better choices"
        more = tunes if f"`kfeat tune {path}" in text else f"`kfeat fit {path} --model FILE` trains it"
        click.echo(plain(f"{path}: `kfeat run {path}` runs it, {more}"))


@click.command()
@click.argument("config", type=_FILE)
@selection.overrides
@click.option("--budget", metavar="TIME", default="5m", show_default=True, callback=values.seconds,
              help="The wall time of the search, with the reading of the data (30s, 10m, 2h).")  # fmt: skip
@click.option("--candidates", type=click.IntRange(min=1), metavar="N",
              help="Score N candidates instead, with the same result on any machine; always from the start."
              )  # fmt: skip
@click.option("--out", type=_FILE, metavar="TUNED",
              help="The config to write; by default, beside CONFIG, its name with _tuned.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0, max=2**31 - 1), default=0, show_default=True,
              help="The seed of the order of rows, the folds and the candidates.")  # fmt: skip
@click.option("--threads", type=click.IntRange(min=1), help="Threads; by default all physical cores.")
@click.option("--runs", type=_FILE, default=Path("runs"), show_default=True,
              help="The folder for the record of the search, in a folder for each config.")  # fmt: skip
@click.option("--prefer", type=click.Choice(["accuracy", "speed", "boosting", "linear"]), default="accuracy",
              show_default=True,
              help="Write the best method; or the fastest, or a linear model, within half a point of it; or "
              "scikit-learn's boosting where it is ahead in each fold and by more than that.")  # fmt: skip
@click.option("--metric", metavar="NAME",
              help="What counts: a scorer of scikit-learn, such as roc_auc or r2; by default the accuracy, "
              "or the balanced accuracy where 90 % of the rows have one label.")  # fmt: skip
@selection.no_code
@options.access
@options.verbosity
def tune(
    config: Path, overrides: tuple[str, ...], budget: float, candidates: int | None, out: Path | None,
    seed: int, threads: int | None, runs: Path, prefer: Any, metric: str | None, no_code: bool,
    mirror: str | None, offline: bool, quiet: bool,
) -> None:  # fmt: skip
    """Search for a better scaling, kernel, map, D, loss and C than CONFIG has; write a config with the best.

    The exact kernel method is a candidate wherever its time fits the budget. Candidates are scored by
    cross-validation on subsamples of the training rows, and the best third again on three times as many rows
    (successive halving). The search ends with the budget, or earlier if nothing gets better; the same command
    continues it. Test rows are not used to choose. A linear model and scikit-learn's boosting are trained
    beside the best.
    """
    start = monotonic()
    from kfeat.data import Access
    from kfeat.experiments.config import load_experiment
    from kfeat.experiments.engine import physical_cores
    from kfeat.files import Lock, new_file
    from kfeat.own.report import HeldOutAnswers
    from kfeat.own.result import preferred
    from kfeat.own.scorer_process import ScorerProcess
    from kfeat.own.search import Search
    from kfeat.own.tune import MARK, check_places, setup_of, tuned_config
    from kfeat.render.table import terminal_width
    from kfeat.render.tuning import largest_weights, sentences, terminal, tests, title, warnings_of
    from kfeat.render.tuning_page import write_page

    place = out or config.with_name(f"{config.stem}_tuned.yaml")
    page = place.with_suffix(".html")
    check_places(place, page)
    access = Access(mirror, offline=offline)
    experiment = load_experiment(config, overrides, code="refuse" if no_code else "name")
    setup = setup_of(experiment, seed, metric, access)
    if setup.why and not quiet:
        click.echo(
            f"What counts is the {title(setup.metric)}: {setup.why}. --metric chooses another.", err=True
        )
    record = runs / setup.experiment.name / "tune" / f"{setup.identity}.log"
    signals.say_on_interrupt("scored candidates are kept, and the same command continues")
    before = monotonic()
    with Lock(config, record.with_suffix(".lock"), "tuning it"):
        start += monotonic() - before  # waiting for another search takes nothing of the budget
        scorer = ScorerProcess(threads or physical_cores(), **setup.scorer(seed, access))
        try:
            say = None if quiet else partial(_say, setup.metric, start)
            left = max(budget - (monotonic() - start), budget / 2)
            search = Search(scorer, None if candidates else record, left, seed, say, candidates)
            result = search.run(setup.kernels, setup.maps)
            taken = preferred(result, prefer)
            end = max(start + budget, monotonic() + _PAGE * budget)
            answer = scorer.ask(
                "held_out_answers", end, candidate=taken and taken.candidate,
                value=taken.value if taken else 0.0, rows=result.rows.get(taken) if taken else None,
                seconds=_PAGE * budget / 2,
            )  # fmt: skip
        finally:
            scorer.end()
        answers = HeldOutAnswers(**answer) if answer and "failed" not in answer else None
        lines, loud = sentences(result, prefer), warnings_of(result)
        lines += largest_weights(answers.weights) if answers else []
        for sentence in loud:
            click.secho(f"{plain(sentence)}\n", bold=True)
        for table in (terminal(result, terminal_width()), tests(result).terminal(terminal_width())):
            click.echo(f"{table}\n")
        click.echo(plain(" ".join(lines[len(loud) :])))
        with new_file(place, "the tuned config") as file:
            file.write(tuned_config(setup, result, prefer, lines).encode())
        heading = f"{setup.experiment.title}: what was tried"
        write_page(page, MARK, heading, lines, result, answers)
    if result.n_kept and not quiet:
        click.echo(f"Used {counted(result.n_kept, 'rows')} of earlier calls.")
    click.echo(plain(f"{place}: the config; {page}: tables and figures"))
    if (took := monotonic() - start) > _LATE * budget and not (quiet or candidates):
        click.echo(
            f"kfeat: this took {took:.1f} s: a budget of {budget:g} s is too short to read the data, train a "
            "linear model and draw the page",
            err=True,
        )


def _say(metric: str, start: float, scored: "Scored", best: "Scored") -> None:
    """Say on stderr what a candidate scored, and how many seconds have passed."""
    from kfeat.render.tuning import ended, score_text

    score = ended(scored) if scored.reason else score_text(scored.score, metric)
    name, best_score = f"{scored.candidate.scale}, {scored.candidate.name}", score_text(best.score, metric)
    click.echo(
        f"{monotonic() - start:>5.0f} s  {scored.n:>8,} rows  {score:>8}  {name:<40}  "
        f"{scored.seconds:>6.2f} s  best so far {best_score}",
        err=True,
    )
