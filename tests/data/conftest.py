"""What the data tests share: a web server of their own, and downloads that do not wait."""

import pytest

from kfeat.data import transfer
from kfeat.data.formats import mat
from kfeat.data.registry import registry
from kfeat.text import say_once
from tests.data.files import in_this_process
from tests.data.web import running_web, toy


@pytest.fixture
def web():
    with running_web() as web:
        yield web


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    """Retry at once, and without the environment's proxies between the tests and their own server."""
    monkeypatch.setattr(transfer, "BACK_OFF_S", 0.001)
    monkeypatch.setattr(transfer, "TIMEOUT_S", (2, 0.5))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture(autouse=True)
def nothing_said():
    """Let each test hear what a process says once."""
    say_once.cache_clear()


@pytest.fixture
def enter(monkeypatch):
    """Return a function that puts an entry into the registry as "toy"."""
    return lambda entry: monkeypatch.setitem(registry(), "toy", entry)


@pytest.fixture
def entered(web, enter):
    """An entry whose files the server has."""
    enter(toy(web))


@pytest.fixture
def mat_in_this_process(monkeypatch):
    """Read .mat files without a process for each, which takes most of a second."""
    monkeypatch.setattr(mat, "arrays_in", in_this_process)


@pytest.fixture(scope="session")
def real_cache(tmp_path_factory):
    """One cache for all tests on real files, so that each is parsed once."""
    return tmp_path_factory.mktemp("real")
