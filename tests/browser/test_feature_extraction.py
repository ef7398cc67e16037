"""MiniLM's embeddings in a real browser: each tier's are CPython's, and texts of one meaning are near each other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import pytest
from playwright.sync_api import Browser

from edgeinfer_browser import pipeline
from edgeinfer_browser.headless.page import site_folder
from edgeinfer_browser.headless.serving import serving
from tests.browser.client import Client
from tests.browser.conftest import ROOT, SITE
from tests.browser.encoders import in_thread

MINILM = ROOT / "build/models/minilm"
TEXTS = [
    "How do I reset my password?",
    "I forgot my login and cannot sign in.",
    "The cat sleeps on the warm windowsill all afternoon, and nothing in the world will wake it before dinner.",
    "A kitten is napping in the sun.",
    "",
]
#: Least cosine to CPython's embedding of the same file: int8 kernels round otherwise on each instruction set.
LEAST = {"fp32": 0.99999, "fp16": 0.999, "q8": 0.99}


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    return math.fsum(x * y for x, y in zip(a, b, strict=True)) / (math.hypot(*a) * math.hypot(*b))


async def natively(dtype: str | None) -> list[list[float]]:
    pipe = await pipeline("feature-extraction", model=str(MINILM), dtype=dtype)
    vectors = await pipe(TEXTS)
    await pipe.close()
    return vectors


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    models = tmp_path_factory.mktemp("models")
    (models / "minilm").symlink_to(MINILM, target_is_directory=True)
    with (
        site_folder({"edgeinfer": SITE / "edgeinfer", "models": models}) as site,
        serving(models, "--site", str(site), "--api-prefix", "/api") as made,
    ):
        yield made


@pytest.mark.parametrize("tier", ["wasm", "webgpu", "api"])
def test_embeddings_are_cpython_s_on_every_tier(url: str, chromium: Browser, tier: str) -> None:
    with chromium.new_context(base_url=url) as context:
        page = context.new_page()
        page.goto("index.html")
        client = Client(page)
        client.load("minilm", task="feature-extraction", tier=tier)
        vectors, info = client.call(TEXTS)
    assert info["last"]["tier"] == tier
    dtype = info["last"]["dtype"]
    nearest = min(cosine(a, b) for a, b in zip(vectors, in_thread(natively(dtype)), strict=True))
    print(f"{tier} {dtype}: cosine {nearest:.6f} at the least")
    assert nearest >= LEAST[dtype]
    assert all(math.hypot(*vector) == pytest.approx(1, abs=1e-3) for vector in vectors)
    query, same, cat, kitten, _ = vectors
    assert cosine(query, same) > cosine(query, cat) + 0.2
    assert cosine(cat, kitten) > cosine(cat, same) + 0.2
