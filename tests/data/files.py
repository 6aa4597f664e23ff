"""Writing small files for tests."""

from pathlib import Path


def write(folder: Path, content: str | bytes, name: str = "file") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path
