"""A first config for your own data."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfeat.data import Protocol, load_raw
from kfeat.data.cells import listed
from kfeat.data.content import check_regular, naming
from kfeat.data.dataset import Raw
from kfeat.data.detection import table_of
from kfeat.data.formats.columns import roles
from kfeat.data.inspection import class_counts, columns_of
from kfeat.data.reading import Reading
from kfeat.data.useless import useless
from kfeat.errors import ConfigError, DataError
from kfeat.experiments.names import experiment_name, one_line
from kfeat.kernels import Gaussian
from kfeat.own.advice import LEAST, first_maps, sizes
from kfeat.own.folds import MOST_FOLDS, enough_rows
from kfeat.own.frames import DENSE_VALUES
from kfeat.own.scoring import default_metric
from kfeat.text import counted, in_yaml, plain

TRAIN = 0.8  # of the rows, where the data have no test file
QUICK_EXACT = 3_000  # rows up to which an exact SVM takes seconds, also in cross-validation
SHOWN = 10  # columns or classes of a comment
FILLED = {  # what becomes of missing cells
    "mean": "fills them with the column's mean, or its most frequent word",
    "most_frequent": "fills them with the column's most frequent value",
    "word": "makes them the word `missing`, and the column's mean among numbers",
    "drop": "leaves these rows out",
}
TEMPLATE = """\
# {name}: {sizes}; {task}.
{remarks}# `kfeat run {path}` runs it, {tunes}.
title: {title}
dataset: {dataset}
# scale: {why}
# split: the test rows are used only for the final score
protocol: {protocol}
kernel: {{name: gaussian, gamma: {gamma}}}
{maps}solvers:
  # a linear model on {features}{chosen}
  {role}: {{name: {linear}}}
  # the exact method, for comparison; it is slow on many rows. Remove the # to run it
  # exact: {{name: {exact}}}
