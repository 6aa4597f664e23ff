"""What does not end is stopped, what is no file is refused, and a bad mirror costs a sentence."""

import bz2
import gzip
import lzma
import os
from time import perf_counter

import numpy as np
import pandas as pd
import pytest
from scipy.io import savemat

from kfeat.data import load
from kfeat.data.access import Access
from kfeat.data.download import ensure_file
from kfeat.data.registry import MARGIN, UNKNOWN, registry
from kfeat.errors import DataError, DownloadError, KfeatError
from tests.data.files import tgz, zipped
from tests.data.web import Answer, remote

GOOD = b"+1 1:0.5 3:1\n-1 2:1\n" * 1000


def sized(*urls, known=True):
    return remote(GOOD, *urls, known=known).model_copy(update={"size": len(GOOD)})


def test_every_known_size_is_that_of_the_file_it_limits():
    limits = {
        name: [f.limit for form in e.forms for f in form.files.values()] for name, e in registry().items()
    }
    assert limits["adult"] == [2329875 + MARGIN, 1164628 + MARGIN]
    assert limits["covertype_uci"] == [75169317 + MARGIN]
    assert limits["census"] == [UNKNOWN]


def test_endless_download_is_stopped(web, tmp_path):
    url = web.serve("/file", Answer(b"1 1:1\n" * 50_000, endless=True))
    with pytest.raises(DownloadError, match="expected 16,797,216 bytes at most, got more"):
        ensure_file(sized(url), Access(cache=tmp_path))
    assert web.requests == ["/file"]
    assert web.sent < 3 * MARGIN
    assert [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".lock"] == []


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_bomb_is_not_unpacked(web, tmp_path, pack):
    url = web.serve("/file", Answer(pack(bytes(MARGIN + 10**6))))
    for known in (True, False):
        with pytest.raises(DownloadError, match="expected 16,797,216 bytes of content at most, got more"):
            ensure_file(sized(url, known=known), Access(cache=tmp_path))


@pytest.mark.parametrize("pack", [tgz, zipped])
def test_bomb_in_an_archive_is_not_unpacked(web, tmp_path, pack):
    url = web.serve("/pack", Answer(pack({"data": bytes(MARGIN + 10**6)})))
    with pytest.raises(DownloadError, match="expected 16,797,216 bytes at most, got more"):
        ensure_file(sized(url + "#data"), Access(cache=tmp_path))


@pytest.mark.parametrize("ending", ["csv", "svm", "arff", "mat", "npz", "idx"])
def test_bomb_among_own_files_is_not_read(tmp_path, monkeypatch, ending):
    monkeypatch.setattr("kfeat.data.content.LEAST_LIMIT", 1000)
    path = tmp_path / f"bomb.{ending}.gz"
    path.write_bytes(gzip.compress(b"1 1:1\n" * 200_000))
    source = {"path": str(path)} | ({"labels": str(path)} if ending == "idx" else {})
    with pytest.raises(DataError, match=r"bomb.* bytes of content at most, got more"):
        load(source, cache=tmp_path / "cache")


def test_bomb_of_arrays_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr("kfeat.data.content.LEAST_LIMIT", 1000)
    np.savez_compressed(tmp_path / "bomb.npz", X=np.zeros((100_000, 2)), y=np.zeros(100_000))
    with pytest.raises(DataError, match=r"bomb\.npz.*expected .* bytes of arrays at most, got 2,400,256"):
        load({"path": str(tmp_path / "bomb.npz")}, cache=tmp_path / "cache")


@pytest.mark.parametrize("ending", ["mat", "parquet"])
def test_bomb_of_columns_is_not_read(tmp_path, monkeypatch, ending):
    monkeypatch.setattr("kfeat.data.content.LEAST_LIMIT", 1000)
    path, arrays = tmp_path / f"bomb.{ending}", {"X": np.zeros((1_000_000, 1)), "y": np.zeros(1_000_000)}
    if ending == "mat":
        savemat(path, arrays, do_compression=True)
    else:
        pytest.importorskip("pyarrow", reason="pip install pyarrow")
        pd.DataFrame({name: array.ravel() for name, array in arrays.items()}).to_parquet(path)
    with pytest.raises(DataError, match=rf"bomb\.{ending}.*expected .* bytes of .* at most, got 16,000,000"):
        load({"path": str(path), **({} if ending == "mat" else {"target": "y"})}, cache=tmp_path / "cache")


def special(folder, kind):
    path = folder / "special.csv"
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    return path


@pytest.mark.parametrize("kind", ["pipe", "device"])
@pytest.mark.parametrize("role", ["path", "test"])
def test_pipes_and_devices_are_not_data(tmp_path, kind, role):
    (tmp_path / "good.csv").write_text("a,y\n1,0\n2,1\n")
    source = {"path": str(tmp_path / "good.csv"), "target": "y", role: str(special(tmp_path, kind))}
    start = perf_counter()
    with pytest.raises(DataError, match=r"special\.csv: expected a file, got a pipe or a device"):
        load(source, cache=tmp_path / "cache")
    assert perf_counter() - start < 1


BAD = {
    "length that is too short": Answer(GOOD, headers={"Content-Length": "17"}),
    "two lengths": Answer(GOOD, headers={"Content-Length": "17, 18"}),
    "circle": Answer(status=302, location="/mirror/toy/file"),
    "away to a file": Answer(status=302, location="file:///etc/hostname"),
    "away to nowhere": Answer(status=302, location="http://127.0.0.1:9/x"),
    "away to no URL": Answer(status=302, location="http://[::1"),
    "away to a bad port": Answer(status=302, location="http://127.0.0.1:99999999/x"),
    "away to a bad name": Answer(status=302, location="http://" + "a" * 70 + ".example/\udcff"),
    "redirect without a place": Answer(b"moved", status=302),
    "packed, it says": Answer(GOOD, headers={"Content-Encoding": "gzip"}),
    "in chunks, it says": Answer(GOOD, headers={"Transfer-Encoding": "chunked"}),
    "other numbers": Answer(GOOD.replace(b"0.5", b"0.6")),
    "garbage": Answer(os.urandom(3000)),
    "nothing": Answer(b""),
}


@pytest.mark.parametrize("fault", BAD)
def test_bad_mirror_leaves_the_upstream(web, tmp_path, fault, caplog):
    web.serve("/mirror/toy/file", BAD[fault])
    url = web.serve("/file", Answer(GOOD))
    assert ensure_file(sized(url), Access(web.url + "/mirror", tmp_path)).read_bytes() == GOOD
    assert f"toy/file: taken from {url}, not from http://" in caplog.text
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize("secret", ["ge%2Fheim", "ge@heim", "ge/heim", "ge heim"])
def test_passwords_are_not_printed(web, tmp_path, secret, caplog):
    caplog.set_level(0)
    web.serve("/mirror/toy/file", Answer(status=503))
    mirror = web.url.replace("//", f"//anna:{secret}@") + "/mirror"
    with pytest.raises(KfeatError) as caught:
        ensure_file(sized(), Access(mirror, tmp_path))
    ensure_file(sized(web.serve("/file", Answer(GOOD))), Access(mirror, tmp_path))
    kept = " ".join(path.read_text() for path in tmp_path.rglob("*") if path.is_file())
    for text in (str(caught.value), caplog.text, kept):
        assert "anna" not in text
        assert "heim" not in text
    assert "://***@127.0.0.1" in caplog.text
