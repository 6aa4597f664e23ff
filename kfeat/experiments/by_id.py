"""Selecting trials by the first characters of their ids."""

from collections.abc import Iterable, Sequence

from kfeat.errors import ConfigError

SHOWN = 10


def ids_beginning(prefixes: Sequence[str], ids: Iterable[str], where: str) -> list[str]:
    """Return the id that begins with each prefix; `where` names the searched trials in messages.

    Raises ConfigError for a prefix that matches no id, or several.
    """
    known = sorted(set(ids))
    return list(dict.fromkeys(_only_one(prefix, known, where) for prefix in prefixes))


def _only_one(prefix: str, known: Sequence[str], where: str) -> str:
    found = [identity for identity in known if prefix and identity.startswith(prefix)]
    if prefix in found:
        return prefix
    if not found:
        raise ConfigError(
            f"no trial of {where} has an id that begins with '{prefix}'; `kfeat plan` shows the ids"
        )
    if len(found) > 1:
        shown = ", ".join(found[:SHOWN]) + ", ..." * (len(found) > SHOWN)
        raise ConfigError(f"'{prefix}' begins the ids of {len(found)} trials of {where}: {shown}")
    return found[0]
