"""A config as raw YAML: strict reading with lines, include and --set, and its problems as sentences."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError
from yaml.composer import Composer

from kfeat.errors import ConfigError
from kfeat.files import SUFFIXES, known_configs, names_beside
from kfeat.parameters import OWN_SENTENCE, KeyPath, advice_on, describe, did_you_mean, path_in
from kfeat.text import EXPONENT, EXPONENT_BEGINS, counted

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
        shipped = [one.relative_to(known).with_suffix("").as_posix() for one in known.rglob("[!_]*.yaml")]
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
        found = "nothing" if document.value is None else type(document.value).__name__
        raise ConfigError(
            f"{path}: expected keys such as `dataset:` and `maps:`, found {found}{_advice(path)}"
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


def validation_error(problems: Iterable[tuple[KeyPath, str]]) -> ValidationError:
    """Return the error of several problems, each with its path below the value being validated."""
    return ValidationError.from_exception_data(
        "an experiment",
        [
            InitErrorDetails(
                type=PydanticCustomError(OWN_SENTENCE, "{text}", {"text": text}), loc=tuple(path), input=0
            )
            for path, text in problems
        ],
    )


def config_error(error: ValidationError, model: type[BaseModel], file: Document, path: object) -> ConfigError:
    """Return the error that lists every problem of a file once, each with its line and its path.

    For an unknown key the message lists the fields of the `model`.
    """
    sentences = []
    for problem in error.errors():
        location = _within_file(file.value, problem["loc"])
        keys = path_in(file.value, location, problem["type"] == "missing")
        text = describe(problem, path=keys)
        if problem["type"] == "extra_forbidden" and (known := _known_keys(model, problem["loc"][:-1])):
            text += advice_on(str(keys[-1]), known)
        sentences.append(f"{file.place_of(keys) or path}, {text}")
    first, *others = dict.fromkeys(sentences)
    if not others:
        return ConfigError(first)
    listed = "".join(f"\n  {sentence}" for sentence in (first, *others))
    return ConfigError(f"{path}: {counted(len(others) + 1, 'problems')} in this file:{listed}")


def _within_file(raw: Any, location: KeyPath) -> KeyPath:
    """Return a location without its setting, if the value comes from the top of the file."""
    if location[0] != "settings" or len(location) < 3:
        return location
    given = raw.get("settings")
    own = given[int(location[1])] if isinstance(given, list) else {}
    return location if location[2] in own else location[2:]


def _known_keys(model: type[BaseModel], location: KeyPath) -> list[str]:
    """Return the keys of the model at a location; an empty list if several models are possible."""
    models = [model]
    for name in location:
        if isinstance(name, str):
            fields = {field.alias or key: field for key, field in models[0].model_fields.items()}
            models = list(_models_in(fields[name].annotation)) if name in fields else []
            if len(models) != 1:
                return []
    if not location and "settings" in model.model_fields:  # a file may have their keys at its top
        models += _models_in(model.model_fields["settings"].annotation)
    return [field.alias or key for other in models for key, field in other.model_fields.items()]


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


Target = tuple[Any, Lines, Any]  # a mapping or list, its lines, and the key or position to set
COMPLETED: dict[str, type] = {"reported": dict, "solvers": dict, "switches": list}


def read_file(path: Path) -> Document:
    """Return the keys of an experiment file, completed by the file that it includes.

    Keys of the file have priority over included ones. The mappings `reported` and `solvers` are merged key by
    key, and `switches` by their `key`.
    """
    own = read_mapping(path)
    if "include" not in own.value:
        return own
    del own.lines["include"]
    shared = _included(beside(path, own.value.pop("include")))
    if "include" in shared.value:
        place = shared.place_of(["include"])
        raise ConfigError(f"{place}, include: an included file cannot include another")
    for key, kind in COMPLETED.items():
        value, mine = shared.value.get(key), own.value.get(key)
        if key in shared.value and not isinstance(value, kind):
            expected = "a mapping" if kind is dict else "a list"
            raise ConfigError(f"{shared.place_of([key])}, {key}: expected {expected} (got {value!r})")
        if key in shared.value and isinstance(mine, kind):
            _complete(mine, own.lines[key][1], value, shared.lines[key][1])
    return Document({**shared.value, **own.value}, {**shared.lines, **own.lines})


def _included(path: Path) -> Document:
    """Return an included file; one that many configs include is parsed once."""
    status = path.stat() if path.is_file() else None
    return _parsed(path, status and (status.st_mtime_ns, status.st_size))


@cache
def _parsed(path: Path, state: Any) -> Document:
    return read_mapping(path)


def _complete(mine: Any, my_lines: Lines, others: Any, other_lines: Lines) -> None:
    """Add to a mapping the keys that it lacks, or to a list the switches with other keys."""
    if isinstance(mine, dict):
        for values, more in ((mine, others), (my_lines, other_lines)):
            values.update({**more, **values})
        return
    stated = [switch.get("key") for switch in mine if isinstance(switch, dict)]
    for i, switch in enumerate(others):
        if not (isinstance(switch, dict) and switch.get("key") in stated):
            my_lines[len(mine)] = other_lines[i]
            mine.append(switch)


def beside(path: Path, include: Any) -> Path:
    """Return the path of a file that a config names; raises ConfigError unless it is in or below its folder.

    A config may come from someone else: it must not read other files of this machine.
    """
    if isinstance(include, str):
        name, folder = PurePath(include), path.parent
        inside = (folder / name).resolve().is_relative_to(folder.resolve())
        if inside and not name.is_absolute() and ".." not in name.parts:
            return folder / name
    raise ConfigError(
        f"{path}: expected the name of a file in this one's folder or below it, without `..` "
        f"(got {include!r})"
    )


def apply_override(document: Document, override: str, shared: Collection[str]) -> None:
    """Set one `a.b.0.c=value` in a config's keys; raises ConfigError if they have no such place.

    A key that settings share (`shared`) is set in every setting that replaces it, and at the top of the
    file if a setting takes it from there. A key after a list is set in each item of the list.
    """
    key, equals, text = override.partition("=")
    if not equals or not key:
        raise ConfigError(f"--set {override}: expected key=value, as in --set maps.0.n_components=500")
    parts, place = key.split("."), f"--set {override}"
    new, top = read_text(text, place), (document.value, document.lines)
    holders = _holders(*top, parts[0]) if parts[0] in shared else [top]
    for holder, lines in holders:
        if len(parts) == 2 and parts[0] not in holder:
            holder[parts[0]], lines[parts[0]] = {}, (place, {})
    targets = [target for holder, lines in holders for target in _targets(holder, lines, parts)]
    if not targets:
        raise ConfigError(f"--set {override}: changes nothing: the config has no place `{key}`")
    for container, lines, last in targets:
        container[last], lines[last] = deepcopy(new.value), (place, deepcopy(new.lines))


def _holders(keys: dict[str, Any], lines: Lines, key: str) -> list[tuple[dict[str, Any], Lines]]:
    """Return the settings that replace `key`, and the top of the file unless every setting replaces it."""
    listed = keys.get("settings")
    settings = listed if isinstance(listed, list) else []
    replacing = [
        (part, lines["settings"][1][i][1])
        for i, part in enumerate(settings)
        if isinstance(part, dict) and key in part
    ]
    return replacing if replacing and len(replacing) == len(settings) else [(keys, lines), *replacing]


def _targets(value: Any, lines: Lines, parts: Sequence[str]) -> Iterator[Target]:
    """Yield every place that `parts` lead to; only the last key may be new."""
    first, rest = parts[0], parts[1:]
    if isinstance(value, list) and not _is_position(first):
        for i, item in enumerate(value):
            yield from _targets(item, lines[i][1], parts)
        return
    key = int(first) if isinstance(value, list) else first
    exists = key in value if isinstance(value, dict) else isinstance(value, list) and int(key) < len(value)
    if rest and exists:
        yield from _targets(value[key], lines[key][1], rest)
    elif not rest and (exists or isinstance(value, dict)):
        yield value, lines, key


def _is_position(part: str) -> bool:
    return part.isascii() and part.isdigit() and len(part) < 10  # int() refuses thousands of digits
