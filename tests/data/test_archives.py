"""A file taken out of an archive: the right one, or none at all."""

import io
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from kfeat.data.download import ensure_file
from kfeat.errors import DownloadError
from tests.data.web import Answer, Web, remote

GOOD = b"1,2,3\n" * 1000


def tgz(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as pack:
        for name, content in members.items():
            pack.writestr(name, content)
    return buffer.getvalue()


def linked() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        info = tarfile.TarInfo("data.txt")
        info.type, info.linkname = tarfile.SYMTYPE, "/etc/hostname"
        tar.addfile(info)
    return buffer.getvalue()


@pytest.mark.parametrize("pack", [tgz, zipped])
@pytest.mark.parametrize("name", ["data.txt", "folder/data.txt"])
def test_member_of_an_archive(
    web: Web, tmp_path: Path, pack: Callable[[dict[str, bytes]], bytes], name: str
) -> None:
    url = web.serve("/pack", Answer(pack({"readme": b"-", name: GOOD}))) + "#data.txt"
    assert ensure_file(remote(GOOD, url), tmp_path, None).read_bytes() == GOOD
    assert not list(tmp_path.rglob("*.archive")) + list(tmp_path.rglob("*.part"))


@pytest.mark.parametrize(
    ("archive", "message"),
    [
        (tgz({"other": GOOD}), "expected one file data.txt in the archive, got 0"),
        (tgz({"a/data.txt": GOOD, "b/data.txt": GOOD}), "got 2"),
        (tgz({"data.txt": GOOD})[:-30], "not readable"),
        (linked(), "got 0"),
        (b"not an archive", "not readable"),
        (zipped({"data.txt": GOOD})[:-30], "not readable"),
    ],
    ids=range(6),  # not the bytes, which hold the time: each process of a test run needs the same names
)
def test_bad_archives(web: Web, tmp_path: Path, archive: bytes, message: str) -> None:
    url = web.serve("/pack", Answer(archive)) + "#data.txt"
    with pytest.raises(DownloadError, match=message):
        ensure_file(remote(GOOD, url), tmp_path / "cache", None)
    assert [p.name for p in tmp_path.rglob("*") if p.is_file() and p.suffix != ".lock"] == []
