"""MATLAB files up to version 7: named matrices, dense or sparse."""

import io
from collections.abc import Mapping
from pathlib import Path

from kfeat.data.content import open_content
from kfeat.data.formats.arrays_by_name import parts_of
from kfeat.data.models import Part
from kfeat.data.reading import Reading, Variables
from kfeat.errors import DataError

NUMERIC = {"double", "single", "sparse", "logical"} | {
    f"{u}int{bits}" for u in ("", "u") for bits in (8, 16, 32, 64)
}


def read(files: Mapping[str, Path], reading: Reading) -> tuple[dict[str, Part], tuple[str, ...]]:
    """Return the parts in a .mat file; cells, structs and objects are refused before anything is decoded."""
    from scipy.io import loadmat, whosmat

    path, names = files["train"], reading.variables or Variables()
    if len(files) > 1:
        raise DataError(f"{path}: a .mat file holds the test rows too; name their arrays in `variables`")
    with open_content(path) as content:
        stored = io.BytesIO(content.read())
    wanted = set(names.model_dump().values())
    try:
        kinds = {name: kind for name, _, kind in whosmat(stored) if name in wanted}
        for name, kind in kinds.items():
            if kind not in NUMERIC:
                raise DataError(f"{path}: expected {name} to be a numeric matrix, got a {kind} array")
        stored.seek(0)
        arrays = loadmat(stored, variable_names=sorted(kinds)) if kinds else {}
    except NotImplementedError:
        raise DataError(f"{path}: expected MATLAB version 7 or earlier, got 7.3; save it with -v7") from None
    arrays = {name: arrays[name] for name in kinds}
    if reading.samples_in_columns:
        arrays = {name: array.T for name, array in arrays.items()}
    return parts_of(arrays, names, str(path)), ()
