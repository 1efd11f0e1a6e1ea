"""How far an update moves a parameter, relative to it, from a few of its elements.

At most 4,096 fixed positions a tensor stand for all: the error of such a norm is about
1 / sqrt(2 * 4096) = 1.1 %, and no copy of the weights is needed.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

POSITIONS = 4096


class UpdateRatios:
    """Remembers the sampled elements from one step to the next. Gradients must be off."""

    def __init__(self, parameters: Sequence[torch.Tensor]) -> None:
        self._parameters = list(parameters)
        self.remember()

    def remember(self) -> None:
        """Take what the next step begins with."""
        self._before = [_sample(each).clone() for each in self._parameters]

    def measure(self) -> torch.Tensor:
        """Squares of the updates and of the weights, [2][parameter], where they lie."""
        now = [_sample(each).clone() for each in self._parameters]
        moved = [(a - b).float() for a, b in zip(now, self._before, strict=True)]
        self._before = now
        squares = [
            torch.stack([_squares(part) for part in parts])
            for parts in (moved, [each.float() for each in now])
        ]
        return torch.stack(squares)


def _sample(parameter: torch.Tensor) -> torch.Tensor:
    values = parameter.detach()
    flat = values.view(-1) if values.is_contiguous() else values.reshape(-1)
    return flat[:: max(1, -(-flat.numel() // POSITIONS))]


def _squares(values: torch.Tensor) -> torch.Tensor:
    flat = values.reshape(-1)
    return torch.dot(flat, flat)
