"""Fetching one file from good, bad and hostile places: it is right, or it is refused and nothing is left."""

import bz2
import gzip
import io
import json
import logging
import lzma
import multiprocessing
import tarfile
import threading
import time

import pytest

from kfeat.data.access import Access
from kfeat.data.content import open_content
from kfeat.data.download import ensure_file
from kfeat.data.stamps import content_sha256
from kfeat.data.transfer import ATTEMPTS
from kfeat.errors import DownloadError
from tests.data.files import in_two_processes, tgz, zipped
from tests.data.web import Answer, remote

GOOD = b"+1 1:0.5 3:1\n-1 2:1\n" * 1000


def left_over(cache):
    """Return the files in a cache, without the locks."""
    return sorted(str(p.relative_to(cache)) for p in cache.rglob("*") if p.is_file() and p.suffix != ".lock")


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_content_counts_not_the_wrapper(web, tmp_path, pack):
    url = web.serve("/file", Answer(pack(GOOD)))
    path = ensure_file(remote(GOOD, url), Access(cache=tmp_path))
    with open_content(path) as content:
        assert content.read() == GOOD
    assert left_over(tmp_path) == ["toy/file", "toy/file.sha256.json"]


@pytest.mark.parametrize(
    "trouble",
    [
        Answer(status=503),
        Answer(status=500),
        Answer(status=429),
        Answer(GOOD, cut_at=700),
        Answer(GOOD, delay_s=1.0),
        Answer(GOOD, stall_at=5000),
    ],
    ids=["503", "500", "429", "cut", "slow", "stalled"],
)
def test_passing_trouble_is_tried_again(web, tmp_path, trouble):
    url = web.serve("/file", trouble, Answer(GOOD))
    path = ensure_file(remote(GOOD, url), Access(cache=tmp_path))
    assert path.read_bytes() == GOOD
    assert web.requests == ["/file", "/file"]


@pytest.mark.parametrize(
    ("answer", "n_requests", "message"),
    [
        (Answer(status=404), 1, "HTTP status 404"),
        (Answer(status=403), 1, "HTTP status 403"),
        (Answer(status=503), ATTEMPTS, "HTTP status 503"),
        (Answer(GOOD, cut_at=700), ATTEMPTS, "the connection was cut"),
        (Answer(GOOD, stall_at=5000), ATTEMPTS, "timed out"),
        (Answer(GOOD[:-1]), 1, "expected content SHA-256"),
        (Answer(b"<!DOCTYPE html><html>moved</html>"), 1, "an HTML page"),
        (Answer(b""), 1, "the file is empty"),
        (Answer(gzip.compress(GOOD)[:-20]), 1, "cut short or corrupt"),
        (Answer(bz2.compress(GOOD)[:-20]), 1, "cut short or corrupt"),
        (Answer(lzma.compress(GOOD)[:-20]), 1, "cut short or corrupt"),
        (Answer(gzip.compress(GOOD)[:50] + b"\xff" * 60), 1, "cut short or corrupt"),
    ],
)
def test_wrong_files_are_refused(web, tmp_path, answer, n_requests, message):
    url = web.serve("/file", answer)
    with pytest.raises(DownloadError, match=message) as caught:
        ensure_file(remote(GOOD, url), Access(cache=tmp_path))
    assert len(web.requests) == n_requests
    assert left_over(tmp_path) == []
    assert url in str(caught.value)
    assert str(tmp_path / "toy/file") in str(caught.value)
    assert "KFEAT_MIRROR" in str(caught.value)


@pytest.mark.parametrize(
    "body", [b"<html>", b"  \n<!doctype html>", b"", gzip.compress(b"<HTML></HTML>", mtime=0)]
)
def test_file_without_known_hash_must_still_be_data(web, tmp_path, body):
    url = web.serve("/file", Answer(body))
    with pytest.raises(DownloadError, match=r"HTML|empty"):
        ensure_file(remote(GOOD, url, known=False), Access(cache=tmp_path))
    assert left_over(tmp_path) == []


def test_redirect_is_followed(web, tmp_path):
    moved = web.serve("/new", Answer(GOOD))
    url = web.serve("/old", Answer(status=302, location=moved))
    assert ensure_file(remote(GOOD, url), Access(cache=tmp_path)).read_bytes() == GOOD


def test_next_upstream_after_a_wrong_one(web, tmp_path):
    web.serve("/b", Answer(status=404))
    urls = [web.serve("/a", Answer(b"wrong")), web.url + "/b", web.serve("/c", Answer(GOOD))]
    assert ensure_file(remote(GOOD, *urls), Access(cache=tmp_path)).read_bytes() == GOOD
    assert web.requests == ["/a", "/b", "/c"]


@pytest.mark.parametrize("kind", ["folder", "url"])
def test_mirror_comes_first(web, tmp_path, kind):
    url = web.serve("/file", Answer(GOOD))
    mirror = tmp_path / "mirror"
    (mirror / "toy").mkdir(parents=True)
    (mirror / "toy" / "file").write_bytes(GOOD)
    web.serve("/mirror/toy/file", Answer(GOOD))
    place = str(mirror) if kind == "folder" else web.url + "/mirror/"
    ensure_file(remote(GOOD, url), Access(place, tmp_path / "cache"))
    assert web.requests == ([] if kind == "folder" else ["/mirror/toy/file"])


