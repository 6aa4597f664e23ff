"""A model in one file: skops writes and reads it, no code in it is run, and it is checked before use.

The file is skops's zip archive, not compressed, with one more entry: `kfeat.json` has the version of the
format, the version of kfeat, and the model's answers to a few invented rows.
"""

import io
import json
import os
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from math import prod
from pathlib import Path
from secrets import token_hex
from types import FunctionType
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning

import kfeat
from kfeat.data import coding, columns, preparation, scaling
from kfeat.data.files import LEAST_LIMIT, MOST_PACKED, check_regular
from kfeat.errors import ModelError
from kfeat.kernels import KERNELS
from kfeat.kernels.operands import canonical
from kfeat.maps import MAPS
from kfeat.maps.truncated_maclaurin import TruncatedSeries
from kfeat.memory import check_memory
from kfeat.own.model import KernelModel
from kfeat.parameters import check_parameters
from kfeat.saying import printable
from kfeat.solvers import SOLVERS
from kfeat.solvers.base import Subproblem, classifies
from kfeat.solvers.libsvm_model import (
    LINEAR,
    POLYNOMIAL,
    PRECOMPUTED,
    RBF,
    GivenKernel,
    NativeKernel,
    SupportVectors,
)

ABOUT, SCHEMA = "kfeat.json", "schema.json"
VERSION = 2  # of the format; version 1 was one of kfeat's own
# Beside numbers, words, arrays and lists, a model may hold the classes and functions of these modules, the
# registered classes, and the classes below. Anything else has to be added here.
MODULES = (coding, columns, preparation, scaling)
CLASSES = (KernelModel, TruncatedSeries, Subproblem, GivenKernel, NativeKernel, SupportVectors)
LIBRARIES = {
    "numpy.dtype",
    "numpy.float64",
    "scipy.sparse._csr.csr_array",
    *(f"sklearn.calibration.{name}" for name in ("_CalibratedClassifier", "_SigmoidCalibration")),
    *(
        f"sklearn.preprocessing._data.{name}"
        for name in ("MinMaxScaler", "PowerTransformer", "StandardScaler")
    ),
    *(f"sklearn.preprocessing._encoders.{name}" for name in ("OneHotEncoder", "OrdinalEncoder")),
    "sklearn.preprocessing._function_transformer.FunctionTransformer",
    "sklearn.compose._column_transformer.ColumnTransformer",
    "sklearn.impute._base.SimpleImputer",
    "sklearn.pipeline.Pipeline",
}
# The loaders of skops that make data. Its other loaders call methods and functions that the file names.
LOADERS = {
    *("DictNode", "ListNode", "TupleNode", "SetNode", "SliceNode", "JsonNode", "ObjectNode", "TypeNode"),
    *("FunctionNode", "DTypeNode", "NdArrayNode", "SparseMatrixNode"),
}
ROWS, NORM = 3, 0.9  # invented rows; some kernels are defined for rows of norm below 1 only
TOLERANCE = 0.01  # of answers: far above rounding on another machine, far below an error


