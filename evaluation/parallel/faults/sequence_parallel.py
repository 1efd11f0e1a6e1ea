"""Seeded bugs: Sequence parallel."""

from __future__ import annotations

from evaluation.parallel.collective import Gather
from evaluation.parallel.experiment import Experiment
from evaluation.parallel.faults.base import (
    SP,
    fault,
    layer_of,
    without,
)
from evaluation.parallel.layers import SEQUENCE


@fault(SP, r"attention_norm", r"mlp_norm", threads="Megatron #1446")
def sp_layer_norm_grad(run: Experiment) -> None:
    """Gradients of norms are those of each process's part of the sequence."""
    without(run, "tp", "attention_norm", "mlp_norm")


@fault(SP, r"(Module|Optimizer)\.norm\b", threads="Megatron #1446")
def sp_final_norm_grad(run: Experiment) -> None:
    """The same for the last norm."""
    without(run, "tp", r"^norm\.")


@fault(SP, r"\bposition\b")
def sp_position_grad(run: Experiment) -> None:
    """The same for the position embedding."""
    without(run, "tp", "position")


@fault(SP, r"mlp\.down")
def sp_row_bias_grad(run: Experiment) -> None:
    """The same for the bias behind a row-parallel layer."""
    without(run, "tp", "mlp.down.bias")


@fault(SP, r"layers\.1\.attention\.qkv")
def sp_gather_without_sum(run: Experiment) -> None:
    """The gradient of a gathered sequence is cut, not summed up."""
    group = run.mesh.group("tp")
    layer_of(run, 1).attention.qkv.enter = lambda x: Gather.apply(x, group, SEQUENCE, False)
