"""What a row says of the machine that made it."""

import platform
from collections.abc import Iterator

import pytest

from kfeat.experiments.machine import environment


@pytest.fixture(autouse=True)
def asked_anew() -> Iterator[None]:
    environment.cache_clear()
    yield
    environment.cache_clear()


def test_machines_of_one_kind_are_told_apart_and_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for name in ("node-17.example", "node-18.example"):
        monkeypatch.setattr(platform, "node", lambda name=name: name)
        environment.cache_clear()
        found.append(environment())
    one, other = found
    assert one["host"] != other["host"]
    assert {**one, "host": ""} == {**other, "host": ""}
    assert "node-1" not in str(found)
