"""A config as raw YAML, read strictly, with the line of each value."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import yaml
from yaml.composer import Composer

from kfeat.errors import ConfigError
from kfeat.files import SUFFIXES, known_configs, names_beside
from kfeat.parameters import did_you_mean
from kfeat.text import EXPONENT, EXPONENT_BEGINS

MAX_BYTES = 1_000_000
MAX_VALUES = 20_000  # an alias counts as the values that it stands for
MAX_DEPTH = 50
_TAG = "tag:yaml.org,2002:"
TAGS = {
    "mapping": {f"{_TAG}map"},
    "sequence": {f"{_TAG}seq"},
    "scalar": {_TAG + kind for kind in ("str", "int", "float", "bool", "null", "timestamp")},
}

# C0 except tab and newline, C1, surrogates: they disturb a terminal or cannot be encoded.
_NO_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")

# By key or position: where a value was written (`configs/x.yaml, line 12`), and the same for inner values.
Lines: TypeAlias = dict[Any, tuple[str, "Lines"]]


@dataclass
class Document:
    """A YAML value, and where each value in it was written."""

    value: Any
    lines: Lines

    def place_of(self, path: Sequence[str | int]) -> str | None:
        """Return where the value at `path`, or else the nearest value around it, was written."""
        place, lines = None, self.lines
        for part in path:
            if part not in lines:
                break
            place, lines = lines[part]
        return place


if TYPE_CHECKING or not yaml.__with_libyaml__:
    _Loader = yaml.SafeLoader
else:

    class _Loader(Composer, yaml.CSafeLoader):
        """PyYAML's parser in C (6 times faster) with its composer in Python: no text is too deep for it."""

        def __init__(self, text: str) -> None:
            yaml.CSafeLoader.__init__(self, text)
            Composer.__init__(self)


class _StrictLoader(_Loader):
    """A strict loader: `1e-3` is a number, and a repeated key is an error.

    Values are texts, finite numbers, booleans, null, lists and mappings, as in JSON; an alias is a copy.
    `origin` names the source of the text; the place of each value begins with it.
    """

    def __init__(self, text: str, origin: str) -> None:
        super().__init__(text)
        self.origin, self.has_lines = origin, "\n" in text
        self.count = 0

    def read(self, node: Any, depth: int = 1) -> tuple[Any, Lines]:
        """Return the value of a node within the limits, and the lines of the values in it."""
        self.count += 1
        if self.count > MAX_VALUES:
            _refuse(node, f"more than {MAX_VALUES:,} values")
        if depth > MAX_DEPTH:
            _refuse(node, f"more than {MAX_DEPTH} levels deep")
        if node.tag not in TAGS[node.id]:
            _refuse(node, f"the tag {node.tag} has no meaning here; leave it out")
        lines: Lines = {}
        if node.id == "mapping":
            mapping: dict[str, Any] = {}
            for key_node, value_node in node.value:
                key = self.read(key_node, depth + 1)[0]
                if not isinstance(key, str):
                    _refuse(key_node, f"key {key!r} is not a word")
                if key in mapping:
                    _refuse(key_node, f"key '{key}' occurs twice")
                mapping[key], below = self.read(value_node, depth + 1)
                lines[key] = (self._place(key_node), below)
            return mapping, lines
        if node.id == "scalar":
            return self._scalar(node), lines
        items = []
        for i, item_node in enumerate(node.value):
            item, below = self.read(item_node, depth + 1)
            items.append(item)
            lines[i] = (self._place(item_node), below)
        return items, lines

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        kind, text = node.tag.removeprefix(_TAG), node.value
        if kind == "timestamp":
            _refuse(node, f"{text} is a date; put it in quotes if it is a text")
        if kind == "int" and re.fullmatch(r"[-+]?0[0-9_]+|.*:.*", text):  # octal, and to the base of 60
            _refuse(node, f"{text} is an old form of an integer in YAML; write it in decimal, or in quotes")
        try:
            value = text if kind == "str" else self.construct_object(node)
        except (ValueError, LookupError):
            _refuse(node, f"{text[:50]!r} is not a value of the tag {node.tag}")
        if isinstance(value, str) and (sign := _NO_TEXT.search(value)):
            _refuse(node, f"the character U+{ord(sign[0]):04X} is not allowed in a text")
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            _refuse(node, "an integer of more than 64 bits")
        if isinstance(value, float) and not abs(value) < float("inf"):
            _refuse(node, f"{text} is not a finite number")
        return value

    def _place(self, node: yaml.Node) -> str:
        return f"{self.origin}, line {node.start_mark.line + 1}" if self.has_lines else self.origin


