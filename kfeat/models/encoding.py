"""Objects as JSON and arrays: numbers, words, lists, arrays, and objects of the known classes, no others.

JSON's own types stand for themselves; everything else is a mapping with `is`, which says what it is:

- `{"is": "array", "name": "array3"}`: an array of the file, in its own order of memory;
- `{"is": "model" or another known class, "parameters": {...}, "learnt": {...}}`: an estimator, whose
  constructor takes the parameters, and what it learnt when it was fitted; or a record and its fields;
- and a few others, below.
"""

from base64 import b64encode
from dataclasses import fields, is_dataclass
from math import isfinite
from typing import Any

import numpy as np
import skops.io
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator

from kfeat.data.coding import Coding
from kfeat.errors import ModelError
from kfeat.models.known import known_names

ARRAY_KINDS = "biufU"  # truth values, integers, floats, words of one length; objects would need pickle


class Encoder:
    """Turns objects into JSON; `arrays` has the arrays met, each once, by the names that they are given."""

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}
        self._names: dict[int, str] = {}

    def __call__(self, value: Any, place: str = "model") -> Any:
        """Return a value as JSON; raises ModelError, naming its place, for one that a file cannot hold."""
        if value is None or isinstance(value, bool | str):
            return value
        if type(value) is int:
            return value
        if type(value) is float:
            return value if isfinite(value) else {"is": "float", "value": repr(value)}
        if isinstance(value, np.ndarray | np.generic):
            return self._of_numpy(value, place)
        if isinstance(value, np.dtype):
            return {"is": "dtype", "value": value.str}
        if type(value) is csr_array:
            parts = {name: self(getattr(value, name), place) for name in ("data", "indices", "indptr")}
            return {"is": "csr_array", "shape": [int(n) for n in value.shape], **parts}
        if isinstance(value, Coding):
            return {"is": "coding", "value": b64encode(skops.io.dumps(value)).decode()}
        return self._of_items(value, place)

    def _of_numpy(self, value: Any, place: str) -> Any:
        if value.dtype == object and value.ndim == 1 and all(type(item) is str for item in value):
            return {"is": "names", "items": value.tolist()}
        if value.dtype.kind not in ARRAY_KINDS or value.dtype.itemsize == 0:
            raise ModelError(f"{place}: a model file cannot hold an array of {value.dtype}")
        if isinstance(value, np.generic):
            return {"is": "scalar", "dtype": value.dtype.str, "value": self(value.item(), place)}
        name = self._names.setdefault(id(value), f"array{len(self._names)}")
        self.arrays[name] = value
        return {"is": "array", "name": name}

    def _of_items(self, value: Any, place: str) -> Any:
        if type(value) is list:
            return [self(item, f"{place}[{i}]") for i, item in enumerate(value)]
        if type(value) is tuple:
            return {"is": "tuple", "items": [self(item, f"{place}[{i}]") for i, item in enumerate(value)]}
        if type(value) is dict:
            items = [[self(key, place), self(item, f"{place}[{key!r}]")] for key, item in value.items()]
            return {"is": "dict", "items": items}
        name = known_names().get(type(value))
        if name is None:
            kind = f"{type(value).__module__}.{type(value).__qualname__}"
            raise ModelError(
                f"{place}: a model file cannot hold an object of {kind}; it holds numbers, words, arrays, "
                "and kfeat's kernels, maps and solvers (for random_state give an int)"
            )
        parameters, learnt = parts_of(value)
        return {
            "is": name,
            "parameters": {key: self(item, f"{place}.{key}") for key, item in parameters.items()},
            "learnt": {key: self(item, f"{place}.{key}") for key, item in learnt.items()},
        }


def parts_of(value: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the constructor of an estimator or a record takes, and what it learnt since."""
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}, {}
    assert isinstance(value, BaseEstimator)
    parameters = value.get_params(deep=False)
    return parameters, {key: item for key, item in vars(value).items() if key not in parameters}
