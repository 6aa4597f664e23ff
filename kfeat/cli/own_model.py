"""The commands on a model of your own data: train it, predict, score, and show what it is."""

import io
import signal
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kfeat.cli import options, output, selection, values
from kfeat.text import as_yaml, counted, plain, plain_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


_FILE: Any = click.Path(path_type=Path)
_SOON = 5.0  # seconds of training that need no word
_model = click.option("--model", "file", type=_FILE, required=True, metavar="FILE",
                      help="The model's file, which `kfeat fit` writes.")  # fmt: skip
_data = click.argument("data", type=_FILE)
_threads = click.option(
    "--threads", type=click.IntRange(min=1), default=1, show_default=True, help="Threads to work with."
)


@click.command()
@click.argument("config", type=_FILE)
@click.option("--model", "file", type=_FILE, required=True, metavar="FILE", help="The file to write.")
@selection.chooses_method
@click.option("--all-rows", is_flag=True, help="Train on all rows, test rows included, without a score.")
@click.option("--probabilities", is_flag=True,
              help="Learn probabilities for a classifier that has none, in three more folds.")  # fmt: skip
@_threads
@selection.no_code
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
    from kfeat.own.fit import only_trial, train
    from kfeat.own.model_format import is_model

    check_place(file, "the model")
    if file.is_file() and not is_model(file):
        raise ModelError(f"{file}: exists and is not a model; give another name with --model")
    names = values.map_names(maps)
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
    from kfeat.own.streams import write_predictions

    chosen = {"predict": True, "decision_function": scores, "predict_proba": probabilities}
    methods = [method for method, included in chosen.items() if included]
    if (
        out is not None
        and out.exists()
        and any(path.exists() and out.samefile(path) for path in (data, file))
    ):
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
    from kfeat.own.streams import score_file

    with _working_with(threads):
        scores, n = score_file(load_model(file), data)
    if form == "json":
        output.show_json({**scores, "rows": n}, indent=None)
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
    from kfeat.own.model_file import describe

    model = load_model(file)
    if as_config:
        if "config" not in model.about_:
            raise ModelError(f"{file}: it was trained in Python, not from a config; leave --config out")
        click.echo(as_yaml(model.about_["config"]).rstrip())
        return
    described = describe(model, file)
    if form == "json":
        output.show_json(described)
        return
    shown = {key: value for key, value in described.items() if value is not None and key != "config"}
    click.echo(plain_lines(as_yaml(shown, default_flow_style=None).rstrip()))