@pytest.mark.parametrize("content", [None, b"stale"])
def test_mirror_without_the_file_falls_through_and_says_so(web, tmp_path, caplog, content):
    url = web.serve("/file", Answer(GOOD))
    if content is not None:
        (tmp_path / "mirror" / "toy").mkdir(parents=True)
        (tmp_path / "mirror" / "toy" / "file").write_bytes(content)
    with caplog.at_level(logging.WARNING, "kfeat"):
        path = ensure_file(remote(GOOD, url), Access(str(tmp_path / "mirror"), tmp_path / "cache"))
    assert path.read_bytes() == GOOD
    assert str(tmp_path / "mirror" / "toy" / "file") in caplog.text


def test_offline_uses_cache_and_folder_only(web, tmp_path):
    url = web.serve("/file", Answer(GOOD))
    web.serve("/mirror/toy/file", Answer(GOOD))
    with pytest.raises(DownloadError, match="offline"):
        ensure_file(remote(GOOD, url), Access(web.url + "/mirror", tmp_path / "cache", offline=True))
    assert web.requests == []
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "file").write_bytes(GOOD)
    assert ensure_file(remote(GOOD, url), Access(str(tmp_path), tmp_path / "cache", offline=True)).is_file()
    assert ensure_file(remote(GOOD, url), Access(cache=tmp_path / "cache", offline=True)).is_file()


def test_damaged_cache_is_repaired_and_never_by_a_wrong_file(web, tmp_path, caplog):
    url = web.serve("/file", Answer(GOOD), Answer(b"wrong"))
    path = ensure_file(remote(GOOD, url), Access(cache=tmp_path))
    path.write_bytes(b"bit rot")
    with pytest.raises(DownloadError):
        ensure_file(remote(GOOD, url), Access(cache=tmp_path))
    assert path.read_bytes() == b"bit rot"
    web.serve("/file", Answer(GOOD))
    with path.open("rb") as held:
        assert ensure_file(remote(GOOD, url), Access(cache=tmp_path)).read_bytes() == GOOD
        assert held.read() == b"bit rot"  # replaced at once: who reads the old file reads all of it
    assert "fetching it again" in caplog.text


def test_killed_download_leaves_nothing_to_trip_over(web, tmp_path):
    url = web.serve("/file", Answer(GOOD, stall_at=5000, stall_s=60), Answer(GOOD))
    process = multiprocessing.get_context("spawn").Process(target=fetch_one, args=(url, tmp_path))
    process.start()
    while not web.requests:
        time.sleep(0.01)
    process.kill()
    process.join()
    assert not (tmp_path / "toy" / "file").exists()
    assert ensure_file(remote(GOOD, url), Access(cache=tmp_path)).read_bytes() == GOOD
    assert left_over(tmp_path) == ["toy/file", "toy/file.sha256.json"]


def test_file_put_by_hand_is_hashed(tmp_path):
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "file").write_bytes(GOOD)
    path = ensure_file(remote(GOOD), Access(cache=tmp_path))
    assert json.loads(path.with_name("file.sha256.json").read_text())["sha256"] == content_sha256(path)
    path.write_bytes(b"other")
    with pytest.raises(DownloadError, match="no mirror is set and no URL is known"):
        ensure_file(remote(GOOD), Access(cache=tmp_path))


def fetch_one(url, cache):
    assert ensure_file(remote(GOOD, url), Access(cache=cache)).read_bytes() == GOOD


def test_several_processes_fetch_once(web, tmp_path):
    url = web.serve("/file", Answer(GOOD, delay_s=0.2))
    in_two_processes(fetch_one, url, tmp_path)
    assert web.requests == ["/file"]


def linked():
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        info = tarfile.TarInfo("data.txt")
        info.type, info.linkname = tarfile.SYMTYPE, "/etc/hostname"
        tar.addfile(info)
    return buffer.getvalue()


@pytest.mark.parametrize("pack", [tgz, zipped])
@pytest.mark.parametrize("name", ["data.txt", "folder/data.txt"])
def test_member_of_an_archive(web, tmp_path, pack, name):
    url = web.serve("/pack", Answer(pack({"readme": b"-", name: GOOD}))) + "#data.txt"
    assert ensure_file(remote(GOOD, url), Access(cache=tmp_path)).read_bytes() == GOOD
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
def test_bad_archives(web, tmp_path, archive, message):
    url = web.serve("/pack", Answer(archive)) + "#data.txt"
    with pytest.raises(DownloadError, match=message):
        ensure_file(remote(GOOD, url), Access(cache=tmp_path / "cache"))
    assert left_over(tmp_path) == []


def test_a_server_that_sends_a_byte_now_and_then_does_not_hold_the_lock(web, tmp_path, monkeypatch):
    before = threading.enumerate()
    monkeypatch.setattr("kfeat.data.transfer.STALL_S", 0.2)
    monkeypatch.setattr("kfeat.data.transfer.ATTEMPTS", 1)
    url = web.serve("/slow", Answer(b".", endless=True, pause_s=0.05))
    with pytest.raises(DownloadError, match="timed out"):
        ensure_file(remote(GOOD, url), Access(cache=tmp_path))
    web.stopped = True
    for thread in threading.enumerate():
        if thread.name == "download" and thread not in before:
            thread.join(5)
            assert not thread.is_alive()
