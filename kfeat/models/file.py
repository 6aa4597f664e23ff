"""A model in one file: a zip archive of arrays (.npy) and one JSON text, with hashes; nothing in it is run.

`model.json` has the format's name and version, the version of kfeat, the model as `encoding` writes it, and
the SHA-256 of every array; and its own. Entries are stored as they are, not packed, so that reading takes no
more memory than the file has bytes.
"""

import json
import os
import zipfile
from pathlib import Path
from typing import IO, Any

import kfeat
from kfeat.data.arrays import sha256_of
from kfeat.data.files import check_regular
from kfeat.errors import KfeatError, ModelError
from kfeat.memory import check_memory
from kfeat.models.decoding import Decoder
from kfeat.models.encoding import Encoder
from kfeat.models.estimator import KernelModel
from kfeat.models.npy import read_npy, write_npy
from kfeat.models.probe import answers, check_answers
from kfeat.models.writing import new_file

FORMAT = "kfeat model"
VERSION = 1  # raised when an older kfeat could not read the file
JSON = "model.json"
GET_AGAIN = "get the file again, or train the model again with `kfeat fit`"
EPOCH = (1980, 1, 1, 0, 0, 0)  # of every entry, so that equal models are equal files
NOT_SO = (
    LookupError, TypeError, ValueError, AttributeError, ArithmeticError, NotImplementedError, RecursionError,
    RuntimeError, MemoryError, EOFError, zipfile.BadZipFile, KfeatError,
)  # fmt: skip  # what damaged or invented content makes the readers below raise


def save_model(model: KernelModel, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file, which is whole or, where that fails, as it was before.

    Raises ModelError where the model holds what a file cannot hold, or the file cannot be written.
    """
    if not hasattr(model, "solver_"):
        raise ModelError("expected a model that is fitted, got one that is not: call fit first")
    encoder = Encoder()
    content: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "kfeat": kfeat.__version__,
        "model": encoder(model),
        "answers": answers(model).tolist(),
        "arrays": {},
    }
    with new_file(Path(path), "the model") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in encoder.arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy", EPOCH), "w", force_zip64=True) as entry:
                content["arrays"][name] = write_npy(entry, array)
        text = json.dumps({**content, "sha256": sha256_of(content)}, allow_nan=False)
        archive.writestr(zipfile.ZipInfo(JSON, EPOCH), text)


def load_model(path: str | os.PathLike[str]) -> KernelModel:
    """Return the fitted model in a file that `kfeat fit` or `KernelModel.save` wrote.

    It predicts as the one that was saved, bit for bit on the same machine. Nothing in the file is run, and
    only kernels, maps, solvers and scalings of kfeat are made. Raises ModelError for a file that is damaged,
    cut short, changed, no model, or in a newer version of the format, and DataError where there is none.
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
    except NOT_SO as error:
        why = " ".join(str(error).split()) or type(error).__name__
        raise ModelError(f"{path}: it is damaged, its parts do not match ({why}); {GET_AGAIN}") from None


def is_model(path: Path) -> bool:
    """Tell whether a file is a model's, whole or damaged, or empty: what a new model may replace."""
    if path.stat().st_size == 0:
        return True
    try:
        with zipfile.ZipFile(path) as archive:
            return JSON in archive.namelist()
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
        entries = _entries(archive, path.stat().st_size)
        content = _checked(entries, archive)
        if {f"{name}.npy" for name in content["arrays"]} != entries.keys() - {JSON}:
            raise ModelError(f"its arrays are not those of its {JSON}; {GET_AGAIN}")
        arrays = {}
        for name, expected in content["arrays"].items():
            with archive.open(entries[f"{name}.npy"]) as entry:
                arrays[name], found = read_npy(entry, entries[f"{name}.npy"].file_size)
            if found != expected:
                raise ModelError(f"its array {name} is not the one that was written; {GET_AGAIN}")
    model = Decoder(arrays)(content["model"])
    if not isinstance(model, KernelModel):
        raise ModelError(f"it holds a {type(model).__name__}, not a model; {GET_AGAIN}")
    check_answers(model, content["answers"], content["kfeat"])
    return model


def _entries(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """Return the entries by name, once it is known that they hold no more than the file of `size` bytes."""
    infos = archive.infolist()
    entries = {info.filename: info for info in infos}
    stored = all(
        info.compress_type == zipfile.ZIP_STORED and info.file_size == info.compress_size for info in infos
    )
    if len(entries) < len(infos) or not stored or sum(info.file_size for info in infos) > size:
        raise ModelError(
            "its entries are packed, overlap or have one name, as those of a model never do; it is not read"
        )
    if JSON not in entries:
        raise ModelError(f"expected a model of kfeat, got another archive, without {JSON}; {GET_AGAIN}")
    check_memory("the model", size, "close other programs, or use a larger machine", ModelError)
    return entries


def _checked(entries: dict[str, zipfile.ZipInfo], archive: zipfile.ZipFile) -> dict[str, Any]:
    """Return what model.json says, if it is one of this format and version, with the hash that it names."""
    try:
        content = json.loads(archive.read(entries[JSON]))
    except (ValueError, RecursionError):
        raise ModelError(f"its {JSON} is damaged; {GET_AGAIN}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ModelError(f"expected a model of kfeat, got another archive; {GET_AGAIN}")
    version = content.get("version")
    if isinstance(version, int) and version > VERSION:
        raise ModelError(
            f"it was written by kfeat {content.get('kfeat')}, in version {version} of the format; "
            f"kfeat {kfeat.__version__} reads version {VERSION}: update kfeat"
        )
    if version != VERSION or content.pop("sha256", None) != sha256_of(content):
        raise ModelError(f"its {JSON} is not the one that was written; {GET_AGAIN}")
    return content
