"""Errors of usage have one style, and names that are nearly right are offered."""

from pathlib import Path

import pytest

from tests.cli.commands import kfeat, refusal


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["run", "--jobs", "x", "own.yaml"],
         "--jobs: expected a number from 1 to 10000, or auto (got 'x'); see `{} run --help`"),
        (["run"], "CONFIGS...: missing; see `{} run --help`"),
        (["check"], "CONFIGS...: missing; --all takes those in configs/; see `{} check --help`"),
        (["check-map", "x"], "--kernel: missing; see `{} check-map --help`"),
        (["plan", "own.yaml", "--repeats", "0"],
         "--repeats: 0 is not in the range x>=1; see `{} plan --help`"),
        (["--nope"], "no such option '--nope'; see `{} --help`"),
        (["nonsense"], "no such command 'nonsense'; see `{} --help`"),
    ],
)  # fmt: skip
def test_wrong_usage_is_one_sentence_as_all_errors_are(words, sentence):
    told = refusal(*words)
    assert told.startswith("kfeat: ")
    program = told.rpartition("see `")[2].split()[0]  # the name of the test runner
    assert told == f"kfeat: {sentence.format(program)}\n"


def test_a_group_without_a_command_prints_its_help():
    found = kfeat("data")
    assert "Commands:" in found.output
    assert "kfeat: " not in found.stderr


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (["run", "adult"], "adult: no such file (did you mean 'adult_poly4'?); "),
        (["run", "own.yml"], "own.yml: no such file (did you mean 'own.yaml'?); "),
        (["fit", "own.yml", "--model", "m"], "own.yml: no such file (did you mean 'own.yaml'?); "),
        (["advise", "adlt"], "adlt: no such dataset and no such file (did you mean 'adult'?)"),
        (["new", "tabel.csv"], "tabel.csv: no such file (did you mean 'table.csv'?)"),
        (["score", "--model", "modle.kfeat", "table.csv"], "(did you mean 'model.kfeat'?)"),
    ],
)
def test_a_name_that_is_nearly_right_is_offered(words, near):
    for name in ("own.yaml", "table.csv", "model.kfeat"):
        Path(name).touch()
    assert near in refusal(*words)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["predict", "--model", "own.yaml", "table.csv"], "own.yaml: is a config, not a model; "),
        (["info", "own.yaml"], "own.yaml: is a config, not a model; "),
        (["advise", "own.yaml"], "own.yaml: is a config; a file of data is expected"),
        (["new", "own.yaml", "--out", "new.yaml"], "own.yaml: is a config; a file of data is expected"),
    ],
)
def test_a_config_in_the_place_of_another_file_is_named(words, sentence):
    Path("own.yaml").write_text("title: mine\n")
    assert sentence in refusal(*words)
