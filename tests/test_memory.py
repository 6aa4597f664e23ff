"""The memory that a process may count on: the machine's, its control groups', its own budget."""

import psutil
import pytest

from kfeat import memory
from kfeat.memory import available_memory, limit_memory


@pytest.fixture(autouse=True)
def machine(monkeypatch, tmp_path):
    """A machine with 8 GB left, without control groups."""
    monkeypatch.setattr(memory.psutil, "virtual_memory", lambda: type("Memory", (), {"available": 8 * 10**9}))
    monkeypatch.setattr(memory, "CGROUPS", tmp_path)
    monkeypatch.setattr(memory, "OWN_CGROUPS", tmp_path / "own")
    yield
    limit_memory(None)


def group(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(f"{content}\n")


def test_without_control_groups_it_is_what_the_machine_has():
    assert available_memory() == 8 * 10**9


def test_a_group_around_the_own_one_counts_and_files_it_can_let_go_do_not(tmp_path):
    (tmp_path / "own").write_text("0::/job/step\n")
    group(tmp_path / "job" / "step", memory__max="max", memory__current=10)
    stat = "anon 5\ninactive_file 400\nactive_file 600"  # read once, and more than once
    group(tmp_path / "job", memory__max=3_000_000, memory__current=1_000_000, memory__stat=stat)
    assert available_memory() == 2_001_000


def test_the_first_version_of_control_groups_counts(tmp_path):
    (tmp_path / "own").write_text("4:cpu,memory:/box\n0::/\n")
    group(tmp_path / "memory" / "box", memory__limit_in_bytes=5_000, memory__usage_in_bytes=6_000)
    assert available_memory() == 0  # a group may use more than its limit for a moment
    stat = "inactive_file 1\nactive_file 1\ntotal_inactive_file 700\ntotal_active_file 800"
    group(tmp_path / "memory" / "box", memory__stat=stat)
    assert available_memory() == 500


def test_a_budget_counts_what_the_process_holds():
    held = psutil.Process().memory_info().rss
    limit_memory(held + 10**9)
    assert 0.9e9 < available_memory() < 1.1e9
