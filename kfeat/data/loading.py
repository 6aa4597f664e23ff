"""Loading a dataset from its source: it is fetched, parsed once, checked, and prepared by a protocol."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from kfeat.data.base import Task, validated
from kfeat.data.cache import (
    OWN,
    Folder,
    arrays_folder,
    cache_folder,
    current_notes,
    load_kept,
    locked,
    parse_and_keep,
    parsed_once,
)
from kfeat.data.cells import are_durations, are_numbers, as_numbers, in_seconds, listed, words_error
from kfeat.data.coding import Coding, label_words
from kfeat.data.content import naming
from kfeat.data.dataset import Dataset, Raw
from kfeat.data.download import chosen_mirror, ensure_file
from kfeat.data.formats import as_data_errors, as_raw, check_part, read_files
from kfeat.data.formats.matrices import parts_of
from kfeat.data.generators import Generator, generate, generator_fingerprint
from kfeat.data.large_quadric import LargeQuadric, load_large
from kfeat.data.matrix import Matrix
from kfeat.data.prepare import prepare
from kfeat.data.protocol import Protocol
from kfeat.data.reading import Reading, Variables
from kfeat.data.recipes import RECIPES, digits
from kfeat.data.registry import Form, entry, registry
from kfeat.data.sources import FileSource, LoaderSource, OwnSource, PinnedSource, Source
from kfeat.errors import ConfigError, DataError, DownloadError
from kfeat.place import announce, code_errors, set_back
from kfeat.text import counted, say_once

OWN_READER = 7  # raised when the user's own files are read in another way
CODED = "columns"  # part of what determines arrays of tables: their notes name the columns


def load(
    source: Any,
    protocol: Protocol | Mapping[str, Any] | None = None,
    *,
    random_state: int = 0,
    mirror: Folder = None,
    cache: Folder = None,
    offline: bool = False,
    progress: Any = None,
    on_disk: bool = False,
) -> Dataset:
    """Return a dataset under a protocol, downloading and parsing it where that has not been done yet.

    `source` is a registered name, a FileSource, LoaderSource, PinnedSource or generator specification, or the
    mapping of one; the protocol may be a mapping too. `random_state` draws what the protocol leaves to each
    repeat. `mirror` (else KFEAT_MIRROR) is tried before upstream; `cache` (else KFEAT_CACHE) keeps files and
    arrays; `offline` forbids the network; `progress` is a `rich.progress.Progress` for the downloads. With
    `on_disk` dense rows stay in files and are mapped into memory, for more of them than fit. Safe to call
    from several processes at once. Raises ConfigError, DownloadError or DataError.
    """
    rules: Protocol = validated(Protocol, protocol or {}, "protocol")
    raw = load_raw(source, mirror=mirror, cache=cache, offline=offline, progress=progress)
    if not raw.verified and not isinstance(validated(Source, source, "dataset"), OwnSource):
        say_once(
            logging.WARNING,
            f"{raw.name} is unverified: no published hash is known; "
            f"the fingerprint to pin is {raw.fingerprint}",
        )
    data = prepare(raw, rules, random_state, cache_folder(cache) if on_disk else None)
    return replace(data, learn=raw.learn)


def load_raw(
    source: Any, *, mirror: Folder = None, cache: Folder = None, offline: bool = False, progress: Any = None
) -> Raw:
    """Return a dataset as its files have it, before any protocol; arrays may be mapped read-only."""
    written, source = source, validated(Source, source, "dataset")
    folder = cache_folder(cache)
    access = (folder, chosen_mirror(mirror), offline, progress)
    if isinstance(source, str):
        return load_registered(source, *access)
    if isinstance(source, PinnedSource):
        return with_pin(load_registered(source.name, *access), source.fingerprint)
    if isinstance(source, LoaderSource) and written is not source:  # the plan calls those of a config
        call_anew(source, folder)
    if isinstance(source, OwnSource):
        return load_own(source, folder)
    if isinstance(source, LargeQuadric):
        return load_large(source, folder)
    return generate(source)


def is_kept(source: Any) -> bool:
    """Return whether a cache keeps the arrays of a source, so that a second load finds them there."""
    return isinstance(source, LargeQuadric) or not isinstance(source, Generator)


def load_own(source: OwnSource, cache: Path) -> Raw:
    """Return the user's own data as kept or read; they are verified when their fingerprint is pinned."""
    if isinstance(source, LoaderSource):
        parse = partial(returned, source)
    else:
        parse = partial(read_files, source.files, source.reading, source.task)
    raw = parsed_once(own_folder(source, cache), source.files, parse)
    split_by = partial(cells_of, source) if isinstance(source, FileSource) and raw.columns else None
    raw = replace(raw, name=source.name, column=split_by)
    if not isinstance(source, LoaderSource) and raw.n_dropped and source.missing != "drop":
        say_once(
            logging.WARNING,
            f"{source.name}: {raw.n_dropped:,} of {raw.n_dropped + len(raw.y):,} rows have no label and "
            "are left out (None, NA, null and ? count as missing, unless `levels` names them as words of the "
            "column)",
        )
    if new := labels_of_test_alone(raw, source):
        say_once(logging.WARNING, f"{source.name}: no training row has the test rows' labels {listed(new)}")
    return raw if source.fingerprint is None else with_pin(raw, source.fingerprint)


