"""The names of experiments: folders below runs/ and results/, so that they come from a safe alphabet."""

import re
from pathlib import Path

from kfeat.errors import ConfigError

_PART = re.compile(r"[\w-][\w.-]{0,199}")
_ALLOWED = (
    "letters, digits, `_`, `-` and `.`, which must not come first, in at most 200 characters, "
    "and `/` between folders"
)


def experiment_name(path: Path) -> str:
    """Return the folder of an experiment below runs/ and results/: its path below `configs`, or its stem.

    Raises ConfigError for a name outside of the safe alphabet.
    """
    *folders, stem = path.with_suffix("").parts or ("",)
    below = folders[len(folders) - folders[::-1].index("configs") :] if "configs" in folders else []
    try:
        return safe_name("/".join([*below, stem]))
    except ValueError as error:
        raise ConfigError(f"{path}: its name is that of a folder of rows; {error}; rename it") from None


def safe_name(name: str) -> str:
    """Return the name of an experiment; raises ValueError if it could lead out of the folder of rows."""
    if not all(_PART.fullmatch(part) for part in name.split("/")):
        raise ValueError(f"expected {_ALLOWED} (got {name!r})")
    return name
