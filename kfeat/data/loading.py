"""Loading a dataset from its source under a protocol."""

import logging
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from kfeat.data.access import Access
from kfeat.data.base import validated
from kfeat.data.cache import Folder
from kfeat.data.dataset import Dataset, Raw
from kfeat.data.prepare import prepare
from kfeat.data.protocol import Protocol
from kfeat.data.sources import Source
from kfeat.text import say_once


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
    access = Access(mirror, cache, offline, progress)
    return load_under(called_anew(source, access), rules, access, random_state, on_disk=on_disk)


def load_under(
    source: Source,
    protocol: Protocol,
    access: Access,
    random_state: int,
    *,
    on_disk: bool = False,
    timed: AbstractContextManager[None] | None = None,
) -> Dataset:
    """Return the data of a source under a protocol; `random_state` and `on_disk` are as for `load`.

    A learnt metric is learnt within `timed`.
    """
    raw = source.load(access)
    if not raw.verified and not source.own:
        say_once(
            logging.WARNING,
            f"{raw.name} is unverified: no published hash is known; "
            f"the fingerprint to pin is {raw.fingerprint}",
        )
    data = prepare(raw, protocol, random_state, access.folder if on_disk else None, timed)
    return replace(data, learn=raw.learn)


def load_raw(
    source: Any, *, mirror: Folder = None, cache: Folder = None, offline: bool = False, progress: Any = None
) -> Raw:
    """Return a dataset as its files have it, before any protocol; arrays may be mapped read-only."""
    access = Access(mirror, cache, offline, progress)
    return called_anew(source, access).load(access)


def called_anew(source: Any, access: Access) -> Source:
    """Return the source that is meant; a loader is called, but for one of a config, which its plan calls."""
    meant: Source = validated(Source, source, "dataset")
    if meant is not source:
        meant.renew(access)
    return meant


def fingerprint(source: Any, cache: Folder = None) -> str | None:
    """Return a source's fingerprint without loading it: pinned, recorded, or None if not yet known."""
    meant: Source = validated(Source, source, "dataset")
    return meant.known_fingerprint(Access(cache=cache))
