"""The API tier: packed models over the Open Inference Protocol v2 and ``/predict``, on native ONNX Runtime.

``edgeinfer serve models/`` runs it; :func:`create_app` is the same as an ASGI application for any server.
"""

from edgeinfer_browser.server.app import create_app
from edgeinfer_browser.server.limits import Limits

__all__ = ["Limits", "create_app"]
