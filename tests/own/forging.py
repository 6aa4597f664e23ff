"""A small model's file, and the same with a content that somebody changed, hashes and all."""

import io
import json
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from kfeat.data.arrays import sha256_of

rng = np.random.default_rng(0)
X = rng.random((60, 4))
y = (X[:, 0] + X[:, 1] > 1).astype(int)
Content = dict[str, Any]
Arrays = dict[str, bytes]
Change = Callable[[Content, Arrays], Any]


def forge(content: bytes, change: Change, path: Path, packed: int = zipfile.ZIP_STORED) -> Path:
    """Write a model's file with a changed content to `path`, every hash as it should be."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    text = json.loads(entries.pop("model.json"))
    arrays = {name.removesuffix(".npy"): array for name, array in entries.items()}
    change(text, arrays)
    text["arrays"] = {name: sha256(array).hexdigest() for name, array in arrays.items()}
    text.pop("sha256")
    with zipfile.ZipFile(path, "w", packed) as archive:
        for name, array in arrays.items():
            archive.writestr(f"{name}.npy", array)
        archive.writestr("model.json", json.dumps({**text, "sha256": sha256_of(text)}))
    return path


def part(content: Content, *keys: str) -> Any:
    """Return what stands at some place of a model's JSON."""
    found = content["model"]
    for key in keys:
        found = found[key]
    return found