def cells_of(source: FileSource, column: int | str, kind: str) -> Any:
    """Return the numbers by which a column splits a file's rows, or weighs those of both files."""
    from kfeat.data.formats.tables import column_by

    numbers, files = [], source.files
    for part in ("train", "test") if kind == "weight" and "test" in files else ("train",):
        with as_data_errors(files[part], "a table"), naming(files[part]):
            labels = files.get(f"{part}_labels")
            numbers.append(column_by(files[part], labels, source.reading, column, kind))
    return np.concatenate(numbers)


def labels_of_test_alone(raw: Raw, source: OwnSource) -> list[str]:
    """Return the classes that only test rows have, unless `levels` declare the words of the target."""
    declared = raw.target in (getattr(source, "levels", None) or {})
    if raw.task != "classification" or "test" not in raw.parts or declared:
        return []
    new = np.setdiff1d(raw.parts["test"].y, raw.parts["train"].y).tolist()
    return [raw.label_names[label] if raw.label_names else str(label) for label in new]


def call_anew(source: LoaderSource, cache: Folder = None) -> None:
    """Call a loader, which may read other data than before, and keep what it returns."""
    announce(source.loader, "`dataset`")
    folder, raw = own_folder(source, cache_folder(cache)), returned(source)
    with locked(folder):
        kept = load_kept(folder, source.files)
        if kept is None or kept.fingerprint != raw.fingerprint:
            parse_and_keep(folder, source.files, lambda: raw)


def returned(source: LoaderSource) -> Raw:
    """Return what a loader returns; raises DataError with file and line if it fails or returns no data."""
    place = source.loader
    try:
        load = place.load()
    except ConfigError as error:  # it cannot be imported
        raise DataError(str(error)) from error
    with code_errors(place, DataError, f"{place.text} failed: "), set_back():
        values = load()
    where, n = place.line_of(), len(values) if isinstance(values, tuple | list) else 0
    if n not in (2, 4):
        got = counted(n, "values") if n else type(values).__name__
        raise DataError(f"{where}: expected (X, y) or (X_train, y_train, X_test, y_test), got {got}")
    names = ("X", "y") if n == 2 else ("X_train", "y_train", "X_test", "y_test")
    with as_data_errors(where, "arrays"), naming(where):
        task = source.task or ("regression" if in_seconds(values[1]) is not values[1] else None)
        labels, words = coded_labels([*map(in_seconds, values[1::2])])
        both = chain.from_iterable(zip(map(numbers_of, values[::2]), labels, strict=True))
        variables = Variables(X=names[0], y=names[1])
        parts = parts_of(dict(zip(names, both, strict=True)), variables, where, strings=True)
        coding = Coding("regression", parts["train"].X.shape[1], label_names=words)
        for part in parts.values():
            check_part(part, where, coding.width)
    return as_raw(source.name, parts, coding, task, {"train": where})


def numbers_of(X: Any) -> Matrix:
    """Return the rows that a loader returns as an array or CSR; raises DataError for a frame with words.

    A list or an array of strings becomes a column of them.
    """
    from scipy.sparse import csr_array, issparse

    if issparse(X):
        return csr_array(X, copy=True)  # it is sorted in place later
    if not hasattr(X, "columns"):
        rows = np.asarray(X)
        strings = rows.ndim == 1 and len(rows) > 0 and all(isinstance(row, str) for row in X)
        if rows.dtype.kind == "m":
            return in_seconds(rows).reshape(rows.shape)
        return rows.astype(str)[:, None] if strings else rows
    for i in range(X.shape[1]):
        if not are_numbers(cells := X.iloc[:, i]):
            raise words_error(cells, "the loader must return numbers")
    if any(are_durations(X.iloc[:, i]) for i in range(X.shape[1])):
        return np.column_stack([as_numbers(X.iloc[:, i]) for i in range(X.shape[1])])
    real = all(dtype.kind != "c" for dtype in X.dtypes)
    return X.to_numpy(np.float64 if real else None, na_value=np.nan)


