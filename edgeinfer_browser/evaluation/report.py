"""Everything that ``edgeinfer evaluate`` measures of a packed folder, as one JSON object."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgeinfer_browser.evaluation.accuracy import accuracy, head_of_labels
from edgeinfer_browser.evaluation.agreement import agreement
from edgeinfer_browser.evaluation.browser import measure_in_browser
from edgeinfer_browser.evaluation.machine import machine
from edgeinfer_browser.evaluation.packed_model import REFERENCE, Head, PackedModel
from edgeinfer_browser.evaluation.samples import FEW_TEXTS, Samples
from edgeinfer_browser.evaluation.tiers import Answers, Tier, Workload, measure_native, tokens_of
from edgeinfer_browser.evaluation.write_back import advice_of
from edgeinfer_browser.headless.session import web_sessions

#: Lengths, in tokens with the special ones, at which latency is measured.
LENGTHS = (8, 32, 128)
TIERS = ("native", "wasm", "webgpu")


@dataclass(frozen=True, slots=True)
class Wish:
    """What to measure: the tiers, timed rounds, and where the browser and its runtime folder are."""

    tiers: tuple[str, ...] = TIERS
    rounds: int = 20
    runtime: Path | None = None
    browser: str | None = None


def evaluate(model: PackedModel, samples: Samples, wish: Wish, say: Callable[[str], None]) -> dict[str, Any]:
    """Measure every variant on the texts.

    Args:
        model: the packed folder.
        samples: texts that were not used for calibration or training (see ``require_unused``).
        wish: tiers and rounds.
        say: called with a line at each step.

    Returns:
        ``model``, ``texts``, ``machine``, ``labels`` (output -> labels), ``variants`` (dtype -> bytes, agreement,
        accuracy, tiers), ``advice`` and ``warnings``. Shares are not per cent, latency is in milliseconds, memory in
        bytes.

    Raises:
        InputError: when labels are not the model's, or there is no browser to measure in.
        SessionError: when native ONNX Runtime refuses fp32.
    """
    head = head_of_labels(model.heads(), samples.labels) if samples.labels else None
    feeds, timed = model.feeds(samples.texts), model.feeds_of_length(samples.texts, LENGTHS)
    say(f"native: {len(model.dtypes)} variants, {len(feeds)} texts")
    native = measure_native(model, Workload(feeds, timed if "native" in wish.tiers else {}, wish.rounds))
    tiers: list[Tier] = [native]
    browser: dict[str, Any] = {}
    if set(wish.tiers) - {"native"}:
        in_browser, browser = _in_browser(model, Workload(feeds, timed, wish.rounds), native.answers, wish, say)
        tiers += in_browser
    report: dict[str, Any] = {
        "model": {key: model.source[key] for key in ("name", "task", "revision")},
        "texts": _texts(samples) | {"tokens": tokens_of(feeds), "timed_tokens": list(timed)},
        "machine": machine() | browser,
        "reference": REFERENCE,
        "labels": {found.output: list(found.labels) for found in model.heads()},
        "variants": {dtype: _variant(model, dtype, tiers, samples, head) for dtype in model.dtypes},
    }
    report["warnings"] = [*_warnings(model, samples, head, report), *(line for tier in tiers for line in tier.warnings)]
    return report | {"advice": advice_of(model, report)}


def _in_browser(
    model: PackedModel, work: Workload, native: Mapping[str, Answers], wish: Wish, say: Callable[[str], None]
) -> tuple[list[Tier], dict[str, Any]]:
    """The browser's tiers, one after the other, and the browser's version."""
    with web_sessions(model.folder, wish.runtime, wish.browser) as web:
        tiers = []
        for name in (name for name in wish.tiers if name != "native"):
            say(f"{name}: {len(model.dtypes)} variants in a headless browser")
            tiers.append(measure_in_browser(web, name, model, work, native))
        browser = web.page.context.browser
        return tiers, {"browser": f"Chromium {browser.version}" if browser else "Chromium"}


def _texts(samples: Samples) -> dict[str, Any]:
    return {
        "count": len(samples.texts),
        "duplicates": samples.duplicates,
        "labelled": len(samples.labels or ()),
        "unlabelled": samples.unlabelled,
    }


def _variant(model: PackedModel, dtype: str, tiers: list[Tier], samples: Samples, head: Head | None) -> dict[str, Any]:
    native = tiers[0].answers
    entry: dict[str, Any] = {"bytes": model.manifest.variant(dtype).bytes, "agreement": {}, "accuracy": {}}
    if dtype in native:
        for name in model.outputs:
            compared = agreement(native[REFERENCE], native[dtype], name, multi_label=model.multi_label(name))
            entry["agreement"][name] = compared.to_json() | {"worst_example": samples.texts[compared.worst_text]}
        if head and samples.labels:
            reached = accuracy(native[REFERENCE], native[dtype], head, samples.labels)
            entry["accuracy"][head.output] = reached.to_json()
    return entry | {"tiers": {tier.name: tier.variants[dtype] for tier in tiers}}


def _warnings(model: PackedModel, samples: Samples, head: Head | None, report: Mapping[str, Any]) -> Iterator[str]:
    count = len(samples.texts)
    if count < FEW_TEXTS:
        yield f"Only {count} texts: too few to claim anything. Take {FEW_TEXTS} at least, some hundreds if you can."
    if samples.duplicates:
        yield f"{samples.duplicates} texts differ from another in case or punctuation only; each was counted once."
    if samples.unlabelled:
        yield f"{samples.unlabelled} of {count} texts have no label, so accuracy was not measured: label all or none."
    if samples.labels and not head:
        heads = "heads with several labels a text" if model.heads() else "no labels"
        yield f"The texts have labels, the model has {heads}: accuracy was not measured."
    for dtype, variant in report["variants"].items():
        for name, compared in variant["agreement"].items():
            if compared["not_finite"]:
                yield f"{dtype}: {name} has NaN or infinity on {compared['not_finite']} of {count} texts."
