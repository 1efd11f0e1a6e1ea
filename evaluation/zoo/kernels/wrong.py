"""What a wrong kernel leaves in its output: five kinds, each written in place."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from evaluation.zoo.kernels.watch import PRODUCTS, Site

Kind = Literal[
    "columns scaled", "accumulator too short", "tile not written", "row taken twice", "shift"
]  # fmt: skip
KINDS: tuple[Kind, ...] = get_args(Kind)
# Half the significant bits of the format, as where products of float32 are summed in bfloat16.
_SHORT = {torch.float32: 8, torch.float16: 5, torch.bfloat16: 4}
_PARTIAL_SUMS = 8


@dataclass(frozen=True, slots=True)
class Wrong:
    """One wrong kernel; `choice` decides which output, columns, rows or tile it is."""

    site: Site
    kind: Kind
    choice: int

    @property
    def name(self) -> str:
        """A line of the table."""
        site = self.site
        return f"{self.kind}: {site.operator} {site.nth} {site.phase}"


def spoil(wrong: Wrong, args: tuple[Any, ...], outputs: list[Tensor]) -> None:
    """Write into one of the outputs what the wrong kernel leaves there."""
    chance = random.Random(wrong.choice)
    output = chance.choice(outputs)
    output.copy_(_LEAVES[wrong.kind](output.clone(), chance, wrong.site.operator, args))


def _scale_columns(output: Tensor, chance: random.Random, *_: object) -> Tensor:
    every = min(chance.choice((2, 3, 4)), output.shape[-1])
    output[..., chance.randrange(every) :: every] *= chance.choice((0.5, 0.75, 1.25, 1.5, 2.0))
    return output


def _accumulate_short(
    output: Tensor, _: random.Random, operator: str, args: tuple[Any, ...]
) -> Tensor:
    bits = _SHORT[output.dtype]
    if operator not in PRODUCTS:
        return _shortened(output, bits)
    left, right = (args[n].float() for n in PRODUCTS[operator])
    total = torch.zeros_like(output, dtype=torch.float32)
    for part in torch.arange(left.shape[-1]).chunk(_PARTIAL_SUMS):
        total = _shortened(total + left[..., part] @ right[..., part, :], bits)
    if operator in ("addmm", "baddbmm"):
        total = _shortened(total + args[0].float(), bits)
    return total.to(output.dtype)


def _shortened(values: Tensor, bits: int) -> Tensor:
    """The values rounded to so many significant bits."""
    mantissa, exponent = torch.frexp(values.double())
    return torch.ldexp(torch.round(mantissa * 2**bits) / 2**bits, exponent).to(values.dtype)


def _leave_tile(output: Tensor, chance: random.Random, *_: object) -> Tensor:
    tile = output
    for dimension in range(max(0, output.dim() - 2), output.dim()):
        length = output.shape[dimension]
        width = max(1, length // 2)
        tile = tile.narrow(dimension, chance.randrange(length - width + 1), width)
    tile.zero_()
    return output


def _take_row_twice(output: Tensor, chance: random.Random, *_: object) -> Tensor:
    dimension = max(0, output.dim() - 2)
    row = chance.randrange(1, max(2, output.shape[dimension]))
    if output.shape[dimension] > 1:
        output.select(dimension, row).copy_(output.select(dimension, row - 1).clone())
    return output


def _shift(output: Tensor, chance: random.Random, *_: object) -> Tensor:
    return output.roll(chance.choice((-1, 1)), dims=-1)


_LEAVES: dict[Kind, Callable[[Tensor, random.Random, str, tuple[Any, ...]], Tensor]] = {
    "columns scaled": _scale_columns,
    "accumulator too short": _accumulate_short,
    "tile not written": _leave_tile,
    "row taken twice": _take_row_twice,
    "shift": _shift,
}