def _refuse(where: Any, problem: str) -> NoReturn:
    raise yaml.constructor.ConstructorError(None, None, problem, where.start_mark)


_StrictLoader.add_implicit_resolver(f"{_TAG}float", EXPONENT, EXPONENT_BEGINS)


def parse(text: str, origin: str) -> Any:
    """Return the value of one YAML document; raise ConfigError with `origin`, line and column."""
    return read_text(text, origin).value


def read_text(text: str, origin: str) -> Document:
    """Return one YAML document with its lines; raise ConfigError with `origin`, line and column."""
    try:
        loader = _StrictLoader(text, origin)
        node = loader.get_single_node()
        return Document(*(loader.read(node) if node is not None else (None, {})))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        # Both of PyYAML's parsers call a tab before a key "a character that cannot start any token".
        tab = mark is not None and _is_tab(text, mark.line, mark.column)
        problem = "a tab; lines are indented with spaces" if tab else error.problem or error.context
        raise ConfigError(f"{origin}{place}: not valid YAML: {problem}") from None
    except RecursionError:
        raise ConfigError(f"{origin}: not valid YAML: more than {MAX_DEPTH} levels deep") from None
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"{origin}: not valid YAML: {str(error).splitlines()[0]}") from None


def _is_tab(text: str, line: int, column: int) -> bool:
    lines = text.splitlines()[line:]
    return bool(lines) and lines[0][column:].startswith("\t")


def read_mapping(path: Path) -> Document:
    """Return the mapping in the YAML file `path`; raise ConfigError if there is none."""
    try:
        text = _content(path).decode("utf-8")
    except FileNotFoundError:
        where = "`ls configs` lists" if Path("configs").is_dir() else "`kfeat configs` lists"
        known = known_configs()
        shipped = [file.relative_to(known).with_suffix("").as_posix() for file in known.rglob("[!_]*.yaml")]
        beside = [name for name in names_beside(path) if name.endswith(SUFFIXES)]
        near = did_you_mean(path.name, beside) or did_you_mean(str(path), shipped)
        raise ConfigError(f"{path}: no such file{near}; {where} the experiments") from None
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path}: not a text file (byte {error.start} is not UTF-8){_advice(path)}"
        ) from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from None
    try:
        document = read_text(text, str(path))
    except ConfigError as error:
        raise ConfigError(f"{error}{_advice(path)}") from None
    if not isinstance(document.value, dict):
        kind = "nothing" if document.value is None else type(document.value).__name__
        raise ConfigError(
            f"{path}: expected keys such as `dataset:` and `maps:`, found {kind}{_advice(path)}"
        )
    return document


def _advice(path: Path) -> str:
    """Return advice if the path seems to be a file of data instead of a config."""
    return (
        ""
        if path.suffix in SUFFIXES
        else f"; if it is a file of data, `kfeat new {path}` makes a config for it"
    )


def _content(path: Path) -> bytes:
    try:
        if path.exists() and not path.is_file():  # opening a pipe would wait for its other end
            kind = "a folder" if path.is_dir() else "a pipe or a device"
            raise ConfigError(f"{path}: expected a YAML file, found {kind}")
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except ValueError as error:  # a null character, or one that the file system cannot encode
        raise ConfigError(f"{str(path)!r}: not the path of a file ({error})") from None
    if len(content) > MAX_BYTES:
        raise ConfigError(f"{path}: larger than {MAX_BYTES:,} bytes, the limit for a config{_advice(path)}")
    return content
