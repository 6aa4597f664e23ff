"""The svmlight / LIBSVM text format: `label index:value ...` per line, indices from 1 and rising."""

import codecs
import io
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import IO, Any

from kfeat.data.base import MOST_SIDE
from kfeat.data.coding import Coding
from kfeat.data.content import open_text
from kfeat.data.dataset import Contents
from kfeat.data.matrix import Matrix, Part
from kfeat.data.reading import Reading
from kfeat.errors import DataError


def read(files: Mapping[str, Path], reading: Reading) -> Contents:
    """Return CSR parts, all as wide as the widest or as `reading.n_features`."""
    parts = {role: read_one(path) for role, path in files.items()}
    width = max(part.X.shape[1] for part in parts.values())
    if reading.n_features is not None:
        if width > reading.n_features:
            raise DataError(
                f"{next(iter(files.values()))}: expected feature indices up to {reading.n_features}, "
                f"got {width}; set n_features to {width} or more"
            )
        width = reading.n_features
    for role, part in parts.items():
        if not part.X.nnz:
            raise DataError(f"{files[role]}: expected lines of `label index:value ...`, got no values at all")
        part.X.resize((part.X.shape[0], width))
    return Contents(parts)


def blocks(path: Path, reading: Reading, coding: Coding, rows: int) -> Iterator[tuple[Matrix, Any]]:
    """Yield the rows of a file and their labels, `rows` at a time, as wide as in training.

    If the first line has no label, no line has one. Then an empty line is a row of zeros, except at the end.
    """
    with open_text(path) as content:
        labelled = b":" not in next(with_values(content), b"0").split()[0]
    with open_text(path) as content:
        lines = with_values(content) if labelled else with_labels(content)
        while some := list(islice(lines, rows)):
            text = b"".join(some)
            part = parsed(path, io.BytesIO(text), labelled)
            if part.X.shape[1] > coding.width:
                raise DataError(
                    f"{path}: expected feature indices up to {coding.width} as in training, "
                    f"got {part.X.shape[1]}"
                )
            part.X.resize((part.X.shape[0], coding.width))
            yield part.X, part.y if labelled else None


def with_values(content: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines that hold more than a comment."""
    return (line for line in content if line.split(b"#", 1)[0].strip())


def with_labels(content: Iterable[bytes]) -> Iterator[bytes]:
    """Yield lines that have no labels with the label 0, empty ones among them too."""
    empty = 0
    for line in content:
        if line.split(b"#", 1)[0].strip():
            yield from [b"0\n"] * empty
            yield b"0 " + line
            empty = 0
        elif not line.strip():  # a comment is no row
            empty += 1


def read_one(path: Path) -> Part:
    """Return one file's rows; raises DataError naming line and column of what is not svmlight."""
    with open_text(path) as content:
        return parsed(path, content)


def parsed(path: Path, content: IO[bytes], labelled: bool = True) -> Part:
    """Return the rows in a file or in some of its lines."""
    from scipy.sparse import csr_array
    from sklearn.datasets import load_svmlight_file

    try:
        X, y = load_svmlight_file(content, zero_based=False)
    except DataError:
        raise
    except (ValueError, OverflowError) as error:
        if labelled:
            diagnose(path)
        raise DataError(f"{path}: cannot be read as svmlight ({error})") from error
    if X.shape[1] > MOST_SIDE:
        raise DataError(f"{path}: expected feature indices up to {MOST_SIDE:,}, got {X.shape[1]:,}")
    if not len(y):
        raise DataError(f"{path}: expected lines of `label index:value ...`, got no values at all")
    return Part(csr_array(X), y)


def diagnose(path: Path) -> None:
    """Raise DataError for the first line that is not svmlight; slow, but used only after a failed read."""
    with open_text(path) as content:
        for number, text in enumerate(content, start=1):
            words = list(re.finditer(rb"\S+", text.split(b"#", 1)[0]))
            if not words:
                continue
            line = f"{path}, line {number}, column"
            label = words[0].group()
            if label.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                raise DataError(f"{path}: begins with a byte order mark; save it as UTF-8 without one")
            if b":" in label:
                raise DataError(f"{line} 1: expected a label first, got {show(label)}")
            number_in(label, f"{line} {words[0].start() + 1}: expected a numeric label")
            check_pairs(words[1:], line)


def check_pairs(words: list[re.Match[bytes]], line: str) -> None:
    """Raise DataError for the first `index:value` that is not one, or whose index does not rise."""
    last = 0
    for word in words:
        where = f"{line} {word.start() + 1}"
        index, colon, value = word.group().partition(b":")
        if index == b"qid":
            continue
        if not colon:
            raise DataError(f"{where}: expected index:value, got {show(index)}")
        if not re.fullmatch(rb"\+?0*[1-9][0-9]*", index):
            zero = (
                "; scikit-learn counts from 1 with zero_based=False"
                if index and not index.strip(b"+0")
                else ""
            )
            raise DataError(f"{where}: expected a whole index from 1, got {show(index)}{zero}")
        if int(index) <= last:
            raise DataError(f"{where}: expected indices to rise, got {int(index)} after {last}")
        last = int(index)
        number_in(value, f"{where}: expected a number as the value of feature {last}")


def number_in(word: bytes, expected: str) -> float:
    """Return the number a word spells, or raise DataError saying what was expected there."""
    try:
        number = float(word)
    except ValueError:
        raise DataError(f"{expected}, got {show(word)}") from None
    if not math.isfinite(number):
        raise DataError(f"{expected}, got {show(word)}")
    return number


def show(word: bytes) -> str:
    """Return a word of a file for an error message."""
    return repr(word[:40].decode("utf-8", "backslashreplace"))
