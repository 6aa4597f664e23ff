"""Code by its place: versions without imports, edited files, and what is said where it cannot be imported."""

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
import sklearn

from kfeat.errors import ConfigError, Terminated
from kfeat.place import Place, code_errors, entry_points

SOURCE = "from beside_it import FACTOR\n\n\nclass Mine:\n    def fit(self, X):\n        return FACTOR / X\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "my_map.py").write_text(SOURCE)
    (tmp_path / "beside_it.py").write_text("FACTOR = 2\n")
    return tmp_path


def test_a_file_is_known_by_its_hash_and_runs_only_when_it_is_loaded(folder):
    (folder / "loud.py").write_text("raise SystemExit(3)\n")
    place = Place.of("loud.py:Mine", folder)
    assert place.version.startswith("sha256:")
    with pytest.raises(
        ConfigError, match=r"loud.py:Mine cannot be imported: .*loud.py, line 1: SystemExit: 3"
    ):
        place.load()


def test_an_edited_file_has_another_version_and_is_run_anew(folder):
    first = Place.of("my_map.py:Mine", folder)
    assert first.load() is first.load()
    assert first.load()().fit(1) == 2
    (folder / "my_map.py").write_text(
        SOURCE.replace("FACTOR / X", "FACTOR * 7")
    )  # as long, in the same second
    second = Place.of("my_map.py:Mine", folder)
    assert second.version != first.version
    assert second.load()().fit(1) == 14
    assert first.load()().fit(1) == 2


def test_a_file_that_changed_since_it_was_planned_is_refused_in_another_process(folder, monkeypatch):
    place = Place.of("my_map.py:Mine", folder)
    (folder / "my_map.py").write_text("class Mine: pass\n")
    with pytest.raises(
        ConfigError, match=r"my_map\.py: this file of code has changed since the run was planned"
    ):
        place.load()


def test_a_file_beside_it_does_not_hide_a_library(folder):
    (folder / "sklearn.py").write_text("1 / 0\n")
    (folder / "other.py").write_text(
        "import sklearn\nimport sklearn.svm\n\n\nclass Mine(sklearn.svm.SVC): pass\n"
    )
    assert issubclass(Place.of("other.py:Mine", folder).load(), sklearn.svm.SVC)


def test_an_installed_class_has_the_version_of_its_distribution():
    place = Place.of("sklearn.kernel_approximation:RBFSampler")
    assert place.version == f"scikit-learn {sklearn.__version__}"
    assert place.load() is __import__("sklearn.kernel_approximation").kernel_approximation.RBFSampler


def test_a_single_file_has_the_version_of_its_distribution_or_its_hash():
    assert Place.of("typing_extensions:TypedDict").version.startswith("typing_extensions 4")


def test_an_installed_module_that_no_distribution_lists_is_known_by_its_hash(tmp_path, monkeypatch):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "not_listed.py").write_text("class Mine: pass\n")
    monkeypatch.syspath_prepend(folder)
    assert Place.of("not_listed:Mine").version.startswith("sha256:")


def test_code_that_is_under_development_is_known_by_its_hash():
    assert Place.of("kfeat.maps.orthogonal:ORF").version.startswith("sha256:")


def test_an_error_is_found_in_the_file(folder):
    place = Place.of("my_map.py:Mine", folder)
    with pytest.raises(ZeroDivisionError) as info:
        place.load()().fit(0)
    assert place.line_of(info.value).endswith("my_map.py, line 6")
    assert place.line_of(ValueError()).endswith("my_map.py, line 4")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("my_map.py", "'my_map.py' is not the place of a class or a function; write my_map.py:Mine for"),
        ("my_map.py:Min", "my_map.py has no 'Min' (did you mean 'Mine'?)"),
        ("none.py:Mine", "none.py: this file of code cannot be read (No such file or directory)"),
        ("broken.py:Mine", "broken.py, line 2: SyntaxError"),
        ("sklearn.no_such:Map", "no module 'sklearn.no_such' is installed"),
        ("no_such_package:Map", "no module 'no_such_package' is installed"),
        ("sklearn.svm:NoSuch", "has no 'NoSuch'"),
    ],
)
def test_what_cannot_be_loaded_is_said_in_a_sentence(text, message, folder):
    (folder / "broken.py").write_text("\nclass Mine\n")
    with pytest.raises(ConfigError) as error:
        Place.of(text, folder).load()
    assert message in str(error.value)


def test_entry_points_are_places():
    assert entry_points("kfeat.no_such_group") == {}
    assert entry_points("console_scripts")["kfeat"] == "kfeat.cli:main"


LOUD = """
import os, signal, sys
print("printed")
os.system("echo echo from a program")
os.chdir("/")
os.umask(0o777)
signal.signal(signal.SIGINT, signal.SIG_IGN)
sys.stdout.close()
sys.stderr = None


class Mine: pass
"""


