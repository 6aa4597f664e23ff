"""A model in one file: skops writes and reads it, nothing in it is run, and all of it is checked before use.

The file is skops's zip archive with entries that are stored as they are, not packed, and with one more entry:
`kfeat.json` has the version of the format, that of kfeat, and the model's answers to a few invented rows.
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
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning

import kfeat
from kfeat.data import coding, columns, preparation, scaling
from kfeat.data.files import check_regular, most_content
from kfeat.errors import ModelError
from kfeat.kernels import KERNELS
from kfeat.kernels.operands import canonical
from kfeat.maps import MAPS
from kfeat.maps.truncated_maclaurin import TruncatedSeries
from kfeat.memory import check_memory
from kfeat.own.model import KernelModel
from kfeat.parameters import check_parameters
from kfeat.solvers import SOLVERS
from kfeat.solvers.base import Subproblem, classifies
from kfeat.solvers.libsvm.kernel import LINEAR, POLYNOMIAL, PRECOMPUTED, RBF, GivenKernel, NativeKernel
from kfeat.solvers.libsvm.model import SupportVectors

ABOUT, SCHEMA, OLD = "kfeat.json", "schema.json", "model.json"
VERSION = 2  # raised when an older kfeat could not read the file; version 1 was a format of kfeat's own
GET_AGAIN = "get the file again, or train the model again with `kfeat fit`"
# What a model may hold beside numbers, words, arrays and lists: classes of these registries and modules (and
# their functions), and these classes. Whatever else gets into a model has to be entered here.
REGISTRIES = (KERNELS, MAPS, SOLVERS)
MODULES = {module.__name__: module for module in (coding, columns, preparation, scaling)}
CLASSES = (KernelModel, TruncatedSeries, Subproblem, GivenKernel, NativeKernel, SupportVectors)
OTHERS = {
    "numpy.dtype",
    "scipy.sparse._csr.csr_array",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.preprocessing._data.MinMaxScaler",
    "sklearn.preprocessing._data.StandardScaler",
}
# Those of skops's loaders that make data. Others call methods, constructors and functions of the file's choice.
LOADERS = {
    *("DictNode", "ListNode", "TupleNode", "SetNode", "SliceNode", "JsonNode", "ObjectNode", "TypeNode"),
    *("FunctionNode", "NdArrayNode", "SparseMatrixNode", "DTypeNode", None),
}
ROWS, NORM = 3, 0.9  # invented rows; some kernels are defined for rows of norm below 1 only
TOLERANCE = 0.01  # of the answers: far above another machine's rounding, far below what another meaning changes


def save_model(model: KernelModel, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file, which is whole or, where that fails, as it was before.

    Raises ModelError where the model holds what a file cannot hold, or the file cannot be written.
    """
    from skops import io as skops  # imports all of scikit-learn, which takes longer than training a small model

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

    It predicts as the one that was saved, bit for bit on the same machine. Nothing in the file is run, and
    only kernels, maps, solvers, codings and scalings are made. Raises ModelError for a file that is damaged,
    cut short, forged, no model, or in another version of the format, and DataError where there is none.
    """
    path = Path(path)
    check_regular(path)
    try:
        with path.open("rb") as file:
            return _read(file, path)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror or error}); {GET_AGAIN}") from None
    # What skops, zipfile and NumPy raise on damaged or forged content is open-ended.
    except Exception as error:
        why = " ".join(str(error).split()) or type(error).__name__
        raise ModelError(f"{path}: it is damaged, or was not written by kfeat ({why}); {GET_AGAIN}") from None


def is_model(path: Path) -> bool:
    """Tell whether a file is a model's, whole or damaged, or empty: what a new model may replace."""
    if path.stat().st_size == 0:
        return True
    try:
        with zipfile.ZipFile(path) as archive:
            return not {ABOUT, OLD}.isdisjoint(archive.namelist())
    except (OSError, zipfile.BadZipFile):
        return False


