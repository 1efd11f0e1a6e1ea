"""What a user can say about merging ranks; everything may be left to the dumps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from builder.merge.coordinates import Sizes

Merge = Literal["auto", "off", "require"]
MicroBatches = Literal["auto", "pair", "concat"]


@dataclass(frozen=True, slots=True)
class MergeOptions:
    """When ranks are joined into one logical run, and the sizes of the axes of either side."""

    merge: Merge = "auto"
    problem: Sizes = field(default_factory=Sizes)
    benchmark: Sizes = field(default_factory=Sizes)
    micro_batches: MicroBatches = "auto"
