"""The report as tables for a terminal: quality by output, then each tier's latency and memory, with units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Row = Sequence[str]

_QUALITY = {
    "size": ("MB", "bytes to download, in millions"),
    "mean_cosine": ("mean cos", "cosine to fp32's answer to the same text, mean over the texts (1 = the same)"),
    "worst_cosine": ("worst cos", "the same, of the worst text"),
    "same_label": ("same label", "texts that get fp32's label, %"),
    "largest_score_change": ("score change", "largest change of any label's score, in points of 100"),
    "same_nearest": ("same nearest", "texts whose nearest neighbour among the others is fp32's, %"),
    "spearman": ("Spearman", "rank correlation of all pairwise similarities with fp32's (1 = the same order)"),
    "accuracy": ("accuracy", "right labels, %, with half of the 95 % (Wilson) interval"),
    "against": ("won/lost", "texts that are right here and wrong in fp32 / the other way round"),
}
_PERCENT = ("same_label", "same_nearest")


def table(report: Mapping[str, Any]) -> Iterator[str]:
    """All lines."""
    texts, where = report["texts"], report["machine"]
    yield f"{report['model']['name']} ({report['model']['task']}), revision {report['model']['revision'][:12]}"
    yield (
        f"{texts['count']} texts of {texts['tokens']['median']} tokens (median; longest {texts['tokens']['longest']}); "
        f"{where['cores']} cores, onnxruntime {where['onnxruntime']}{_browser(report)}"
    )
    for output in next(iter(report["variants"].values()))["agreement"]:
        yield ""
        yield from _quality(report, output)
    for tier in next(iter(report["variants"].values()))["tiers"]:
        yield ""
        yield from _tier(report, tier)


def _browser(report: Mapping[str, Any]) -> str:
    found = {
        entry["onnxruntime_web"]
        for variant in report["variants"].values()
        for entry in variant["tiers"].values()
        if "onnxruntime_web" in entry
    }
    web = f", onnxruntime-web {', '.join(sorted(found))}" if found else ""
    return f"{web}, {report['machine']['browser']}" if "browser" in report["machine"] else web


def _quality(report: Mapping[str, Any], output: str) -> Iterator[str]:
    found = {
        dtype: _figures(variant, output)
        for dtype, variant in report["variants"].items()
        if output in variant["agreement"]
    }
    # Two logits are one number twice: their cosine is 1, or -1 where the label differs.
    hidden = ("mean_cosine", "worst_cosine") if len(report["labels"].get(output, ())) == 2 else ()
    keys = [key for key in _QUALITY if key in next(iter(found.values())) and key not in hidden]
    yield f"{output}: agreement with {report['reference']}, {report['texts']['count']} texts"
    yield from columns(
        ["", *(_QUALITY[key][0] for key in keys)], [[d, *(f[k] for k in keys)] for d, f in found.items()]
    )
    for dtype in report["variants"]:
        if dtype not in found:
            yield f"  {dtype}: not measured: {report['variants'][dtype]['tiers']['native']['error']}"
    yield from (f"  {_QUALITY[key][0]}: {_QUALITY[key][1]}" for key in keys)
    baseline = next((v["accuracy"][output] for v in report["variants"].values() if output in v["accuracy"]), None)
    if baseline:
        share = f"{baseline['majority']:.1%} of the texts"
        yield f"  always saying {baseline['majority_label']!r} would be right for {share}"


def _figures(variant: Mapping[str, Any], output: str) -> dict[str, str]:
    compared, right = variant["agreement"][output], variant["accuracy"].get(output)
    found = {"size": f"{variant['bytes'] / 1e6:.1f}"}
    for key, value in compared.items():
        if key in _PERCENT or key == "largest_score_change":
            found[key] = f"{value * 100:.1f}"
        elif key in _QUALITY:
            found[key] = f"{value:.5f}"
    if right:
        found["accuracy"] = f"{right['accuracy'] * 100:.1f} ± {right['half_width'] * 100:.1f}"
        found["against"] = f"{right['gained']}/{right['lost']}"
    return found


def _tier(report: Mapping[str, Any], tier: str) -> Iterator[str]:
    entries = {dtype: variant["tiers"][tier] for dtype, variant in report["variants"].items()}
    measured = {dtype: entry for dtype, entry in entries.items() if "error" not in entry}
    lengths = list(next(iter(measured.values()))["latency"]) if measured else []
    web = any("wasm_bytes" in entry for entry in measured.values())
    if measured and (lengths or web):
        how = f"each variant in turn; {_runs(measured)}, {_threads(report, tier)}"
        yield f"{tier}: median (p90) in ms and the ratio to fp32, {how}"
        heads = [*(f"{length} tokens" for length in lengths), "load ms", *(("WASM MB", "off native") if web else ())]
        yield from columns(["", *heads], [_row(dtype, entry, web) for dtype, entry in measured.items()])
        yield from _legend(tier, _texts(measured) if web else 0)
    for dtype, entry in entries.items():
        if "error" in entry:
            yield f"  {tier}, {dtype}: not measured: {entry['error']}"


def _legend(tier: str, web_texts: int) -> Iterator[str]:
    yield "  tokens: of the texts' words, cut to that length, one text a run"
    yield "  load ms: the session is created, in a browser after the runtime has started; nothing is fetched in it"
    if web_texts:
        beside = ", beside the GPU's own" if tier == "webgpu" else ""
        yield f"  WASM MB: peak of WASM memory{beside}"
        yield f"  off native: largest difference to native ONNX Runtime's answers, {web_texts} texts"


def _runs(measured: Mapping[str, Any]) -> str:
    runs = {figures["runs"] for entry in measured.values() for figures in entry["latency"].values()}
    return f"{min(runs)} rounds" if runs else "not timed"


def _threads(report: Mapping[str, Any], tier: str) -> str:
    count = report["machine"]["native_threads" if tier == "native" else "web_threads"]
    return "one thread" if count == 1 else f"{count or 'all'} threads"


def _texts(measured: Mapping[str, Any]) -> int:
    return int(next(iter(measured.values()))["texts"])


def _row(dtype: str, entry: Mapping[str, Any], web: bool) -> Row:
    cells = [
        f"{each['median_ms']:.1f} ({each['p90_ms']:.1f})"
        + (f" {each['ratio_to_fp32']:.2f}x" if "ratio_to_fp32" in each else "")
        for each in entry["latency"].values()
    ]
    cells.append(f"{entry['create_ms']:.0f}")
    if web:
        off = [output["max_abs_difference"] for output in entry["against_native"].values()]
        cells += [f"{entry['wasm_bytes']['peak'] / 1e6:.0f}", f"{max(off):.2g}" if off else ""]
    return [dtype, *cells]


def columns(head: Row, rows: Sequence[Row]) -> Iterator[str]:
    """Rows below a head, the first column to the left and the others to the right."""
    widths = [max(len(row[index]) for row in (head, *rows)) for index in range(len(head))]
    for row in (head, *rows):
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        yield f"  {'   '.join(cells)}".rstrip()