def _read(file: IO[bytes], path: Path) -> KernelModel:
    try:
        archive = zipfile.ZipFile(file)
    except zipfile.BadZipFile:
        file.seek(0)
        cut = file.read(4) == b"PK\3\4"
        what = "it is cut short or damaged" if cut else "expected a model of kfeat, got another file"
        raise ModelError(f"{what}; {GET_AGAIN}") from None
    with archive:
        about = _about(archive)
        _check_entries(archive, path)
    from skops import io as skops

    with warnings.catch_warnings():  # another version of scikit-learn is no harm where the answers are the same
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        model = skops.load(file, trusted=sorted(_trusted()))
    if not isinstance(model, KernelModel):
        raise ModelError(f"it holds a {type(model).__name__}, not a model; {GET_AGAIN}")
    _check(model, "model")
    found, before = _answers(model), np.array(about["answers"], np.float64)
    allowed = TOLERANCE * np.abs(before).max()
    if found.shape != before.shape or not (np.abs(found - before) <= allowed).all():
        raise ModelError(
            f"it predicts otherwise here than where it was written, by kfeat {about['kfeat']}: use that "
            "version, or train the model again with `kfeat fit`"
        )
    return model


def _about(archive: zipfile.ZipFile) -> dict[str, Any]:
    """Return what kfeat.json says; raises ModelError where there is none, or one of another version."""
    names = archive.namelist()
    if ABOUT not in names and OLD not in names:
        raise ModelError(f"expected a model of kfeat, got another archive, without {ABOUT}; {GET_AGAIN}")
    about: dict[str, Any] = {"version": 1, "kfeat": "0.1"}
    if ABOUT in names:
        about = json.loads(archive.read(ABOUT))
    if about["version"] == VERSION:
        return about
    newer = about["version"] > VERSION
    raise ModelError(
        f"it was written by kfeat {about['kfeat']}, in version {about['version']} of the format; kfeat "
        f"{kfeat.__version__} reads version {VERSION}: "
        + ("update kfeat" if newer else "train the model again with `kfeat fit CONFIG --model FILE`")
    )


def _check_entries(archive: zipfile.ZipFile, path: Path) -> None:
    """Raise ModelError where entries would take more memory than they may, or make what is no data."""
    infos, size = archive.infolist(), path.stat().st_size
    stored = all(one.compress_type == zipfile.ZIP_STORED and one.file_size == one.compress_size for one in infos)
    if not stored or len(set(archive.namelist())) < len(infos) or sum(one.file_size for one in infos) > size:
        raise ModelError(
            "its entries are packed, overlap or have one name, as those of a model never do; it is not read"
        )
    unpacked = size + sum(_check_arrays(archive, one) for one in infos if one.filename not in (ABOUT, SCHEMA))
    if unpacked > most_content(path):
        raise ModelError(f"its arrays unpack to {unpacked:,} bytes, which no model does; it is not read")
    check_memory("the model", 2 * unpacked, "close other programs, or use a larger machine", ModelError)
    loaders = set()
    json.loads(archive.read(SCHEMA), object_hook=lambda part: loaders.add(part.get("__loader__")))
    if loaders - LOADERS:
        raise ModelError(f"it has {sorted(loaders - LOADERS)}, as no model has; it is not read")


