"""`kfeat fit`, `predict`, `score` and `info`: train a config's method, keep it in a file, and use it."""

import io
import json
import signal
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kfeat.cli import options
from kfeat.text import as_yaml, plain, plain_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_FILE: Any = click.Path(path_type=Path)
_model = click.option("--model", "file", type=_FILE, required=True, metavar="FILE",
                      help="The model's file, which `kfeat fit` writes.")  # fmt: skip
_data = click.argument("data", type=_FILE)
_as = click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
_threads = click.option(
    "--threads", type=click.IntRange(min=1), default=1, show_default=True, help="Threads to work with."
)


@click.command()
@click.argument("config", type=_FILE)
@click.option("--model", "file", type=_FILE, required=True, metavar="FILE", help="The file to write.")
@options.chooses_method
@click.option("--all-rows", is_flag=True, help="Train on all rows, test rows included, without a score.")
@_threads
@options.access
@options.verbosity
def fit(
    config: Path, file: Path, overrides: tuple[str, ...], maps: str | None, no_exact: bool, all_rows: bool,
    threads: int, mirror: str | None, offline: bool, quiet: bool,
) -> None:  # fmt: skip
    """Train the method of CONFIG, save it in a model file, and show the score on the test rows.

    CONFIG has one dataset, kernel, map and solver; if it has more, choose with --maps, --no-exact and --set.
    The model is the one that `kfeat run` trains in the first repeat.
    """
    from kfeat.errors import ModelError
    from kfeat.experiments.config import load_experiment
    from kfeat.files import check_place
    from kfeat.own.model import is_model
    from kfeat.own.training import only_trial, train

    check_place(file, "the model")
    if file.is_file() and not is_model(file):
        raise ModelError(f"{file}: exists and is not a model; give another name with --model")
    names = options.map_names(maps)
    experiment = load_experiment(config, overrides, maps=names, exact=not no_exact)
    access: dict[str, Any] = {"mirror": mirror, "offline": offline}
    trial = only_trial(experiment, all_rows, **access)
    with (
        _working_with(threads),
        _ended_by_ctrl_c(),
        warnings.catch_warnings(action="default", category=RuntimeWarning),
    ):
        warnings.showwarning = lambda message, *_: click.echo(plain(f"kfeat: {message}"), err=True)
        model = train(trial, **access)
    model.save(file)
    if not quiet:
        about = model.about_
        scores = "no test rows are left to score"
        if about["scores"] is not None:
            scores = f"{_scored(about['scores'])} on {about['n_test']:,} test rows"
        click.echo(f"trained on {about['n_train']:,} rows in {about['seconds']:.2f} s; {scores}")
        click.echo(plain(f"model -> {file}"))


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


def _scored(scores: "Mapping[str, float]") -> str:
    """Return the accuracy, or the errors of a regression, in words."""
    from kfeat.experiments.quantities import QUANTITIES

    if "accuracy" in scores:
        alone = f"always the most frequent class: {100 * scores['most_frequent_class']:.2f} %"
        return f"accuracy {100 * scores['accuracy']:.2f} % ({alone})"
    return ", ".join(f"{QUANTITIES[name].title} {value:.4g}" for name, value in scores.items())


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
            write_predictions(model, data, methods, sys.stdout)
            return
        with new_file(out, "the predictions") as raw:
            text = io.TextIOWrapper(raw, encoding="utf-8", newline="")
            n = write_predictions(model, data, methods, text)
            text.detach()
    if not quiet:
        click.echo(plain(f"{n:,} predictions -> {out}"))


@click.command()
@_model
@_data
@_as
@_threads
@options.verbosity
def score(file: Path, data: Path, form: str, threads: int, quiet: bool) -> None:
    """Compare predictions with the labels in the file DATA; show the accuracy or the regression errors."""
    from kfeat.own import load_model
    from kfeat.own.model import score_file

    with _working_with(threads):
        scores, n = score_file(load_model(file), data)
    click.echo(_json({**scores, "rows": n}) if form == "json" else f"{_scored(scores)} on {n:,} rows")


@click.command()
@click.argument("file", type=_FILE)
@click.option("--config", "as_config", is_flag=True, help="Print the config of the training, as YAML.")
@_as
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
        click.echo(_json(found, indent=1))
        return
    shown = {key: value for key, value in found.items() if value is not None and key != "config"}
    click.echo(plain_lines(as_yaml(shown, default_flow_style=None).rstrip()))


def _json(found: Any, indent: int | None = None) -> str:
    """Return JSON, with null for numbers that are not finite, since JSON has none."""
    finite = json.loads(json.dumps(found), parse_constant=lambda number: None)
    return json.dumps(finite, indent=indent)
