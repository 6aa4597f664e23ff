"""Texts for messages: counts, logged once, safe to print on a terminal, or written as YAML."""

import logging
import re
from functools import cache
from typing import Any

EXPONENT = re.compile(r"^[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$")  # numbers that PyYAML reads as text
EXPONENT_BEGINS = list("-+0123456789")
logger = logging.getLogger("kfeat")


@cache
def say_once(level: int, message: str) -> None:
    """Log a message only the first time that it occurs in this process."""
    logger.log(level, message)


def counted(number: int, nouns: str) -> str:
    """Return a number with its noun, given in the plural: `1 row`, `2,400 rows`, `1 class`."""
    noun = nouns.removesuffix("es") if nouns.endswith(("classes", "switches")) else nouns.removesuffix("s")
    return f"{number:,} {noun if number == 1 else nouns}"


def plain(text: str) -> str:
    r"""Return the text on one line, with control characters escaped as \x1b, for terminals to ignore."""
    return text if text.isprintable() else "".join(map(_printed, text))


def plain_lines(text: str) -> str:
    """Return the text with each of its lines made plain."""
    return "\n".join(map(plain, text.split("\n")))


def in_yaml(value: Any) -> str:
    """Return a value as YAML on one line, as a config has it, with keys in their order."""
    return as_yaml(value, default_flow_style=True, width=10**9).removesuffix("\n").removesuffix("\n...")


def as_yaml(value: Any, **layout: Any) -> str:
    """Return a value as YAML, as a config has it, with keys in their order."""
    import yaml

    text: str = yaml.dump(value, Dumper=_dumper(), allow_unicode=True, sort_keys=False, **layout)
    return text


@cache
def _dumper() -> Any:
    """Return a YAML dumper that quotes the text 1e5, since configs read an unquoted 1e5 as a number."""
    import yaml

    dumper: Any = type("Dumper", (yaml.SafeDumper,), {})
    dumper.add_implicit_resolver("tag:yaml.org,2002:float", EXPONENT, EXPONENT_BEGINS)
    return dumper


def printable(error: BaseException) -> str:
    """Return an error's message as one plain line.

    Messages of other libraries can have several lines and quote damaged bytes.
    """
    return plain(" ".join(str(error).split()))


def _printed(sign: str) -> str:
    if sign.isprintable():
        return sign
    return " " if sign.isspace() else sign.encode("unicode_escape", "surrogatepass").decode()
