"""The version of kfeat: a release, or the commit of the source tree that it runs from."""

import subprocess
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]


def version_text() -> str:
    """Return the version; for a clone also its commit, as in `1.0.0 (tree 1a2b3c4d5e6f+)`."""
    tree = commit()
    return version("kfeat") + (f" (tree {tree})" if tree else "")


def commit(root: Path = ROOT) -> str | None:
    """Return the commit of the clone `root`, with `+` if kfeat/ was changed; None if it is no clone."""
    if not (root / ".git").exists():
        return None
    try:
        head = _git(root, "rev-parse", "--short=12", "HEAD")
        changed = _git(root, "status", "--porcelain", "kfeat")
    except (OSError, subprocess.SubprocessError):
        return None
    return head + ("+" if changed else "")


def _git(root: Path, *arguments: str) -> str:
    ended = subprocess.run(
        ["git", *arguments], cwd=root, capture_output=True, text=True, check=True, timeout=10
    )
    return ended.stdout.strip()
