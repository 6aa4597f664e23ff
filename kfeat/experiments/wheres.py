"""Choosing among flat records, such as rows, by the command line: --where map=tensor_sketch."""

from collections.abc import Sequence
from typing import Any

from kfeat.errors import ConfigError
from kfeat.experiments.selectors import agrees
from kfeat.experiments.yaml_file import parse
from kfeat.parameters import did_you_mean

Record = dict[str, Any]


def chosen(records: Sequence[Record], wheres: Sequence[str]) -> list[Record]:
    """Return the records that have all the values of `key=value`, each a value in YAML or a list of some.

    Raises ConfigError for text without `=`, and for a key or a value that no record has.
    """
    selector: dict[str, Any] = {}
    for where in wheres:
        key, equals, text = where.partition("=")
        if not equals or not key:
            raise ConfigError(f"--where {where}: expected key=value, as in --where map.n_components=200")
        selector[key] = parse(text, f"--where {where}")
        _refuse_unknown(where, key, selector[key], records)
    return [one for one in records if agrees(selector, one)]


def _refuse_unknown(where: str, key: str, value: Any, records: Sequence[Record]) -> None:
    known = list(dict.fromkeys(key for one in records for key in one))
    if key not in known:
        raise ConfigError(
            f"--where {where}: no row has '{key}'{did_you_mean(key, known)}; there are: {', '.join(known)}"
        )
    if not any(agrees({key: value}, one) for one in records):
        there = list(dict.fromkeys(str(one[key]) for one in records if key in one))
        more = ", ..." if len(there) > 12 else ""
        near = did_you_mean(str(value), there)
        raise ConfigError(
            f"--where {where}: no row has this value{near}; there are: {', '.join(there[:12])}{more}"
        )
