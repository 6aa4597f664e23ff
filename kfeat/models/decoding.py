"""From JSON and arrays back to objects; every value is checked, and only known classes are made."""

from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import skops.io
from numpy.typing import NDArray
from scipy.sparse import csr_array

from kfeat.errors import ModelError
from kfeat.kernels.operands import canonical
from kfeat.models.known import known_classes
from kfeat.models.sound import check_sound
from kfeat.parameters import check_parameters

FLOATS = {"inf": float("inf"), "-inf": float("-inf"), "nan": float("nan")}
CODING = ["kfeat.data.coding.Coding", "kfeat.data.coding.date_numbers", "numpy.dtype"]  # what one is made of
CODES = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")
DTYPES = {np.dtype(code).str: np.dtype(code) for code in CODES}


class Decoder:
    """Turns JSON into objects, with the arrays of a file by name."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._arrays = arrays

    def __call__(self, value: Any) -> Any:
        """Return the value that JSON stands for; raises ModelError for what no model file has."""
        if isinstance(value, list):
            return [self(item) for item in value]
        if not isinstance(value, dict):
            return value
        kind = value.get("is")
        makers: dict[Any, Callable[[Any], Any]] = {
            "array": self._array,
            "coding": lambda of: skops.io.loads(b64decode(of["value"]), trusted=CODING),
            "csr_array": self._csr,
            "dict": lambda of: {self(key): self(item) for key, item in of["items"]},
            "dtype": lambda of: DTYPES[of["value"]],
            "float": lambda of: FLOATS[of["value"]],
            "names": lambda of: np.array([str(item) for item in of["items"]], dtype=object),
            "scalar": lambda of: DTYPES[of["dtype"]].type(self(of["value"])),
            "tuple": lambda of: tuple(self(item) for item in of["items"]),
        }
        if kind in makers:
            return makers[kind](value)
        if kind not in known_classes():
            raise ModelError(f"it has an object of the class {kind!r}, which this kfeat does not know")
        return self._object(known_classes()[kind], value)

    def _array(self, value: Any) -> NDArray[Any]:
        return self._arrays[value["name"]]

    def _csr(self, value: Any) -> Any:
        parts = tuple(self(value[name]) for name in ("data", "indices", "indptr"))
        return canonical(csr_array(parts, shape=tuple(value["shape"])))

    def _object(self, cls: Any, value: Any) -> Any:
        parameters = {key: self(item) for key, item in value["parameters"].items()}
        learnt = {key: self(item) for key, item in value["learnt"].items()}
        made = cls(**parameters)
        if is_dataclass(cls):
            if missing := {field.name for field in fields(cls)} - parameters.keys() or learnt:
                raise ModelError(f"it has a damaged {value['is']}: {', '.join(sorted(missing))}")
        elif cls.__module__.startswith("kfeat."):
            check_parameters(made)
        for key, item in learnt.items():
            if not key.isidentifier() or key.startswith("__") or hasattr(cls, key):
                raise ModelError(f"it has a {cls.__name__} with the attribute {key!r}, which none has")
            setattr(made, key, item)
        check_sound(made)
        return made
