"""Datasets: registry, download, formats, scaling and splits."""

from kfeat.data.access import Access
from kfeat.data.catalogue import Status, clean, describe, fetch, list_datasets, path, verify
from kfeat.data.coding import Coding
from kfeat.data.dataset import Dataset, Raw
from kfeat.data.formats import Rows, read_rows
from kfeat.data.loading import fingerprint, load, load_raw
from kfeat.data.protocol import Protocol
from kfeat.data.reading import Reading
from kfeat.data.sources import FileSource, LoaderSource, PinnedSource, RegisteredSource, Source
from kfeat.data.sources.generators import GeneratorSource

__all__ = [
    "Access",
    "Coding",
    "Dataset",
    "FileSource",
    "GeneratorSource",
    "LoaderSource",
    "PinnedSource",
    "Protocol",
    "Raw",
    "Reading",
    "RegisteredSource",
    "Rows",
    "Source",
    "Status",
    "clean",
    "describe",
    "fetch",
    "fingerprint",
    "list_datasets",
    "load",
    "load_raw",
    "path",
    "read_rows",
    "verify",
]
