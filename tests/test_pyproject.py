"""What pyproject.toml says of single files is said of files that exist."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RUFF = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ruff"]


def expanded(pattern):
    """The patterns that one with braces, as in `a/{b,c}.py`, stands for."""
    before, names, after = re.fullmatch(r"([^{]*)\{?([^}]*)\}?(.*)", pattern).groups()
    return [f"{before}{name}{after}" for name in names.split(",")]


@pytest.mark.parametrize("pattern", RUFF["lint"]["per-file-ignores"])
def test_every_file_with_rules_of_its_own_exists(pattern):
    assert [one for one in expanded(pattern) if not any(ROOT.glob(one))] == []
