"""What must be known of a table before it can be read: its delimiter, columns, words and missing values."""

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kfeat.data.columns import is_number
from kfeat.data.files import open_content
from kfeat.data.reading import Reading, format_of
from kfeat.errors import DataError
from kfeat.saying import printable

DELIMITERS = {"csv": ",", "tsv": "\t"}
OTHERS = (";", "\t", ",", "|")
USUAL_TARGETS = ("target", "label", "labels", "class", "y", "outcome", "response")


@dataclass(frozen=True)
class Columns:
    """The columns of a file of delimited text.

    `words` maps a column of words to how many different ones it has, `missing` a column to how many of its
    values are missing. `delimiter` is None where it is the one of the format.
    """

    names: tuple[str, ...]
    header: bool
    n_rows: int
    words: dict[str, int]
    missing: dict[str, int]
    delimiter: str | None

    @property
    def likely_target(self) -> str | None:
        """The one column with a name that targets usually have; None where there is none, or several."""
        found = [name for name in self.names if name.strip().lower() in USUAL_TARGETS]
        return found[0] if len(found) == 1 else None

    def useless(self, target: str | None) -> list[str]:
        """Return the columns that tell a row and nothing else: a written index, words that are all different.

        An index is a first column without a name. Words are such where most rows have one of their own, as
        names of persons are.
        """
        index = [name for name in self.names[:1] if not name.strip() or name.startswith("Unnamed: ")]
        words = [name for name, n in self.words.items() if n > max(20, self.n_rows // 2)]
        return [name for name in dict.fromkeys([*index, *words]) if name != target]


def columns_of(path: Path) -> Columns | None:
    """Return the columns of a CSV or TSV file; None for a format whose files tell their targets themselves.

    Raises DataError where the file cannot be read as delimited text.
    """
    name = format_of(path, Reading())
    if name not in DELIMITERS:
        return None
    delimiter = _delimiter(path, DELIMITERS[name])
    frame = _frame(path, delimiter or DELIMITERS[name])
    header = not all(is_number(one) for one in frame.columns)
    if not header:
        frame = _frame(path, delimiter or DELIMITERS[name], header=None)
    if not len(frame):
        raise DataError(f"{path}: expected lines of data below the header, got none")
    names = [str(one) for one in frame.columns]
    frame.columns = names
    words = {one: int(frame[one].nunique()) for one in names if frame[one].dtype.kind not in "biuf"}
    missing = {one: int(n) for one, n in frame.isna().sum().items() if n}
    return Columns(tuple(names), header, len(frame), words, missing, delimiter)


def _delimiter(path: Path, usual: str) -> str | None:
    """Return the delimiter of the first line where the format's own is not in it; None where it is."""
    with open_content(path) as content:
        line = content.readline(1 << 20).decode("utf-8-sig", "replace")
    if usual in line:
        return None
    return max((one for one in OTHERS if one in line), key=line.count, default=None)


def _frame(path: Path, delimiter: str, header: int | None = 0) -> Any:
    import pandas as pd

    try:
        with open_content(path) as content, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return pd.read_csv(
                content,
                sep=delimiter,
                header=header,
                index_col=False,
                skipinitialspace=True,
                na_values=["?"],
                low_memory=False,
                encoding="utf-8-sig",
            )
    except DataError:
        raise
    except (ValueError, OverflowError) as error:
        raise DataError(f"{path}: cannot be read as delimited text ({printable(error)})") from None
