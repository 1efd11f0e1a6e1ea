"""Seeded bugs of pipeline stages and chunks."""

from __future__ import annotations

import torch
from torch import Tensor

from evaluation.parallel.experiment import Experiment
from evaluation.parallel.faults.base import (
    PP,
    TIED,
    VPP,
    fault,
    layer_of,
    model_of,
    nudge,
)
from evaluation.parallel.layout import Layout
from evaluation.parallel.model import Transformer, build, shard, stage


@fault(PP, r"layers\.[12]\.", threads="TTrace 11")
def pp_stage_division(run: Experiment) -> None:
    """The second stage begins one layer too early and ends one too early."""
    if run.mesh.at("pp") == 1:
        _take_layers(run, 0, range(1, 3))


@fault(VPP, r"layers\.[0-3]\.", threads="TTrace 11")
def vpp_chunk_order(run: Experiment) -> None:
    """A stage runs its two chunks in the wrong order."""
    if run.mesh.at("pp") == 1:
        first, second = run.chunks
        assert isinstance(first, Transformer)
        assert isinstance(second, Transformer)
        first.layers, second.layers = second.layers, first.layers


def _take_layers(run: Experiment, chunk: int, layers: range) -> None:
    part = stage(build(run.size, run.seed), run.size, layers)
    shard(part, run.mesh)
    own = run.chunks[chunk]
    assert isinstance(own, Transformer)
    with torch.no_grad():
        for mine, theirs in zip(own.layers.parameters(), part.layers.parameters(), strict=True):
            mine.copy_(theirs)


@fault(PP, r"cross_entropy", r"^Tensor\.(flatten|chunk)")
def pp_labels_of_other_batch(run: Experiment) -> None:
    """The last stage compares with the labels of another micro-batch."""
    micro_batches = run.micro_batches

    def swapped(step: int) -> list[tuple[Tensor, Tensor, Tensor]]:
        own = micro_batches(step)
        labels = [batch[2] for batch in own]
        labels[0], labels[1] = labels[1], labels[0]
        return [(t, p, label) for (t, p, _), label in zip(own, labels, strict=True)]

    run.micro_batches = swapped  # type: ignore[method-assign]


@fault(PP, r"layers\.[12]\.")
def pp_rounded_on_the_way(run: Experiment) -> None:
    """The activations between stages lose most of their digits."""
    if run.mesh.at("pp") == 0:
        block = layer_of(run, 1)
        forward = block.forward
        block.forward = lambda *a: _coarser(forward(*a))  # type: ignore[method-assign]


def _coarser(x: Tensor) -> Tensor:
    """The numbers in the next format that has fewer digits; bfloat16 for 8 bits."""
    lower = torch.float8_e5m2 if x.dtype == torch.bfloat16 else torch.bfloat16
    return x.to(lower).to(x.dtype)


@fault(
    PP, r"^optimizer$", r"^Optimizer\.", r"^Distributed\.", r"cross_entropy", r"^Tensor\.__mul__"
)
def pp_loss_not_divided(run: Experiment) -> None:
    """The loss of each micro-batch counts in full."""
    run.loss_scale *= run.mesh.layout.micro_batches


@fault(
    PP,
    r"(embedding|head)\.",
    r"^Distributed\.all_reduce",
    size=TIED,
    threads="TTrace 5, Megatron #656, #844",
)
def pp_tied_gradient_not_summed(run: Experiment) -> None:
    """The shared weight's copies on the first and the last stage read their own gradients."""
    del run.after_backward["tied"]


@fault(PP, r"(embedding|head)\.", ranks=(1,), size=TIED, threads="Megatron #844")
def pp_tied_weight_differs(run: Experiment) -> None:
    """The head's copy of the shared weight is not the embedding's when training begins."""
    if run.mesh.at("pp") == 1:
        nudge(model_of(run).head.weight)


VPP4 = Layout(pp=2, vpp=2, micro_batches=4)


@fault(VPP4, r"layers\.[12]\.", r"^Torch\.zeros_like")
def vpp_chunk_gradient_lost(run: Experiment) -> None:
    """The third layer's gradient does not reach the second's stage."""
    if run.mesh.at("pp") == 0:
        block = layer_of(run, 2)
        forward = block.forward

        def stopped(x: Tensor, positions: Tensor) -> Tensor:
            x.register_hook(torch.zeros_like)
            return forward(x, positions)

        block.forward = stopped


@fault(VPP4, r"layers\.0\.")
def interleaved_stale_weights(run: Experiment) -> None:
    """The first chunk of the first stage keeps its weights."""
    if run.mesh.at("pp") == 0:
        _freeze(run, 0)


def _freeze(run: Experiment, chunk: int) -> None:
    layers = run.chunks[chunk].get_submodule("layers")
    kept = [(p, p.detach().clone()) for p in layers.parameters()]

    def forget() -> None:
        for parameter, before in kept:
            parameter.data.copy_(before)

    run.after_step["forget"] = forget


@fault(Layout(pp=4, micro_batches=4), r"layers\.2\.")
def pp4_stage_stale(run: Experiment) -> None:
    """The third of four stages keeps its weights."""
    if run.mesh.at("pp") == 2:
        _freeze(run, 0)
