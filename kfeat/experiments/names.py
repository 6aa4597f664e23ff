"""What a config may write as a name, a line of text or a mapping, and the name of an experiment."""

import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

from kfeat.errors import ConfigError

MAX_LENGTH = 500
_PART = re.compile(r"[\w-][\w.-]{0,199}")
_ALLOWED = (
    "letters, digits, `_`, `-` and `.`, which must not come first, in at most 200 characters, "
    "and `/` between folders"
)


def experiment_name(path: Path) -> str:
    """Return an experiment's folder below runs/ and results/: the config's path below `configs`, or its stem.

    Raises ConfigError for a name with other characters than `_ALLOWED`.
    """
    *folders, stem = path.with_suffix("").parts or ("",)
    below = folders[len(folders) - folders[::-1].index("configs") :] if "configs" in folders else []
    try:
        return safe_name("/".join([*below, stem]))
    except ValueError as error:
        raise ConfigError(f"{path}: its name is that of its folder of rows; {error}; rename it") from None


def configs_above(path: Path) -> Path | None:
    """Return the folder `configs` that contains a config; None if there is none."""
    return next((folder for folder in path.parents if folder.name == "configs"), None)


def safe_name(name: str) -> str:
    """Return the name of an experiment; raises ValueError if it could point outside the folder of rows."""
    if not all(_PART.fullmatch(part) for part in name.split("/")):
        raise ValueError(f"expected {_ALLOWED} (got {name!r})")
    return name


def one_line(text: str) -> str:
    """Return the text; raises ValueError unless it is one line and its mathematics `$...$` can be drawn."""
    if re.search("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]", text):
        raise ValueError("expected one line of text, without tabs and control characters")
    if len(text) > MAX_LENGTH:
        raise ValueError(f"expected at most {MAX_LENGTH} characters, found {len(text)}")
    if "$" in text:
        _check_mathematics(text)
    return text


def _check_mathematics(text: str) -> None:
    """Raise ValueError if a figure could not draw the text; matplotlib takes a single `$` as a dollar."""
    # Imported here: it takes a fifth of a second, and few texts have mathematics.
    from matplotlib.cbook import is_math_text
    from matplotlib.mathtext import MathTextParser

    if not is_math_text(text):
        return
    try:
        MathTextParser("path").parse(text)
    except (ValueError, RecursionError) as error:
        problem = str(error).strip().splitlines()[-1] if isinstance(error, ValueError) else "too deep"
        raise ValueError(
            rf"cannot draw the mathematics between the $ ({problem}); write \$ for a dollar"
        ) from None


Name = Annotated[str, AfterValidator(safe_name)]
Line = Annotated[str, AfterValidator(one_line)]


class Strict(BaseModel):
    """A mapping of a config: no unknown keys, no conversions."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, populate_by_name=True, defer_build=True
    )
