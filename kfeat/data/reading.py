"""How a file is to be read: its format and the format's options, the same for the registry and user files."""

from pathlib import Path
from typing import Annotated, Literal, get_args

from annotated_types import Ge

from kfeat.data.models import Model
from kfeat.errors import DataError

Format = Literal["svmlight", "idx", "csv", "tsv", "arff", "mat", "npz"]
ENDINGS = {
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".csv": "csv",
    ".tsv": "tsv",
    ".arff": "arff",
    ".mat": "mat",
    ".npz": "npz",
    ".idx": "idx",
}


class Reading(Model):
    """A file format and its options; `format` is told by the file's ending where it is left out."""

    format: Format | None = None
    n_features: Annotated[int, Ge(1)] | None = None


def format_of(path: Path, reading: Reading) -> str:
    """Return the format told, or that of the file's ending; raises DataError when neither says."""
    if reading.format is not None:
        return reading.format
    endings = [ending for ending in path.suffixes if ending not in (".gz", ".bz2", ".xz")]
    if endings and endings[-1] in ENDINGS:
        return ENDINGS[endings[-1]]
    raise DataError(
        f"{path}: its ending does not tell the format; give `format`: {', '.join(get_args(Format))}"
    )
