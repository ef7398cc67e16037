"""A server of files on loopback that knows ranges, keeps a log, and fails as it is told to."""

from __future__ import annotations

import hashlib
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from edgeinfer_browser.server.site import HEADERS, media_type

#: Seconds after which an answer that is held goes on: the test has failed by then.
HOLD_SECONDS = 60


@dataclass
class Request:
    """One request: what was asked for and the bytes of the file that were sent."""

    path: str
    range: str
    sent: int = 0


@dataclass
class Fault:
    """What goes wrong with one answer: another status and body, or the connection after ``cut`` bytes.

    With ``hold`` the answer stops after ``cut`` bytes until the event is set, and then breaks or, with ``goes_on``, is
    sent to its end.
    """

    status: int = 0
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None
    hold: threading.Event | None = None
    goes_on: bool = False


@dataclass
class FileServer:
    """Files of a folder; ``faults`` are by the end of the path, one for each request, in order."""

    folder: Path
    url: str = ""
    log: list[Request] = field(default_factory=list)
    faults: dict[str, list[Fault]] = field(default_factory=dict)

    def asked(self, end: str) -> list[Request]:
        """The requests for a file so far."""
        return [request for request in self.log if request.path.endswith(end)]

    def fault(self, path: str) -> Fault | None:
        """The next fault of a path."""
        for end, waiting in self.faults.items():
            if path.endswith(end) and waiting:
                return waiting.pop(0)
        return None


@contextmanager
def file_server(folder: Path) -> Iterator[FileServer]:
    """The server, in a thread, until the end of the block."""
    server = FileServer(folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, server)) as http:
        http.daemon_threads = True
        server.url = f"http://127.0.0.1:{http.server_port}/"
        thread = threading.Thread(target=lambda: http.serve_forever(poll_interval=0.02))
        thread.start()
        yield server
        for fault in (fault for waiting in server.faults.values() for fault in waiting):
            if fault.hold:
                fault.hold.set()
        http.shutdown()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, server: FileServer, *args: object) -> None:
        self.files = server
        super().__init__(*args)  # type: ignore[arg-type]  # as the server calls it

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        request = Request(path, self.headers.get("Range", ""))
        self.files.log.append(request)
        fault = self.files.fault(path) or Fault()
        file = self.files.folder / path.lstrip("/")
        if fault.status or not file.is_file():
            self._head(fault.status or 404, fault.headers, len(fault.body))
            self._write(fault.body)
            return
        data = file.read_bytes()
        start = self._start(data)
        headers = {"ETag": _etag(data), "Content-Type": media_type(path)}
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        self._head(206 if start else 200, headers, len(data) - start)
        self._send(data[start:], request, fault)

    def _start(self, data: bytes) -> int:
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        return int(asked[1]) if asked and self.headers.get("If-Range", _etag(data)) == _etag(data) else 0

    def _head(self, status: int, headers: dict[str, str], length: int) -> None:
        self.send_response(status)
        for name, value in {**HEADERS, "Content-Length": str(length), **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def _send(self, data: bytes, request: Request, fault: Fault) -> None:
        request.sent += self._write(data[: fault.cut])
        if fault.hold:
            fault.hold.wait(HOLD_SECONDS)
        if fault.goes_on:
            request.sent += self._write(data[fault.cut :])
        elif fault.cut is not None:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_WR)

    def _write(self, data: bytes) -> int:
        try:
            self.wfile.write(data)
            self.wfile.flush()
        except ConnectionError:  # the page is gone
            return 0
        return len(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as in the base class
        return


def _etag(data: bytes) -> str:
    return f'"{hashlib.sha256(data).hexdigest()[:16]}"'
