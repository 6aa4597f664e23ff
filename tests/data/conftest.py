"""What the data tests share: a web server of their own, and downloads that do not wait."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kfeat.data import download
from kfeat.text import say_once
from tests.data.web import Web, running_web


@pytest.fixture
def web() -> Iterator[Web]:
    with running_web() as web:
        yield web


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry at once, and without the environment's proxies between the tests and their own server."""
    monkeypatch.setattr(download, "BACK_OFF_S", 0.001)
    monkeypatch.setattr(download, "TIMEOUT_S", (2, 0.5))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture(autouse=True)
def nothing_said() -> None:
    """Let each test hear what a process says once."""
    say_once.cache_clear()


@pytest.fixture(scope="session")
def real_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all tests on real files, so that each is parsed once."""
    return tmp_path_factory.mktemp("real")
