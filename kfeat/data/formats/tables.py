"""Tables of named columns (csv, tsv, arff, parquet) become a matrix, labels, and the coding of both."""

import codecs
import csv
import io
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfeat.data.coding import (
    FILL_IN,
    PLAIN,
    UNNAMED,
    Coding,
    are_durations,
    are_numbers,
    are_truths,
    as_dates,
    as_numbers,
    as_words,
    check_cells,
    finite_numbers,
    holds,
    kind_of,
    label_words,
    learn_coding,
    listed,
    no_numbers,
    spelt,
    words_error,
    words_in,
)
from kfeat.data.content import check_regular, most_content, naming, open_text
from kfeat.data.dataset import Contents
from kfeat.data.formats import cut
from kfeat.data.matrix import Part
from kfeat.data.reading import PACKED, MissingCode, Reading, format_of, repeated
from kfeat.errors import DataError
from kfeat.parameters import did_you_mean
from kfeat.text import counted
from kfeat.weights import IN_RANGE, out_of_range

# The words for a missing cell: `?` and those of pandas, whose own list depends on its version.
MISSING = frozenset(
    {
        *("", "?", "NA", "N/A", "n/a", "<NA>", "#NA", "#N/A", "#N/A N/A", "NULL", "null", "None"),
        *("NaN", "nan", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
    }
)
DELIMITERS = {";": "';'", "\t": '"\\t"', "|": "'|'", ",": "','", " ": "whitespace"}  # as YAML writes them
LOOKED_AT = 20  # lines in which a delimiter is looked for


def read_delimited(path: Path, reading: Reading, coding: Coding | None = None) -> Any:
    """Return one file as a data frame, NaN where a cell is missing; raises DataError if it is not a table."""
    text = DelimitedText(path, reading, coding)
    with open_text(path) as content, text.in_sentences():
        frame = text.named(text.parsed(content))
    if coding is None and (whole := text.whole_numbers(frame)) and text.has_codes():
        text.keep_codes(frame, whole)
    if len(text.names) == 1 and (hint := text.hint()):
        raise DataError(f"expected several columns, got one in every line{hint}")
    return frame


def read_labels(path: Path) -> Any:
    """Return the labels of a file with one per line."""
    with naming(path):
        return read_delimited(path, Reading(format="csv", delimiter=",", columns=["labels"]))["labels"]


def delimited_blocks(path: Path, reading: Reading, coding: Coding, rows: int) -> Iterator[Any]:
    """Yield one file as data frames of at most `rows` rows, with one in memory at a time."""
    text = DelimitedText(path, reading, coding)
    with text.in_sentences():
        if len(text.names) == 1 and text.hint():
            raise DataError(f"expected '{text.separator}' between the columns, as in training")
    with open_text(path) as content:
        with text.in_sentences():
            reader = text.parsed(content, chunksize=rows)
        while True:
            with text.in_sentences():
                frame = next(reader, None)
                if frame is None:
                    return
                frame = text.named(frame)
            yield frame


def likely_delimiter(path: Path, reading: Reading) -> str | None:
    """Return what splits each of the first lines into the same number of cells; None for the format's own."""
    text = DelimitedText(path, reading)
    own = text.separator
    likely = next((delimiter for delimiter in (own, *DELIMITERS) if text.width(delimiter) > 1), own)
    return None if likely == own else "whitespace" if likely == " " else likely


@dataclass(frozen=True)
class DelimitedText:
    """A file of delimited text and how it is read; with a coding, it is read like the training rows."""

    path: Path
    reading: Reading
    coding: Coding | None = None

    @property
    def separator(self) -> str:
        """The delimiter given, or that of the format; `whitespace` and a blank mean any run of blanks."""
        given = self.reading.delimiter
        if given is not None:
            return " " if given == "whitespace" else given
        if self.named_separator is not None:
            return self.named_separator
        return "\t" if format_of(self.path, self.reading) == "tsv" else ","

    @cached_property
    def named_separator(self) -> str | None:
        """The delimiter in a first line such as `sep=;`, which Excel reads, or None without one."""
        with open_text(self.path) as content:
            line = content.readline().decode(self.encoding, errors="ignore")  # of half a sign of UTF-16
        named = re.fullmatch(r'"?sep=(.)"?[\r\n]*', line)
        return named[1] if named else None

    @property
    def encoding(self) -> str:
        """The encoding given, or UTF-8 with or without a byte order mark."""
        return self.reading.encoding or "utf-8-sig"

    @property
    def header(self) -> bool:
        """Whether the first line names the columns."""
        return self.reading.columns is None if self.reading.header is None else self.reading.header

    @cached_property
    def names(self) -> list[str]:
        """The names of the columns: those of the first line, those given, or their numbers.

        Without names in the file, the target and the dropped columns of a coding may be missing. Raises
        DataError where the number of columns fits neither the rows with the target nor those without.
        """
        with open_text(self.path) as content:
            first = self._read(content, nrows=1, dtype=str, na_filter=False).iloc[0].tolist()
        columns, coding = self.reading.columns, self.coding
        if self.header and columns is None:
            return [name.strip() or f"{UNNAMED}{i}" for i, name in enumerate(first)]
        if coding is None or not coding.names:
            return columns or [str(number) for number in range(len(first))]
        n_columns = coding.width + len(coding.dropped) + (coding.target is not None)
        everything = columns or [str(number) for number in range(n_columns)]
        without = [name for name in everything if name != coding.target]
        for names in (everything, without, coding.names):
            if len(names) == len(first):
                return names
        raise DataError(
            f"expected rows of {counted(len(everything), 'columns')} as in training, or {len(without)} "
            f"without the target, got {len(first)}"
        )

    def parsed(self, content: Any, **options: Any) -> Any:
        """Return the frame that pandas parses, with numbers as names of columns; known words stay text.

        A word for a missing cell is an ordinary word in a column whose `levels` contain it. So is a number
        that another column spells in another way.
        """
        levels, coding = self.reading.levels or {}, self.coding
        words = {*levels, *(coding.words if coding else ())}
        for option in (self.reading.decimal, self.reading.thousands):
            words |= set(option) if isinstance(option, dict) else set()
        if coding and coding.label_names and not {"True", "False"}.issuperset(coding.label_names):
            words.add(str(coding.target))
        return self._read(
            content,
            names=range(len(self.names)),
            dtype={i: "str" for i, name in enumerate(self.names) if name in words},
            na_values=dict(enumerate(map(self.gaps, self.names))),
            **options,
        )

    def gaps(self, name: str) -> set[str]:
        """Return the words for a missing cell in a column."""
        levels = (self.reading.levels or {}).get(name, ())
        return {*MISSING.difference(levels), *map(str, self.reading.codes(name))}

    def _read(self, content: Any, names: Any = None, **options: Any) -> Any:
        import pandas as pd

        # Before version 3.1, pandas returns the float64 nearest to the text only on request.
        old = tuple(int(part) for part in pd.__version__.split(".")[:2]) < (3, 1)
        precision: dict[str, Any] = {"float_precision": "round_trip"} if old else {}
        return pd.read_csv(
            content,
            sep=r"\s+" if self.separator == " " else self.separator,
            header=0 if self.header and names is not None else None,
            skiprows=int(self.named_separator is not None),
            names=names,
            index_col=False,
            skipinitialspace=True,
            low_memory=False,
            keep_default_na=False,
            encoding=self.encoding,
            decimal="," if self.reading.decimal == "," or self.reading.thousands == "." else ".",
            **precision,
            **options,
        )

    @contextmanager
    def in_sentences(self) -> Iterator[None]:
        """Turn errors and warnings of pandas into DataError, naming a line with a wrong number of cells."""
        import pandas as pd

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                yield
        except UnicodeError as error:
            raise self.undecoded(error) from None
        except DataError:
            raise
        except pd.errors.EmptyDataError:
            raise DataError("expected lines of data, got an empty file") from None
        except (ValueError, OverflowError, Warning) as error:
            self.check_lengths()
            raise DataError(f"cannot be read as delimited text ({error})") from error

    def named(self, frame: Any) -> Any:
        """Return the frame with its names; raises DataError for no rows, short lines, or a header of numbers.

        A first line with all names of a coding counts as a header, even if it looks like data.
        """
        if not len(frame):
            raise DataError("expected lines of data below the header, got none")
        if frame.iloc[:, -1].isna().any():  # as pandas fills a short line
            self.check_lengths()
        frame.columns = self.names
        several = repeated(self.names)
        for name, cells in frame.items():
            if not are_numbers(cells) and name not in several:
                words = stripped(cells, self.gaps(name))
                if (words.dropna() != cells[words.notna()]).any():
                    remark(frame, "Blanks around the words are left out", name)
                if self.coding is None and words.isna().sum() > cells.isna().sum():
                    words = as_column(words, words)
                frame[name] = words
        if not several:
            frame = as_set(frame, self.reading, self.coding)
        if not self.header or self.reading.columns is not None:
            return frame
        known = self.coding.names if self.coding else []
        named = bool(known) and set(known) <= set(self.names)
        if self.reading.header is None and not named and looks_like_data(frame):
            raise NoHeaderError(
                "its first line looks like data, not like names; set `header` to true or false"
            )
        if several:
            raise DataError(
                f"expected each name once in its first line, got more than one {listed(several)}; name all "
                "columns with `columns: [...]` and `header: true`"
            )
        return frame

    def has_codes(self) -> bool:
        """Return whether some cell begins with a zero and a digit, or has more digits than a double keeps."""
        code = re.compile(rf'(?:^|{re.escape(self.separator)})[ "]*(?:0\d|[-+]?\d{{16}})', re.M)
        with open_text(self.path) as content, io.TextIOWrapper(content, self.encoding) as text:
            return any(code.search("".join(lines)) for lines in iter(lambda: text.readlines(1 << 20), []))

    def whole_numbers(self, frame: Any) -> dict[str, int]:
        """Return the columns of whole numbers, with their places in the file."""
        names = [name for name in frame.columns if are_numbers(frame[name]) and not are_truths(frame[name])]
        with np.errstate(invalid="ignore"):  # of infinite cells
            whole = [name for name in names if not (as_numbers(frame[name]) % 1 > 0).any()]
        return {name: self.names.index(name) for name in whole}

    def keep_codes(self, frame: Any, whole: dict[str, int]) -> None:
        """Put back the text of whole numbers with leading zeros, and of those that no double tells apart."""
        with open_text(self.path) as content:
            gaps = {i: self.gaps(name) for name, i in whole.items()}
            text = self._read(
                content, range(len(self.names)), dtype="str", usecols=[*whole.values()], na_values=gaps
            )
        for name, i in whole.items():
            cells = text[i].str.strip()
            lost = cells.str.fullmatch(r"[+-]?\d{16,}", na=False).any() and (
                cells.nunique() > len(np.unique(as_numbers(frame[name].dropna())))
            )
            if lost or cells.str.fullmatch(r"0\d+", na=False).any():
                frame[name] = cells
                remark(frame, "Leading zeros and all digits are kept, as words", name)

    def undecoded(self, error: UnicodeError) -> DataError:
        """Return the error for text in another encoding than the one given."""
        with open_text(self.path) as content:
            wide = content.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        advice = f"set `encoding: {'utf-16' if wide else 'latin-1'}` or save it again as UTF-8"
        return DataError(f"expected {self.reading.encoding or 'UTF-8'} text ({error}); {advice}")

    def check_lengths(self) -> None:
        """Raise DataError for the first line that has more or fewer cells than there are columns.

        pandas does not report lines that are too short, and not all that are too long.
        """
        n = len(self.names)
        for line, cells in islice(self.records(self.separator), int(self.header), None):
            if len(cells) != n:
                comment = self.header and self.names[0].startswith(("#", "|", "%"))
                why = "; the first line is no header: remove it" if comment else self.hint()
                raise DataError(f"line {line}: expected {counted(n, 'columns')}, got {len(cells):,}{why}")

    def hint(self) -> str:
        """Return a hint at another delimiter, where the file has one column and none is given, or nothing."""
        if {self.reading.delimiter, self.named_separator} != {None} or len(self.names) > 1:
            return ""
        for delimiter, written in DELIMITERS.items():
            if (width := self.width(delimiter)) > 1:
                return f"; set `delimiter: {written}`, which splits each line into {width}"
        return ""

    def width(self, separator: str) -> int:
        """Return the number of cells in each of the first lines, or 0 where the lines differ."""
        widths = {len(cells) for _, cells in islice(self.records(separator), LOOKED_AT)}
        return widths.pop() if len(widths) == 1 else 0

    def records(self, separator: str) -> Iterator[tuple[int, list[str]]]:
        """Yield the number and cells of each line that is not empty."""
        with open_text(self.path) as content, io.TextIOWrapper(content, self.encoding, newline="") as text:
            lines = (" ".join(line.split()) for line in text) if separator == " " else text
            try:
                start = len(list(islice(lines, int(self.named_separator is not None))))
                reader = csv.reader(lines, delimiter=separator, skipinitialspace=True)
                for cells in reader:
                    if any(cells) or len(cells) > 1:
                        yield start + reader.line_num, cells
            except UnicodeError as error:
                raise self.undecoded(error) from None
            except (csv.Error, TypeError) as error:
                raise DataError(f"expected text delimited by '{separator}' ({error})") from None


def remark(frame: Any, what: str, name: str) -> None:
    """Note in the frame how a column was read."""
    frame.attrs.setdefault("remarks", {}).setdefault(what, []).append(name)


def stripped(cells: Any, gaps: Iterable[str]) -> Any:
    """Return cells without blanks around words; words for a missing cell are NaN."""
    words = cells.map(lambda cell: cell.strip() if isinstance(cell, str) else cell)
    return words.mask(words.isin(set(gaps)))


def as_set(frame: Any, reading: Reading, coding: Coding | None = None) -> Any:
    """Return a frame with the numbers and the missing cells that the options of the reading declare.

    A coding knows which columns are numbers: there, another spelling raises DataError.
    """
    for name, column in frame.items():
        cells, spelling = without_codes(column, reading.codes(name)), reading.spelling(name)
        if spelling != PLAIN and name not in (reading.levels or {}) and not are_numbers(cells):
            numbers = spelt(cells, *spelling)
            labels = coding is not None and name == coding.target and not coding.label_names
            if coding is not None and (labels or coding.kinds.get(name) == "number"):
                words = numbers.map(lambda cell: isinstance(cell, str))
                check_cells(words, cells, f"a number such as {example(*spelling)}", int(cells.index[0]))
            cells = without_codes(numbers if are_numbers(numbers) else cells, reading.codes(name))
        if cells is not column:  # `frame[name]` is a new object each time, and setting a column is slow
            frame[name] = cells
    return frame


def example(decimal: str, thousands: str | None) -> str:
    """Return a number in a spelling."""
    return f"1{thousands or ''}250{decimal}5"


def without_codes(cells: Any, codes: Sequence[MissingCode]) -> Any:
    """Return a column that is NaN where it has codes of missing cells, which may be words or numbers."""
    import pandas as pd

    if not codes:
        return cells
    values = as_numbers(pd.Series(codes, dtype=object))
    found = np.isin(as_numbers(cells), values[~np.isnan(values)])
    if not are_numbers(cells):
        found |= as_words(cells).isin([*map(str, codes)]).to_numpy()
    return as_column(cells.mask(found), cells.mask(found)) if found.any() else cells


def as_column(numbers: Any, words: Any) -> Any:
    """Return a column of numbers if all cells that are not missing spell some, the words otherwise."""
    import pandas as pd

    values = as_numbers(numbers)
    return (
        words
        if no_numbers(numbers).any() or np.isnan(values).all()
        else pd.Series(values, numbers.index, name=numbers.name)
    )


class NoHeaderError(DataError):
    """A first line that looks like data."""


def looks_like_data(frame: Any) -> bool:
    """Return whether the names of a table's columns, its first line, look like a row of data.

    A word above numbers is a name. Else columns of few words tell: most names are words of their own columns,
    or none is. Where there are none, numbers are data, unless they count or step evenly, as names do.
    """
    columns = [cells for name, cells in frame.items() if name not in MISSING and not nameless(name)]
    numeric = [cells for cells in columns if are_numbers(cells) and not are_truths(cells)]
    above = numbers_of(numeric)
    if np.isnan(above).any() or (nameless(frame.columns[0]) and counts(frame.iloc[:, 0])):
        return False
    words = [cells for cells in columns if not are_numbers(cells) or are_truths(cells)]
    votes = [str(cells.name).lower() in few for cells in words if (few := few_words(cells))]
    if 2 * sum(votes) > len(votes):
        return True
    if not len(above) or (votes and not any(votes) and not repeated(frame.columns)):
        return False
    return not are_headings(above, numeric)


def named_by_numbers(frame: Any) -> bool:
    """Return whether a table's columns of numbers all have numbers as names."""
    numeric = [cells for name, cells in frame.items() if are_numbers(cells) and not nameless(name)]
    return bool(numeric) and not np.isnan(numbers_of(numeric)).any()


def nameless(name: str) -> bool:
    """Return whether a column has no name of its own."""
    return name.startswith(UNNAMED)


def numbers_of(columns: Sequence[Any]) -> NDArray[np.float64]:
    """Return the names of columns as numbers, NaN where one is a word."""
    import pandas as pd

    return as_numbers(pd.Series([str(cells.name) for cells in columns], dtype=object))


def counts(cells: Any) -> bool:
    """Return whether cells number the rows, from 0 or 1."""
    values = as_numbers(cells)
    return bool(np.array_equal(values, values[0] + np.arange(len(values)))) and values[0] in (0, 1)


def few_words(cells: Any) -> set[str]:
    """Return the words of a column in lower case, none where they are too many to expect its name there."""
    words = words_in(cells)
    return {word.lower() for word in words} if 2 * len(words) <= cells.count() else set()


def are_headings(above: NDArray[np.float64], columns: Sequence[Any]) -> bool:
    """Return whether the numbers above columns of numbers count, are years or, if many, step evenly."""
    steps = np.diff(above)
    if not len(steps) or not steps[0] or not np.allclose(steps, steps[0]):
        return False
    counted = steps[0] == 1 and (above[0] == 0 or (above[0] == 1 and len(above) > 2))
    years = bool(np.isin(above, np.arange(1900, 2101)).all())
    own = all(np.isin(name, as_numbers(cells)) for name, cells in zip(above, columns, strict=True))
    return len(above) > 4 or ((counted or years) and not own)


MISSING_VALUE = (
    "a missing value (empty, ?, NA, None or the like); set `missing` to drop, mean, most_frequent or word, "
    "or fill them in"
)


def read(files: Mapping[str, Path], reading: Reading) -> Contents:
    """Return the parts of tables, whose labels are the target column or in files of their own.

    The coding is learnt from the training rows; test rows are read like any later rows.
    """
    path = files["train"]
    with naming(path):
        frame = read_frame(path, reading)
        target, dropped = roles(list(frame.columns), reading)
        reading = reading.model_copy(
            update={"levels": frame.attrs.get("levels", {}) | (reading.levels or {})}
        )
        rows = {"train": with_labels(frame, target, files.get("train_labels"))}
        if reading.n_train is not None:
            for name in rows["train"][0].columns.drop(dropped):
                kind_of(frame[name], reading)  # raises where test rows have words among numbers
            X, y = (cut({"train": side}, reading.n_train, path) for side in rows["train"])
            rows = {part: (X[part], y[part]) for part in X}
        used = {"train": used_rows(*rows["train"], reading, dropped)}
        X, y = used["train"]
        coding = learn_coding(
            X.drop(columns=dropped), reading, task="regression", target=str(y.name),
            label_names=label_words(y, reading), dropped=tuple(dropped),
        )  # fmt: skip
    test = files.get("test", path)
    with naming(test):
        if "test" in files:
            frame = read_frame(test, reading, coding)
            rows["test"] = with_labels(frame, target, files.get("test_labels"))
        if "test" in rows:
            used["test"] = used_rows(*rows["test"], reading, dropped)
    parts = {}
    for part, (X, y) in used.items():
        with naming(files.get(part, path)):
            parts[part] = Part(coding.matrix(X), coding.labels(y.to_frame()))
    coding.n_dropped = sum(len(rows[part][1]) - len(y) for part, (_, y) in used.items())
    coding.target = target
    return Contents(parts, coding, "regression" if are_durations(used["train"][1]) else None)


def column_by(
    path: Path, labels: Path | None, reading: Reading, column: int | str, kind: str
) -> NDArray[Any]:
    """Return the group's number, the time or the weight of each used row, by a column that may be dropped."""
    frame = read_frame(path, reading)
    target, dropped = roles(list(frame.columns), reading)
    used, _ = used_rows(*with_labels(frame, target, labels), reading, dropped)
    if (name := column_called(column, list(frame.columns), kind)) == target:
        raise DataError(f"{kind}: expected another column than the target {target}")
    return numbers_by(used[name], kind)


def numbers_by(cells: Any, kind: str) -> NDArray[Any]:
    """Return the numbers of groups, the times or the weights in the cells of a column.

    Raises DataError for a missing cell, a single group, words as times, and weights below 0 or all 0.
    """
    check_cells(cells.isna(), cells, f"a {kind} in every row", got="an empty cell", advice=FILL_IN)
    if kind == "group":
        groups, names = cells.factorize()
        if len(names) < 2:
            raise DataError(f"column {cells.name}: expected two groups or more, got one, {names[0]}")
        return np.asarray(groups)
    if kind == "weight":
        weights = finite_numbers(cells, 0)
        check_cells(weights < 0, cells, "a weight of 0 or more")
        check_cells(out_of_range(weights), cells, IN_RANGE)
        if not weights.any():
            raise DataError(f"column {cells.name}: expected a weight above 0, got 0 in every row")
        return weights
    if holds(cells) not in ("numbers", "dates"):
        raise words_error(cells, "a time is a number, or a date such as 2020-01-31")
    times = as_numbers(cells) if are_numbers(cells) else as_dates(cells).astype("datetime64[us]").to_numpy()
    check_cells(np.isnat(times) if times.dtype.kind == "M" else np.isnan(times), cells, "a date or a number")
    return times.astype(np.float64)


def roles(columns: Sequence[str], reading: Reading) -> tuple[str | None, list[str]]:
    """Return the target, None where none is named, and the columns to leave out.

    Raises DataError for columns that do not exist.
    """
    target = None if reading.target is None else column_called(reading.target, columns, "a target")
    dropped = [column_called(column, columns, "`drop`") for column in reading.drop or []]
    if target in dropped:
        raise DataError("expected the target to be kept, got it in `drop`")
    for option in ("levels", "missing_values", "decimal", "thousands"):
        given = getattr(reading, option)
        for name in given if isinstance(given, dict) else ():
            if name != "labels" or target is not None:
                column_called(name, columns, f"`{option}`")
    return target, dropped


def column_called(given: int | str, columns: Sequence[str], option: str) -> str:
    """Return the name of the column given by name, or by number from 0 (-1: the last)."""
    if given not in columns and re.fullmatch(r"-?\d+", str(given)):
        given = int(given)
    if isinstance(given, int):
        if not -len(columns) <= given < len(columns):
            raise DataError(f"expected {option} below {len(columns)}, its columns, got {given}")
        return columns[given]
    if given not in columns:
        near = did_you_mean(given, list(columns))
        raise DataError(f"{option}: no column '{given}'{near}; it has the columns {listed(columns)}")
    return given


def with_labels(frame: Any, target: str | None, beside: Path | None) -> tuple[Any, Any]:
    """Return the rows of one file and their labels, from a column of the file or from a file of labels."""
    columns = f"the columns {listed(list(frame.columns))}"
    if target is not None and beside is not None:
        raise DataError("expected `target` or a file of labels, got both")
    if target is not None:
        if target not in frame:
            raise DataError(f"expected the labels in a column {target}, got {columns}")
        return frame.drop(columns=target), frame[target]
    if beside is None:
        raise DataError(
            f"expected `target`, the column with the labels, or a file of labels; it has {columns}"
        )
    labels = read_labels(beside)
    if len(labels) != len(frame):
        n, got = counted(len(frame), "rows"), counted(len(labels), "labels")
        raise DataError(f"expected a label for each row, got {n} and {got}")
    return frame, labels


def used_rows(frame: Any, labels: Any, reading: Reading, dropped: Sequence[str]) -> tuple[Any, Any]:
    """Return the rows that are used: those with a label, and with `missing: drop` without a missing cell.

    Raises DataError naming rows where cells or labels are missing and `missing` is not set.
    """
    missing = frame.drop(columns=dropped, errors="ignore").isna()
    lacking, unlabelled = missing.any(axis=1).to_numpy(), labels.isna().to_numpy()
    if not lacking.any() and not unlabelled.any():
        return frame, labels
    if reading.missing is None:
        cells = frame[missing.any().idxmax()] if lacking.any() else labels
        check_cells(cells.isna(), cells, "a number or word in every cell", got=MISSING_VALUE)
    keep = ~(lacking | unlabelled) if reading.missing == "drop" else ~unlabelled
    if not keep.any():
        what = "with a label" if unlabelled.all() else "without missing cells"
        raise DataError(f"expected rows {what}, got none")
    return frame[keep].reset_index(drop=True), labels[keep].reset_index(drop=True)


def read_frame(path: Path, reading: Reading, coding: Coding | None = None) -> Any:
    """Return the data frame in one file, missing cells as pandas has them.

    `attrs` may have the `levels` that the file declares, and `remarks`: how columns were read.

    With a coding, its columns of words are read as text, even if they look like numbers.
    """
    read_one = {"arff": read_arff, "parquet": read_parquet}.get(format_of(path, reading))
    return (
        read_delimited(path, reading, coding) if read_one is None else as_set(read_one(path), reading, coding)
    )


def blocks(path: Path, reading: Reading, coding: Coding, rows: int) -> Iterator[tuple[Any, None]]:
    """Yield one file as data frames of at most `rows` rows; an ARFF file is read as a whole."""
    kind = format_of(path, reading)
    frames: Iterator[Any]
    if kind == "arff":
        frame = as_set(read_arff(path), reading, coding)
        frames = (frame.iloc[start : start + rows] for start in range(0, len(frame), rows))
    elif kind == "parquet":
        frames = (as_set(frame, reading, coding) for frame in parquet_blocks(path, rows))
    else:
        frames = delimited_blocks(path, reading, coding, rows)
    yield from ((frame, None) for frame in frames)


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


def read_parquet(path: Path) -> Any:
    """Return a Parquet file, which pyarrow reads."""
    with parquet_file(path) as file:
        return flat(file.read().to_pandas())


def parquet_blocks(path: Path, rows: int) -> Iterator[Any]:
    """Yield a Parquet file as data frames of at most `rows` rows, with one in memory at a time."""
    with parquet_file(path) as file:
        yield from (flat(batch.to_pandas()) for batch in file.iter_batches(batch_size=rows))


@contextmanager
def parquet_file(path: Path) -> Iterator[Any]:
    """Open a Parquet file; raises DataError where the file or pyarrow is missing."""
    check_regular(path)
    if path.suffix.lower() in PACKED:
        raise DataError(f"{path}: a Parquet file is packed inside already; unpack it")
    try:
        import pyarrow.parquet as pq
    except ImportError:
        advice = "`pip install pyarrow` adds it"
        raise DataError(f"Parquet is read by pyarrow, which is not installed; {advice}") from None
    with path.open("rb") as content:
        file, most = pq.ParquetFile(content), most_content(path)
        size = max(8 * file.metadata.num_rows * file.metadata.num_columns, _unpacked(file.metadata))
        if size > most:
            raise DataError(f"expected {most:,} bytes of columns at most, got {size:,}")
        yield file


def _unpacked(metadata: Any) -> int:
    """Return the bytes of a Parquet file's columns before they were packed."""
    return sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))


def flat(frame: Any) -> Any:
    """Return a frame whose columns are named by text, an index with a name among them."""
    if not len(frame):
        raise DataError("expected rows of data, got none")
    frame = frame.reset_index(drop=all(name is None for name in frame.index.names))
    frame.attrs = {}  # which a file may have; here they are levels
    return frame.set_axis([str(name) for name in frame.columns], axis="columns")
