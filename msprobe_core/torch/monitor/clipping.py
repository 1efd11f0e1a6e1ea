"""Notes when gradients are clipped by their norm, before they are changed.

torch's `clip_grad_norm_` calls a function of its own module to scale the gradients (since 2.6), so
scripts that took the name before us are seen, too. Older releases are seen where it is called as
`torch.nn.utils.clip_grad_norm_`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn.utils import clip_grad

Listener = Callable[[float, object], None]
"""Called with the largest norm allowed and the total norm, before gradients are scaled."""

_INNER = "_clip_grads_with_norm_"
_listeners: list[Listener] = []
_originals: list[tuple[object, str, Any]] = []


def listen(listener: Listener) -> Callable[[], None]:
    """Tell a listener of every clipping from now on; what is returned ends it."""
    if not _listeners:
        _replace()
    _listeners.append(listener)

    def end() -> None:
        if listener in _listeners:
            _listeners.remove(listener)
        if not _listeners:
            _restore()

    return end


def _replace() -> None:
    if hasattr(clip_grad, _INNER):
        original = getattr(clip_grad, _INNER)

        def scale(
            parameters: object, max_norm: float, total_norm: object, *args: object, **kw: object
        ) -> object:
            _tell(max_norm, total_norm)
            return original(parameters, max_norm, total_norm, *args, **kw)

        _put(clip_grad, _INNER, scale)
        return
    outer: Callable[..., object] = clip_grad.clip_grad_norm_

    def clip(parameters: object, max_norm: float, *args: object, **kwargs: object) -> object:
        _tell(max_norm, None)
        return outer(parameters, max_norm, *args, **kwargs)

    _put(clip_grad, "clip_grad_norm_", clip)
    _put(torch.nn.utils, "clip_grad_norm_", clip)


def _put(owner: object, name: str, function: object) -> None:
    _originals.append((owner, name, getattr(owner, name)))
    setattr(owner, name, function)


def _restore() -> None:
    while _originals:
        owner, name, function = _originals.pop()
        setattr(owner, name, function)


def _tell(max_norm: float, total_norm: object) -> None:
    for listener in _listeners:
        listener(float(max_norm), total_norm)
