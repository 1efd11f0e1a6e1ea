"""Seeded bugs of parallel training, after those that TTrace found and the threads beside them.

A fault changes a sound experiment on every rank; what it must change on one rank only it asks the
mesh. Each says which part of the model it sits in.
"""

from evaluation.parallel.faults import (
    context_parallel,
    data_parallel,
    experts,
    loss,
    megatron,
    native,
    pipeline,
    plans,
    sequence_parallel,
    tensor_parallel,
    vocabulary,
    zero,
)
from evaluation.parallel.faults.base import FAULTS

__all__ = [
    "FAULTS",
    "context_parallel",
    "data_parallel",
    "experts",
    "loss",
    "megatron",
    "native",
    "pipeline",
    "plans",
    "sequence_parallel",
    "tensor_parallel",
    "vocabulary",
    "zero",
]
