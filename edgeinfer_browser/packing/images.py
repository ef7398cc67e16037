"""Image pre-processing in the graph: from uint8 pixels, as a picture is decoded, to what a model was trained on.

Browser and server then cannot differ in it: a canvas resizes otherwise than Pillow, which models were trained with.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import onnx
from onnx import TensorProto, compose, inliner, parser, version_converter

from edgeinfer_browser.errors import GraphError, ManifestError
from edgeinfer_browser.packing.image_settings import ImageSettings, image_settings
from edgeinfer_browser.packing.image_steps import CHANNELS, preprocessing_text

#: The operators of the pre-processing are those of this opset, and have stayed the same since.
OLDEST_OPSET = 13
#: How exporters name the axis of the channels when they leave its size open.
CHANNEL_NAMES = {"num_channels", "channels", "channel", "c"}


#: What the names of all values of the pre-processing begin with.
PREFIX = "preprocess/"


def preprocessing_nodes(model: onnx.ModelProto) -> list[str]:
    """Names of the nodes that make numbers from pixels: quantizers leave them alone, a grey level is 8 bits anyhow."""
    return [node.name for node in model.graph.node if any(name.startswith(PREFIX) for name in node.output)]


def prepend_preprocessing(model: onnx.ModelProto, preprocessor_config: Mapping[str, Any]) -> onnx.ModelProto:
    """A model whose one input is ``pixels``: uint8 [batch_size, height, width, 3], RGB, any height and width.

    Args:
        model: an image model with one input, float32 (or float16) [N, 3, H, W] or [N, H, W, 3]; left as it was.
        preprocessor_config: Hugging Face's preprocessor_config.json.

    Raises:
        ManifestError: for a key or value of the configuration that has no counterpart in the graph; names it.
        GraphError: when the model's input is not that of an image model, or cannot be brought to a newer opset.
    """
    settings = image_settings(preprocessor_config)
    model = _modern(model)
    wanted = _image_input(model)
    channels_first = _channels_first(wanted)
    _check_size(settings, wanted, channels_first)
    opset = next(entry.version for entry in model.opset_import if not entry.domain)
    front = parser.parse_model(preprocessing_text(settings, opset, channels_first, wanted.type.tensor_type.elem_type))
    front = compose.add_prefix(inliner.inline_local_functions(front), PREFIX, rename_inputs=False)
    front.ir_version = model.ir_version
    for node in front.graph.node:
        node.name = node.output[0]
    made = compose.merge_models(front, model, [(front.graph.output[0].name, wanted.name)])
    made.producer_name, made.producer_version = model.producer_name, model.producer_version
    del made.opset_import[:]  # merging adds the domain of the functions, which are inlined
    made.opset_import.extend(model.opset_import)
    return made


def _modern(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model in an opset that pre-processing can be written in; weights are no inputs."""
    mine = onnx.ModelProto()
    mine.CopyFrom(model)
    weights = {tensor.name for tensor in mine.graph.initializer}
    inputs = [value for value in mine.graph.input if value.name not in weights]
    if min(entry.version for entry in mine.opset_import if entry.domain in ("", "ai.onnx")) < OLDEST_OPSET:
        try:
            mine = version_converter.convert_version(mine, OLDEST_OPSET)
        except RuntimeError as error:
            raise GraphError(f"The model cannot be brought to opset {OLDEST_OPSET}, which it needs: {error}") from error
    mine.ir_version = max(mine.ir_version, 8)
    imports = {entry.domain if entry.domain != "ai.onnx" else "": entry.version for entry in mine.opset_import}
    del mine.opset_import[:]
    mine.opset_import.extend(onnx.helper.make_opsetid(domain, version) for domain, version in imports.items())
    del mine.graph.input[:]
    mine.graph.input.extend(inputs)
    return mine


def _image_input(model: onnx.ModelProto) -> onnx.ValueInfoProto:
    floats = (TensorProto.FLOAT, TensorProto.FLOAT16)
    found: list[onnx.ValueInfoProto] = list(model.graph.input)
    kinds = [value.type.tensor_type for value in found]
    if len(found) != 1 or kinds[0].elem_type not in floats or len(kinds[0].shape.dim) != 4:
        names = ", ".join(value.name for value in found)
        raise GraphError(
            f"An image model has one input, float [N, 3, H, W] or [N, H, W, 3]; this one has: {names}. Pack the part "
            "of it that looks at the image."
        )
    return found[0]


def _channels_first(value: onnx.ValueInfoProto) -> bool:
    dims = value.type.tensor_type.shape.dim
    first, last = (dim.dim_value == CHANNELS or dim.dim_param.lower() in CHANNEL_NAMES for dim in (dims[1], dims[3]))
    if first == last and value.name != "pixel_values":  # transformers' name, and its models want channels first
        shape = [dim.dim_param or dim.dim_value for dim in dims]
        raise GraphError(
            f"The channels of {value.name} {shape} are neither its second nor its last axis: one must be 3."
        )
    return first or not last


def _check_size(settings: ImageSettings, value: onnx.ValueInfoProto, channels_first: bool) -> None:
    made = settings.crop or settings.size
    dims = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
    wanted = dims[2:] if channels_first else dims[1:3]
    if made and any(want not in (0, size) for want, size in zip(wanted, made, strict=True)):
        raise ManifestError(
            f"preprocessor_config.json makes images of {made[0]}x{made[1]}, but {value.name} of the model is "
            f"{wanted[0]}x{wanted[1]}. Change size or crop_size.",
            key="size",
        )
