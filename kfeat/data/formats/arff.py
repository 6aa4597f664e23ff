"""ARFF, the format of Weka and OpenML, as a data frame."""

import io
import re
from pathlib import Path
from typing import Any

from kfeat.data.content import open_text
from kfeat.errors import DataError

SPARSE = re.compile(r"^\s*@data\s*(?:%.*\s*)*\{", re.M | re.I)  # the first row is in braces
UNQUOTED = re.compile(r"^[^'\"%\n]+$", re.M)  # a line of ARFF without quoted words


def without_blanks(line: re.Match[str]) -> str:
    """Return a line of ARFF without blanks around its words."""
    return re.sub(r"[ \t]*([{},])[ \t]*", r"\1", line[0]).replace("{", " {")


def read_arff(path: Path) -> Any:
    """Return an ARFF file, the format of Weka and OpenML; `?` is a missing cell."""
    import pandas as pd
    from scipy.io.arff import ArffError, loadarff

    try:
        with open_text(path) as content, io.TextIOWrapper(content, encoding="utf-8") as file:
            text = file.read()
        if SPARSE.search(text):
            raise DataError(
                "sparse ARFF, with rows in braces, cannot be read; save it dense (in Weka, by the filter "
                "SparseToNonSparse), or as svmlight or CSV"
            )
        rows, meta = loadarff(io.StringIO(UNQUOTED.sub(without_blanks, text)))
    except ArffError as error:
        raise DataError(f"cannot be read as arff ({error})") from None
    frame = pd.DataFrame({name: rows[name] for name in meta.names()})
    for name, kind in zip(meta.names(), meta.types(), strict=True):
        if kind == "nominal":
            frame[name] = frame[name].str.decode("utf-8").replace("?", None)
            frame.attrs.setdefault("levels", {})[name] = list(meta[name][1])
        elif kind != "numeric":
            raise DataError(f"column {name}: expected a numeric or nominal attribute, got {kind}")
    return frame
