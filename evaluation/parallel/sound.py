"""Pairs of layouts that compute the same, and so have to be silent: the first is the problem."""

from __future__ import annotations

from evaluation.parallel.faults.base import (
    DP,
    EP,
    EXPERTS,
    GROUPED,
    PP,
    SP,
    TIED,
    TP,
    TRANSPOSED,
    VPP,
    ZERO,
    ZIGZAG,
)
from evaluation.parallel.layout import Layout
from evaluation.parallel.size import Size

SINGLE = Layout()
SCHEDULE = Layout(pp=2, micro_batches=4, native="schedule")
Pairs = tuple[tuple[Layout, Layout, Size], ...]
APART = Size(apart=True)
ODD = Size(vocabulary=50)


def _plan(tp: int, **more: bool | int) -> Layout:
    return Layout(tp=tp, native="plan", **more)  # type: ignore[arg-type]


# What torchtitan does: DTensor's plans, alone and under FSDP2.
PLANS: Pairs = (
    (_plan(2), SINGLE, APART),
    (_plan(4), SINGLE, APART),
    (_plan(2, sequence_parallel=True), SINGLE, APART),
    (_plan(4, sequence_parallel=True), SINGLE, APART),
    (_plan(2, sequence_parallel=True, loss_parallel=True), SINGLE, APART),
    (_plan(4, loss_parallel=True), SINGLE, APART),
    (_plan(2), SINGLE, Size(apart=True, tied=True)),
    (_plan(2, dp=2), SINGLE, APART),
    (_plan(2, dp=2, sequence_parallel=True), SINGLE, APART),
    (_plan(1, dp=4), SINGLE, APART),
    (SINGLE, _plan(2, sequence_parallel=True), APART),
    (_plan(4), _plan(2), APART),
)
VOCABULARIES: Pairs = (
    (Layout(tp=2, padded=True), SINGLE, ODD),
    (Layout(tp=4, padded=True), SINGLE, ODD),
    (Layout(tp=2, padded=True), SINGLE, Size(vocabulary=50, tied=True)),
    (Layout(tp=2, padded=True, sequence_parallel=True), SINGLE, ODD),
    (Layout(tp=2, padded=True), Layout(tp=4, padded=True), ODD),
)
# Which tokens are dropped is decided for each micro-batch: shares of both runs are the same.
OF_EXPERTS: Pairs = (
    (EP, Layout(micro_batches=2), Size(experts=4, capacity=1.0)),
    (EP, SINGLE, Size(experts=4, top=2)),
    (Layout(dp=4, ep=4), SINGLE, EXPERTS),
    (EP, Layout(micro_batches=2), Size(experts=4, top=2, capacity=1.0)),
)
OF_LOSSES: Pairs = (
    (Layout(dp=2, per_token=True), Layout(per_token=True), Size(masked=True)),
    (Layout(micro_batches=4, per_token=True), Layout(per_token=True), Size(masked=True)),
    (Layout(micro_batches=4), SINGLE, Size()),
    (Layout(cp=2, per_token=True), Layout(per_token=True), Size(masked=True)),
)
COMBINED: Pairs = (
    (Layout(cp=4, zigzag=True), SINGLE, Size(sequence=16)),
    (Layout(tp=2, cp=2, zigzag=True), SINGLE, Size()),
    (Layout(dp=2, cp=2), SINGLE, Size()),
    (Layout(pp=4, micro_batches=4), SINGLE, Size()),
    (Layout(pp=2, vpp=2, micro_batches=4), SINGLE, Size()),
    (Layout(pp=2, vpp=2, micro_batches=4, native="schedule"), SINGLE, Size()),
    (Layout(tp=2, pp=2, vpp=2, micro_batches=2), SINGLE, Size()),
    (Layout(tp=2, dp=2, zero=True), SINGLE, Size()),
    (Layout(tp=2, dp=2, zero=True), SINGLE, Size(clip=True)),
)
SOUND: Pairs = (
    (TP, SINGLE, Size()),
    (Layout(tp=4), SINGLE, Size()),
    (SP, SINGLE, Size()),
    (Layout(tp=4, sequence_parallel=True), SINGLE, Size()),
    (DP, SINGLE, Size()),
    (Layout(dp=4), SINGLE, Size()),
    (Layout(dp=2, micro_batches=2), SINGLE, Size()),
    (Layout(dp=2, native="ddp"), SINGLE, Size()),
    (ZERO, SINGLE, Size()),
    (Layout(dp=2, native="fsdp2"), SINGLE, Size()),
    (Layout(tp=2, native="dtensor"), SINGLE, Size()),
    (Layout(tp=4, native="dtensor"), SINGLE, Size()),
    (Layout(cp=2), SINGLE, Size()),
    (ZIGZAG, SINGLE, Size()),
    (PP, SINGLE, Size()),
    (PP, Layout(micro_batches=4), Size()),
    (SCHEDULE, SINGLE, Size()),
    (SCHEDULE, Layout(micro_batches=4), Size()),
    (VPP, SINGLE, Size()),
    (EP, SINGLE, EXPERTS),
    (Layout(tp=2, dp=2), SINGLE, Size()),
    (Layout(tp=2, pp=2, micro_batches=2), SINGLE, Size()),
    (Layout(tp=2, cp=2), SINGLE, Size()),
    (Layout(dp=2, pp=2, micro_batches=2), SINGLE, Size()),
    (TP, SINGLE, Size(clip=True)),
    (EP, SINGLE, Size(experts=4, clip=True)),
    (TP, SINGLE, GROUPED),
    (TP, SINGLE, TIED),
    (PP, SINGLE, TIED),
    (Layout(tp=2, pp=2, micro_batches=2), SINGLE, TIED),
    (SINGLE, TP, Size()),
    (Layout(tp=4), TP, Size()),
    (Layout(tp=2, pp=2, micro_batches=2), TP, Size()),
    (DP, TP, Size()),
    (TP, TRANSPOSED, Size()),
    (DP, TRANSPOSED, Size()),
    (PP, TRANSPOSED, Size()),
    (TRANSPOSED, TP, Size()),
    *PLANS,
    *VOCABULARIES,
    *OF_EXPERTS,
    *OF_LOSSES,
    *COMBINED,
)


MEGATRON = Layout(native="megatron")
SOUND_MEGATRON: Pairs = (
    (Layout(tp=2, native="megatron"), MEGATRON, Size()),
    (Layout(tp=2, sequence_parallel=True, native="megatron"), MEGATRON, Size()),
    (Layout(dp=2, native="megatron"), MEGATRON, Size()),
    (Layout(tp=2, dp=2, native="megatron"), MEGATRON, Size()),
    (Layout(dp=2, micro_batches=2, native="megatron"), MEGATRON, Size()),
)
