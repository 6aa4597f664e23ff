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

    A value that is written so counts too: host=12e45678 is a text where the hosts are texts.

    Raises ConfigError for text without `=`, and for a key or a value that no record has.
    """
    selector: dict[str, Any] = {}
    for where in wheres:
        key, equals, text = where.partition("=")
        if not equals or not key:
            raise ConfigError(f"--where {where}: expected key=value, as in --where map.n_components=200")
        selector[key] = _wanted(where, text, [one[key] for one in records if key in one])
        _refuse_unknown(where, key, text, selector[key], records)
    return [one for one in records if agrees(selector, one)]


def _wanted(where: str, text: str, there: Sequence[Any]) -> list[Any]:
    """Return the values that are meant: what the text is in YAML, its items, and those written like it."""
    written = [value for value in there if str(value) == text]
    try:
        value = parse(text, f"--where {where}")
    except ConfigError:
        if not written:
            raise
        return written[:1]
    return [*written[:1], value, *(value if isinstance(value, list) else ())]


def _refuse_unknown(where: str, key: str, text: str, value: Any, records: Sequence[Record]) -> None:
    known = list(dict.fromkeys(key for one in records for key in one))
    if key not in known:
        raise ConfigError(
            f"--where {where}: no row has '{key}'{did_you_mean(key, known)}; there are: {', '.join(known)}"
        )
    if not any(agrees({key: value}, one) for one in records):
        there = list(dict.fromkeys(str(one[key]) for one in records if key in one))
        more = ", ..." if len(there) > 12 else ""
        near = did_you_mean(text, there)
        raise ConfigError(
            f"--where {where}: no row has this value{near}; there are: {', '.join(there[:12])}{more}"
        )
