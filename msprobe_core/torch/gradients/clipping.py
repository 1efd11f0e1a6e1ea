"""Tells of gradients that are clipped: which, by what norm, and by what they are multiplied.

torch's functions for it are wrapped in one that turns gradients off and keeps the function itself
in a cell. What listens stands in that cell, so that whoever took the name before us is seen, too.
Older releases and FullyShardedDataParallel are seen where the name is looked up.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from types import CellType, GeneratorType
from typing import Any

import torch
from torch.nn.utils import clip_grad

from msprobe_core.torch.measure.users_modes import users_modes_off

EPS = 1e-6
"""What torch adds to the total norm before it divides by it."""
_MEGATRON = ("megatron.core.optimizer.optimizer", "megatron.core.optimizer.clip_grads")
_FSDP = "torch.distributed.fsdp.fully_sharded_data_parallel"
_Function = Callable[..., Any]


class Clip:
    """One clipping: of these parameters, by a norm or, up to `max_value`, element by element.

    `total_norm` is known when it is over, `factor` where that is no distributed tensor. `count` is
    how many parameters were clipped, for those that do not keep them.
    """

    __slots__ = (
        *("count", "factor", "max_norm", "max_value", "norm_type", "parameters", "total_norm"),
    )

    def __init__(
        self,
        parameters: list[torch.Tensor],
        max_norm: float | None = None,
        norm_type: float | None = None,
        max_value: float | None = None,
    ) -> None:
        self.parameters, self.max_norm, self.norm_type = parameters, max_norm, norm_type
        self.max_value = max_value
        self.count: int | None = None
        self.total_norm: torch.Tensor | None = None
        self.factor: torch.Tensor | None = None

    def takes(self, total_norm: object) -> None:
        """Take the norm that clips, before anybody changes it."""
        if isinstance(total_norm, float):  # Megatron's, which counts the norm's ranks itself
            total_norm = torch.tensor(total_norm)
        if self.max_norm is None or not isinstance(total_norm, torch.Tensor):
            return
        with users_modes_off(keep_transforms=True), torch.no_grad():
            self.total_norm = total_norm.detach()
            if not hasattr(total_norm, "to_local"):
                self.total_norm = self.total_norm.clone()
                self.factor = torch.clamp(self.max_norm / (self.total_norm + EPS), max=1.0)


class ClipListener:
    """What is told of a clipping; nothing of it may raise."""

    def clips(self, clip: Clip) -> None:
        """Gradients are about to be clipped."""

    def clipped(self, clip: Clip) -> None:
        """They are."""


_listeners: list[ClipListener] = []
_ends: list[Callable[[], None]] = []


def listen(listener: ClipListener) -> Callable[[], None]:
    """Tell a listener of every clipping from now on; what is returned ends it."""
    if not _listeners:
        _replace()
    _listeners.append(listener)

    def end() -> None:
        with suppress(ValueError):
            _listeners.remove(listener)
        if not _listeners:
            while _ends:
                _ends.pop()()

    return end


def _replace() -> None:
    by_norm = getattr(clip_grad, "_clip_grads_with_norm_", None)
    for function, around in (
        (by_norm, _scaling),
        (clip_grad.clip_grad_norm_, _by_norm),
        (clip_grad.clip_grad_value_, _by_value),
    ):
        if function is not None:
            _put(function, around)
    for module in filter(None, map(sys.modules.get, _MEGATRON)):
        scaling = getattr(module, "clip_grad_by_total_norm_fp32", None)
        if scaling is not None:
            _put_name(module, "clip_grad_by_total_norm_fp32", _scaling(scaling))
    sharded = getattr(sys.modules.get(_FSDP), "FullyShardedDataParallel", None)
    if sharded is not None:
        _put_name(sharded, "clip_grad_norm_", _of_sharded(sharded.clip_grad_norm_))


def _put(function: _Function, around: Callable[[_Function], _Function]) -> None:
    """Put something around a function, in the cell where torch keeps it, else by its name."""
    cell = _cell_of(function)
    if cell is not None:
        inner = cell.cell_contents
        cell.cell_contents = around(inner)
        _ends.append(lambda: setattr(cell, "cell_contents", inner))
        return
    replaced = around(function)
    for owner in (clip_grad, torch.nn.utils):
        if getattr(owner, function.__name__, None) is function:
            _put_name(owner, function.__name__, replaced)


def _cell_of(function: _Function) -> CellType | None:
    inner = getattr(function, "__wrapped__", None)
    cells: Iterable[CellType] = getattr(function, "__closure__", None) or ()
    return next((cell for cell in cells if cell.cell_contents is inner), None)


def _put_name(owner: Any, name: str, function: _Function) -> None:
    original = getattr(owner, name)
    setattr(owner, name, function)
    _ends.append(lambda: setattr(owner, name, original))


def _telling(original: _Function, clip_of: Callable[..., Clip | None]) -> _Function:
    """Around a function that takes parameters first and clips their gradients."""

    def clips(parameters: Any, *args: Any, **kwargs: Any) -> Any:
        given, parameters = _both(parameters)
        return _told(clip_of(given, *args, **kwargs), original, (parameters, *args), kwargs)

    return clips


def _by_norm(original: _Function) -> _Function:
    """Around `clip_grad_norm_`: it alone knows the type of the norm."""
    return _telling(
        original,
        lambda given, max_norm=None, norm_type=2.0, *_, **__: _clip_of(given, max_norm, norm_type),
    )


def _scaling(original: _Function) -> _Function:
    """Around what multiplies gradients, for those that call it with a norm of their own."""

    def clip_of(
        given: object,
        max_norm: object = None,
        total_norm: object = None,
        *_: object,
        **__: object,
    ) -> Clip | None:
        clip = _running.clip or _clip_of(given, max_norm)
        if clip is not None:
            clip.takes(total_norm)
        return clip

    return _telling(original, clip_of)


def _by_value(original: _Function) -> _Function:
    return _telling(
        original, lambda given, clip_value=None, *_, **__: _clip_of(given, max_value=clip_value)
    )


def _of_sharded(original: _Function) -> _Function:
    """Around FullyShardedDataParallel's own method: it scales shards by the norm of the whole."""

    def clip_grad_norm_(
        self: Any,
        max_norm: Any,
        norm_type: Any = 2.0,
    ) -> Any:
        clip = _clip_of(self.parameters(), max_norm, norm_type)
        return _told(clip, original, (self, max_norm, norm_type), {})

    return clip_grad_norm_


