"""What a user can say about merging ranks; everything may be left to the dumps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from builder.ranks.joining.told import LayoutFile
from builder.ranks.layout.coordinates import Sizes

CpOrder = Literal["auto", "contiguous", "zigzag"]
Merge = Literal["auto", "off", "require"]
MicroBatches = Literal["auto", "pair", "concat"]
Replicas = Literal["merge", "separate"]


@dataclass(frozen=True, slots=True)
class MergeOptions:
    """When ranks are joined into one logical run, and the sizes of the axes of either side.

    `cp_order` is how both sides' sequences lie over context-parallel ranks; `auto`: as recorded.
    `layouts` are told by name, of the problem and the benchmark. With `replicas` apart, each of the
    problem's data-parallel replicas is compared with the benchmark's of its number.
    """

    merge: Merge = "auto"
    problem: Sizes = field(default_factory=Sizes)
    benchmark: Sizes = field(default_factory=Sizes)
    micro_batches: MicroBatches = "auto"
    cp_order: CpOrder = "auto"
    layouts: tuple[LayoutFile, ...] = ()
    replicas: Replicas = "merge"
