"""A web server in the test process, as good or as bad as a test asks for."""

import hashlib
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from kfeat.data.reading import Reading
from kfeat.data.registry import Entry, Form, RemoteFile


@dataclass
class Answer:
    """What the server sends for one path: a status, a body, and what goes wrong on the way.

    `endless` repeats the body, with pauses, until the client hangs up; `headers` replace those of that name.
    """

    body: bytes = b""
    status: int = 200
    location: str | None = None
    cut_at: int | None = None
    delay_s: float = 0.0
    stall_at: int | None = None
    stall_s: float = 1.0
    endless: bool = False
    pause_s: float = 0.0
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Web:
    """The server: `serve(path, answer, ...)` queues answers, of which the last stays."""

    url: str
    answers: dict[str, list[Answer]] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    sent: int = 0
    stopped: bool = False

    def serve(self, path, *answers):
        self.answers[path] = list(answers)
        return self.url + path

    def next_answer(self, path):
        self.requests.append(path)
        queue = self.answers.get(path, [Answer(status=404)])
        return queue.pop(0) if len(queue) > 1 else queue[0]


class Handler(BaseHTTPRequestHandler):
    web: Web

    def do_GET(self):
        answer = self.web.next_answer(self.path)
        time.sleep(answer.delay_s)
        self.send_response(answer.status)
        headers = {} if answer.endless else {"Content-Length": str(len(answer.body))}
        if answer.location:
            headers["Location"] = answer.location
        for name, value in {**headers, **answer.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        while answer.endless and not self.web.stopped:
            self.web.sent += self.wfile.write(answer.body)
            time.sleep(answer.pause_s)
        start = answer.body[: answer.stall_at] if answer.stall_at is not None else b""
        if start:
            self.wfile.write(start)
            self.wfile.flush()
            time.sleep(answer.stall_s)
        self.wfile.write(answer.body[len(start) : answer.cut_at])

    def log_message(self, *args):
        """Stay quiet."""


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *args):
        """Stay quiet about clients that hang up."""


@contextmanager
def running_web():
    server = Server(("127.0.0.1", 0), Handler)
    web = Web(f"http://127.0.0.1:{server.server_address[1]}")
    server.RequestHandlerClass = type("BoundHandler", (Handler,), {"web": web})
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield web
    server.shutdown()
    server.server_close()
    thread.join()


def remote(content, *urls, path="toy/file", known=True):
    """Return the registry's record of a file with this content."""
    sha256 = hashlib.sha256(content).hexdigest() if known else None
    return RemoteFile(path=path, sha256=sha256, urls=urls)


TRAIN = b"+1 1:0.5 3:1\n-1 2:1\n" * 50
TEST = b"+1 1:0.25\n-1 2:4\n"


def toy(web, **changes):
    """Return an entry whose two files the server has."""
    files = {
        "train": remote(TRAIN, web.serve("/train", Answer(TRAIN)), path="toy/train"),
        "test": remote(TEST, web.serve("/test", Answer(TEST)), path="toy/test"),
    }
    form = Form(files=files, reading=Reading(format="svmlight", n_features=4))
    standard = {
        "title": "Toy",
        "task": "classification",
        "shape": {"train": (100, 4), "test": (2, 4)},
        "labels": {"train": {-1: 50, 1: 50}},
        "forms": (form,),
        "licence": "none",
        "citation": "none",
    }
    return Entry(**{**standard, **changes})
