"""Telemetry: one InferenceMetric for each call, and the sinks that take it. Nothing leaves the device by itself."""

from edgeinfer_browser.telemetry.metric import Fallback, InferenceMetric, Latency
from edgeinfer_browser.telemetry.record import CallRecord
from edgeinfer_browser.telemetry.sinks import Outlet, RingBuffer, Sink, to_console

__all__ = ["CallRecord", "Fallback", "InferenceMetric", "Latency", "Outlet", "RingBuffer", "Sink", "to_console"]
