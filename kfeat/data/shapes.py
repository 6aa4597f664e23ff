"""The shape of a dataset under a protocol, known before its numbers are loaded."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from kfeat.data.cache import cache_folder, current_notes
from kfeat.data.catalogue import present_form
from kfeat.data.generators import Generator, LargeQuadric
from kfeat.data.loading import form_folder, own_folder
from kfeat.data.protocol import Protocol, StepName
from kfeat.data.registry import entry, registry
from kfeat.data.sources import FileSource, Source
from kfeat.data.splits import split_sizes
from kfeat.errors import DataError

FILLS_ZEROS: frozenset[StepName] = frozenset(
    {"minmax", "minmax_symmetric", "zscore", "zscore_numbers", "power"}
)


@dataclass(frozen=True)
class Shape:
    """The rows and columns that a trial sees.

    `stored` is the share of the values that a sparse matrix stores, 1 for a dense one. `classes` has the
    share of the rows that each class has where that is known, in falling order: () for a regression.
    `generated` is how many numbers are drawn in memory where the data are generated, 0 elsewhere.
    """

    n_train: int
    n_test: int
    n_features: int
    stored: float = 1.0
    classes: tuple[float, ...] = ()
    generated: int = 0


def shape_of(source: Source, protocol: Protocol) -> Shape | None:
    """Return the shape of a source under a protocol, or None if it is not known before loading.

    It comes from the registry, the specification of generated data, or the arrays in the cache. Columns that
    the protocol drops as constant count as if they stayed. A split that is not possible has no shape.
    """
    files = _of_files(source)
    if files is None:
        return None
    try:
        n_train, n_test = split_sizes(protocol.split, files.n_train, files.n_test, _name(source))
    except DataError:
        return None  # loading the data, which comes next, reports this
    dense = any(step in FILLS_ZEROS for step in protocol.scale)
    classes = () if isinstance(source, FileSource) else class_shares(_name(source), protocol)
    stored = 1.0 if dense else files.stored
    return replace(files, n_train=n_train, n_test=n_test, stored=stored, classes=classes)


def class_shares(name: str, protocol: Protocol | Mapping[str, Any]) -> tuple[float, ...]:
    """Return the share of the rows of each class of a registered dataset, falling; () where unknown.

    Two classes made by a protocol are assumed to be equally large.
    """
    binarise = protocol.binarise if isinstance(protocol, Protocol) else protocol.get("binarise", "none")
    if binarise != "none":
        return (0.5, 0.5)
    counts = registry()[name].labels.get("train", {}) if name in registry() else {}
    return tuple(sorted((count / sum(counts.values()) for count in counts.values()), reverse=True))


def _name(source: Any) -> str:
    return str(source if isinstance(source, str) else source.name)


def _of_files(source: Source) -> Shape | None:
    """Return the shape of a source as its files have it."""
    if isinstance(source, Generator):
        drawn = 0 if isinstance(source, LargeQuadric) else source.n * source.d  # the large one is on the disk
        return Shape(source.n, 0, source.d, generated=drawn)
    if isinstance(source, FileSource):
        return _kept(own_folder(source, cache_folder()), source.files)
    name = _name(source)
    folder, known = cache_folder(), entry(name)
    form = present_form(name, known, folder)
    found = _kept(form_folder(name, form, folder), form.paths(folder)) if form else None
    if found is not None:
        return found
    (n_train, d), (n_test, _) = known.shape["train"], known.shape.get("test", (0, 0))
    return Shape(n_train, n_test, d)


def _kept(folder: Path, files: Mapping[str, Path]) -> Shape | None:
    """Return what the notes of kept arrays say, or None where there are none for the current files."""
    notes = current_notes(folder, files)
    if notes is None:
        return None
    layout: dict[str, dict[str, Any]] = notes["layout"]
    rows = {part: each["shape"][0] for part, each in layout.items()}
    n, d = sum(rows.values()), layout["train"]["shape"][1]
    values = sum(_stored(folder, part) if each["sparse"] else rows[part] * d for part, each in layout.items())
    return Shape(rows["train"], rows.get("test", 0), d, stored=values / max(n * d, 1))


def _stored(folder: Path, part: str) -> int:
    """Return how many values a part's CSR arrays store; 0 where they cannot be read."""
    try:
        return int(np.load(folder / f"{part}.X.data.npy", mmap_mode="r").size)
    except (OSError, ValueError):
        return 0
