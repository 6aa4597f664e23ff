"""The record of a search: what a killed process leaves, and what others did to the file."""

import json
import re
from pathlib import Path

import pytest

from kfeat.errors import StoreError
from kfeat.own.record import Record, study_of


@pytest.fixture
def path(tmp_path, monkeypatch):
    """Return the place of a record of five trials, relative to the current folder, as users give it."""
    monkeypatch.chdir(tmp_path)
    path = Path("tune/id.log")
    study = study_of(path, 0)
    for number in range(5):
        study.enqueue_trial({"factor": number})
    study.set_user_attr("row", {"score": 0.5})
    return path


def entries(path):
    return Record(path).read_logs(0)


def test_a_record_goes_on_past_an_incomplete_line_and_a_lock_of_optuna(path):
    """Optuna would wait for the end of the process that left the link, for ever since it dangles."""
    whole = entries(path)
    with path.open("ab") as file:
        file.write(b'0123abcd {"op_code":2,"cut')
    path.with_name("id.log.lock").symlink_to(path)
    study = study_of(path, 0)
    assert study.user_attrs == {"row": {"score": 0.5}}
    assert len(study.trials) == 5
    assert entries(path)[: len(whole)] == whole
    assert path.read_bytes().endswith(b"}\n")
    study.set_user_attr("row", {"score": 0.75})
    assert study_of(path, 0).user_attrs == {"row": {"score": 0.75}}


def damaged(content):
    """Yield the content of a record with one byte changed, a line left out, doubled or added."""
    for place in range(0, len(content) - 1, 37):
        yield content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
    lines = content.splitlines(keepends=True)
    for k, line in enumerate(lines[:-1]):
        yield b"".join([*lines[:k], *lines[k + 1 :]])
        yield b"".join([*lines[:k], line, *lines[k:]])
    yield content + b"\xff\x00\n"
    yield content + lines[-1].partition(b" ")[2]
    yield b"mine\n"


def test_any_damage_is_one_sentence_with_the_place_and_the_file_stays(path):
    for content in damaged(path.read_bytes()):
        path.write_bytes(content)
        with pytest.raises(StoreError) as error:
            study_of(path, 0)
        assert re.match(r"tune/id.log, line \d+: expected the record of a search", str(error.value))
        assert "remove the file" in str(error.value)
        assert path.read_bytes() == content


def test_a_record_without_checksums_is_none(path):
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries(path)))
    with pytest.raises(StoreError, match="line 1: expected the record of a search"):
        study_of(path, 0)