@pytest.mark.parametrize("error", ["BaseException", "GeneratorExit", "SystemExit", "StopIteration"])
def test_whatever_an_import_raises_is_said_with_the_line(error, folder):
    (folder / "raises.py").write_text(f"import sys\nraise {error}(3)\n")
    with pytest.raises(ConfigError, match=rf"cannot be imported: .*raises\.py, line 2: {error}: 3$"):
        Place.of("raises.py:Mine", folder).load()


@pytest.mark.parametrize("error", [KeyboardInterrupt, Terminated])
def test_signals_are_not_errors_of_the_code(error, folder):
    with pytest.raises(error), code_errors(Place.of("my_map.py:Mine", folder)):
        raise error


# In a process of its own, since it closes streams.
LOADS = """
import os, signal, sys
from kfeat.place import Place
before = os.getcwd(), signal.getsignal(signal.SIGINT)
Place.of("loud.py:Mine").load()
assert (os.getcwd(), signal.getsignal(signal.SIGINT)) == before
os.mkdir("readable")
assert os.stat("readable").st_mode & 0o700 == 0o700
print("result")
print("message", file=sys.stderr)
"""


def test_what_an_import_changes_is_set_back_and_what_it_prints_is_on_stderr(folder):
    (folder / "loud.py").write_text(LOUD)
    ran = subprocess.run(
        [sys.executable, "-c", LOADS], cwd=folder, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == "result\n"
    assert sorted(ran.stderr.splitlines()) == ["echo from a program", "message", "printed"]


def test_what_an_import_changes_of_the_libraries_is_set_back(folder):
    (folder / "strict.py").write_text(
        "import warnings, numpy, sklearn\nnumpy.seterr(all='raise')\nwarnings.simplefilter('error')\n"
        "sklearn.set_config(transform_output='pandas', assume_finite=True)\n\n\nclass Mine: pass\n"
    )
    before = np.geterr(), list(warnings.filters), sklearn.get_config()
    Place.of("strict.py:Mine", folder).load()
    assert (np.geterr(), list(warnings.filters), sklearn.get_config()) == before


def test_a_copy_that_comes_back_from_an_import_ends_and_is_named(folder):
    (folder / "forks.py").write_text("import os\nos.fork()\n\n\nclass Mine: pass\n")
    (folder / "ends.py").write_text("import os\nif os.fork() == 0:\n    os._exit(0)\n\n\nclass Mine: pass\n")
    own = os.getpid()
    with pytest.raises(ConfigError, match=r"forks\.py, line 5: RuntimeError: it forked this process"):
        Place.of("forks.py:Mine", folder).load()
    assert os.getpid() == own
    Place.of("ends.py:Mine", folder).load()


def ended(folder, command):
    """Return the result of a command of Python in a folder; it has ended by itself."""
    return subprocess.run(
        [sys.executable, "-c", command], cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize("status", [0, 3])
def test_code_that_ends_the_process_is_named(folder, status):
    """An exit status of 0 without a word would pass for success."""
    (folder / "ends.py").write_text(f"import os\n\nos._exit({status})\n")
    command = "from kfeat.place import Place\ntry:\n    Place.of('ends.py:Mine').load()\n"
    command += "except Exception as error:\n    print(error)"
    told = ended(folder, command).stdout  # in a process of its own, which a fault would end
    assert f"ends.py, line 3: SystemExit: os._exit({status})" in told
    later = f"import os, kfeat.place\nwith kfeat.place.set_back(): pass\nos._exit({status + 5})"
    assert ended(folder, later).returncode == status + 5


@pytest.mark.parametrize("daemon", [None, False])
def test_a_thread_that_an_import_leaves_behind_does_not_keep_the_process(folder, daemon):
    (folder / "stays.py").write_text(
        f"import threading, time\nthreading.Thread(target=time.sleep, args=(999,), daemon={daemon}).start()\n"
        "\n\nclass Mine: pass\n"
    )
    command = "from kfeat.place import Place\nPlace.of('stays.py:Mine').load()\nprint('done')"
    assert ended(folder, command).stdout == "done\n"


def test_what_a_package_registers_and_is_no_place_is_left_out_with_a_warning(tmp_path, monkeypatch, caplog):
    (tmp_path / "odd-1.0.dist-info").mkdir()
    (tmp_path / "odd-1.0.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: odd\nVersion: 1.0\n")
    listed = "[kfeat.maps]\nodd = a_module\nmore = a_module.b : Map [extra]\n"
    (tmp_path / "odd-1.0.dist-info/entry_points.txt").write_text(listed)
    monkeypatch.syspath_prepend(tmp_path)
    assert entry_points("kfeat.maps") == {"more": "a_module.b:Map"}
    assert "a package registers 'odd' in kfeat.maps as 'a_module', which is left out" in caplog.text
