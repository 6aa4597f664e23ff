"""One thread for every test here: small solves only wait for each other on many."""

import libsvm.svm  # noqa: F401  (its OpenMP must be loaded to be held to one thread)
import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="package")
def one_thread():
    with threadpool_limits(1):
        yield
