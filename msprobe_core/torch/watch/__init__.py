"""Watches a running model from outside: modules, API calls, gradients, collectives."""

from msprobe_core.torch.watch.capture import Capture

__all__ = ["Capture"]
