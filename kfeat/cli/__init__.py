"""The `kfeat` command: one module per group of commands, each command a few lines."""

import signal
import threading

# Until a command has begun, Ctrl-C ends the process at once, without the traceback of an import.
_begins = (
    threading.current_thread() is threading.main_thread()
    and signal.getsignal(signal.SIGINT) is signal.default_int_handler
)
if _begins:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from kfeat.cli.main import main  # noqa: E402

if _begins:
    signal.signal(signal.SIGINT, signal.default_int_handler)

__all__ = ["main"]
