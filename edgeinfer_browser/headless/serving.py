"""Servers on loopback: ``edgeinfer serve`` in a process of its own, and plain files in a thread."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, Any

from edgeinfer_browser.errors import EdgeInferError

#: Seconds that the server may take to end after it said that it cannot start.
SERVER_SECONDS = 60


@contextmanager
def serving(models: Path, *options: str) -> Iterator[str]:
    """``edgeinfer serve`` on a free port in a process of its own; gives its URL (ending in "/"), and ends it.

    Raises:
        EdgeInferError: when it does not start; the message is what it said.
    """
    command = [sys.executable, "-m", "edgeinfer_browser.cli", "serve", str(models), "--port", "0", *options]
    with (
        tempfile.TemporaryFile("w+") as said,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, text=True) as server,
    ):
        try:
            yield _ready_url(server, said)
        finally:
            server.terminate()
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()


def _ready_url(server: subprocess.Popen[str], said: IO[str]) -> str:
    assert server.stdout is not None  # it was asked for
    for line in server.stdout:
        url = next((word for word in line.split() if word.startswith("http://")), None)
        if url:
            return url if url.endswith("/") else f"{url}/"
    server.wait(SERVER_SECONDS)
    said.seek(0)
    raise EdgeInferError(f"The server did not start:\n{said.read().strip()}")


class _Files(SimpleHTTPRequestHandler):
    """Files with the headers that make a page cross-origin isolated, which also gives it a fine clock."""

    def end_headers(self) -> None:
        self.send_header("Cross-Origin-Opener-Policy", "same-origin")
        self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name for it
        """Requests are no news."""


@contextmanager
def serving_files(folder: Path) -> Iterator[str]:
    """The files of a folder on a free port; gives the URL (ending in "/")."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Files, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, name="edgeinfer-files", daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()
