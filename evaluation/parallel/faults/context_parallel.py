"""Seeded bugs: Context parallel."""

from __future__ import annotations

import torch
from torch import Tensor

from evaluation.parallel.collective import Gather
from evaluation.parallel.experiment import Experiment
from evaluation.parallel.faults.base import (
    CP,
    ZIGZAG,
    fault,
    layer_of,
    without,
)
from evaluation.parallel.layout import Layout


@fault(
    CP,
    r"^optimizer$",
    r"^Optimizer\.",
    r"^Distributed\.",
    r"cross_entropy",
    r"^Tensor\.__mul__",
    threads="Megatron #673, #906",
)
def cp_loss_scale(run: Experiment) -> None:
    """The loss is multiplied by the number of processes."""
    run.loss_scale *= run.mesh.size("cp")


@fault(ZIGZAG, r"attention_norm", r"mlp_norm", threads="Megatron #1528")
def cp_norm_grad_not_reduced(run: Experiment) -> None:
    """Gradients of norms are those of each process's part of the sequence."""
    without(run, "cp", "attention_norm", "mlp_norm")


@fault(CP, r"layers\.1\.attention\b", threads="Megatron #1464, TransformerEngine #1557")
def cp_attention_grad(run: Experiment) -> None:
    """The gradients of keys and values from other processes' queries are lost."""
    group = run.mesh.group("cp")
    layer_of(run, 1).attention.spread_keys = lambda x: Gather.apply(x, group, 2, False)


@fault(ZIGZAG, r"\bposition\b", r"^Tensor\.(chunk|expand)", r"^Torch\.(cat|arange)")
def cp_positions(run: Experiment) -> None:
    """Positions are cut in their order while tokens are not."""
    micro_batches = run.micro_batches

    def moved(step: int) -> list[tuple[Tensor, Tensor, Tensor]]:
        own = [list(batch) for batch in micro_batches(step)]
        for batch in own:
            length = batch[1].shape[1]
            batch[1] = (
                batch[1].sort().values * 0 + torch.arange(length) + (run.mesh.at("cp") * length)
            )
        return [tuple(batch) for batch in own]  # type: ignore[misc]

    run.micro_batches = moved  # type: ignore[method-assign]


@fault(CP, r"layers\.2\.attention\b")
def cp_mask(run: Experiment) -> None:
    """The positions of the keys are gathered in another order than the keys."""
    group = run.mesh.group("cp")

    def swapped(positions: Tensor) -> Tensor:
        return torch.cat(Gather.apply(positions, group, 1, False).chunk(2, 1)[::-1], 1)

    layer_of(run, 2).attention.spread_positions = swapped


@fault(Layout(cp=4), r"layers\.1\.attention\b")
def cp4_keys_of_one_lost(run: Experiment) -> None:
    """What the queries of one of four processes say of the keys is lost in the backward pass."""
    group = run.mesh.group("cp")
    kept = 0.0 if run.mesh.at("cp") == 2 else 1.0

    def spread(x: Tensor) -> Tensor:
        whole: Tensor = Gather.apply(x, group, 2, True)
        if whole.requires_grad:
            whole.register_hook(lambda gradient: gradient * kept)
        return whole

    layer_of(run, 1).attention.spread_keys = spread


@fault(Layout(tp=2, cp=2), r"attention_norm", r"mlp_norm")
def cp_tp_norm_grad(run: Experiment) -> None:
    """Gradients of norms are those of each process's part of the sequence, beside tp."""
    without(run, "cp", "attention_norm", "mlp_norm")
