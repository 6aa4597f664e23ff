"""The commands on your own data: from a file to a config, to a better one, to a model and its predictions."""

import io
import re
import signal
import sys
import warnings
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from itertools import takewhile
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from kfeat.cli import options
from kfeat.errors import ConfigError
from kfeat.files import replacing, writing
from kfeat.text import as_yaml, counted, plain, plain_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kfeat.own.search import Scored

_SOON = 5.0  # seconds of training that need no word
_LATE = 1.2  # times the budget after which a search says what it took
_PAGE = 0.05  # share of the budget for what a page shows of test rows
_FILE: Any = click.Path(path_type=Path)
_model = click.option("--model", "file", type=_FILE, required=True, metavar="FILE",
                      help="The model's file, which `kfeat fit` writes.")  # fmt: skip
_data = click.argument("data", type=_FILE)
_threads = click.option(
    "--threads", type=click.IntRange(min=1), default=1, show_default=True, help="Threads to work with."
)


@click.command()
@click.argument("data", shell_complete=options.completes(options.dataset_names))
@click.option("--target", metavar="COLUMN", help="The column of a file with the labels, by name or number.")
@click.option("--budget", metavar="TIME", default="60s", show_default=True, callback=options.seconds,
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
    from kfeat.own.new_config import described_file, sentences, training_rows
    from kfeat.parameters import did_you_mean
    from kfeat.survey.advice import advise as advice_for
    from kfeat.survey.advice import skill

    if data in registry() and not Path(data).exists():
        raw = load_raw(data, mirror=mirror, offline=offline)
    elif not Path(data).exists() and (near := did_you_mean(data, [*registry(), *names_beside(Path(data))])):
        raise ConfigError(f"{data}: no such dataset and no such file{near}")
    else:
        raw, _, _ = described_file(Path(data), target=target, test=None, task=None, reading=Reading())
    n = rows or training_rows(raw)
    found = advice_for(raw.task, n, raw.n_features, budget)
    if found is None:
        raise ConfigError(
            f"no linear model trains {counted(n, 'rows')} within {budget:g} s; give a longer --budget"
        )
    regret, others = skill()
    words = sentences(raw, n, found, regret, others)
    if form == "json":
        asked = {"data": data, "budget": budget, "task": raw.task, "n": n, "d": raw.n_features}
        advice = {**asdict(found), "entry": found.entry}
        skilled = {"regret": regret, "others_lose_more": others}
        options.show_json({**asked, "advice": advice, **skilled, "sentences": words})
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
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE",
              help="How the file is read, as in a config's dataset: --set missing=drop, --set 'drop=[id]', "
              "--set header=false, --set delimiter=whitespace; repeatable.")  # fmt: skip
@click.option("--out", type=_FILE, metavar="CONFIG",
              help="The config to write; by default, in this folder, DATA's name with .yaml.")  # fmt: skip
@options.verbosity
def new(
    data: Path, target: str | None, test: str | None, task: Any, group: str | None, time: str | None,
    weight: str | None, settings: tuple[str, ...], out: Path | None, quiet: bool,
) -> None:  # fmt: skip
    """Write a commented config for DATA, a file of yours.

    The file is inspected (columns, target, task, classes, missing values, size) to choose scaling, map,
    D and solver, and a comment gives the reason for each choice. `kfeat run`, `kfeat tune` and `kfeat
    fit` accept the config unchanged.
    """
    from kfeat.data.base import validated
    from kfeat.data.reading import Reading
    from kfeat.own.new_config import new_config

    reading = validated(Reading, options.key_values(settings), "--set")
    stem = re.sub(r"[^\w.-]", "_", data.name.split(".")[0]).lstrip(".-") or "config"
    path = out or Path(f"{stem}.yaml")
    if path.exists():
        raise ConfigError(f"{path} exists; give another name with --out, or remove it")
    if sum(option is not None for option in (group, time, test)) > 1:
        raise ConfigError("--group, --time, --test: expected one of them, got more")
    columns = {"group": group, "time": time, "weight": weight}
    by = {kind: column for kind, column in columns.items() if column is not None}
    text = new_config(data, path, target=target, test=test, task=task, reading=reading, by=by)
    with writing(path, ConfigError), replacing(path) as file:
        file.write_text(text, encoding="utf-8")
    if not quiet:
        _, *remarks = takewhile(lambda line: not line.startswith("# `kfeat run"), text.splitlines())
        for line in remarks:
            click.echo(line.removeprefix("# "))
        tunes = f"`kfeat tune {path}` searches for better choices"
        more = tunes if f"`kfeat tune {path}" in text else f"`kfeat fit {path} --model FILE` trains it"
        click.echo(plain(f"{path}: `kfeat run {path}` runs it, {more}"))