def save_model(model: KernelModel, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file; if that fails, an existing file stays as it was.

    Raises ModelError if the model holds what a file cannot hold, or if the file cannot be written.
    """
    from skops import io as skops  # here, since it imports all of scikit-learn

    if not hasattr(model, "solver_"):
        raise ModelError("expected a model that is fitted, got one that is not: call fit first")
    _check(model, "model")
    about = {"version": VERSION, "kfeat": kfeat.__version__, "answers": _answers(model).tolist()}
    content = io.BytesIO()
    skops.dump(model, content, compression=zipfile.ZIP_STORED)
    with zipfile.ZipFile(content, "a", zipfile.ZIP_STORED) as archive:
        archive.writestr(ABOUT, json.dumps(about))
    with new_file(Path(path), "the model") as file:
        file.write(content.getbuffer())


def load_model(path: str | os.PathLike[str]) -> KernelModel:
    """Return the fitted model in a file that `kfeat fit` or `KernelModel.save` wrote.

    It predicts exactly what the saved model predicts on the same machine. No code in the file is run, and
    only kernels, maps, solvers, codings and scalings are created. Raises ModelError for a file that is
    damaged, forged, not a model, or in another version of the format, and DataError if it does not exist.
    """
    path = Path(path)
    check_regular(path)
    size = path.stat().st_size
    check_memory("the model", 2 * size, "close other programs, or use a larger machine", ModelError)
    try:
        with path.open("rb") as file:
            return _read(file, size)
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror or error})") from None
    # What skops, zipfile and NumPy raise on damaged or forged content is open-ended.
    except Exception as error:
        why = printable(error) or type(error).__name__
        raise ModelError(
            f"{path}: expected a model that kfeat {kfeat.__version__} can use, got another file ({why}); get "
            "it again, train again with `kfeat fit CONFIG --model FILE`, or use the kfeat that wrote it"
        ) from None


def is_model(path: Path) -> bool:
    """Return whether a new model may replace a file: a model, also of an older kfeat, or an empty file."""
    try:
        with zipfile.ZipFile(path) as archive:
            return not {ABOUT, "model.json"}.isdisjoint(archive.namelist())
    except (OSError, zipfile.BadZipFile):
        return path.stat().st_size == 0


def _read(file: IO[bytes], size: int) -> KernelModel:
    """Return the model in a file of `size` bytes; raises any exception for a wrong file."""
    from skops import io as skops

    with zipfile.ZipFile(file) as archive:
        about = _about(archive, size)
    with warnings.catch_warnings():  # about scikit-learn's version: the answers are compared
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        model = skops.load(file, trusted=sorted(_trusted()))
    if not isinstance(model, KernelModel):
        raise ModelError(f"it holds a {type(model).__name__}, not a model")
    _check(model, "model")
    found, before = _answers(model), np.array(about["answers"], np.float64)
    if found.shape != before.shape or not (np.abs(found - before) <= TOLERANCE * np.abs(before).max()).all():
        raise ModelError(f"it predicts otherwise here than where it was written, by kfeat {about['kfeat']}")
    return model


def _about(archive: zipfile.ZipFile, size: int) -> dict[str, Any]:
    """Return the content of kfeat.json in a file of `size` bytes.

    Raises ModelError for another version, for entries that would take too much memory, and for loaders that
    call functions; KeyError for another archive.
    """
    infos = archive.infolist()
    packed = any(one.compress_type != zipfile.ZIP_STORED for one in infos)
    if packed or sum(one.file_size for one in infos) > size:
        raise ModelError("its entries are packed or overlap, which is never so in a model file")
    about: dict[str, Any] = json.loads(archive.read(ABOUT))
    if about["version"] != VERSION:
        raise ModelError(f"it is in version {about['version']} of the format, by kfeat {about['kfeat']}")
    unpacked = sum(_unpacked(archive, one) for one in infos if one.filename not in (ABOUT, SCHEMA))
    if unpacked > max(LEAST_LIMIT, MOST_PACKED * size):
        raise ModelError(f"its arrays unpack to {unpacked:,} bytes, more than those of a model")
    loaders = set()
    json.loads(archive.read(SCHEMA), object_hook=lambda part: loaders.add(part.get("__loader__", "JsonNode")))
    if loaders - LOADERS:
        raise ModelError(f"it asks for {', '.join(sorted(loaders - LOADERS))}, which no model needs")
    return about


def _unpacked(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> int:
    """Return how many bytes an entry unpacks to; raises ModelError where its arrays have other sizes."""
    with archive.open(info) as stream:
        if info.filename.endswith(".npz"):  # a sparse matrix, which SciPy packs
            with zipfile.ZipFile(stream) as inner:
                return sum(_unpacked(inner, one) for one in inner.infolist())
        npy.read_magic(stream)
        shape, _, dtype = npy.read_array_header_1_0(stream)
        if dtype.hasobject or stream.tell() + prod(shape) * dtype.itemsize != info.file_size:
            raise ModelError(f"it has an array of {dtype} {shape} where {info.file_size:,} bytes are kept")
    return info.file_size


@cache
def _trusted() -> frozenset[str]:
    """Return the names of the classes and functions that a model may hold."""
    items = [*CLASSES, *KERNELS.values(), *MAPS.values(), *SOLVERS.values()]
    for module in MODULES:
        items += [one for one in vars(module).values() if getattr(one, "__module__", "") == module.__name__]
    return frozenset([*map(_name, items), *LIBRARIES])


def _name(item: Any) -> str:
    return f"{item.__module__}.{item.__qualname__}"


def _check(value: Any, place: str) -> None:
    """Raise ModelError, naming the place, for objects that no model holds; KfeatErrors for damaged ones."""
    plain = bool | int | float | str | slice | np.number | np.bool_ | np.dtype | None
    if isinstance(value, plain) or (isinstance(value, np.ndarray) and value.dtype.kind in "biufU"):
        return
    parts: Any = ()
    if type(value) in (list, tuple) or (isinstance(value, np.ndarray) and value.dtype == object):
        parts = enumerate(value)
    elif type(value) is dict:
        parts = value.items()
        if len({str(key) for key in value if not isinstance(key, bool | np.bool_)}) < len(value):
            raise ModelError(f"{place}: a model file cannot hold keys that are truth values or look the same")
    elif isinstance(value, csr_array):
        canonical(value)  # raises DataError for indices out of range
    elif _name(type(value)) in _trusted():
        parts = vars(value).items()
    elif not isinstance(value, type | FunctionType) or _name(value) not in _trusted():
        raise ModelError(
            f"{place}: a model file cannot hold an object of {_name(type(value))}; it holds numbers, words, "
            "arrays, and kfeat's kernels, maps and solvers (for random_state give an int)"
        )
    for key, part in parts:
        _check(part, f"{place}.{key}")
    if _name(type(value)) in _trusted():
        _check_object(value, type(value))


def _check_object(value: Any, cls: type) -> None:
    """Raise ModelError or ParameterError where methods are replaced or parts are wrong."""
    if replaced := [key for key in vars(value) if callable(getattr(cls, key, None))]:
        raise ModelError(f"it has a {cls.__name__} with another {replaced[0]} than kfeat's")
    if isinstance(value, BaseEstimator) and cls.__module__.startswith("kfeat."):
        check_parameters(value)
    native = not isinstance(value, NativeKernel) or value.type in (LINEAR, POLYNOMIAL, RBF)
    given = not isinstance(value, GivenKernel) or value.type == PRECOMPUTED
    if not (native and given and (not isinstance(value, SupportVectors) or _match(value))):
        raise ModelError(f"its {cls.__name__} is damaged: the parts do not match each other")


def _match(made: SupportVectors) -> bool:
    """Return whether arrays belong together: LIBSVM does not check, and would read outside of them."""
    m, k = len(made.rows), len(made.order)
    return (
        k != 1
        and sorted(made.order.tolist()) == list(range(k))
        and made.counts.shape == (max(k, 1),)
        and made.counts.dtype.kind == "i"
        and bool((made.counts >= 0).all())
        and int(made.counts.sum()) == m == made.vectors.shape[0]
        and made.coefficients.shape == (max(k - 1, 1), m)
        and made.rho.shape == (max(k * (k - 1) // 2, 1),)
        and made.coefficients.dtype == made.rho.dtype == np.float64
        and made.vectors.ndim == 2
        and made.vectors.dtype.kind == "f"
    )


def _answers(model: KernelModel) -> NDArray[np.float64]:
    """Return the decision values, or a regression's values, of invented rows that are scaled already."""
    first: Any = model.solver_ if model.map_ is None else model.map_
    d, raw = int(first.n_features_in_), csr_array((1, model.preparation_.n_features))
    if model.preparation_.rows(raw).shape[1] != d:
        raise ModelError(f"its map or solver has {d} features, the scaled rows have others")
    X = np.random.default_rng(0).random((ROWS, d)) - 0.5
    X *= NORM / np.linalg.norm(X, axis=1, keepdims=True)
    method = model.solver_.decision_function if classifies(model.solver_) else model.solver_.predict
    blocks = model.blocks(X.astype(model.preparation_.dtype), scaled=True)
    return np.concatenate([method(Z) for Z in blocks]).astype(np.float64)


@contextmanager
def new_file(path: Path, what: str, keep: bool = True) -> Iterator[IO[bytes]]:
    """Open a temporary file, which replaces `path` if the block succeeds and is removed otherwise.

    Raises ModelError, naming `what` is written, if the system refuses.
    """
    place = Path(os.path.realpath(path))
    if place.exists() and not place.is_file():
        raise ModelError(f"{path}: expected the name of a file for {what}, got a folder or a device")
    beside = place.with_name(f".{place.name[:100]}.{token_hex(6)}.part")
    try:
        with beside.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if keep:
            os.replace(beside, place)
    except OSError as error:
        why = f"cannot be written ({error.strerror or error}); free some space, or choose another folder"
        raise ModelError(f"{path}: {what} {why}") from None
    finally:
        with suppress(OSError):
            beside.unlink()


def check_place(path: Path, what: str) -> None:
    """Raise ModelError where `new_file` would: before hours of work, not after them."""
    with new_file(path, what, keep=False):
        pass
