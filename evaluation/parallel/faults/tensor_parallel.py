"""Seeded bugs: Tensor parallel."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor

from evaluation.parallel.collective import Gather, Reduce
from evaluation.parallel.experiment import Experiment, clip, norm_of
from evaluation.parallel.faults.base import (
    CLIPPED,
    GROUPED,
    TP,
    TRANSPOSED,
    fault,
    has_layer,
    layer_of,
    model_of,
    nudge,
    without,
)
from evaluation.parallel.layers import cut, same
from evaluation.parallel.layout import Layout
from evaluation.parallel.model import build


@fault(TP, r"\bembedding\b", threads="TTrace 1")
def tp_embedding_mask(run: Experiment) -> None:
    """The first row of each process counts as foreign."""
    layer = model_of(run).embedding
    rows = layer.weight.shape[0]
    layer.is_foreign = lambda t: (t <= layer.first) | (t >= layer.first + rows)


@fault(TP, r"layers\.2\.mlp\.up", threads="TransformerEngine #1616")
def tp_missing_input_grad_reduce(run: Experiment) -> None:
    """The gradient of a column-parallel layer's input stays each process's own part."""
    layer_of(run, 2).mlp.up.enter = same


@fault(TP, r"attention\.qkv", r"attention_norm")
def tp_missing_input_grads(run: Experiment) -> None:
    """The same in all layers."""
    for index in range(run.size.layers):
        layer_of(run, index).attention.qkv.enter = same


@fault(TP, r"layers\.1\.attention\.out")
def tp_row_not_reduced(run: Experiment) -> None:
    """A row-parallel layer hands on its part of the sum."""
    layer_of(run, 1).attention.out.leave = same


@fault(TP, r"layers\.2\.mlp\.down")
def tp_row_reduced_twice(run: Experiment) -> None:
    """A sum that is added up once more."""
    group = run.mesh.group("tp")
    layer = layer_of(run, 2).mlp.down
    layer.leave = lambda x: Reduce.apply(Reduce.apply(x, group), group)


@fault(TP, r"layers\.1\.mlp\.down")
def tp_row_bias_twice(run: Experiment) -> None:
    """Every process adds the bias before the sum."""
    layer, group = layer_of(run, 1).mlp.down, run.mesh.group("tp")
    bias = layer.bias
    layer.leave = lambda x: Reduce.apply(x + bias * 0.5, group)


@fault(TP, r"layers\.1\.mlp\b", threads="NeMo-RL #3716")
def tp_gated_layout(run: Experiment) -> None:
    """Gate and value are cut as one block."""
    _recut(run, 1, "mlp.up")


@fault(TP, r"layers\.2\.attention\b")
def tp_qkv_layout(run: Experiment) -> None:
    """q, k and v are cut as one block."""
    _recut(run, 2, "attention.qkv")


def _recut(run: Experiment, index: int, path: str) -> None:
    whole = build(run.size, run.seed).layers[index].get_submodule(path)
    own = layer_of(run, index).get_submodule(path)
    with torch.no_grad():
        own.weight.copy_(cut(whole.weight, 0, run.mesh))
        own.bias.copy_(cut(whole.bias, 0, run.mesh))


@fault(TP, r"norm_q", threads="Megatron #7452")
def tp_qk_norm_grad(run: Experiment) -> None:
    """The gradient of the norm over heads is not summed up over tp."""
    without(run, "tp", "norm_q")


@fault(TP, r"^optimizer$", r"^Optimizer\.", r"^Tensor\.", size=CLIPPED, threads="Megatron #7452")
def tp_norm_counts_twice(run: Experiment) -> None:
    """Whole parameters count once per process in the norm for clipping."""
    run.after_backward["clip"] = lambda: clip(run, norm_of(run, lambda _: 1.0))


@fault(TP, r"^optimizer$", r"^Optimizer\.", r"^Tensor\.", size=CLIPPED, threads="Megatron #7452")
def tp_clip_local(run: Experiment) -> None:
    """Each process clips by the norm of its own share."""

    def local() -> None:
        total = sum(
            p.grad.float().square().sum() for _, p in run.parameters() if p.grad is not None
        )
        clip(run, torch.as_tensor(total).sqrt())

    run.after_backward["clip"] = local


@fault(TP, r"\bhead\b")
def tp_gathered_logits(run: Experiment) -> None:
    """The parts of the logits are put together in the wrong order."""
    head, group = model_of(run).head, run.mesh.group("tp")

    def swapped(x: Tensor) -> Tensor:
        return torch.cat(Gather.apply(x, group, x.ndim - 1, False).chunk(2, -1)[::-1], -1)

    head.leave = swapped


@fault(TP, r"\bhead\b", r"^Distributed\.reduce_scatter")
def tp_head_gradient_doubled(run: Experiment) -> None:
    """The gradient of gathered logits is summed up over processes that all have the whole."""
    head, group = model_of(run).head, run.mesh.group("tp")
    head.leave = lambda x: Gather.apply(x, group, x.ndim - 1, True)


@fault(TP, r"layers\.0\.attention_norm", ranks=(1,))
def tp_replica_of_weight(run: Experiment) -> None:
    """One process starts with another weight of a norm."""
    if run.mesh.at("tp") == 1:
        nudge(layer_of(run, 0).attention_norm.weight)


@fault(TP, r"layers\.1\.attention\.out", ranks=(1,))
def tp_update_lost(run: Experiment) -> None:
    """One process forgets the update of a bias that all have."""
    parameter = layer_of(run, 1).attention.out.bias
    before = parameter.detach().clone()

    def forget() -> None:
        if run.mesh.at("tp") == 1:
            parameter.data.copy_(before)

    run.after_step["forget"] = forget


@fault(TP, r"layers\.3\.mlp\.down", ranks=(1,))
def tp_same_rows(run: Experiment) -> None:
    """Process 1 holds process 0's share of a weight."""
    weight = layer_of(run, 3).mlp.down.weight
    dist.broadcast(weight.data, 0, group=run.mesh.group("tp"))


