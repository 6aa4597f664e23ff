"""From a source to a dataset: fetched, parsed once, held against its fingerprint, under a protocol."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from kfeat.data.formats import read_files
from kfeat.data.generators import generate, generator_fingerprint
from kfeat.data.models import Dataset, Raw
from kfeat.data.parsed import arrays_folder, kept, known_fingerprint
from kfeat.data.places import OWN, Folder, cache_folder, mirror_place
from kfeat.data.prepare import prepare
from kfeat.data.protocol import Protocol
from kfeat.data.registered import load_entry, recorded_fingerprint
from kfeat.data.source import FileSource, PinnedSource, Source, validated
from kfeat.errors import DataError
from kfeat.saying import say_once


def load(
    source: Any,
    protocol: Protocol | Mapping[str, Any] | None = None,
    *,
    random_state: int = 0,
    mirror: Folder = None,
    cache: Folder = None,
    offline: bool = False,
    progress: Any = None,
) -> Dataset:
    """Return a dataset under a protocol, downloading and parsing it where that has not been done yet.

    `source` is a registered name, a FileSource, PinnedSource or generator specification, or the mapping of
    one; the protocol may be a mapping too. `random_state` draws what the protocol leaves to each repeat.
    `mirror` (else KFEAT_MIRROR) is tried before upstream; `cache` (else KFEAT_CACHE) keeps files and arrays;
    `offline` forbids the network; `progress` is a `rich.progress.Progress` for the downloads. Safe to call
    from several processes at once. Raises ConfigError, DownloadError or DataError.
    """
    rules: Protocol = validated(Protocol, protocol or {}, "protocol")
    raw = load_raw(source, mirror=mirror, cache=cache, offline=offline, progress=progress)
    if not raw.verified:
        own = isinstance(validated(Source, source, "dataset"), FileSource)
        say_once(
            logging.INFO if own else logging.WARNING,
            f"{raw.name} is unverified: no published hash is known; "
            f"the fingerprint to pin is {raw.fingerprint}",
        )
    return prepare(raw, rules, random_state)


def load_raw(
    source: Any, *, mirror: Folder = None, cache: Folder = None, offline: bool = False, progress: Any = None
) -> Raw:
    """Return a dataset as its files have it, before any protocol; arrays may be mapped read-only."""
    source = validated(Source, source, "dataset")
    folder, place = cache_folder(cache), mirror_place(mirror)
    if isinstance(source, str):
        return load_entry(source, folder, place, offline, progress)
    if isinstance(source, PinnedSource):
        return pinned(load_entry(source.name, folder, place, offline, progress), source.fingerprint)
    if isinstance(source, FileSource):
        return load_files(source, folder)
    return Raw(source.name, "classification", generate(source), generator_fingerprint(source), verified=True)


def load_files(source: FileSource, cache: Path) -> Raw:
    """Return the user's own files; they are verified when their fingerprint is pinned."""
    files = source.files
    data = kept(own_folder(source, cache), files, lambda: read_files(files, source.reading, source.task))
    raw = Raw(source.name, data.task, data.parts, data.fingerprint, False, data.label_names)
    return raw if source.fingerprint is None else pinned(raw, source.fingerprint)


def pinned(raw: Raw, fingerprint: str) -> Raw:
    """Return the data as verified; raises DataError unless it has the fingerprint pinned by the config."""
    if raw.fingerprint != fingerprint:
        raise DataError(
            f"{raw.name}: expected the fingerprint {fingerprint}, got {raw.fingerprint}; "
            "the data are not those that were pinned"
        )
    return replace(raw, verified=True)


def own_folder(source: FileSource, cache: Path) -> Path:
    """Return where the arrays of the user's own files are kept."""
    return arrays_folder(cache / OWN, source.name, [source.files, source.reading, source.task])


def fingerprint(source: Any, cache: Folder = None) -> str | None:
    """Return a source's fingerprint without loading it: pinned, recorded, or None if not yet known."""
    source = validated(Source, source, "dataset")
    if isinstance(source, str):
        return recorded_fingerprint(source, cache_folder(cache))
    if isinstance(source, PinnedSource):
        return source.fingerprint
    if isinstance(source, FileSource):
        if source.fingerprint is not None:
            return source.fingerprint
        return known_fingerprint(own_folder(source, cache_folder(cache)), source.files)
    return generator_fingerprint(source)
