"""What a measurement was taken on: without it milliseconds say nothing."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import onnxruntime

from edgeinfer_browser.evaluation.tiers import NATIVE_THREADS


def machine() -> dict[str, Any]:
    """Processor, cores, system, versions, and the threads that a session had."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "onnxruntime": onnxruntime.__version__,
        "native_threads": int(os.environ.get("EDGEINFER_NUM_THREADS", NATIVE_THREADS)),
        "web_threads": 1,
    }


def _processor() -> str:
    """The model's name; Linux has it in /proc/cpuinfo, other systems tell Python."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text("utf-8").splitlines() if info.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
