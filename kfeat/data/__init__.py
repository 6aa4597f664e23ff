"""Datasets: registry, download, formats, scaling and splits."""

from kfeat.data.generators import GeneratorSource
from kfeat.data.loading import fingerprint, load, load_raw
from kfeat.data.models import Dataset
from kfeat.data.protocol import Protocol
from kfeat.data.source import FileSource, Source

__all__ = [
    "Dataset",
    "FileSource",
    "GeneratorSource",
    "Protocol",
    "Source",
    "fingerprint",
    "load",
    "load_raw",
]
