"""Small files for tests, and what loading makes of them."""

import io
import multiprocessing
import tarfile
import zipfile

import numpy as np
import yaml
from scipy.io import savemat
from scipy.sparse import issparse

from kfeat.data import Reading, load_raw
from kfeat.data.formats import mat as reader
from kfeat.data.formats.idx import TYPES
from kfeat.errors import DataError
from kfeat.own.new_config import new_config

ARFF = """% a comment
@relation toy
@attribute age numeric
@attribute colour {red, green, blue}
@attribute income {low, high}
@data
30,red,high
40.5,blue,low
"""


def write(folder, content, name="file"):
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def loaded(folder, content, name="toy.csv", **options):
    """Return the Raw of a file with this content."""
    return load_raw({"path": str(write(folder, content, name)), **options}, cache=folder / "cache")


def described(path, target="y", **options):
    """Return the `dataset` of the config that `kfeat new` writes, its text, and the rows."""
    config, reading = path.parent / "c.yaml", Reading(**options)
    text = new_config(path, config, target=target, test=None, task=None, reading=reading)
    dataset = yaml.safe_load(text)["dataset"]
    return dataset, text, load_raw(dataset, cache=path.parent / "cache")


def dense(X):
    return X.toarray() if issparse(X) else X


def npz(**arrays):
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def mat(compressed=False, **arrays):
    buffer = io.BytesIO()
    savemat(buffer, arrays, do_compression=compressed)
    return buffer.getvalue()


def idx(array, code=8):
    head = bytes([0, 0, code, array.ndim]) + np.array(array.shape, ">u4").tobytes()
    return head + array.astype(TYPES[code]).tobytes()


def tgz(members):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def zipped(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as pack:
        for name, content in members.items():
            pack.writestr(name, content)
    return buffer.getvalue()


def in_this_process(stored, names, transposed, path):
    """Decode a .mat file here, where a crash is looked for: a process per file would take too long."""
    try:
        return reader.unpacked(reader.decoded(stored, names, transposed, 1 << 30), names)
    except Exception as error:
        raise DataError(f"{path}: {error}") from None


def in_two_processes(target, *arguments):
    """Call a function of a module in two processes at once."""
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=target, args=arguments) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