# how often each method runs, with another draw of its map; tables show the spread of the scores
repeats: 3
seed: 0
"""


def new_config(
    data: Path, path: Path, *, target: str | None, test: str | None, task: Any, reading: Reading,
    by: Mapping[str, str] | None = None, maps: Sequence[str] | None = None,
) -> str:  # fmt: skip
    """Return the text of a first config at `path` for a file, with the reason above each choice.

    `by` may name the column of `group` or `time`, by which the rows are split, and of `weight`, by which they
    count; they are no features. `maps` are names of maps in the place of the advised one. Raises ConfigError
    where no target is named, the target has a single class or almost only different words, or a map does not
    approximate the Gaussian kernel, and DataError where the file cannot be read, or a column does not do.
    """
    experiment_name(path.resolve())  # refuses a name that no folder of rows can have
    try:
        one_line(data.name)
    except ValueError as error:
        raise ConfigError(f"{data}: no config can have this file's name: {error}; rename the file") from None
    places: dict[str, str | int] = dict(by or {})
    if reading.header is False:
        places = {kind: int(name) if name.isdigit() else name for kind, name in (by or {}).items()}
    raw, dataset, remarks = described_file(
        data, target=target, test=test, task=task, reading=reading, beside=[*places.values()]
    )
    weight = {"weight": places.pop("weight")} if "weight" in places else {}
    split = first_split(raw)
    for kind, column in places.items():
        split = {"kind": kind, "train": TRAIN, "column": column}
    rows = training_rows(raw, {"split": split, **weight})
    groups = raw.cells(places["group"], "group")[rows] if "group" in places else None
    why = no_search(raw.y[rows], raw.task == "classification", groups)
    if why:
        remarks = [*remarks, f"# Few rows: `kfeat tune` refuses them, since {why}."]
    if len(rows) < LEAST:
        told = f"# Few rows: {len(rows)} train, fewer than the {LEAST} features of the smallest map; the"
        remarks = [*remarks, f"{told} exact method costs less, and the scores of few test rows tell little."]
    protocol = {"split": split, **weight}
    return config_text(raw, dataset, path, remarks, protocol, len(rows), maps, tunes=not why)


def no_search(y: NDArray[Any], classes: bool, groups: NDArray[Any] | None) -> str:
    """Return why `kfeat tune` cannot choose by training rows with labels or targets y (n,); else nothing.

    The split may keep the rows of one of the `groups` (n,) together.
    """
    if groups is not None and len(np.unique(groups)) < 2:
        return "they are of one group, and cross-validation needs two"
    if not enough_rows(y, classes):
        return f"{MOST_FOLDS} folds need {MOST_FOLDS} training rows" + " of some class" * classes
    if classes and (np.unique(y, return_counts=True)[1] > 1).sum() < 2:
        return "cross-validation needs two training rows of two classes"
    return ""


def described_file(
    data: Path, *, target: str | None, test: str | None, task: Any, reading: Reading,
    beside: Sequence[str | int] = (),
) -> tuple[Raw, dict[str, Any], list[str]]:  # fmt: skip
    """Return a file's rows, what a config's `dataset` says of it, and comments; raises as `new_config`.

    `beside` are columns that are no features. An empty `drop` keeps all others, even if they look useless.
    """
    check_regular(data)
    keep_all = reading.drop == []
    if beside:
        reading = reading.model_copy(update={"drop": [*(reading.drop or []), *beside]})
    found: dict[str, Any] = {}
    remarks: list[str] = []
    frame, reading, guesses = table_of(data, reading)
    if frame is not None and len(frame) < 2:
        raise DataError(f"{data}: expected at least 2 rows, got {len(frame)}")
    if frame is not None:
        names, named = list(frame.columns), reading.target if target is None else target
        if named is None:
            raise ConfigError(
                f"{data}: no target: name the column with the labels with --target; the columns are "
                f"{listed(names)}"
            )
        with naming(data):
            target, dropped = roles(names, reading.model_copy(update={"target": named}))
        found, remarks = _described(frame, reading, target, dropped, keep_all)
        remarks = [f"# {guess}" for guess in guesses] + remarks
    first = {"path": str(data), "test": test, "target": target}
    given = first | reading.model_dump(exclude_none=True) | found | {"task": task}
    dataset = {key: value for key, value in given.items() if value is not None}
    raw = load_raw(dataset)
    check_target(raw, target, task)
    return raw, dataset, remarks


def _described(
    frame: Any, reading: Reading, target: str | None, dropped: list[str], keep_all: bool
) -> tuple[dict[str, Any], list[str]]:
    """Return what a config's `dataset` says of a table, where the user's options come first, and comments."""
    columns = columns_of(frame, target, dropped)
    left_out = {} if keep_all else useless(frame, columns, target)
    used = columns[(columns["role"] != "dropped") & ~columns["name"].isin(left_out)]

    def place(name: Any) -> str | int:
        return int(name) if reading.header is False else str(name)

    entry: dict[str, Any] = {"target": place(target)}
    remarks = []
    if ((used["holds"] == "words") & (used["role"] == "feature")).any():
        entry["categorical"] = reading.categorical or "one_hot"
    gaps = used[used["n_missing"] > 0]
    if len(gaps):
        missing = dict(zip(gaps["name"], gaps["n_missing"], strict=True))
        words = gaps[(gaps["holds"] == "words") & (gaps["n_distinct"] == 1)]
        entry["missing"] = reading.missing or ("word" if len(words) else "mean")
        if entry["missing"] == "word":
            remarks.append(
                "# An empty cell among words is the word `missing`; `missing: mean` fills it instead."
            )
        how = f"`missing: {entry['missing']}` {FILLED[entry['missing']]}"
        if labels := missing.pop(target, 0):
            remarks.append(f"# Missing labels are not filled: {counted(labels, 'rows')} left out.")
        if missing:
            remarks.append(f"# Missing values: {_counted(missing)}; {how}.")
    if left_out:
        reasons = "; ".join(f"{name} ({why})" for name, why in left_out.items())
        remarks.append(f"# Left out (`drop`): {reasons}. `--set 'drop=[]'` keeps all columns.")
        entry["drop"] = [*map(place, left_out), *(reading.drop or [])]
    return entry, remarks


def check_target(raw: Raw, target: str | None, task: str | None) -> None:
    """Raise ConfigError for a target of a single class, or with too many words for classes."""
    kinds = np.unique(raw.y)
    named = "target" if target is None else f"target '{target}'"
    if len(kinds) < 2:
        only = raw.label_names[0] if raw.label_names else f"{kinds[0]:.16g}"
        raise ConfigError(
            f"{raw.name}: the {named} has a single class, {only!r:.100}, in all of its {len(raw.y):,} rows; "
            "name another column with --target"
        )
    if raw.label_names and task is None and len(kinds) > max(20, len(raw.y) // 2):
        raise ConfigError(
            f"{raw.name}: the {named} has {len(kinds):,} different words in {counted(len(raw.y), 'rows')}; "
            "--task classification makes them classes"
        )


def config_text(
    raw: Raw, dataset: Mapping[str, Any], path: Path, remarks: list[str], protocol: Mapping[str, Any],
    n_train: int, names: Sequence[str] | None, tunes: bool = True,
) -> str:  # fmt: skip
    """Return a config for `kfeat run`, with the reason above each choice; it may name `kfeat tune` too.

    It has the maps of these `names`, or else the map that is advised for n_train rows.
    """
    scale, why = scaling_of(raw, dataset)
    maps, why_maps = first_maps(raw, n_train, names)
    metric, why_metric = default_metric(raw.parts["train"].y, raw.task == "classification")
    if why_metric:
        told = f"# What counts for `kfeat tune` is the {metric.replace('_', ' ')}: {why_metric}."
        remarks = [*remarks, told, "# `--metric roc_auc` compares how well the rows are ordered instead."]
    chosen, linear, exact = _solvers(raw, n_train, weighted="weight" in protocol)
    listed_maps = ["maps:"] * bool(maps) + [f"  # {why_maps}" if maps else f"# {why_maps}"]
    listed_maps += [f"  - {in_yaml(entry)}" for entry in maps]
    more = f"`kfeat tune {plain(str(path))} --budget 5m` searches for better choices"
    return TEMPLATE.format(
        tunes=more if tunes else f"`kfeat fit {plain(str(path))}` trains it",
        name=plain(raw.name), sizes=sizes(raw, n_train), task=plain(_task(raw)), path=plain(str(path)),
        why=why,
        remarks="".join(f"{plain(line)}\n" for line in remarks),
        title=in_yaml(raw.name.replace("$", " ").replace(chr(92), " ")),
        dataset=in_yaml(dict(dataset)), protocol=in_yaml({"scale": scale, **protocol}),
        gamma=_gamma(raw), maps="".join(f"{line}\n" for line in listed_maps),
        features="the map's features" if maps else "the scaled features", chosen=chosen,
        role="mapped" if maps else "baseline", linear=linear, exact=exact,
    )  # fmt: skip


def first_split(raw: Raw) -> Any:
    """Return the split by files, or a draw of four fifths of the rows where the data have no test file.

    It draws from each class where each has a row for each fold.
    """
    if "test" in raw.parts:
        return "official"
    classes = raw.task == "classification" and min(class_counts(raw, raw.y).values()) >= MOST_FOLDS
    return {"kind": "stratified" if classes else "fraction", "train": TRAIN, "seed": 0}


def training_rows(raw: Raw, protocol: Mapping[str, Any]) -> NDArray[np.int64]:
    """Return the rows that `kfeat fit` trains on under the protocol's `split`, and `weight`, if it has one.

    Raises DataError where the data have no such split or weight.
    """
    drawn = Protocol.model_validate({"split": protocol["split"]}).split
    rows, _ = drawn.rows(raw, 0)
    if "weight" in protocol:
        rows = rows[raw.cells(protocol["weight"], "weight")[rows] > 0]
    return rows


def scaling_of(raw: Raw, dataset: Mapping[str, Any]) -> tuple[str, str]:
    """Return the first scaling to try, and its reason; `dataset` is the config's description of the rows."""
    words = "categorical" in dataset
    if raw.sparse and not (words and len(raw.y) * raw.n_features <= DENSE_VALUES):
        return "unit_rows", "every row gets length 1, which keeps sparse data sparse"
    if words:
        return "zscore_numbers", "columns get mean 0 and variance 1, except those of 0 and 1"
    return "zscore", "every column gets mean 0 and variance 1, so that no column dominates"


