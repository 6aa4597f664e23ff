from pathlib import Path

import pytest

from kfeat.errors import ConfigError
from kfeat.experiments.yaml_file import parse, read_mapping


def test_numbers_are_read_as_people_write_them() -> None:
    assert parse("{a: 1e-3, b: 1E5, c: 2.5e+2, d: 7, e: 1e, f: .5}", "x") == {
        "a": 1e-3,
        "b": 1e5,
        "c": 250.0,
        "d": 7,
        "e": "1e",
        "f": 0.5,
    }


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"title: [1, 2\nkernel: x\n", ["line 2", "column 7", "not valid YAML"]),
        (b"a: 1\nb: 2\na: 3\n", ["line 3, column 1", "'a' stands twice"]),
        (b"a: {1: 2}\n", ["line 1, column 5", "not a word"]),
        (b"", ["found nothing"]),
        (b"# only a comment\n", ["found nothing"]),
        (b"- 1\n- 2\n", ["found list"]),
        (b"\x00\x01\x02", ["not valid YAML"]),
        (b"PK\x03\x04\xff\xfe", ["not a text file", "byte 4"]),
        (b"a: *b\n", ["line 1, column 4", "undefined alias"]),
        (b"a: !!python/object:os.system {}\n", ["line 1, column 4"]),
        (b"a: 2020-99-99\n", ["not valid YAML"]),
        (b"[" * 5000, ["not valid YAML"]),
    ],
)
def test_a_bad_file_is_one_clear_error(tmp_path: Path, content: bytes, words: list[str]) -> None:
    path = tmp_path / "bad.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as error:
        read_mapping(path)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)
    for word in words:
        assert word in str(error.value)


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        read_mapping(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match="a folder"):
        read_mapping(tmp_path)
