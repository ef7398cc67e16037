"""Simplify and fuse a float32 graph with the field's tools; what answers otherwise afterwards is dropped, and said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy.typing as npt
import onnx

from edgeinfer_browser.errors import EdgeInferError
from edgeinfer_browser.packing.differences import Answers, largest_share
from edgeinfer_browser.packing.native import answers, open_session
from edgeinfer_browser.packing.quiet import quiet

Feeds = Sequence[Mapping[str, npt.NDArray[Any]]]

#: Largest difference, as a share of the output's largest value, that the order of float32 sums may make.
SAME = 1e-4

#: config.json's model_type -> what ONNX Runtime's optimizer calls that architecture.
ARCHITECTURES = {
    **dict.fromkeys(("bert", "camembert", "distilbert", "electra", "roberta", "xlm-roberta"), "bert"),
    **dict.fromkeys(("deit", "vit"), "vit"),
}
_ATTENTION = {"Attention", "MultiHeadAttention", "GroupQueryAttention"}
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


def fused(
    model: onnx.ModelProto, feeds: Feeds, before: Answers, config: Mapping[str, Any]
) -> tuple[onnx.ModelProto, str]:
    """Attention as one MultiHeadAttention node, LayerNormalization and Gelu too; and a sentence on what became of it.

    Matrices stay MatMul nodes, which quantizers know, and sums stay out of LayerNormalization: more fusing gains
    nothing in WASM, where the time is in the matrices, and hides what a head or a quantizer looks for.
    """
    there = sum(node.op_type in _ATTENTION for node in model.graph.node)
    if there:
        return model, f"attention was fused already ({there} nodes)"
    kind = str(config.get("model_type", ""))
    if kind not in ARCHITECTURES:
        known = ", ".join(sorted(ARCHITECTURES))
        return model, f"attention not fused: config.json's model_type is {kind or 'not given'}; known are {known}"
    made, problem = _tried(lambda mine: _optimized(mine, ARCHITECTURES[kind], config), model, feeds, before)
    count = Counter(node.op_type for node in made.graph.node)
    if problem:
        return made, f"attention not fused: {problem}"
    if not count["MultiHeadAttention"]:
        return model, "attention not fused: ONNX Runtime's optimizer found none it knows"
    return made, f"attention fused ({count['MultiHeadAttention']} MultiHeadAttention nodes)"


def _optimized(model: onnx.ModelProto, kind: str, config: Mapping[str, Any]) -> onnx.ModelProto:
    from onnxruntime.transformers.fusion_options import FusionOptions
    from onnxruntime.transformers.optimizer import optimize_model

    options = FusionOptions(kind)
    options.use_multi_head_attention = True
    for extra in ("skip_layer_norm", "embed_layer_norm", "bias_skip_layer_norm", "bias_gelu", "qordered_matmul"):
        setattr(options, f"enable_{extra}", False)
    made = optimize_model(
        model,
        model_type=kind,
        num_heads=int(config.get("num_attention_heads") or config.get("n_heads") or 0),
        hidden_size=int(config.get("hidden_size") or config.get("dim") or 0),
        optimization_options=options,
        opt_level=0,
    )
    graph: onnx.ModelProto = made.model
    return graph


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
