"""Datasets: registry, download, formats, scaling and splits."""

from kfeat.data.catalogue import Status, clean, describe, fetch, list_datasets, path, verify
from kfeat.data.dataset import Dataset, Raw
from kfeat.data.generators import GeneratorSource
from kfeat.data.loading import fingerprint, load, load_raw
from kfeat.data.protocol import Protocol
from kfeat.data.sources import FileSource, PinnedSource, Source

__all__ = [
    "Dataset",
    "FileSource",
    "GeneratorSource",
    "PinnedSource",
    "Protocol",
    "Raw",
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
    "verify",
]
