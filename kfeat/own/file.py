"""A model in one file: skops writes and reads it, and no code in it is run.

The file is skops's zip archive, not compressed; the facts about the training have the version of the format.
"""

import os
import zipfile
from functools import cache
from pathlib import Path
from typing import IO, Any

import numpy as np

import kfeat
from kfeat.data import preparation
from kfeat.data.cache import check_regular
from kfeat.data.coding import Coding, date_numbers
from kfeat.data.preparation import Preparation
from kfeat.errors import ModelError
from kfeat.files import new_file
from kfeat.kernels import KERNELS
from kfeat.maps import MAPS
from kfeat.maps.random_maclaurin import TruncatedSeries
from kfeat.own.model import KernelModel
from kfeat.solvers import SOLVERS
from kfeat.solvers.base import Subproblem
from kfeat.solvers.libsvm_model import GivenKernel, NativeKernel, SupportVectors
from kfeat.text import printable

VERSION = 4  # of the format, raised when older models would predict something else
# Beside numbers, words, arrays and scikit-learn's estimators, a model may hold the registered kernels, maps
# and solvers, and these. Anything else has to be added here.
OTHERS = (
    *(KernelModel, Coding, date_numbers, Preparation, TruncatedSeries),
    *(preparation.DivideBy, preparation.UnitRows, preparation.GlobalNorm, preparation.OfNumbers),
    *(Subproblem, GivenKernel, NativeKernel, SupportVectors),
)
OF_LIBRARIES = ("numpy.dtype", "scipy.sparse._csr.csr_array")


def save_model(model: KernelModel, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file; if that fails, an existing file stays as it was.

    Raises ModelError if the model holds what a file cannot hold, or if the file cannot be written.
    """
    from skops import io as skops  # here, since it imports all of scikit-learn

    if not hasattr(model, "solver_"):
        raise ModelError("expected a model that is fitted, got one that is not: call fit first")
    model.about_["format"] = VERSION
    content = skops.dumps(model, compression=zipfile.ZIP_STORED)
    if foreign := set(skops.get_untrusted_types(data=content)) - _trusted():
        raise ModelError(
            f"a model file cannot hold an object of {', '.join(sorted(foreign))}; it holds numbers, words, "
            "arrays, and kfeat's kernels, maps and solvers"
        )
    with new_file(Path(path), "the model") as file:
        file.write(content)


def load_model(path: str | os.PathLike[str]) -> KernelModel:
    """Return the fitted model in a file that `kfeat fit` or `KernelModel.save` wrote.

    It predicts exactly what the saved model predicts on the same machine. No code in the file is run, and
    only objects of kfeat and scikit-learn are created. Raises ModelError for a file that is damaged, not a
    model, or in another version of the format, and DataError if it does not exist.
    """
    path = Path(path)
    check_regular(path)
    try:
        with path.open("rb") as file:
            return _read(file)
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror or error})") from None
    # What skops, zipfile and NumPy raise on damaged content is open-ended.
    except Exception as error:
        why = printable(error) or type(error).__name__
        raise ModelError(
            f"{path}: expected a model that kfeat {kfeat.__version__} can use, got another file ({why}); get "
            "it again, train again with `kfeat fit CONFIG --model FILE`, or use the kfeat that wrote it"
        ) from None


def is_model(path: Path) -> bool:
    """Return whether a new model may replace a file: a model or an empty file."""
    try:
        with zipfile.ZipFile(path) as archive:
            return "schema.json" in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return path.stat().st_size == 0


def _read(file: IO[bytes]) -> KernelModel:
    """Return the model in a file; raises any exception for a wrong file."""
    from skops import io as skops

    with zipfile.ZipFile(file) as archive:
        if any(one.compress_type for one in archive.infolist()):
            raise ModelError("its entries are packed, which is never so in a model file")
    model = skops.load(file, trusted=sorted(_trusted()))
    if not isinstance(model, KernelModel):
        raise ModelError(f"it holds a {type(model).__name__}, not a model")
    if (version := model.about_.get("format")) != VERSION:
        raise ModelError(f"it is in version {version} of the format, not {VERSION}")
    # A model whose parts are missing or do not match fails here, and not when it is used.
    model.outputs(np.zeros((1, model.preparation_.n_features)), ["predict"], coded=True)
    return model


@cache
def _trusted() -> frozenset[str]:
    """Return the names of the classes and functions that a model may hold."""
    items: list[Any] = [*OTHERS, *KERNELS.values(), *MAPS.values(), *SOLVERS.values()]
    return frozenset([*(f"{item.__module__}.{item.__qualname__}" for item in items), *OF_LIBRARIES])