class _Running(threading.local):
    clip: Clip | None = None
    """What is told of already, when one function of torch's calls another."""


_running = _Running()


def _told(
    clip: Clip | None,
    original: _Function,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    if clip is None or _running.clip is not None:
        return original(*args, **kwargs)
    for listener in _listeners:
        listener.clips(clip)
    _running.clip = clip
    try:
        result = original(*args, **kwargs)
    finally:
        _running.clip = None
    if clip.total_norm is None:
        clip.takes(result)
    for listener in _listeners:
        listener.clipped(clip)
    return result


def _both(parameters: Any) -> tuple[Any, Any]:
    """Parameters for us, and for torch, which asks whether they are a generator."""
    if not isinstance(parameters, GeneratorType) or torch.compiler.is_compiling():
        return parameters, parameters
    listed = list(parameters)
    return listed, (each for each in listed)


def _clip_of(
    parameters: Any,
    max_norm: Any = None,
    norm_type: Any = None,
    max_value: Any = None,
) -> Clip | None:
    """None while a graph is made, and for arguments that torch is about to refuse."""
    if torch.compiler.is_compiling():
        return None
    try:
        numbers = [None if n is None else float(n) for n in (max_norm, norm_type, max_value)]
        single = isinstance(parameters, torch.Tensor)
        return Clip([parameters] if single else list(parameters), *numbers)
    except (TypeError, ValueError):
        return None