def _check_arrays(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> int:
    """Return what an entry takes once it is unpacked; raises ModelError for an array of another size."""
    with archive.open(info) as stream:
        if info.filename.endswith(".npz"):  # a sparse matrix, which SciPy packs
            with zipfile.ZipFile(stream) as inner:
                return sum(_check_arrays(inner, one) for one in inner.infolist())
        npy.read_magic(stream)
        shape, _, dtype = npy.read_array_header_1_0(stream)
        if dtype.hasobject or stream.tell() + prod(shape) * dtype.itemsize != info.file_size:
            raise ModelError(f"it has an array of {dtype} {shape} where {info.file_size:,} bytes are kept")
        return info.file_size


@cache
def _trusted() -> frozenset[str]:
    """Return the names of the classes and functions that a model may hold."""
    items = [*CLASSES, *(cls for registry in REGISTRIES for cls in registry.values())]
    for name, module in MODULES.items():
        items += [one for one in vars(module).values() if getattr(one, "__module__", "") == name]
    return frozenset([*map(_name, items), *OTHERS])


def _name(item: Any) -> str:
    return f"{item.__module__}.{item.__qualname__}"


def _check(value: Any, place: str) -> None:
    """Raise ModelError, naming its place, for what no model holds, and for what is damaged."""
    numbers = isinstance(value, np.ndarray) and value.dtype.kind in "biufU"
    if value is None or numbers or isinstance(value, bool | int | float | str | np.number | np.bool_):
        return
    parts: Any = ()
    if isinstance(value, csr_array):
        canonical(value)  # raises DataError for indices out of range
    elif type(value) in (list, tuple) or isinstance(value, np.ndarray) and value.dtype == object:
        parts = enumerate(value)
    elif type(value) is dict:
        parts = value.items()
        if len({str(key) for key in value if not isinstance(key, bool | np.bool_)}) < len(value):
            raise ModelError(f"{place}: a model file cannot hold keys that are truth values or look the same")
    elif _name(type(value)) in _trusted():
        parts = vars(value).items()
    elif not isinstance(value, slice | np.dtype) and getattr(value, "__module__", "") not in MODULES:
        raise ModelError(
            f"{place}: a model file cannot hold an object of {_name(type(value))}; it holds numbers, words, "
            "arrays, and kfeat's kernels, maps and solvers (for random_state give an int)"
        )
    for key, part in parts:
        _check(part, f"{place}.{key}")
    if _name(type(value)) in _trusted():
        _check_object(value)


def _check_object(value: Any) -> None:
    """Raise ModelError or ParameterError for an object whose methods or parameters are not what they may be."""
    cls = type(value)
    if replaced := [key for key in vars(value) if callable(getattr(cls, key, None))]:
        raise ModelError(f"it has a {cls.__name__} with another {replaced[0]} than kfeat's; {GET_AGAIN}")
    if isinstance(value, BaseEstimator) and cls.__module__.startswith("kfeat."):
        check_parameters(value)
    if not _is_sound(value):
        raise ModelError(f"its {cls.__name__} is damaged: the parts do not match each other; {GET_AGAIN}")


def _is_sound(value: Any) -> bool:
    """Tell whether LIBSVM, which takes an object on trust, would read within its arrays."""
    if isinstance(value, NativeKernel):
        return value.type in (LINEAR, POLYNOMIAL, RBF) and type(value.degree) is int
    if isinstance(value, GivenKernel):
        return value.type == PRECOMPUTED
    if not isinstance(value, SupportVectors):
        return True
    m, k = len(value.rows), len(value.order)
    n_pairs, n_lines = (k * (k - 1) // 2, k - 1) if k else (1, 1)
    return (
        k != 1
        and sorted(value.order.tolist()) == list(range(k))
        and value.counts.shape == (max(k, 1),)
        and value.counts.dtype.kind == "i"
        and bool((value.counts >= 0).all())
        and int(value.counts.sum()) == m == value.vectors.shape[0]
        and value.coefficients.shape == (n_lines, m)
        and value.rho.shape == (n_pairs,)
        and value.coefficients.dtype == value.rho.dtype == np.float64
        and value.vectors.ndim == 2
        and value.vectors.dtype.kind == "f"
    )


def _answers(model: KernelModel) -> NDArray[np.float64]:
    """Return the decision values, or a regression's values, of invented rows that are scaled already."""
    first: Any = model.solver_ if model.map_ is None else model.map_
    d, raw = int(first.n_features_in_), csr_array((1, model.preparation_.n_features))
    if model.preparation_.rows(raw).shape[1] != d:
        raise ModelError(f"its map or solver has {d} features, the scaled rows have others; {GET_AGAIN}")
    X = np.random.default_rng(0).random((ROWS, d)) - 0.5
    X *= NORM / np.linalg.norm(X, axis=1, keepdims=True)
    method = model.solver_.decision_function if classifies(model.solver_) else model.solver_.predict
    rows = X.astype(model.preparation_.dtype)
    return np.concatenate([method(Z) for Z in model.blocks(rows, scaled=True)]).astype(np.float64)


@contextmanager
def new_file(path: Path, what: str, keep: bool = True) -> Iterator[IO[bytes]]:
    """Open a file beside `path` that takes its place when the block ends well, and vanishes otherwise.

    Raises ModelError, which names `what` was to be written, where the system refuses.
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
        why = error.strerror or error
        raise ModelError(
            f"{path}: {what} cannot be written ({why}); make room, or choose another folder"
        ) from None
    finally:
        with suppress(OSError):
            beside.unlink()


def check_place(path: Path, what: str) -> None:
    """Raise ModelError where `new_file` would: before hours of work, not after them."""
    with new_file(path, what, keep=False):
        pass
