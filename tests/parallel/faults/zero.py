"""Seeded bugs of sharded optimizers: ZeRO."""

from __future__ import annotations

from tests.parallel.experiment import Experiment
from tests.parallel.faults.base import (
    ZERO,
    fault,
    layer_of,
    without,
)


@fault(ZERO, r"layers\.1\.mlp\.up", threads="Megatron #950, #663")
def zero_update_not_sent(run: Experiment) -> None:
    """The owner of a weight updates it and sends it to nobody."""
    parameter = layer_of(run, 1).mlp.up.weight
    send = run.after_step["send"]
    index = [p is parameter for _, p in run.parameters()].index(True)
    owner = index % run.mesh.size("dp")

    def without() -> None:
        own = parameter.detach().clone()
        send()
        if run.mesh.at("dp") != owner:
            parameter.data.copy_(own)

    run.after_step["send"] = without


@fault(ZERO, r"layers\.2\.attention\.out", threads="Megatron #656")
def zero_gradient_not_reduced(run: Experiment) -> None:
    """The owner of a weight reads its own gradient only."""
    without(run, "dp", "layers.2.attention.out.weight")


@fault(ZERO, r"layers\.0\.mlp\.down", threads="Megatron #950")
def zero_wrong_sender(run: Experiment) -> None:
    """The updated weight is overwritten by one that was not."""
    parameter = layer_of(run, 0).mlp.down.weight
    before = parameter.detach().clone()
    send = run.after_step["send"]

    def overwrite() -> None:
        send()
        parameter.data.copy_(before)

    run.after_step["send"] = overwrite
