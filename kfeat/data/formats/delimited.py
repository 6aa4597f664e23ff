"""Delimited text (csv, tsv) as data frames, and its mistakes in sentences."""

import codecs
import csv
import io
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from kfeat.data.cells import are_numbers, are_truths, as_numbers, listed
from kfeat.data.coding import Coding
from kfeat.data.content import naming, open_text
from kfeat.data.formats.declared import MISSING, as_column, as_set, remark
from kfeat.data.formats.header import UNNAMED, NoHeaderError, looks_like_data
from kfeat.data.reading import Reading, format_of, repeated
from kfeat.errors import DataError
from kfeat.text import counted

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


def stripped(cells: Any, gaps: Iterable[str]) -> Any:
    """Return cells without blanks around words; words for a missing cell are NaN."""
    words = cells.map(lambda cell: cell.strip() if isinstance(cell, str) else cell)
    return words.mask(words.isin(set(gaps)))
