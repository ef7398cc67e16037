"""Simplify and fuse a float32 graph with the field's tools; what answers otherwise afterwards is dropped, and said."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy.typing as npt
import onnx
from onnx import helper

from edgeinfer_browser.errors import EdgeInferError
from edgeinfer_browser.packing.attention import plain_attention
from edgeinfer_browser.packing.differences import Answers, largest_share
from edgeinfer_browser.packing.native import answers, open_session
from edgeinfer_browser.packing.quiet import quiet

Feeds = Sequence[Mapping[str, npt.NDArray[Any]]]

#: Largest difference, as a share of the output's largest value, that the order of float32 sums may make.
SAME = 1e-4

_LEFT_ALONE = (
    "attention",
    "bias_gelu",
    "bias_skip_layer_norm",
    "embed_layer_norm",
    "qordered_matmul",
    "skip_layer_norm",
)
#: What graph tools raise on a graph that they do not understand; none has a class of its own.
_FAILURES = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)


def simplified(model: onnx.ModelProto, feeds: Feeds, before: Answers) -> tuple[onnx.ModelProto, str]:
    """Constants folded, duplicates and no-ops gone (onnxslim); and a sentence on what became of it.

    Args:
        model: float32.
        feeds: the golden samples.
        before: the model's answers to them.
    """
    import onnxslim

    def slim(mine: onnx.ModelProto) -> onnx.ModelProto:
        made: onnx.ModelProto = onnxslim.slim(mine)
        return made

    made, problem = _tried(slim, model, feeds, before)
    if problem:
        return made, f"not simplified: {problem}"
    return (
        made,
        f"simplified with onnxslim {version('onnxslim')} ({len(model.graph.node)} to {len(made.graph.node)} nodes)",
    )


def fused(model: onnx.ModelProto, feeds: Feeds, before: Answers) -> tuple[onnx.ModelProto, str]:
    """LayerNormalization and Gelu as one node each; and a sentence on what became of it. Arguments as above."""
    made, problem = _tried(_optimized, model, feeds, before)
    if problem:
        return made, f"LayerNormalization and Gelu not fused: {problem}"
    kinds = ("Gelu", "LayerNormalization")
    gained = [f"{count} {kind}" for kind in kinds if (count := _count(made, kind) - _count(model, kind))]
    if not gained:
        return model, "nothing left to fuse"
    return made, f"fused to {' and '.join(gained)} (onnxruntime.transformers)"


def unfused(model: onnx.ModelProto, feeds: Feeds, before: Answers) -> tuple[onnx.ModelProto, str]:
    """Attention in standard operators, for all tiers to agree; and a sentence on what became of it."""
    fused_nodes = _count(model, "MultiHeadAttention")
    if not fused_nodes:
        return model, "attention in standard operators"
    made, problem = _tried(plain_attention, model, feeds, before)
    left = _count(made, "MultiHeadAttention")
    if problem or left:
        return made, f"{left} MultiHeadAttention nodes left fused: {problem or 'of a form that is not written out'}"
    return made, f"{fused_nodes} MultiHeadAttention nodes written out, which WebGPU runs wrongly on some adapters"


def _count(model: onnx.ModelProto, kind: str) -> int:
    return sum(node.op_type == kind for node in model.graph.node)


def _optimized(model: onnx.ModelProto) -> onnx.ModelProto:
    """Attention is not fused (see :mod:`edgeinfer_browser.packing.attention`), nor are sums into LayerNormalization:
    that gains little in WASM, and hides what a head or a quantizer looks for.
    """
    from onnxruntime.transformers.fusion_options import FusionOptions
    from onnxruntime.transformers.optimizer import optimize_model

    options = FusionOptions("bert")
    for other in _LEFT_ALONE:
        setattr(options, f"enable_{other}", False)
    made: onnx.ModelProto = optimize_model(model, model_type="bert", optimization_options=options, opt_level=0).model
    imported = {entry.domain for entry in made.opset_import}
    made.opset_import.extend(  # it forgets to, and quantizers ask
        helper.make_opsetid(domain, 1) for domain in sorted({node.domain for node in made.graph.node} - imported)
    )
    return made


def _tried(
    change: Callable[[onnx.ModelProto], onnx.ModelProto], model: onnx.ModelProto, feeds: Feeds, before: Answers
) -> tuple[onnx.ModelProto, str | None]:
    """What ``change`` makes of a copy; the model as it was, and why, when that fails or answers otherwise."""
    mine = onnx.ModelProto()
    mine.CopyFrom(model)
    try:
        with quiet():
            made = change(mine)
        difference = largest_share(before, answers(open_session(made), feeds))
    except (*_FAILURES, EdgeInferError) as error:
        return model, f"{type(error).__name__}: {error}".splitlines()[0][:200]
    if not difference <= SAME:  # NaN too
        return model, f"its answers differed by {difference:.2g} of the largest value"
    return made, None
