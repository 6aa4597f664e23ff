"""Trials by the beginnings of their ids, as one copies them from a plan."""

from collections.abc import Iterable, Sequence

from kfeat.errors import ConfigError

SHOWN = 10


def ids_beginning(prefixes: Sequence[str], ids: Iterable[str], where: str) -> list[str]:
    """Return the id that each prefix begins, which must be one; `where` says what was looked through.

    Raises ConfigError for a prefix that begins none, or several.
    """
    known = sorted(set(ids))
    return list(dict.fromkeys(_only_one(prefix, known, where) for prefix in prefixes))


def _only_one(prefix: str, known: Sequence[str], where: str) -> str:
    found = [identity for identity in known if prefix and identity.startswith(prefix)]
    if prefix in found:
        return prefix
    if not found:
        raise ConfigError(
            f"no trial of {where} has an id that begins with '{prefix}'; `kfeat plan` shows them"
        )
    if len(found) > 1:
        shown = ", ".join(found[:SHOWN]) + ", ..." * (len(found) > SHOWN)
        raise ConfigError(f"'{prefix}' begins the ids of {len(found)} trials of {where}: {shown}")
    return found[0]
