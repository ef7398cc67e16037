"""A session in the browser gives the outputs it was made for: the others stay where they were computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgeinfer_browser.errors import RunError
from edgeinfer_browser.headless.session import WebSessions, web_sessions
from edgeinfer_browser.packing.native import answers, open_session
from edgeinfer_browser.packing.pack import Options, pack
from tests import tiny_encoder

FEEDS = {"input_ids": np.array([[2, 4, 5, 3]]), "attention_mask": np.ones((1, 4), np.int64)}
NAMES = ["sentence_embedding", "last_hidden_state"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A packed encoder."""
    there = tmp_path_factory.mktemp("session_outputs")
    source = tiny_encoder.write(there / "source")
    pack(source, there / "out", "feature-extraction", variants={}, options=Options(browser=None))
    return there / "out"


Run = Callable[[list[str]], dict[str, Any]]


@pytest.fixture(scope="module")
def run(folder: Path) -> Iterator[Run]:
    """run(outputs) -> what a session gives that was made for those outputs."""
    context = web_sessions(folder)
    with ThreadPoolExecutor(1) as pool:  # the fixtures of other tests keep Playwright in this thread
        web = pool.submit(context.__enter__).result(timeout=120)
        yield lambda outputs: pool.submit(_run, web, folder, outputs).result(timeout=120)
        pool.submit(context.__exit__, None, None, None).result(timeout=60)


def _run(web: WebSessions, folder: Path, outputs: list[str]) -> dict[str, Any]:
    files = sorted(f"onnx/{path.name}" for path in (folder / "onnx").iterdir())
    with web.create(files, outputs=outputs) as session:
        given = session.run(FEEDS)
        assert len(session.time(FEEDS, 2)) == 2
    return given


@pytest.mark.parametrize("outputs", [NAMES[:1], NAMES[1:], NAMES[::-1], []])
def test_a_session_gives_the_outputs_it_was_made_for_and_all_by_default(
    run: Run, folder: Path, outputs: list[str]
) -> None:
    given = run(outputs)
    [native] = answers(open_session(folder / "onnx/model.onnx"), [FEEDS], outputs or NAMES)
    assert set(given) == set(native) == set(outputs or NAMES)
    for name, expected in native.items():
        assert np.allclose(given[name], expected, atol=1e-5), name


def test_an_output_that_the_graph_lacks_is_a_rejected_run(run: Run) -> None:
    with pytest.raises(RunError, match="scores"):
        run(["scores"])
