"""What is trained: extents that no one can mistake for each other, and the numbers' format."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import torch

Precision = Literal["float32", "bfloat16", "float16"]
PRECISIONS: tuple[Precision, ...] = ("float32", "bfloat16", "float16")
# A norm over the four numbers of a narrow head, which may nearly agree, makes anything of the
# rounding of half formats: those are trained at a width that has a norm's usual condition.
_HIDDEN_IN_HALF = 64


@dataclass(frozen=True, slots=True)
class Size:
    """The model, and what is unusual about it.

    `clip` limits gradients, `tied` lets embedding and head share their weight, `grouped` lets two
    heads share a key and a value, `masked` leaves labels out of the loss, `apart` keeps the
    projections apart as Llama does. `top` experts answer a token; each takes `capacity` times its
    even share of a micro-batch and drops the rest, all where it is 0.
    """

    vocabulary: int = 56
    hidden: int = 16
    heads: int = 4
    ffn: int = 40
    layers: int = 4
    batch: int = 8
    sequence: int = 12
    experts: int = 0
    top: int = 1
    capacity: float = 0.0
    clip: bool = False
    tied: bool = False
    grouped: bool = False
    masked: bool = False
    apart: bool = False
    precision: Precision = "float32"

    def in_precision(self, precision: Precision) -> Size:
        """The same in another format."""
        hidden = self.hidden if precision == "float32" else _HIDDEN_IN_HALF
        return replace(self, precision=precision, hidden=hidden)

    @property
    def torch_dtype(self) -> torch.dtype:
        """The dtype of parameters and activations."""
        found = getattr(torch, self.precision)
        assert isinstance(found, torch.dtype)
        return found

    def __str__(self) -> str:
        """What is unusual about it but its format, for the names of cases."""
        flags = ("clip", "tied", "grouped", "masked", "apart")
        text = "".join(f" {n}" for n in flags if getattr(self, n))
        text += f" vocabulary{self.vocabulary}" if self.vocabulary != _USUAL.vocabulary else ""
        text += f" sequence{self.sequence}" if self.sequence != _USUAL.sequence else ""
        text += f" top{self.top}" if self.top > 1 else ""
        return text + (f" capacity{self.capacity}" if self.capacity else "")


_USUAL = Size()