@fault(Layout(tp=2, dp=2), r"layers\.1\.mlp\.down")
def tp_wrong_group(run: Experiment) -> None:
    """A row-parallel layer sums over the data-parallel group."""
    group = run.mesh.group("dp")
    layer_of(run, 1).mlp.down.leave = lambda x: Reduce.apply(x, group)


@fault(Layout(tp=4), r"layers\.0\.mlp\.down", ranks=(2,))
def tp_rank_adds_nothing(run: Experiment) -> None:
    """One of four processes contributes nothing to a sum."""
    layer, group = layer_of(run, 0).mlp.down, run.mesh.group("tp")
    own = 0.0 if run.mesh.at("tp") == 2 else 1.0
    layer.leave = lambda x: Reduce.apply(x * own, group)


@fault(Layout(tp=2, pp=2, micro_batches=2), r"layers\.3\.mlp\.down")
def tp_pp_row_not_reduced(run: Experiment) -> None:
    """A sum that is missing on the second stage."""
    if has_layer(run, 3):
        layer_of(run, 3).mlp.down.leave = same


@fault(TP, r"layers\.2\.attention", size=GROUPED)
def tp_grouped_qkv_layout(run: Experiment) -> None:
    """Queries that share keys and values: one layer's fused weight is cut as if it were one."""
    _recut(run, 2, "attention.qkv")


@fault(TP, r"layers\.2\.mlp\.up", ranks=(1,), benchmark=TRANSPOSED)
def tp_shard_of_transposed(run: Experiment) -> None:
    """One process's share of a weight that the benchmark stores the other way round is off."""
    if run.mesh.at("tp") == 1:
        nudge(layer_of(run, 2).mlp.up.weight)


@fault(TP, r"layers\.1\.attention\.out", benchmark=TRANSPOSED)
def tp_square_not_turned(run: Experiment) -> None:
    """A square weight was taken over from a transposed checkpoint as it is."""
    weight = build(run.size, run.seed).layers[1].attention.out.weight.detach()
    out = layer_of(run, 1).attention.out
    with torch.no_grad():
        out.weight.copy_(cut(weight.T, 1, run.mesh))