def coded_labels(labels: Sequence[Any]) -> tuple[list[Any], tuple[str, ...]]:
    """Return the labels of parts, words as positions among those of the training rows, and these words."""
    arrays = [np.asarray(y) for y in labels]
    if arrays[0].dtype.kind not in "OUS":
        return arrays, ()
    import pandas as pd

    columns = [pd.Series(np.atleast_1d(y.squeeze()), name="y") for y in arrays]
    coding = Coding("regression", 0, target="y", label_names=label_words(columns[0], Reading()))
    return [coding.labels(cells.to_frame()) for cells in columns], coding.label_names


def with_pin(raw: Raw, fingerprint: str) -> Raw:
    """Return the data as verified; raises DataError unless they have the fingerprint that a config pins."""
    if raw.fingerprint != fingerprint:
        raise DataError(
            f"{raw.name}: expected the fingerprint {fingerprint}, got {raw.fingerprint}; "
            "the data are not those that were pinned"
        )
    return replace(raw, verified=True)


def load_registered(
    name: str, cache: Path, mirror: str | None, offline: bool = False, progress: Any = None
) -> Raw:
    """Return a registered dataset, checked against its entry; fetched and parsed where that is not yet done.

    Of several forms, the first that is already parsed is used, else the first whose files can be fetched.
    Raises DownloadError when none can, DataError when the arrays are not what the registry says.
    """
    known = entry(name)
    if known.bundled:
        raw = replace(digits(), name=name, verified=True)
        known.check(raw)
        return raw
    places = [(form, form_folder(name, form, cache), form.paths(cache)) for form in known.forms]
    for form, folder, files in places:
        kept = load_kept(folder, files, partial(read_form, form, files, known.task))
        if kept is not None:
            return as_registered(name, form, kept)
    failures = []
    for form, folder, files in places:
        try:
            for file in form.files.values():
                ensure_file(file, cache, mirror, offline, progress)
        except DownloadError as error:
            failures.append(str(error))
            continue
        parse = partial(read_form, form, files, known.task)
        return as_registered(name, form, parsed_once(folder, files, parse))
    stand_ins = [other for other, of in registry().items() if of.stand_in_for == name]
    hint = f"; a stand-in under its own name is {', '.join(stand_ins)}" if stand_ins else ""
    raise DownloadError(f"{name}: " + "; or else: ".join(failures) + hint)


def read_form(form: Form, files: dict[str, Path], task: Task) -> Raw:
    """Return what a form's files hold, or what its recipe makes of them."""
    if form.recipe is None:
        return read_files(files, form.reading, task)
    return RECIPES[form.recipe](read_files(files, form.reading))


def as_registered(name: str, form: Form, raw: Raw) -> Raw:
    """Return the data of a form under their registered name, checked against the dataset's entry.

    Verified means that the fingerprint is pinned and equal, or that every file's content has a pinned hash.
    """
    known = entry(name)
    raw = replace(raw, name=name, verified=known.fingerprint is not None or form.pinned)
    known.check(raw)
    return raw


def form_folder(name: str, form: Form, cache: Path) -> Path:
    """Return where the arrays of one form of a dataset are kept."""
    determined_by = [form.reading.as_set, form.recipe, sorted(form.files)]
    return arrays_folder(cache / name, "arrays", determined_by + ([CODED] if form.reading.table else []))


def own_folder(source: OwnSource, cache: Path) -> Path:
    """Return where the arrays of the user's own files, or of a loader, are kept."""
    if isinstance(source, LoaderSource):
        place = source.loader
        made_by = [str(place.path.resolve()), place.name, place.version, source.task, OWN_READER]
        return arrays_folder(cache / OWN, place.name, made_by)
    read = [source.files, source.reading.as_set, source.task, OWN_READER]
    return arrays_folder(cache / OWN, source.name, read)


def fingerprint(source: Any, cache: Folder = None) -> str | None:
    """Return a source's fingerprint without loading it: pinned, recorded, or None if not yet known."""
    source = validated(Source, source, "dataset")
    if isinstance(source, Generator):
        return generator_fingerprint(source)
    pinned = entry(source).fingerprint if isinstance(source, str) else source.fingerprint
    if pinned is not None:
        return str(pinned)
    folder = cache_folder(cache)
    if isinstance(source, str):
        kept = [(form_folder(source, form, folder), form.paths(folder)) for form in entry(source).forms]
    else:
        kept = [(own_folder(source, folder), source.files)]
    notes = (current_notes(*place) for place in kept)
    return next((str(note["fingerprint"]) for note in notes if note), None)
