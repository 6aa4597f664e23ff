"""Serving the pages to the browsers of this machine only."""

from collections.abc import Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from kfeat.errors import StoreError

HOST = "127.0.0.1"  # no other machine is answered


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing of each request."""


def serve(folder: Path, port: int, started: Callable[[str], object]) -> None:
    """Serve a folder until the process is interrupted; `started` receives the address.

    Raises StoreError where the port is taken.
    """
    try:
        server = ThreadingHTTPServer((HOST, port), partial(_Quiet, directory=str(folder)))
    except OSError as error:
        raise StoreError(
            f"port {port} of {HOST} cannot be used ({error.strerror}); choose another with --port, or 0"
        ) from None
    with server:
        started(f"http://{HOST}:{server.server_address[1]}/")
        server.serve_forever()
