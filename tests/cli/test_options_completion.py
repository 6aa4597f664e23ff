"""Completion in a shell: names of configs, maps, kernels, solvers and datasets, else files."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete, get_completion_class

from kfeat.cli import main
from kfeat.cli.completion import dataset_names
from kfeat.data.registry import registry


def offered(*words):
    """The names that a shell offers for the last of these words; `(files)` stands for its own."""
    *before, incomplete = words
    items = ShellComplete(main, {}, "kfeat", "_KFEAT_COMPLETE").get_completions(before, incomplete)
    return ["(files)" if item.type == "file" else item.value for item in items]


@pytest.mark.parametrize("before", [["run"], ["check"], ["explain", "77aa"], ["rows"], ["rows", "show"]])
def test_configs_that_come_with_kfeat_their_folders_and_files_here(before):
    for name in ("my_own.yaml", "my_other.yml", "my_notes.txt", "_my.yaml", ".my.yaml"):
        Path(name).touch()
    assert offered(*before, "quick") == ["quickstart"]
    assert "pham_pagh_2013/table1_adult" in offered(*before, "pham_pagh_2013/ta")
    assert {"pham_pagh_2013", "my_own.yaml"} <= set(offered(*before, ""))
    assert offered(*before, "my") == ["my_other.yml", "my_own.yaml"]
    assert offered(*before, "elsewhere/") == ["(files)"]
    assert not any("_paper" in name for name in offered(*before, "pham"))


def test_rows_completes_its_commands_too():
    assert offered("rows", "me") == ["merge"]


def test_maps_kernels_and_solvers():
    assert offered("maps", "tensor") == ["tensor_sketch", "tensor_srht"]
    assert offered("kernels", "gau") == ["gaussian"]
    assert offered("solvers", "libl") == ["liblinear"]
    assert offered("run", "quickstart", "--maps", "orf,tensor_sk") == ["orf,tensor_sketch"]
    assert offered("plan", "quickstart", "--maps", "ex") == ["exact"]


@pytest.mark.parametrize("command", ["rank", "check-map"])
def test_a_map_by_its_name_or_a_file(command):
    assert offered(command, "tensor") == ["tensor_sketch", "tensor_srht"]
    assert offered(command, "my_") == ["(files)"]
    assert offered("rank", "orf", "--kernel", "lap") == ["laplacian"]


def test_datasets_or_files():
    assert dataset_names() == list(registry())
    for command in (["data", "fetch"], ["data", "info"], ["data", "verify"], ["data", "clean"], ["advise"]):
        assert offered(*command, "adu") == ["adult"]
        assert offered(*command, "own.c") == ["(files)"]


def test_configs_and_datasets_are_completed_without_slow_imports(tmp_path):
    program = (
        "import sys, kfeat.cli\n"
        "try: kfeat.cli.main(prog_name='kfeat')\n"
        "finally: print([name for name in ('numpy', 'pydantic', 'sklearn') if name in sys.modules])"
    )
    for words in ("kfeat run quick", "kfeat data fetch adu"):
        shell = {"_KFEAT_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        done = subprocess.run(
            [sys.executable, "-c", program], env=os.environ | shell, capture_output=True, text=True
        )
        assert done.stdout.splitlines()[-1] == "[]", done.stdout
        assert done.stdout.startswith("plain,"), done.stderr


def test_fish_does_not_cut_a_list_at_its_commas():
    """The script gets `plain,orf,tensor_sketch`."""
    fish = get_completion_class("fish")
    assert 'string split --max 1 ","' in fish(main, {}, "kfeat", "_KFEAT_COMPLETE").source()
