"""Seeded bugs: layouts that torch makes itself."""

from __future__ import annotations

from evaluation.parallel.experiment import Experiment
from evaluation.parallel.faults.base import (
    fault,
    layer_of,
    nudge,
)
from evaluation.parallel.layout import Layout


@fault(Layout(tp=2, native="dtensor"), r"layers\.2\.mlp\.down", ranks=(1,))
def dtensor_replica(run: Experiment) -> None:
    """Process 1 starts with another bias."""
    if run.mesh.at("tp") == 1:
        nudge(layer_of(run, 2).mlp.down.bias.to_local())  # type: ignore[operator]


@fault(Layout(tp=2, native="dtensor"), r"layers\.1\.mlp\.up", ranks=(0,))
def dtensor_shard(run: Experiment) -> None:
    """Process 0's share of a weight is off."""
    if run.mesh.at("tp") == 0:
        nudge(layer_of(run, 1).mlp.up.weight.to_local())  # type: ignore[operator]


@fault(Layout(dp=2, native="fsdp2"), r"layers\.1\.mlp\.up", threads="TTrace 7")
def fsdp_shard_not_updated(run: Experiment) -> None:
    """Process 1 forgets the update of its share of a weight."""
    parameter = layer_of(run, 1).mlp.up.weight
    before = parameter.to_local().detach().clone()  # type: ignore[operator]

    def forget() -> None:
        if run.mesh.at("dp") == 1:
            parameter.to_local().data.copy_(before)  # type: ignore[operator]

    run.after_step["forget"] = forget
