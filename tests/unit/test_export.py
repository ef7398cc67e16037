"""Exporting without PyTorch: what is missing is said. With it: tests/torch."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from edgeinfer_browser.errors import InputError, UnknownNameError
from edgeinfer_browser.packing.export import export


def test_without_the_extra_the_pip_line_is_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)  # import torch raises ImportError
    with pytest.raises(InputError, match=r'pip install "edgeinfer-browser\[export\]"'):
        export(tmp_path, "feature-extraction", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_task_that_is_not_exported_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="text-generation"):
        export(tmp_path, "text-generation", tmp_path / "out")
