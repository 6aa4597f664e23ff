"""What all tests share: a cache folder of their own, and the mirror of real data files where one is set."""

import logging
import multiprocessing
import os
import signal
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.small import SMALL

pytest_plugins = ["tests.cells"]


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let SIGINT raise KeyboardInterrupt, also where tests run in the background, where it is ignored."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, handler)


@pytest.fixture(autouse=True, scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Point kfeat's cache at a folder of this test run, so that no test sees or changes a user's cache.

    The mirror is hidden from tests that do not ask for it.
    """
    folder = str(tmp_path_factory.mktemp("cache"))
    os.environ.pop("KFEAT_MIRROR", None)
    os.environ["KFEAT_CACHE"] = folder
    return folder


def _begin(environment: dict[str, str], target: Callable[..., None], *args: Any) -> None:
    os.environ.clear()
    os.environ.update(environment)
    target(*args)


class _Warm:
    """A context of multiprocessing whose processes have kfeat imported when they begin.

    A fresh interpreter takes a second or two for that, which most tests of trials would only wait for.
    """

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(
            ["kfeat.experiments.trial", "kfeat.own.scorer_process", "sklearn.datasets"]
        )
        self.Pipe = self._context.Pipe
        self.Pool = multiprocessing.get_context("spawn").Pool

    def Process(self, target: Callable[..., None], args: tuple[Any, ...], daemon: bool = False) -> Any:  # noqa: N802
        return self._context.Process(target=_begin, args=(dict(os.environ), target, *args), daemon=daemon)


@pytest.fixture(autouse=True, scope="session")
def _warm_processes(cache: str) -> Iterator[None]:
    warm, get_context = _Warm(), multiprocessing.get_context
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            multiprocessing,
            "get_context",
            lambda method=None: warm if method == "spawn" and not _cold else get_context(method),
        )
        yield


_cold: list[bool] = []


@pytest.fixture
def cold_processes() -> Iterator[None]:
    """Let processes begin as a user's do, for tests of just that."""
    _cold.append(True)
    yield
    _cold.clear()


@pytest.fixture(autouse=True)
def _level() -> Iterator[None]:
    """Leave kfeat's log as loud as it was: a command with -q makes it quiet for the whole process."""
    logger = logging.getLogger("kfeat")
    level = logger.level
    yield
    logger.setLevel(level)


MIRROR = os.environ.get("KFEAT_MIRROR")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if MIRROR or os.environ.get("KFEAT_REQUIRE_DATA") == "1":
        return
    skip = pytest.mark.skip(reason="needs real data files: set KFEAT_MIRROR to a folder or URL that has them")
    for item in items:
        if item.get_closest_marker("data"):
            item.add_marker(skip)


@pytest.fixture
def mirror() -> str:
    """The place of the real data files; without one, tests skip, or fail where KFEAT_REQUIRE_DATA=1."""
    if MIRROR is None:
        pytest.fail("KFEAT_REQUIRE_DATA=1, but KFEAT_MIRROR is not set")
    return os.path.abspath(MIRROR) if "://" not in MIRROR else MIRROR


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write the small config, with replacements and with more at its end, and return its path."""

    def writer(more: str = "", **replacements: str) -> Path:
        text = SMALL
        for old, new in replacements.items():
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / "small.yaml"
        path.write_text(text + more)
        return path

    return writer


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Write lone surrogates in what a test logged as escapes: one process cannot send them to another."""
    report = yield
    report.sections = [
        (name, text.encode("utf-8", "backslashreplace").decode()) for name, text in report.sections
    ]
    return report
