"""Training the method of a config, and the best method of a search: as a config or as an estimator."""

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from math import inf
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import AfterValidator
from scipy.sparse import issparse
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from kfeat import files
from kfeat.data import Dataset, Protocol, Raw
from kfeat.data.access import AS_SET, Access
from kfeat.data.cells import in_seconds, listed
from kfeat.data.coders import learn_coding
from kfeat.data.labels import labels_under, positive_classes
from kfeat.data.matrix import Indices, Part, holds_strings
from kfeat.data.prepare import learn
from kfeat.data.reading import Reading
from kfeat.data.splits import All
from kfeat.errors import ConfigError, DataError, KfeatError
from kfeat.experiments.clock import environment
from kfeat.experiments.component import Component, map_components, read_component
from kfeat.experiments.config import Experiment
from kfeat.experiments.engine import physical_cores
from kfeat.experiments.names import experiment_name
from kfeat.experiments.plan import Trial, digest
from kfeat.experiments.run import planned
from kfeat.experiments.trial import estimators, features, load_data
from kfeat.kernels.base import Estimator
from kfeat.kernels.operands import canonical
from kfeat.own.bench import (
    LocalScorer,
    Scorer,
    at,
    data_under,
    folds_of,
    metric_of,
    protocol_under,
)
from kfeat.own.candidates import Candidate, ConfigEntry, boosting_model, linear_model, model_of, solver_of
from kfeat.own.model import KernelModel, judged, save_model, scores_of, without_zeros
from kfeat.own.new_config import DENSE_VALUES, default_metric, enough_rows
from kfeat.own.search import Scored, Search, SearchResult, effort
from kfeat.parameters import Jobs, check_parameters
from kfeat.solvers.base import available_when
from kfeat.text import counted, in_yaml, plain

Prefer: TypeAlias = Literal["accuracy", "speed", "boosting", "linear"]


def only_trial(experiment: Experiment, all_rows: bool = False, access: Access = AS_SET) -> Trial:
    """Return the first repeat of the one method of an experiment; with `all_rows`, trained on all of them.

    Raises ConfigError, naming the choices, where the experiment has several datasets,
    protocols, kernels, maps or solvers, or a measure.
    """
    check_trainable(experiment)
    trials = [trial for trial in planned(experiment, access) if trial.repeat == 0]
    if all_rows:
        split = {"split": All(kind="all", seed=0)}
        whole = [replace(trial, protocol=trial.protocol.model_copy(update=split)) for trial in trials]
        trials = list({trial.id: trial for trial in whole}.values())
    if len(trials) > 1:
        raise ConfigError(
            f"{experiment.path}: expected one dataset, map and solver to train, got {len(trials)} "
            f"combinations: {'; '.join(_choices(trials))}; choose with --maps NAME, --no-exact or "
            "--set KEY=VALUE"
        )
    return trials[0]


def check_trainable(experiment: Experiment) -> None:
    """Raise ConfigError for a measure, and for a class that a model file cannot hold.

    That is one by its place, but for boosting.
    """
    for setting in experiment.settings:
        if setting.measures:
            raise ConfigError(f"{experiment.path}: a `measure` trains nothing; give `solvers` instead")
        for item in (*setting.kernels, *setting.maps, *setting.solvers.all):
            if item.place is not None and item.name not in BOOSTING.values():
                raise ConfigError(
                    f"{experiment.path}: a model file holds classes of kfeat and boosting alone, so "
                    f"{item.name} cannot be kept; choose others with --maps NAME, or another config"
                )


def _choices(trials: Sequence[Trial]) -> list[str]:
    """Return the keys in which trials differ, each with its values."""
    frame = pd.DataFrame([trial.describe() for trial in trials], dtype=object)
    choices: dict[str, str] = {}
    for key in map(str, frame):
        kinds = list(dict.fromkeys(map(str, frame[key].dropna())))
        if len(kinds) > 1 and key.split(".")[0] not in choices:  # else its components differ themselves
            choices[key] = f"{key}: {listed(kinds)}"
    return list(choices.values())


