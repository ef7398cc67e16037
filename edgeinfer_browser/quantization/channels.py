"""How large each channel of an activation gets, seen on calibration feeds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx

from edgeinfer_browser.packing.native import open_session
from edgeinfer_browser.quantization.calibration import Feeds
from edgeinfer_browser.quantization.matrices import Floats


def channel_magnitudes(model: onnx.ModelProto, tensors: Sequence[str], feeds: Sequence[Feeds]) -> dict[str, Floats]:
    """The largest ``|x|`` of each channel (last axis) of each tensor over all feeds: name -> float32 [channels].

    Args:
        model: float32; a copy of it is run, one feed at a time.
        tensors: names of tensors of the graph, float32 [..., channels].
        feeds: calibration feeds.
    """
    session = open_session(_with_outputs(model, tensors))
    inputs = {each.name for each in session.get_inputs()}
    found: dict[str, Floats] = {}
    for feed in feeds:
        values = session.run(list(tensors), {name: array for name, array in feed.items() if name in inputs})
        for name, value in zip(tensors, values, strict=True):
            largest = np.abs(value.reshape(-1, value.shape[-1])).max(axis=0)
            found[name] = np.maximum(found.get(name, largest), largest)
    return found


def _with_outputs(model: onnx.ModelProto, tensors: Sequence[str]) -> onnx.ModelProto:
    made = onnx.ModelProto()
    made.CopyFrom(model)
    del made.graph.output[:]
    made.graph.output.extend(onnx.ValueInfoProto(name=name) for name in tensors)
    return made
