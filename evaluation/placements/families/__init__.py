"""The programs by what they cut; importing this lists all of them."""

from evaluation.placements.case import CASES
from evaluation.placements.families import (
    context,
    data,
    experts,
    held,
    late,
    megatron_core,
    sequence,
    sharded,
    tensor,
    transformers_experts,
    updates,
    wrapped,
)

__all__ = [
    "CASES",
    "context",
    "data",
    "experts",
    "held",
    "late",
    "megatron_core",
    "sequence",
    "sharded",
    "tensor",
    "transformers_experts",
    "updates",
    "wrapped",
]