def _gamma(raw: Raw) -> str:
    """Return the rule for the bandwidth: the median distance is 0 where most rows are equal."""
    try:
        with np.errstate(all="ignore"):  # distances that overflow have a median too
            Gaussian("median").resolve(raw.parts["train"].X, 0)
    except DataError:
        return "mean_distance"
    return "median"


def _solvers(raw: Raw, n_train: int, weighted: bool) -> tuple[str, str, str]:
    """Return what cross-validation chooses, the solver, and the exact method to compare with."""
    if raw.task == "regression":
        folds, parameter = n_train >= MOST_FOLDS, "alpha"
        mapped, exact = "ridge_cv" if folds else "ridge", "kernel_ridge, alpha: 1"
    else:
        rarest, parameter = min(class_counts(raw, raw.parts["train"].y).values()), "C"
        # Each fold of the training rows most likely has two rows of every class.
        folds = (rarest if "test" in raw.parts else rarest * TRAIN) >= 2 * MOST_FOLDS
        mapped = "newton_cv" if folds else "newton, C: 1"
        exact = "libsvm_cv" if folds and n_train <= QUICK_EXACT else "libsvm, C: 1"
        exact = "svc, C: 1" if weighted else exact  # LIBSVM itself has no weights of rows
    return f"; cross-validation chooses {parameter}" * folds, mapped, exact


def _task(raw: Raw) -> str:
    """Return the task in words; the classes with their rows, of all parts."""
    if raw.task == "regression":
        return f"a regression of numbers from {raw.y.min():g} to {raw.y.max():g}"
    counts = class_counts(raw, raw.y)
    return f"{counted(len(counts), 'classes')}: {_counted(counts)}"


def _counted(counts: Mapping[str, int]) -> str:
    shown = [f"{name} ({n:,})" for name, n in counts.items()]
    return ", ".join(shown[:SHOWN]) + ", ..." * (len(shown) > SHOWN)
