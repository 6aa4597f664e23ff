"""Reading a YAML mapping strictly: duplicate keys and unreadable files are errors with a line and column."""

import re
from pathlib import Path
from typing import Any

import yaml

from kfeat.errors import ConfigError


class _StrictLoader(yaml.SafeLoader):
    """YAML as people write it: `1e-3` is a number, and a key that stands twice is an error."""


def _mapping(loader: _StrictLoader, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
    seen = set()
    for key_node, _ in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str):
            raise yaml.constructor.ConstructorError(
                None, None, f"key {key!r} is not a word", key_node.start_mark
            )
        if key in seen:
            raise yaml.constructor.ConstructorError(
                None, None, f"key '{key}' stands twice", key_node.start_mark
            )
        seen.add(key)
    return loader.construct_mapping(node, deep=True)


_StrictLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)
_StrictLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$"), list("-+0123456789")
)


def parse(text: str, origin: str) -> Any:
    """Return the value of one YAML document; raise ConfigError with `origin`, line and column."""
    try:
        return yaml.load(text, Loader=_StrictLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ConfigError(f"{origin}{place}: not valid YAML: {error.problem or error.context}") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise ConfigError(f"{origin}: not valid YAML: {str(error).splitlines()[0]}") from None


def read_mapping(path: Path) -> dict[str, Any]:
    """Return the mapping in the YAML file `path`; raise ConfigError if there is none."""
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file; `ls configs` shows the experiments there are") from None
    except IsADirectoryError:
        raise ConfigError(f"{path}: a folder, where a YAML file is expected") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not a text file (byte {error.start} is not UTF-8)") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from None
    value = parse(text, str(path))
    if not isinstance(value, dict):
        found = "nothing" if value is None else type(value).__name__
        raise ConfigError(f"{path}: expected keys such as `dataset:` and `maps:`, found {found}")
    return value
