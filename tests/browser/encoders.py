"""Small encoders served to a page: one packed with two heads, and the same as a plain Hugging Face folder."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from edgeinfer_browser.headless.page import site_folder
from edgeinfer_browser.headless.serving import serving
from edgeinfer_browser.packing.head_file import Head
from edgeinfer_browser.packing.head_training import write_head
from edgeinfer_browser.packing.pack import Options, pack
from edgeinfer_browser.pipelines.labels import MULTI_LABEL, SINGLE_LABEL
from tests.browser.conftest import SITE
from tests.layered_encoder import LAYERS, WIDTH, encoder, write_source

#: Short, long and empty, of words that the encoders know.
TEXTS = ["good", "bad bad day good day", "", "day " * 30]


def heads(folder: Path) -> tuple[Path, ...]:
    """The files of two heads of random weights: "mood" reads every layer, "topic" the embedding."""
    random = np.random.default_rng(5)
    mood, topic = (random.normal(size=size).astype(np.float32) for size in ((2, (LAYERS + 1) * WIDTH), (3, WIDTH)))
    made = [
        Head("mood", ("negative", "positive"), SINGLE_LABEL, "every_layer", mood, np.zeros(2, np.float32)),
        Head("topic", ("day", "night", "noon"), MULTI_LABEL, "sentence_embedding", topic, np.zeros(3, np.float32)),
    ]
    for head in made:
        write_head(head, folder / f"{head.name}.json")
    return tuple(folder / f"{head.name}.json" for head in made)


@contextmanager
def served_encoders(work: Path) -> Iterator[tuple[str, Path]]:
    """The URL of a site with the API, and the folder of its models: ``shared``, ``mood-alone`` and ``plain``."""
    source = write_source(work / "source", encoder())
    models = work / "models"
    options = Options(heads=heads(work), browser=None)
    pack(source, models / "shared", "feature-extraction", variants={}, options=options)
    alone = Options(heads=options.heads[:1], browser=None)
    pack(source, models / "mood-alone", "text-classification", variants={}, options=alone)
    write_source(models / "plain", encoder())
    with (
        site_folder({"edgeinfer": SITE / "edgeinfer", "models": models}) as site,
        serving(models, "--site", str(site), "--api-prefix", "/api") as url,
    ):
        yield url, models


def in_thread(work: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine; Playwright's sync API has an event loop running in this thread."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