BOOSTING = {
    task: f"sklearn.ensemble:HistGradientBoosting{kind}"
    for task, kind in (("classification", "Classifier"), ("regression", "Regressor"))
}
LONG, EVERY = 10_000, 20  # rows whose training is estimated, from one in so many


def train(
    trial: Trial,
    access: Access = AS_SET,
    *,
    probabilities: bool = False,
    say: Callable[[float], None] | None = None,
) -> KernelModel:
    """Return the model of a trial: with the same data, seeds and numbers as the row that `kfeat run` makes.

    With `probabilities`, a classifier without them learns them in three folds. `say` is called with an
    estimate of the seconds of a long training before it begins. Raises DataError for bad data, SolverError
    where the solver is for another task or does not finish.
    """
    protocol, data = trial.protocol, load_data(trial, access)
    assert data.preparation is not None
    _, feature_map, solver = estimators(trial, data)
    model = KernelModel(
        map=feature_map,
        solver=getattr(solver, "estimator", solver),  # boosting's, which has a place
        scale=[step if isinstance(step, str) else step.model_dump() for step in protocol.scale],
        constant_features=protocol.constant_features,
        dtype=protocol.dtype,
        coding=data.coding,
    )
    mapped = partial(features, trial, timed=nullcontext())
    X, y = data.X_train, data.y_train

    def seconds_on(rows: slice) -> float:
        start = perf_counter()
        weights = None if data.weights is None else data.weights[rows]
        model.fit_prepared(data.preparation, X[rows], y[rows], data.label_names, mapped, weights)
        return perf_counter() - start

    if probabilities and data.task == "regression":
        raise ConfigError("--probabilities: a regression has none; leave the option out")
    # Of a large map a fuller sample, so that it has two rows for each column.
    D = getattr(feature_map, "n_components", None) or 0
    every = min(EVERY, len(y) // (2 * max(D, 1)))
    if say and len(y) >= LONG and every > 1:
        with suppress(KfeatError, ValueError), warnings.catch_warnings(action="ignore"):  # of too few rows
            method = D, trial.exact, data.task == "regression"
            growth = effort(len(y), *method) / effort(len(y) / every, *method)
            say(growth * seconds_on(slice(None, None, every)))
    seconds = seconds_on(slice(None))
    if probabilities:
        three = StratifiedKFold(3, shuffle=True, random_state=0)
        cv = three if data.by is None else protocol.split.kind
        model.calibrate(X, y, folds_of(cv, y, data.by, True, 0), data.weights)
    scores = None
    if held_out := protocol.split.kind != "all":  # whose test rows are the training rows
        outputs = {m: model.predict_prepared(data.X_test, m) for m in judged(model)}
        classes = getattr(model.solver_, "classes_", None)
        scores = scores_of(outputs, data.y_test, classes, data.weights_test)
    model.about_ |= {
        "config": as_config(trial, f"A model of {trial.source.name}"),
        "reading": trial.source.later_reading().model_dump(exclude_none=True),
        "trial": trial.id,
        "fingerprint": data.fingerprint,
        "n_test": int(data.X_test.shape[0]) if held_out else 0,
        "scores": scores,
        "seconds": round(seconds, 4),
        "environment": environment(),
    }
    return model


def as_config(trial: Trial, title: str, repeats: int = 1) -> dict[str, Any]:
    """Return a config, as YAML has it, whose one method is that of the trial."""
    return {
        "title": title,
        "dataset": trial.source.given(),
        "protocol": trial.protocol.given(),
        "kernel": _entry(trial.kernel),
        **({} if trial.map is None else {"maps": [_entry(trial.map)]}),
        "solvers": {trial.role: _entry(trial.solver)},
        "repeats": repeats,
        "seed": trial.seed,
        **({} if trial.memory == "in_core" else {"memory": trial.memory}),
    }


def _entry(component: Component | None) -> dict[str, Any]:
    assert component is not None
    return {
        "name": component.name,
        **{key: map_components(value, _entry) for key, value in component.given.items()},
    }


VERSION = 9  # of the record of a search: raised when the same candidate gives other numbers
KEPT = ("class_weight", "bias")  # of a classifier's parameters, whatever its kind
MARK = "# Found by `kfeat tune "


@dataclass(frozen=True)
class Setup:
    """One dataset under one protocol, with the seed that draws its rows, and what the config runs on it.

    `trial` has the data and the protocol, whose split leaves `n_train` rows to train; a candidate takes the
    place of its kernel, map and solver.
    """

    experiment: Experiment
    trial: Trial
    n_train: int
    kernels: list[ConfigEntry]
    maps: list[ConfigEntry]
    options: dict[str, Any]  # of the config's solver, which every candidate's solver has too
    metric: str
    why: str  # the metric is not the usual one
    identity: str  # of the search: its rows are in a file of this name

    def bench(self, seed: int, access: Access = AS_SET) -> dict[str, Any]:
        """Return the arguments of a `Scorer`."""
        protocol = self.trial.protocol
        data = partial(data_under, trial=self.trial, n_train=self.n_train, access=access)
        cv = protocol.split.kind if protocol.split.kind in ("group", "time") else None
        capped = protocol.split.with_rows(1, self.n_train) is not None
        more = {"options": self.options, "metric": self.metric, "cv": cv, "capped": capped}
        return {"data": data, "seed": seed, **more}


def setup_of(experiment: Experiment, seed: int, metric: str | None = None, access: Access = AS_SET) -> Setup:
    """Return the setup of a search for this config; reads the data.

    If each repeat draws its own split, the search uses that of the first. Raises ConfigError where there are
    several datasets or protocols, fewer than two classes with two training rows, or a metric that does not
    suit the labels.
    """
    check_trainable(experiment)
    protocols = list(dict.fromkeys(chain(*(setting.protocols for setting in experiment.settings))))
    for kind, values in (("dataset", experiment.datasets), ("protocol", protocols)):
        if len(values) != 1:
            raise ConfigError(
                f"{experiment.path}: expected one {kind} to tune for, got {len(values)}; choose one, as in "
                f"--set {kind}=..."
            )
    source, protocol = experiment.datasets[0], protocols[0]
    if protocol.split.kind == "all":
        raise ConfigError(
            f"{experiment.path}: with `split: all` the test rows would choose the method; choose another "
            "split, as in --set 'protocol.split={kind: fraction, train: 0.8, seed: 0}'"
        )
    setting = experiment.settings[0]
    source.renew(access)
    raw = source.load(access)
    if holds_strings(raw.parts["train"].X):
        raise ConfigError(f"{experiment.path}: a search needs rows of numbers, and these are strings")
    trial = Trial(source, raw.fingerprint, protocol, setting.kernels[0], None, None, 0, experiment.seed)
    y, classes = training_labels(raw, protocol, trial), raw.task == "classification"
    metric, why = (metric, "") if metric else default_metric(y, classes)
    metric_of(metric, y, classes)
    given = setting.mapped_solvers[0].given if setting.mapped_solvers and raw.task == "classification" else {}
    options = {key: given[key] for key in KEPT if key in given}
    data = [raw.fingerprint, raw.task, protocol.model_dump_json(), trial.seeds["data"]]
    kernels, maps = ([entry.draws() for entry in entries] for entries in (setting.kernels, setting.maps))
    identity = digest([VERSION, *data, seed, str(options), metric])[:16]
    return Setup(experiment, trial, len(y), kernels, maps, options, metric, why, identity)


def training_labels(raw: Raw, protocol: Protocol, trial: Trial) -> NDArray[Any]:
    """Return the labels or targets of the training rows.

    Raises ConfigError if fewer than two classes have two of them, so that a fold would train a single class.
    """
    rows, _ = protocol.split.rows(raw, trial.seeds["data"])
    y = labels_under(raw, positive_classes(raw, protocol), rows)[rows]
    labels, counts = np.unique(y, return_counts=True)
    if raw.task == "classification" and counts.min() == 1 and (counts > 1).sum() < 2:
        label = labels[counts.argmin()]
        binary = protocol.binarise != "none" or not raw.label_names
        raise ConfigError(
            f"{raw.name}: the class {label if binary else raw.label_names[label]} has a single training row, "
            "and cross-validation needs two rows of two classes: add rows, or join it to another class"
        )
    return y


def check_places(config: Path, page: Path) -> None:
    """Raise an error for paths of a config and its page that take no file, or have one of another origin."""
    experiment_name(config.resolve())
    if config == page:
        raise ConfigError(f"{config} is the name of a web page; give another name with --out")
    for path in (config, page):
        try:
            begins = path.read_text(encoding="utf-8") if path.exists() else MARK
        except (OSError, UnicodeDecodeError):
            begins = ""
        if not begins.removeprefix("<!DOCTYPE html>\n<!-- ").startswith(MARK):
            raise ConfigError(
                f"{path} exists, and `kfeat tune` did not write it; give another name with --out"
            )
        files.check_place(path, "the tuned config")


def tuned_config(setup: Setup, result: SearchResult, prefer: Prefer, sentences: Sequence[str]) -> str:
    """Return the config's text: what is preferred on the data, with the `sentences` as comments."""
    experiment, scored = setup.experiment, preferred(result, prefer)
    candidate = linear_model(result.facts) if scored is None else scored.candidate
    value = 1.0 if scored is None else scored.value
    rows = None if scored is None else result.rows.get(scored)
    trial = replace(
        setup.trial,
        protocol=_protocol(setup, "none" if scored is None else candidate.scale, rows),
        kernel=read_component(candidate.kernel, "kernel"),
        map=None if candidate.map is None else read_component(candidate.map, "map"),
        solver=read_component(solver_of(candidate, value, setup.options), "solver"),
        memory="in_core" if candidate.map is None else experiment.settings[0].memory,
        baseline=candidate.linear,
    )
    config = as_config(trial, f"{experiment.title}, tuned", experiment.settings[0].repeats)
    if scored is None:
        weight = setup.options.get("class_weight", result.facts.class_weights[0])
        weights = {"class_weight": weight} if weight else {}
        config["solvers"] = {"baseline": {"name": BOOSTING[result.facts.task], **weights}}
    lines = [f"{MARK}{plain(str(experiment.path))}`.", *(f"# {plain(sentence)}" for sentence in sentences)]
    lines += [f"{key}: {in_yaml(value)}" for key, value in config.items()]
    return "\n".join(lines) + "\n"


def preferred(result: SearchResult, prefer: Prefer) -> Scored | None:
    """Return what is taken from a search; None is boosting.

    `speed` is what predicts fastest within half a point of the best, `linear` the linear model if it is
    within half a point, `boosting` HistGradientBoosting if it is ahead of the best in each fold, and by more
    than half a point (for errors, 1 %). Otherwise it is the best that was trained.
    """
    if prefer == "boosting" and result.ahead:
        return None
    linear = result.linear if result.linear and result.near(result.linear) else None
    quickest = result.quickest if result.tests else result.quick
    return {"speed": quickest, "linear": linear}.get(prefer) or result.trained


def _protocol(setup: Setup, scale: str, rows: int | None) -> Protocol:
    """Return the protocol; a split that each repeat would draw again is fixed to the split of the search.

    Otherwise other repeats would test on rows that the search used to choose.
    """
    protocol = protocol_under(setup.trial.protocol, scale, rows, setup.n_train)
    return protocol.model_copy(update={"split": protocol.split.at(setup.trial.seeds["data"])})


def _seconds(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < inf:
        raise ValueError("expected seconds, a number above 0 such as 60")
    return value


def _metric_name(value: Any) -> Any:
    if value is not None and not isinstance(value, str):
        raise ValueError("expected the name of a scorer of scikit-learn, such as 'roc_auc'")
    return value


def _weight_of_classes(value: Any) -> Any:
    if not isinstance(value, dict | None) and not (isinstance(value, str) and value == "balanced"):
        raise ValueError("expected None, 'balanced' or a mapping of labels to weights")
    return value


def _state(value: Any) -> Any:
    whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**32
    if not whole and not isinstance(value, np.random.RandomState | None):
        raise ValueError("expected None, a whole number from 0 to 4294967295, or a RandomState of NumPy")
    return value


ROWS: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
CODED = Reading(categorical="one_hot", missing="mean")  # how the columns of a frame become numbers


@dataclass(eq=False, repr=False)
class _KernelEstimator(Estimator):
    """What the classifier and the regressor share."""

    _task: ClassVar[Literal["classification", "regression"]]
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": True}  # a pipeline routes them

    budget: Annotated[Any, AfterValidator(_seconds)] = 60.0
    scoring: Annotated[Any, AfterValidator(_metric_name)] = None
    cv: Any = None
    prefer: Prefer = "accuracy"
    random_state: Annotated[Any, AfterValidator(_state)] = 0
    n_jobs: Jobs = None
    verbose: bool = False

    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> Self:
        """Search on rows X (n, d), a frame or an array, and labels or targets y (n,), and train the best.

        Rows of one of the `groups` (n,) are in the same fold, and rows count by their weights (n,). Raises
        DataError for bad data, ConfigError for a metric that does not suit the labels.
        """
        check_parameters(self)
        self._seed = check_random_state(self.random_state).randint(2**31 - 1)
        if isinstance(self.random_state, int | np.integer):
            self._seed = int(self.random_state)
        regression, coding = self._task == "regression", None
        given, X = X, frame_of(X)
        y = np.asarray(y) if type(y).__module__.startswith("polars") else y
        y = _targets(y) if regression and y is not None else y
        if isinstance(X, pd.DataFrame):
            validate_data(self, X, skip_check_array=True)
            if isinstance(given, np.ndarray | list):
                del self.feature_names_in_  # arrays have none
            y = column_or_1d(y, warn=True)
            check_consistent_length(X, y)
            if n := int(pd.isna(y).sum()):
                raise DataError(f"expected a label for each row, got {counted(n, 'rows')} without one")
        else:
            X, y = validate_data(self, canonical(X), y, y_numeric=regression, ensure_min_samples=2, **ROWS)
        kept = np.arange(len(y))
        sample_weight, X, y, groups, kept = without_zeros(sample_weight, X, y, groups, kept)
        if isinstance(X, pd.DataFrame):
            with _python_words():
                coding = learn_coding(X, CODED, task=self._task, weights=sample_weight)
        codes, names = y, list[str]()
        if not regression:
            check_classification_targets(y)
            self.classes_, codes = np.unique(y, return_inverse=True)
            names = [*map(str, self.classes_)]
        weight = getattr(self, "class_weight", None)
        options = {} if weight is None else {"class_weight": weight}
        self.search_: SearchResult | None = None
        bench, some = None, None  # None: all rows
        several = regression or np.sort(np.bincount(codes))[-2:].min() > 1  # each fold trains two classes
        if enough_rows(codes, not regression) and several:
            rows = X if coding is None else _dense(coding.matrix(X))
            bench = self._scorer(rows, codes, names, groups, options, sample_weight, kept)
            with _python_words():
                model, some = self._searched(bench, options)
        else:  # without a search: a Gaussian kernel with C or alpha 1
            loss: Any = "squares" if regression else "squared_hinge"
            gaussian = Candidate("zscore", {"name": "gaussian", "gamma": "median"}, None, loss)
            model = model_of(gaussian, 1.0, options, self._seed)
        with warnings.catch_warnings():  # about redundant landmarks, which the search allows
            warnings.simplefilter("ignore", np.exceptions.RankWarning)
            model.set_params(coding=coding)
            parts = (part if part is None else _safe_indexing(part, some) for part in (X, y, sample_weight))
            self.model_ = model.fit(*parts)
            if bench is not None and self.search_ is not None and not regression:
                rows, folds = bench.folds(self.search_.best.n)
                prepared = model.preparation_.rows(model.raw_rows(_safe_indexing(X, rows)))
                model.calibrate(prepared, y[rows], folds, at(sample_weight, rows))
        return self

    def _searched(self, bench: Scorer, options: dict[str, Any]) -> tuple[KernelModel, Indices | None]:
        """Return the model that a search prefers, and the rows to train it on; None: all."""
        scorer, say = LocalScorer(bench), _say if self.verbose else None
        result = Search(scorer, None, self.budget, self._seed, say).run()
        if self.prefer == "boosting":
            boosting = scorer.ask("boosting", inf, n=result.best.n)
            result = replace(result, boosting=boosting or {})
        if result.constant_is_as_good:
            warnings.warn("nothing is better than a constant, by the search's metric", stacklevel=3)
        self.search_, best = result, preferred(result, self.prefer)
        if best is None:
            weight = options.get("class_weight", result.facts.class_weights[0])
            return boosting_model(result.facts.task, weight, self._seed), None
        model, n = model_of(best.candidate, best.value, options, self._seed), result.rows.get(best)
        return model, bench.rows(n) if n else None

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the labels, or the values, of the rows of X (n, d), shape (n,)."""
        rows = self._rows(X)  # raises NotFittedError
        return self.model_.predict(rows)

    def save(self, path: str | Path) -> None:
        """Write the model to a file that `kfeat.load_model` and `kfeat predict` take."""
        check_is_fitted(self, "model_")
        save_model(self.model_, Path(path))

    def _rows(self, X: Any) -> Any:
        """Return checked rows: a frame if training had one, else numbers."""
        check_is_fitted(self, "model_")
        coding = self.model_.coding
        if coding is None:
            return validate_data(self, canonical(X), reset=False, **ROWS)
        named = not isinstance(X, np.ndarray | list)
        frame = frame_of(X)
        validate_data(self, frame if named else X, skip_check_array=True, reset=False)
        if named and isinstance(frame, pd.DataFrame):
            return frame
        return pd.DataFrame(np.asarray(frame), columns=coding.names).infer_objects()

    def _scorer(
        self,
        X: Any,
        y: NDArray[Any],
        names: Sequence[str],
        groups: Any,
        options: Any,
        weights: Any,
        kept: Any,
    ) -> Scorer:
        check_consistent_length(X, groups)
        by = None if groups is None else np.asarray(groups)
        cv = self.cv if self.cv is not None or by is None else "group"
        if weights is not None and not (cv is None or isinstance(cv, int | str) or hasattr(cv, "split")):
            cv = [[np.flatnonzero(np.isin(kept, side)) for side in fold] for fold in cv]  # of all rows
        raw = Raw("the data", self._task, {"train": Part(X, y)})

        def data(scale: str) -> Dataset:
            protocol = Protocol.model_validate({} if scale == "own" else {"scale": scale})
            rows = learn(raw, protocol, np.arange(len(y)), None, weights).rows(X)
            parts = rows, y, rows[:0], y[:0]
            more = {"label_names": tuple(names), "by": by, "weights": weights}
            return Dataset(raw.name, *parts, self._task, "", verified=False, **more)

        jobs = 1 if self.n_jobs is None else self.n_jobs
        threads = jobs if jobs > 0 else max(1, physical_cores() + 1 + jobs)
        return Scorer(data, self._seed, threads, options, self.scoring, cv)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return tags


@dataclass(eq=False, repr=False)
class KernelClassifier(ClassifierMixin, _KernelEstimator):
    """A kernel classifier that chooses scaling, kernel, map or exact SVM, D and C within a budget of time.

    The search is that of `kfeat tune`. A frame may have columns of words, dates and missing cells: missing
    numbers become the mean, words become columns of 0 and 1, dates become year, month, weekday and days.
    If no class has five rows, or all classes but one have a single row, there is no search, and an SVM with a
    Gaussian kernel is trained.

    Parameters
    ----------
    budget : float, default 60.0
        About how many seconds the search and the training of the best method take. The best is trained on all
        rows, or on as many as there is time for.
    scoring : str, optional
        The metric of the search, a name of scikit-learn's such as "roc_auc"; of two classes the last one is
        the positive one. None is the accuracy, or the balanced accuracy where more than 90 % of the rows have
        one label; R² in a regression.
    cv : int, splitter or iterable, optional
        The folds, as scikit-learn's `cross_validate` takes them; None is five or three folds of each class.
    prefer : {"accuracy", "speed", "boosting", "linear"}, default "accuracy"
        Choose the best method; or the map with the fewest features, or the linear model, within half a point
        of it; or scikit-learn's HistGradientBoosting if it is ahead in each fold and by more than that.
    random_state : int, RandomState or None, default 0
        The seed of the folds, the candidates and the map; None draws another one in each fit.
    n_jobs : int, optional
        The number of threads; None means one, and -1 all physical cores.
    verbose : bool, default False
        Whether to print what each candidate scores, with its gamma and its C or alpha.
    class_weight : dict, "balanced" or None, default None
        The weights of the classes, of a classifier. With None, "balanced" is a choice of the search where the
        metric is not the accuracy. Weights move the labels towards rare classes, while the probabilities
        stay those of the data: the label is then not always the class of the largest probability.

    Attributes
    ----------
    classes_ : ndarray
        The labels.
    model_ : KernelModel
        The trained model, with the coding of a frame's columns where they are not all numbers.
    search_ : SearchResult or None
        The candidates with their scores, the best one, and in `rows` on how many rows it was trained, if not
        on all; None without a search.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> KernelClassifier(budget=2).fit(X, y).score(X, y) > 0.95
    True
    """

    _task = "classification"
    class_weight: Annotated[Any, AfterValidator(_weight_of_classes)] = None

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the decision values: (n,), positive for the last of two classes, or (n, classes)."""
        rows = self._rows(X)
        return np.asarray(self.model_.decision_function(rows))

    @available_when(lambda self: not hasattr(self, "model_") or hasattr(self.model_, "predict_proba"))
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities (n, classes), learnt on the folds of the search; it needs one.

        The label has the largest probability, unless classes have weights, as they may for a metric such as
        the balanced accuracy.
        """
        rows = self._rows(X)
        return np.asarray(self.model_.predict_proba(rows))


class KernelRegressor(RegressorMixin, _KernelEstimator):
    """A kernel regressor: kernel ridge regression, or ridge regression on a map's features.

    The search, the parameters and the attributes are those of `KernelClassifier`, without those of classes.
    """

    _task = "regression"


def _say(scored: Scored, best: Scored) -> None:
    """Print what a candidate scored."""
    score = scored.reason or f"{scored.score:.4f}"
    print(f"{scored.n:>8,} rows  {scored.choices:<70}  {score}  best so far {best.score:.4f}")


def _targets(y: Any) -> NDArray[np.float64]:
    """Return targets (n,) as numbers, NaN where one is missing; raises DataError for words and dates."""
    cells = np.asarray(in_seconds(y if hasattr(y, "iloc") else np.asarray(y)))
    if cells.dtype.kind == "c":
        return cells  # scikit-learn's checks refuse it
    with suppress(TypeError, ValueError):
        if cells.dtype.kind in "fiubO":
            return cells.astype(np.float64)
    got = f"{cells.ravel()[0]!s:.50}" if cells.size else "nothing"
    raise DataError(f"expected numbers as targets, got {got}; labels that are words need KernelClassifier")


@contextmanager
def _python_words() -> Iterator[None]:
    """Raise errors without the words of the command line and of configs."""
    try:
        yield
    except KfeatError as error:
        message = re.sub(r" with `drop: \[.*?\]`", "", str(error)).replace("--budget", "`budget`")
        raise type(error)(message) from None


def frame_of(X: Any) -> Any:
    """Return a Polars frame, and an array or a list with gaps or words, as a pandas frame, else X."""
    if type(X).__module__.startswith("polars"):
        if not hasattr(X, "shape"):
            raise DataError(f"expected a frame of rows, got a {type(X).__name__}; call collect() first")
        return pd.DataFrame({name: X[name].to_numpy() for name in X.columns})
    if not isinstance(X, np.ndarray | list):
        return X
    try:
        rows = np.asarray(X)
        gaps = rows.dtype.kind in "fO" and bool(np.isnan(rows.astype(np.float64)).any())
    except TypeError:  # of cells that are no numbers or words
        return X
    except ValueError:  # of words, or of rows of different lengths
        rows, gaps = np.asarray(X, dtype=object), True
    if rows.ndim != 2 or not (gaps or rows.dtype.kind == "U"):
        return X
    return pd.DataFrame(rows.astype(object), columns=[f"x{i}" for i in range(rows.shape[1])]).infer_objects()


def _dense(Z: Any) -> Any:
    """Return coded columns (n, d) as a dense array, which z-scores need, unless it would be very large."""
    if issparse(Z) and Z.shape[0] * Z.shape[1] > DENSE_VALUES:
        return canonical(Z)
    return np.asarray(Z.toarray() if issparse(Z) else Z, dtype=np.float64)
