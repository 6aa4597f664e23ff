"""Ctrl-C and SIGTERM at any moment of a command end it with a sentence and the status of the signal."""

import os
import signal
import subprocess
import sys
import time
from importlib.util import LazyLoader, find_spec, module_from_spec

import click
import pytest
from click.testing import CliRunner

from kfeat.cli import main

ENDS = [(signal.SIGINT, "interrupted", 130), (signal.SIGTERM, "terminated", 143)]


class ExtensionFileLoader:
    """Code that Python calls while it imports a compiled module."""

    @staticmethod
    def exec_module(number):
        os.kill(os.getpid(), number)
        time.sleep(0.01)  # the handler runs here
        return "imported"


@pytest.fixture
def command(interruptible):
    """Return a function that runs a command with this body, and restores the handlers of signals."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)}

    def called(body):
        group = type(main)(commands={"x": click.Command("x", callback=body)})
        return CliRunner().invoke(group, ["x"])

    yield called
    signal.setitimer(signal.ITIMER_REAL, 0)
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(("number", "word", "status"), ENDS)
def test_an_error_that_compiled_code_makes_of_a_signal_is_the_signal(command, number, word, status):
    def body():
        try:
            os.kill(os.getpid(), number)
            time.sleep(5)
        except BaseException:
            raise ImportError("numpy._core.multiarray failed to import") from None

    result = command(body)
    assert (result.exit_code, result.stderr) == (status, f"kfeat: {word}\n")


@pytest.mark.parametrize(("number", "word", "status"), ENDS)
def test_a_signal_waits_for_the_import_of_a_compiled_module(command, number, word, status):
    done = []

    def body():
        done.append(ExtensionFileLoader.exec_module(number))
        time.sleep(5)
        done.append("slept")

    result = command(body)
    assert (result.exit_code, result.stderr) == (status, f"kfeat: {word}\n")
    assert done == ["imported"]


@pytest.mark.parametrize(("number", "word", "status"), ENDS)
def test_a_signal_waits_for_the_load_of_a_postponed_module(
    command, number, word, status, tmp_path, monkeypatch
):
    """Python drops what is raised in it, since it asks for `__spec__` and takes any error for an answer."""
    (tmp_path / "late.py").write_text(
        f"import os, time\nos.kill(os.getpid(), {int(number)})\ntime.sleep(0.01)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    spec = find_spec("late")
    spec.loader = LazyLoader(spec.loader)
    monkeypatch.setitem(sys.modules, "late", module_from_spec(spec))
    spec.loader.exec_module(sys.modules["late"])
    done = []

    def body():
        exec("import late")
        time.sleep(5)
        done.append("slept")

    result = command(body)
    assert (result.exit_code, result.stderr) == (status, f"kfeat: {word}\n")
    assert not done


@pytest.mark.parametrize(("number", "word", "status"), ENDS)
def test_a_second_signal_ends_an_import_too(command, number, word, status):
    done = []

    def body():
        ExtensionFileLoader.exec_module(number)
        done.append(ExtensionFileLoader.exec_module(number))

    result = command(body)
    assert (result.exit_code, result.stderr) == (status, f"kfeat: {word}\n")
    assert not done


def test_an_error_without_a_signal_stays(command):
    def body():
        raise ImportError("no module")

    assert isinstance(command(body).exception, ImportError)


def test_ctrl_c_before_a_command_has_begun_shows_no_traceback():
    hook = (
        "import signal, sys, os\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "class Finder:\n    def find_spec(self, name, *_):\n"
        "        name == 'click' and os.kill(os.getpid(), signal.SIGINT)\nsys.meta_path.insert(0, Finder())\n"
    )
    ended = subprocess.run([sys.executable, "-c", f"{hook}import kfeat.cli"], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (-signal.SIGINT, "")
