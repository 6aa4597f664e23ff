"""One thread for every test here: small solves only wait for each other on many."""

from collections.abc import Iterator

import libsvm.svm  # noqa: F401  (its OpenMP must be loaded to be held to one thread)
import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="package")
def one_thread() -> Iterator[None]:
    with threadpool_limits(1):
        yield