@click.command()
@click.argument("config", type=_FILE)
@options.overrides
@click.option("--budget", metavar="TIME", default="5m", show_default=True, callback=options.seconds,
              help="The wall time of the search, with the reading of the data (30s, 10m, 2h).")  # fmt: skip
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
@options.no_code
@options.access
@options.verbosity
def tune(
    config: Path, overrides: tuple[str, ...], budget: float, out: Path | None, seed: int, threads: int | None,
    runs: Path, prefer: Any, metric: str | None, no_code: bool, mirror: str | None, offline: bool,
    quiet: bool,
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
    from kfeat.experiments.schedule import physical_cores
    from kfeat.files import Lock, new_file
    from kfeat.own.bench import ScorerProcess
    from kfeat.own.report import Evidence
    from kfeat.own.search import Search
    from kfeat.own.training import MARK, check_places, preferred, setup_of, tuned_config
    from kfeat.render.table import terminal_width
    from kfeat.render.tuning import sentences, terminal, tests, title, warnings_of, write_page

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
    options.say_on_interrupt("scored candidates are kept, and the same command continues")
    before = monotonic()
    with Lock(config, record.with_suffix(".lock"), "tuning it"):
        start += monotonic() - before  # waiting for another search takes nothing of the budget
        scorer = ScorerProcess(threads or physical_cores(), **setup.bench(seed, access))
        try:
            say = None if quiet else partial(_say, setup.metric, start)
            left = max(budget - (monotonic() - start), budget / 2)
            search = Search(scorer, record, left, seed, say)
            found = search.run(setup.kernels, setup.maps)
            taken = preferred(found, prefer)
            end = max(start + budget, monotonic() + _PAGE * budget)
            answer = scorer.ask(
                "evidence", end, candidate=taken and taken.candidate, value=taken.value if taken else 0.0,
                rows=found.rows.get(taken) if taken else None, seconds=_PAGE * budget / 2,
            )  # fmt: skip
        finally:
            scorer.end()
        evidence = Evidence(**answer) if answer and "failed" not in answer else None
        lines, loud = sentences(found, prefer), warnings_of(found)
        for sentence in loud:
            click.secho(f"{plain(sentence)}\n", bold=True)
        for table in (terminal(found, terminal_width()), tests(found).terminal(terminal_width())):
            click.echo(f"{table}\n")
        click.echo(plain(" ".join(lines[len(loud) :])))
        with new_file(place, "the tuned config") as file:
            file.write(tuned_config(setup, found, prefer, lines).encode())
        heading = f"{setup.experiment.title}: what was tried"
        write_page(page, MARK, heading, lines, found, evidence)
    if found.n_kept and not quiet:
        click.echo(f"Used {counted(found.n_kept, 'rows')} of earlier calls.")
    click.echo(plain(f"{place}: the config; {page}: tables and figures"))
    if (took := monotonic() - start) > _LATE * budget and not quiet:
        click.echo(
            f"kfeat: this took {took:.1f} s: a budget of {budget:g} s is too short to read the data, train a "
            "linear model and draw the page",
            err=True,
        )


def _say(metric: str, start: float, one: "Scored", best: "Scored") -> None:
    """Say on stderr what a candidate scored, and how many seconds have passed."""
    from kfeat.render.tuning import ended, score_text

    score = ended(one) if one.reason else score_text(one.score, metric)
    name, best_score = f"{one.candidate.scale}, {one.candidate.name}", score_text(best.score, metric)
    click.echo(
        f"{monotonic() - start:>5.0f} s  {one.n:>8,} rows  {score:>8}  {name:<40}  {one.seconds:>6.2f} s  "
        f"best so far {best_score}",
        err=True,
    )


@click.command()
@click.argument("config", type=_FILE)
@click.option("--model", "file", type=_FILE, required=True, metavar="FILE", help="The file to write.")
@options.chooses_method
@click.option("--all-rows", is_flag=True, help="Train on all rows, test rows included, without a score.")
@click.option("--probabilities", is_flag=True,
              help="Learn probabilities for a classifier that has none, in three more folds.")  # fmt: skip
@_threads
@options.no_code
@options.access
@options.verbosity
def fit(
    config: Path, file: Path, overrides: tuple[str, ...], maps: str | None, no_exact: bool, all_rows: bool,
    probabilities: bool, threads: int, no_code: bool, mirror: str | None, offline: bool, quiet: bool,
) -> None:  # fmt: skip
    """Train the method of CONFIG, save it in a model file, and show the score on the test rows.

    CONFIG has one dataset, kernel, map and solver; if it has more, choose with --maps, --no-exact and --set.
    The model is the one that `kfeat run` trains in the first repeat.
    """
    from kfeat.data import Access
    from kfeat.errors import ModelError
    from kfeat.experiments.config import load_experiment
    from kfeat.files import check_place
    from kfeat.own.model import is_model
    from kfeat.own.training import only_trial, train

    check_place(file, "the model")
    if file.is_file() and not is_model(file):
        raise ModelError(f"{file}: exists and is not a model; give another name with --model")
    names = options.map_names(maps)
    code: Any = "refuse" if no_code else "name"
    experiment = load_experiment(config, overrides, code=code, maps=names, exact=not no_exact)
    access = Access(mirror, offline=offline)
    trial = only_trial(experiment, all_rows, access)
    with (
        _working_with(threads),
        _ended_by_ctrl_c(),
        _clock(quiet) as say,
        warnings.catch_warnings(action="default", category=RuntimeWarning),
    ):
        warnings.showwarning = lambda message, *_: click.echo(plain(f"kfeat: {message}"), err=True)
        model = train(trial, access, probabilities=probabilities, say=say)
    model.save(file)
    if not quiet:
        about = model.about_
        scores = "no test rows are left to score"
        if about["scores"] is not None:
            scores = _scored(about["scores"], counted(about["n_test"], "test rows"))
        click.echo(f"trained on {counted(about['n_train'], 'rows')} in {about['seconds']:.2f} s; {scores}")
        click.echo(plain(f"model -> {file}"))


@contextmanager
def _clock(quiet: bool) -> "Iterator[Callable[[float], None] | None]":
    """Yield what says about how long a training takes; a terminal then shows the time that has passed."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("training"), TimeElapsedColumn()
    shown = Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())

    def say(seconds: float) -> None:
        if seconds > _SOON:
            about = f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
            click.echo(f"training takes about {about}", err=True)
            shown.add_task("training")

    with shown:
        yield None if quiet else say


@contextmanager
def _working_with(threads: int) -> "Iterator[None]":
    """Let maps and BLAS use this many threads within this context."""
    from joblib import parallel_config
    from threadpoolctl import threadpool_limits

    with threadpool_limits(threads), parallel_config(backend="threading", n_jobs=threads):
        yield


@contextmanager
def _ended_by_ctrl_c() -> "Iterator[None]":
    """Let Ctrl-C end the process at once: the callback of a solver in C would swallow an exception."""
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


_SLACK = 0.005  # of the balanced accuracy
_TITLES = {"f1": "F1", "roc_auc": "AUC", "log_loss": "log loss"}


def _scored(scores: "Mapping[str, float]", rows: str) -> str:
    """Return the usual scores in words; stderr says so if they are those of a constant."""
    from kfeat.experiments.quantities import QUANTITIES

    if "accuracy" not in scores:
        if scores["r2"] <= 0:
            click.echo("kfeat: NO BETTER THAN A CONSTANT: the mean of the targets has R² 0", err=True)
        errors = [f"{QUANTITIES[name].title} {value:.4g}" for name, value in scores.items()]
        return f"{', '.join(errors)} on {rows}"
    if scores["balanced_accuracy"] <= scores["chance"] + _SLACK and scores["chance"] < 1:
        click.echo("kfeat: NO BETTER THAN A CONSTANT: always one class has this balanced accuracy", err=True)
    alone = f"always the most frequent class: {100 * scores['most_frequent_class']:.2f} %"
    balanced = f"balanced accuracy {100 * scores['balanced_accuracy']:.2f} %"
    others = [f"{words} {scores[name]:.4f}" for name, words in _TITLES.items() if name in scores]
    accuracy = f"accuracy {100 * scores['accuracy']:.2f} % ({alone}) on {rows}"
    return f"{accuracy}; {', '.join([balanced, *others])}"


@click.command()
@_model
@_data
@click.option("--out", type=_FILE, metavar="FILE", help="Write to this file, not to standard output.")
@click.option("--scores", is_flag=True, help="Add the decision values of a classifier.")
@click.option("--probabilities", is_flag=True, help="Add the probabilities of the classes.")
@_threads
@options.verbosity
def predict(
    file: Path, data: Path, out: Path | None, scores: bool, probabilities: bool, threads: int, quiet: bool
) -> None:
    """Predict each row of the file DATA, and write CSV with a header and one label or value per line.

    DATA has the columns of the training file, in any order, with or without the target. Rows are processed
    in blocks, so DATA may be larger than memory.
    """
    from kfeat.errors import ModelError
    from kfeat.files import new_file
    from kfeat.own import load_model
    from kfeat.own.model import write_predictions

    chosen = {"predict": True, "decision_function": scores, "predict_proba": probabilities}
    methods = [method for method, included in chosen.items() if included]
    if out is not None and out.exists() and any(one.exists() and out.samefile(one) for one in (data, file)):
        raise ModelError(f"{out}: is an input file; give another name with --out")
    model = load_model(file)
    with _working_with(threads):
        if out is None:
            write_predictions(model, data, methods, sys.stdout, plain)
            return
        with new_file(out, "the predictions") as raw:
            text = io.TextIOWrapper(raw, encoding="utf-8", newline="")
            n = write_predictions(model, data, methods, text)
            text.detach()
    if not quiet:
        click.echo(plain(f"{counted(n, 'predictions')} -> {out}"))


@click.command()
@_model
@_data
@options.form
@_threads
@options.verbosity
def score(file: Path, data: Path, form: str, threads: int, quiet: bool) -> None:
    """Compare predictions with the labels in the file DATA; show the usual scores.

    They are the accuracy, with that of always the most frequent class, the balanced accuracy, F1 (of the last
    of two classes, else its mean), the area under the ROC curve and the log loss of probabilities; or the
    errors of a regression.
    """
    from kfeat.own import load_model
    from kfeat.own.model import score_file

    with _working_with(threads):
        scores, n = score_file(load_model(file), data)
    if form == "json":
        options.show_json({**scores, "rows": n}, indent=None)
    else:
        click.echo(_scored(scores, counted(n, "rows")))


@click.command()
@click.argument("file", type=_FILE)
@click.option("--config", "as_config", is_flag=True, help="Print the config of the training, as YAML.")
@options.form
def info(file: Path, as_config: bool, form: str) -> None:
    """Show everything about the model in FILE: config, data, map, kernel, solver, sizes, scores, versions."""
    from kfeat.errors import ModelError
    from kfeat.own import load_model
    from kfeat.own.model import describe

    model = load_model(file)
    if as_config:
        if "config" not in model.about_:
            raise ModelError(f"{file}: it was trained in Python, not from a config; leave --config out")
        click.echo(as_yaml(model.about_["config"]).rstrip())
        return
    found = describe(model, file)
    if form == "json":
        options.show_json(found)
        return
    shown = {key: value for key, value in found.items() if value is not None and key != "config"}
    click.echo(plain_lines(as_yaml(shown, default_flow_style=None).rstrip()))
