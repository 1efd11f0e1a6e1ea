"""What optimizers and clippings are set to: beside the rate it decides what a step becomes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

from msprobe_core.format.series import SETTING_EVERY
from msprobe_core.torch.gradients.clipping import Clip

_OF_GROUPS = (
    *("weight_decay", "betas", "momentum", "dampening", "nesterov", "alpha", "rho", "eps"),
    *("amsgrad", "maximize", "lr_decay", "centered", "lambd", "etas"),
)
"""Of torch's optimizers: what changes the update, not how it is computed (`foreach`, `fused`)."""
_OF_CLIPS = ("max_norm", "norm_type", "max_value")


class ToldSettings:
    """Writes each setting when it changes, and every `SETTING_EVERY` steps."""

    def __init__(self, put: Callable[[str, float], None]) -> None:
        self._put = put
        self._last: dict[str, float] = {}
        self._elements: dict[str, tuple[int, float]] = {}
        self._clips = 0

    def group(self, name: str, group: Mapping[str, Any], step: int) -> None:
        """Those of a group of parameters, and how many elements are in it."""
        for key in _OF_GROUPS:
            for suffix, value in _numbers(group.get(key)):
                self._tell(f"{name}.{key}{suffix}", value, step)
        self._tell(f"{name}.elements", self._size(name, group["params"]), step)

    def clip(self, clip: Clip, step: int) -> None:
        """Those of the next clipping of a step."""
        name = f"clip{self._clips or ''}"
        self._clips += 1
        for key in _OF_CLIPS:
            for _, value in _numbers(getattr(clip, key)):
                self._tell(f"{name}.{key}", value, step)

    def end_step(self) -> None:
        """The clippings that follow are of the next step."""
        self._clips = 0

    def _size(self, name: str, parameters: Sequence[torch.Tensor]) -> float:
        """Elements are counted again where the number of parameters has changed."""
        count, size = self._elements.get(name, (-1, 0.0))
        if count != len(parameters):
            size = float(sum(parameter.numel() for parameter in parameters))
            self._elements[name] = len(parameters), size
        return size

    def _tell(self, name: str, value: float, step: int) -> None:
        if self._last.get(name) != value or step % SETTING_EVERY == 0:
            self._last[name] = value
            self._put(name, value)


def _numbers(value: object) -> Iterator[tuple[str, float]]:
    """The numbers that a setting consists of. A tensor may lie on a device: it is left alone."""
    if isinstance(value, (int, float)) and math.isfinite(value):
        yield "", float(value)
    elif isinstance(value, (tuple, list)):
        yield from (
            (f"[{place}]", float(each))
            for place, each in enumerate(value)
            if isinstance(each, (int, float)) and math.isfinite(each)
        )
