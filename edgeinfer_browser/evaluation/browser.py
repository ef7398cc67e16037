"""The browser's tiers: every variant in onnxruntime-web, in a real headless Chromium, one thread."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np

from edgeinfer_browser.capabilities import Capabilities
from edgeinfer_browser.errors import BackendError
from edgeinfer_browser.evaluation.agreement import agreement
from edgeinfer_browser.evaluation.packed_model import PackedModel
from edgeinfer_browser.evaluation.samples import FEW_TEXTS
from edgeinfer_browser.evaluation.tiers import Answers, Tier, TimedSession, Workload, measure
from edgeinfer_browser.headless.session import WebSession, WebSessions

#: Texts whose answers in the browser are held against native ones; on a software GPU, which is slow, fewer.
BROWSER_TEXTS = 100
#: Against native, the same file: a cosine below or a change of a score above is more than int8's rounding.
STRAY_COSINE, STRAY_SCORE = 0.98, 0.1
SOFTWARE_ROUNDS = 3
SOFTWARE_LONGEST = 32

_ADAPTER = """async () => {
  const adapter = await navigator.gpu?.requestAdapter();
  if (!adapter) return { present: Boolean(navigator.gpu) };
  const { vendor, architecture, device, description } = adapter.info;
  return {
    present: true, adapter: true, buffer: true, compute: true, features: [...adapter.features],
    isFallbackAdapter: adapter.info.isFallbackAdapter ?? false, info: { vendor, architecture, device, description },
  };
}"""


def adapter_of(web: WebSessions) -> Capabilities:
    """The page's WebGPU adapter: ``webgpu``, ``software_adapter``, ``adapter`` and ``features`` are filled in."""
    return Capabilities.from_facts({"secureContext": True, "gpu": web.page.evaluate(_ADAPTER)})


def measure_in_browser(
    web: WebSessions, name: str, model: PackedModel, work: Workload, native: Mapping[str, Answers]
) -> Tier:
    """Answers, latency, WASM memory and the difference to native answers, of every variant on one tier.

    Args:
        web: where sessions are made.
        name: ``wasm`` or ``webgpu``.
        model: the packed folder.
        work: the texts and what is timed; see :data:`BROWSER_TEXTS` for how many texts are run.
        native: dtype -> native ONNX Runtime's answers to the same texts.
    """
    tier = Tier(name)
    device = adapter_of(web) if name == "webgpu" else None
    if device and not device.webgpu:
        tier.variants = {dtype: {"error": device.reasons["webgpu"]} for dtype in model.dtypes}
        return tier
    work = replace(work, feeds=work.feeds[:BROWSER_TEXTS])
    if device and device.software_adapter:
        work = _for_software(work)
        tier.warnings.append(
            f"webgpu runs on a software adapter ({device.adapter}) here: its answers count, its milliseconds do not "
            f"({work.rounds} rounds, {len(work.feeds)} texts)."
        )
    with ExitStack() as stack:
        sessions = _sessions(stack, web, tier, model, device)
        measure(tier, sessions, work)
        for dtype, answered in tier.answers.items():
            tier.variants[dtype] |= _facts(sessions[dtype]) | _against_native(model, native.get(dtype), answered)
    tier.warnings += _strays(tier, work)
    return tier


def _for_software(work: Workload) -> Workload:
    timed = {tokens: feeds for tokens, feeds in work.timed.items() if tokens <= SOFTWARE_LONGEST}
    return Workload(work.feeds[:FEW_TEXTS], timed, min(work.rounds, SOFTWARE_ROUNDS), warm_up=1)


def _sessions(
    stack: ExitStack, web: WebSessions, tier: Tier, model: PackedModel, device: Capabilities | None
) -> dict[str, TimedSession]:
    made: dict[str, TimedSession] = {}
    for dtype in model.dtypes:
        missing = sorted(set(model.manifest.variant(dtype).features) - device.features) if device else []
        if missing:
            tier.variants[dtype] = {"error": f"the adapter lacks {', '.join(missing)}"}
            continue
        try:
            made[dtype] = stack.enter_context(web.create(model.files(dtype), tier.name, model.outputs))
        except BackendError as error:
            tier.variants[dtype] = {"error": error.message}
    return made


def _facts(session: TimedSession) -> dict[str, Any]:
    assert isinstance(session, WebSession)  # made above
    memory = {"loaded": session.wasm_bytes, "peak": session.memory()}
    return {"wasm_bytes": memory, "onnxruntime_web": session.version}


def _against_native(model: PackedModel, native: Answers | None, answered: Answers) -> dict[str, Any]:
    if native is None:
        return {}
    compared = {
        name: agreement(native[: len(answered)], answered, name, multi_label=model.multi_label(name))
        for name in model.outputs
    }
    return {"against_native": {name: each.to_json() for name, each in compared.items()}}


def _strays(tier: Tier, work: Workload) -> Iterator[str]:
    """A sentence for each variant whose answers are not native ONNX Runtime's."""
    for dtype, entry in tier.variants.items():
        for output, compared in entry.get("against_native", {}).items():
            logits = "largest_score_change" in compared
            change, cosine = compared.get("largest_score_change", 0.0), compared["worst_cosine"]
            if change > STRAY_SCORE or compared["not_finite"] or (not logits and cosine < STRAY_COSINE):
                figure = f"a score changes by {change:.2f}" if logits else f"the cosine falls to {cosine:.4f}"
                tokens = np.shape(work.feeds[compared["worst_text"]]["input_ids"])[1]
                yield (
                    f"{tier.name} does not answer what native ONNX Runtime answers with {dtype}: {output}, {figure} "
                    f"(worst cosine on a text of {tokens} tokens). Do not trust this tier with it on such a device."
                )
