"""Doubles for the unit tests: devices, model folders and a whole browser, each made in one line."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from edgeinfer_browser.bridge import Notice, OnNotice, OnProgress, Response, SessionSpec
from edgeinfer_browser.capabilities import Capabilities
from edgeinfer_browser.errors import EdgeInferError, IntegrityError, NotFoundError, RemoteError, SessionError
from edgeinfer_browser.manifest import ModelFile, ModelManifest, Variant, revision_of
from edgeinfer_browser.tensors import Tensor
from edgeinfer_browser.wire import infer_response, parse_message

BASE = "https://host.test/models/tiny/"
API = "https://host.test/api/"

Feeds = Mapping[str, Tensor]
Answer = Callable[[Feeds], dict[str, Tensor]]


def facts(**changes: Any) -> dict[str, Any]:
    """What the probe says of a good desktop browser, changed: ``facts(gpu__adapter=False, cores=2)``."""
    told: dict[str, Any] = {
        "host": "worker",
        "secureContext": True,
        "crossOriginIsolated": True,
        "workers": True,
        "cores": 8,
        "deviceMemory": 8,
        "gpu": {
            "present": True,
            "adapter": True,
            "isFallbackAdapter": False,
            "info": {"vendor": "acme", "architecture": "rocket-1", "device": "", "description": "Acme Rocket"},
            "features": ["shader-f16", "timestamp-query"],
            "limits": {"maxBufferSize": 2**31, "maxStorageBufferBindingSize": 2**30},
            "buffer": True,
            "compute": True,
            "step": "compute",
        },
        "wasm": {"compiles": True, "error": "", "simd": True, "threads": True, "jspi": True},
        "storage": {"cacheApi": True, "cacheError": "", "quota": 10**9, "usage": 10**6, "persisted": False},
        "network": {"online": True, "saveData": False, "effectiveType": "4g"},
    }
    for path, value in changes.items():
        *parents, last = path.split("__")
        place = told
        for parent in parents:
            place = place[parent]
        place[last] = value
    return told


def device(**changes: Any) -> Capabilities:
    """The capabilities of :func:`facts`, changed."""
    return Capabilities.from_facts(facts(**changes))


def variant(dtype: str, size: int = 1000, **fields: Any) -> Variant:
    """A variant of one file."""
    features = ("shader-f16",) if "f16" in dtype or dtype == "fp16" else ()
    return Variant(dtype, (ModelFile(f"onnx/{dtype}.onnx", size, "0" * 64),), **{"features": features, **fields})


def model(*variants: Variant | str, **fields: Any) -> ModelManifest:
    """A manifest with these variants (a dtype stands for a small one)."""
    made = [variant(v) if isinstance(v, str) else v for v in variants]
    known: dict[str, Any] = {
        "name": "tiny",
        "task": "text-classification",
        "revision": "r1",
        "labels": ("negative", "positive"),
        "problem_type": "single_label_classification",
        "max_length": 16,
        "inputs": ("input_ids", "attention_mask"),
    }
    return ModelManifest(**{**known, **fields}, variants={v.dtype: v for v in made})


def logits(*values: float) -> dict[str, Tensor]:
    """The output of a classifier for one text."""
    return {"logits": Tensor.from_values("float32", [1, len(values)], values)}


def feeds(*ids: int) -> dict[str, Tensor]:
    """The feeds of one text."""
    return {
        "input_ids": Tensor.from_values("int64", [1, len(ids)], ids),
        "attention_mask": Tensor.from_values("int64", [1, len(ids)], [1] * len(ids)),
    }


def count_good(given: Feeds) -> dict[str, Tensor]:
    """A "model": the more the word *good* (id 4) is in each row, the more positive; *bad* (id 5) the contrary."""
    rows = given["input_ids"].rows()
    values = [score for row in rows for score in (float(row.count(5)), float(row.count(4)))]
    return {"logits": Tensor.from_values("float32", [len(rows), 2], values)}


#: ``tokenizer.json`` of seven words. Ids: good 4, bad 5, day 6.
TOKENIZER = json.dumps(
    {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": number,
                "content": token,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for number, token in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
        ],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
            ],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {
                "[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]},
                "[SEP]": {"id": "[SEP]", "ids": [3], "tokens": ["[SEP]"]},
            },
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "good": 4, "bad": 5, "day": 6},
        },
    }
).encode()


def entry(path: str, data: bytes) -> dict[str, Any]:
    """A file as the manifest lists it."""
    return {"path": path, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def manifest_json(dtypes: Sequence[str] = ("fp32", "q8"), **changes: Any) -> dict[str, Any]:
    """``edgeinfer.json`` of a small packed classifier whose golden sample is "good"."""
    tokens = {"dtype": "int64", "dims": [1, 3], "data": [2, 4, 3]}
    ones = {"dtype": "int64", "dims": [1, 3], "data": [1, 1, 1]}
    answer = {"logits": {"dtype": "float32", "dims": [1, 2], "data": [0.0, 1.0]}}
    source: dict[str, Any] = {
        "format": 1,
        "name": "tiny",
        "task": "text-classification",
        "labels": ["negative", "positive"],
        "problem_type": "single_label_classification",
        "max_length": 16,
        "inputs": [{"name": "input_ids"}, {"name": "attention_mask"}],
        "files": {"tokenizer.json": entry("tokenizer.json", TOKENIZER)},
        "golden": [{"inputs": {"input_ids": tokens, "attention_mask": ones}}],
        "variants": {
            dtype: {
                "files": [entry(f"onnx/{dtype}.onnx", dtype.encode())],
                "largest_tensor": 100,
                "features": ["shader-f16"] if dtype == "fp16" else [],
                "tolerance": 0.05,
                "golden": [answer],
            }
            for dtype in dtypes
        },
        **changes,
    }
    return {**source, "revision": revision_of(source)}


def packed_folder(dtypes: Sequence[str] = ("fp32", "q8"), **changes: Any) -> dict[str, bytes]:
    """The files of a packed model, by URL."""
    return {
        f"{BASE}edgeinfer.json": json.dumps(manifest_json(dtypes, **changes)).encode(),
        f"{BASE}tokenizer.json": TOKENIZER,
        **{f"{BASE}onnx/{dtype}.onnx": dtype.encode() for dtype in dtypes},
    }


def infer_answer(request_body: bytes, headers: Mapping[str, str], answer: Answer = count_good) -> Response:
    """What a good Open Inference Protocol server answers."""
    length = {name.lower(): value for name, value in headers.items()}.get("inference-header-content-length")
    _, given = parse_message(request_body, length, "inputs")
    outputs = answer(given)
    body, told = infer_response(outputs, frozenset(outputs), model_name="tiny", model_version="r1", request_id=None)
    return Response(200, {name.lower(): value for name, value in told.items()}, body)


@dataclass
class Request:
    """A request that was made."""

    method: str
    url: str
    body: bytes
    headers: Mapping[str, str]
    timeout: float


@dataclass
class FakeBridge:
    """A browser: files by URL, sessions that answer with ``answer``, and an API that plays ``responses`` in order.

    ``session_errors`` and ``run_errors`` are by execution provider, raised one after the other. ``gate`` is awaited
    before each session is made.
    """

    files: dict[str, bytes] = field(default_factory=packed_folder)
    facts: dict[str, Any] = field(default_factory=facts)
    answer: Answer = field(default_factory=lambda: count_good)
    responses: list[Response | EdgeInferError] = field(default_factory=list)
    session_errors: dict[str, list[EdgeInferError]] = field(default_factory=dict)
    run_errors: dict[str, list[EdgeInferError]] = field(default_factory=dict)
    gate: Callable[[], Awaitable[object]] | None = None
    input_names: Sequence[str] = ("input_ids", "attention_mask")

    #: What the host gives up with each file that has a hash.
    notices: list[Notice] = field(default_factory=list)
    forgotten: list[tuple[str, list[tuple[str, str]]]] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    specs: list[SessionSpec] = field(default_factory=list)
    runs: list[tuple[str, Feeds]] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)
    sessions: dict[int, str] = field(default_factory=dict)

    async def probe(self) -> dict[str, Any]:
        return self.facts

    async def runtime_url(self) -> str:
        return "https://host.test/edgeinfer/"

    async def absolute_url(self, url: str) -> str:
        return url if "://" in url else f"https://host.test{url}"

    async def fetch_file(
        self, url: str, *, sha256: str = "", size: int = 0, timeout: float, on_notice: OnNotice | None = None
    ) -> bytes:
        self.fetched.append(url)
        if on_notice and sha256:
            for notice in self.notices:
                on_notice(notice)
        if url not in self.files:
            raise NotFoundError(f"{url} was not found (404).", url=url, status=404)
        data = self.files[url]
        if sha256 and hashlib.sha256(data).hexdigest() != sha256:
            raise IntegrityError(f"{url} has another sha256.", url=url)
        return data

    async def fetch_to_cache(
        self,
        url: str,
        *,
        sha256: str,
        size: int,
        timeout: float,
        on_progress: OnProgress | None,
        on_notice: OnNotice | None = None,
    ) -> str:
        data = await self.fetch_file(url, sha256=sha256, size=size, timeout=timeout, on_notice=on_notice)
        if on_progress:
            on_progress(len(data) // 2, len(data))
            on_progress(len(data), len(data))
        return f"key:{url}"

    async def forget_old_revisions(self, folder: str, current: Iterable[tuple[str, str]]) -> None:
        self.forgotten.append((folder, list(current)))

    async def create_session(self, spec: SessionSpec) -> tuple[int, dict[str, Any]]:
        self.specs.append(spec)
        if self.gate:
            await self.gate()
        if errors := self.session_errors.get(spec.execution_provider):
            raise errors.pop(0)
        number = len(self.specs)
        self.sessions[number] = spec.execution_provider
        return number, {"inputNames": list(self.input_names), "outputNames": ["logits"]}

    async def run(self, session: int, feeds: Feeds, *, timeout: float) -> dict[str, Tensor]:
        if session not in self.sessions:
            raise SessionError(f"Session {session} was released.")
        provider = self.sessions[session]
        self.runs.append((provider, feeds))
        if errors := self.run_errors.get(provider):
            raise errors.pop(0)
        return self.answer(feeds)

    async def time_session(self, session: int, feeds: Feeds, *, runs: int, timeout: float) -> list[float]:
        return [1.0] * runs

    async def release(self, session: int) -> None:
        self.sessions.pop(session, None)

    async def request(
        self, method: str, url: str, *, body: bytes, headers: Mapping[str, str], timeout: float
    ) -> Response:
        self.requests.append(Request(method, url, body, headers, timeout))
        if not self.responses:
            return infer_answer(body, headers)
        response = self.responses.pop(0)
        if isinstance(response, EdgeInferError):
            raise response
        return response

    async def recall(self, key: str) -> str | None:
        return self.notes.get(key)

    async def remember(self, key: str, text: str) -> None:
        self.notes[key] = text


def no_answer() -> RemoteError:
    """What a server that is down gives."""
    return RemoteError("https://host.test gave no answer. Check that it is up.", url="https://host.test")
