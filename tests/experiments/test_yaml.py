import os
from pathlib import Path

import pytest

from kfeat.errors import ConfigError
from kfeat.experiments.shipped import config_files
from kfeat.experiments.yaml import parse, read_mapping

# Nine levels, each nine times the one below: 400 million values in 400 bytes.
BOMB = "\n".join(
    f"k{level}: &l{level} [{', '.join([f'*l{level - 1}' if level else '1'] * 9)}]" for level in range(9)
)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"title: [1, 2\nkernel: x\n", ["line 2", "column 7", "not valid YAML"]),
        (b"a: 1\nb: 2\na: 3\n", ["line 3, column 1", "'a' occurs twice"]),
        (b"a: {1: 2}\n", ["line 1, column 5", "not a word"]),
        (b"", ["found nothing"]),
        (b"# only a comment\n", ["found nothing"]),
        (b"- 1\n- 2\n", ["found list"]),
        (b"a:\n\tb: 1\n", ["line 2, column 1: not valid YAML: a tab; lines are indented with spaces"]),
        (b"a: 1\n  b: 2", ["line 2", "not valid YAML: mapping values"]),
        (b"\x00\x01\x02", ["not valid YAML"]),
        (b"PK\x03\x04\xff\xfe", ["not a text file", "byte 4"]),
        (b"a: *b\n", ["line 1, column 4", "undefined alias"]),
        (b"a: !!python/object:os.system {}\n", ["line 1, column 4"]),
        (b"a: 2020-99-99\n", ["not valid YAML"]),
        (b"[" * 500, ["not valid YAML", "more than 50 levels deep"]),
        (b"[" * 5000, ["not valid YAML"]),  # newer PyYAML refuses this by itself
        (BOMB.encode(), ["more than 20,000 values"]),
        (b"a: &x [1, *x]\n", ["line 1, column 8", "more than 50 levels deep"]),
        (b"a: [" + b"1," * 30_000 + b"]\n", ["more than 20,000 values"]),
        (b"#" + b" " * 2_000_000, ["larger than 1,000,000 bytes"]),
        (b"a: [.nan]\n", ["line 1, column 5", "not a finite number"]),
        (b"a: -.inf\n", ["not a finite number"]),
        (b"a: 1e999\n", ["not a finite number"]),
        (b"a: 0x" + b"f" * 5000, ["more than 64 bits"]),
        (b"a: " + b"9" * 5000, ["not valid YAML"]),
        (b"a: !!int ''\n", ["line 1, column 4", "'' is not a value of the tag tag:yaml.org,2002:int"]),
        (b"a: !!bool x\n", ["'x' is not a value of the tag"]),
        (b"a: !mine x\n", ["the tag !mine has no meaning"]),
        (b"a: !!binary aGk=\n", ["has no meaning"]),
        (b"a: 2020-01-02\n", ["2020-01-02 is a date; put it in quotes"]),
        (rb'a: "x\0"', ["U+0000 is not allowed"]),
        (rb'a: {"\uD800": 1}', ["not valid YAML"]),
        (rb'a: "\e[2J"', ["U+001B is not allowed"]),
    ],
)
def test_a_bad_file_is_one_clear_error(tmp_path, content, words):
    path = tmp_path / "bad.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as error:
        read_mapping(path)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize(
    "content", [b"a,b,y\n1,2,yes\n", b"1 1:0.5\n-1 2:1 3:4\n", b"PK\x03\x04\xff\xfe", b"1,2\n" * 500_000]
)
def test_a_file_of_data_is_no_config(content, tmp_path):
    (tmp_path / "data.csv").write_bytes(content)
    with pytest.raises(
        ConfigError, match=r"if it is a file of data, `kfeat new .*data.csv` makes a config for it"
    ):
        read_mapping(tmp_path / "data.csv")


def test_aliases_are_copies_of_their_own():
    value = parse("{a: &x [{b: 1}], c: *x}", "x")
    value["a"][0]["b"] = 2
    assert value == {"a": [{"b": 2}], "c": [{"b": 1}]}


def test_what_cannot_be_read_is_told_at_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.yaml")
    for path, words in (
        ("pipe.yaml", "a pipe or a device"),
        ("/dev/zero", "a pipe or a device"),
        (".", "expected a YAML file, found a folder"),
        ("a\0b.yaml", "not the path of a file"),
        ("a" * 5000, "cannot be read"),
        ("x.yaml", "no such file; `kfeat configs` lists the experiments"),
    ):
        with pytest.raises(ConfigError, match=words):
            read_mapping(Path(path))
    Path("configs").mkdir()
    with pytest.raises(ConfigError, match="no such file; `ls configs` lists the experiments"):
        read_mapping(Path("x.yaml"))
    with pytest.raises(ConfigError, match="cannot be read"):
        config_files((Path("a" * 5000),))
