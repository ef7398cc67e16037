"""edgeinfer serve as a process: the line it prints, how it ends, and why it does not start."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.unit import server_models


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    server_models.tiny(folder)
    server_models.kinds(folder)
    return folder


@contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "edgeinfer_browser.cli", "serve", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
                process.communicate(timeout=20)


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def failure(*arguments: str) -> str:
    """What it says on stderr when it does not start, with exit code 1 and not a word on stdout."""
    with started(*arguments) as process:
        out, err = process.communicate(timeout=30)
        assert (process.returncode, out) == (1, "")
        assert "Traceback" not in err
        return err


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_it_says_where_it_serves_what_and_ends_cleanly(models: Path, how: signal.Signals) -> None:
    with started(str(models), "--port", "0") as process:
        line = first_line(process)
        told = re.fullmatch(
            r"Serving kinds \(fp32\), tiny \(q8\) at (http://127\.0\.0\.1:\d+/) with the API below /\n", line
        )
        assert told, line
        answer = httpx.post(f"{told[1]}predict", json={"model": "tiny", "inputs": "a good secret"})
        assert answer.json()[0]["label"] == "positive"
        process.send_signal(how)
        out, err = process.communicate(timeout=20)
        assert (process.returncode, out, err) == (0, "", "")


def test_every_option(models: Path, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("the page")
    options = ["--site", str(tmp_path), "--api-prefix", "api", "--cors-origin", "https://a.example", "--dtype", "fp32"]
    limits = ["--max-body-mb", "1", "--max-batch", "2", "--max-waiting", "9", "--max-running", "2", "--workers", "2"]
    with started(str(models), "--host", "localhost", "--port", "0", *options, *limits) as process:
        line = first_line(process)
        told = re.fullmatch(r"Serving .*tiny \(fp32\) at (http://localhost:\d+/) with the API below /api/\n", line)
        assert told, line
        assert httpx.get(told[1]).text == "the page"
        predict = f"{told[1]}api/predict"
        assert httpx.post(predict, json={"model": "tiny", "inputs": ["good"] * 3}).status_code == 413
        assert httpx.post(predict, content=b" " * (2**20 + 1)).status_code == 413
        answer = httpx.post(predict, json={"model": "tiny", "inputs": "good"}, headers={"Origin": "https://a.example"})
        assert answer.headers["access-control-allow-origin"] == "https://a.example"


def test_a_folder_without_models(tmp_path: Path) -> None:
    assert "ModelError" in failure(str(tmp_path))
    assert "edgeinfer pack" in failure(str(tmp_path / "nowhere"))


def test_the_model_folder_itself(models: Path) -> None:
    assert "Give the folder that it lies in" in failure(str(models / "tiny"))


def test_a_port_that_is_taken(models: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert f"127.0.0.1:{port} cannot be served on" in failure(str(models), "--port", port)


def test_a_port_that_another_edgeinfer_serve_has(models: Path) -> None:
    with started(str(models), "--port", "0") as process:
        port = re.findall(r":(\d+)/", first_line(process))[0]
        assert "cannot be served on" in failure(str(models), "--port", port)


@pytest.mark.parametrize("options", [["--host", "192.0.2.1"], ["--port", "99999"]])
def test_an_address_that_cannot_be(models: Path, options: list[str]) -> None:
    assert "cannot be served on" in failure(str(models), *options)


def test_a_dtype_that_a_model_has_not(models: Path) -> None:
    assert "Known: fp32" in failure(str(models), "--dtype", "q4", "--port", "0")


def test_a_site_that_is_not_there(models: Path) -> None:
    assert "no folder" in failure(str(models), "--site", str(models / "nowhere"))


def test_a_model_that_was_changed_after_packing(tmp_path: Path) -> None:
    folder = server_models.tiny(tmp_path)
    for file in (folder / "onnx").iterdir():
        file.write_bytes(b"not this one")
    said = failure(str(tmp_path), "--port", "0")
    assert "IntegrityError" in said
    assert "native (q8)" in said


def test_a_q8_file_that_is_broken_leaves_fp32(tmp_path: Path) -> None:
    folder = server_models.tiny(tmp_path)
    (folder / "onnx/model_quantized.onnx").write_bytes(b"not this one")
    with started(str(tmp_path), "--port", "0") as process:
        assert first_line(process).startswith("Serving tiny (fp32)")
