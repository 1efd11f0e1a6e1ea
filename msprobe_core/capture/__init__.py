"""Watches a running model from outside: modules, API calls, gradients, collectives."""

from msprobe_core.capture.capture import Capture

__all__ = ["Capture"]
