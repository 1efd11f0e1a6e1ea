"""A model as torchtitan writes it, projections apart, and the plans by which DTensor cuts it."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    ParallelStyle,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from torch.nn import functional

from evaluation.parallel.layout import Layout, Mesh
from evaluation.parallel.size import Size

Plan = dict[str, ParallelStyle]
Edits = Mapping[str, ParallelStyle | None]


class Attention(nn.Module):
    """Causal attention with queries, keys and values of their own weights."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.width = size.hidden // size.heads
        self.wq = nn.Linear(size.hidden, size.hidden, bias=False)
        self.wk = nn.Linear(size.hidden, size.hidden, bias=False)
        self.wv = nn.Linear(size.hidden, size.hidden, bias=False)
        self.wo = nn.Linear(size.hidden, size.hidden, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        parts = (self.wq(x), self.wk(x), self.wv(x))
        q, k, v = (t.unflatten(-1, (-1, self.width)).transpose(1, 2) for t in parts)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.wo(mixed.transpose(1, 2).flatten(-2))  # type: ignore[no-any-return]


class FeedForward(nn.Module):
    """Gated by SiLU."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.w1 = nn.Linear(size.hidden, size.ffn, bias=False)
        self.w2 = nn.Linear(size.ffn, size.hidden, bias=False)
        self.w3 = nn.Linear(size.hidden, size.ffn, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.w2(functional.silu(self.w1(x)) * self.w3(x))  # type: ignore[no-any-return]


class LlamaBlock(nn.Module):
    def __init__(self, size: Size) -> None:
        super().__init__()
        self.attention_norm = nn.RMSNorm(size.hidden)
        self.attention = Attention(size)
        self.ffn_norm = nn.RMSNorm(size.hidden)
        self.feed_forward = FeedForward(size)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed_forward(self.ffn_norm(x))  # type: ignore[no-any-return]


class Llama(nn.Module):
    """Of positions it knows their order alone, by the causal mask."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.tok_embeddings = nn.Embedding(size.vocabulary, size.hidden)
        self.layers = nn.ModuleList(LlamaBlock(size) for _ in range(size.layers))
        self.norm = nn.RMSNorm(size.hidden)
        self.output = nn.Linear(size.hidden, size.vocabulary, bias=False)
        if size.tied:
            self.output.weight = self.tok_embeddings.weight

    def forward(self, tokens: Tensor, positions: Tensor) -> Tensor:
        x = self.tok_embeddings(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.output(self.norm(x))  # type: ignore[no-any-return]


def ends_plan(layout: Layout) -> Plan:
    """What torchtitan does with embedding, last norm and head."""
    output: dict[str, object] = {"output_layouts": Replicate()}
    if layout.loss_parallel:
        output = {"output_layouts": Shard(-1), "use_local_output": False}
    if not layout.sequence_parallel:
        return {
            "tok_embeddings": RowwiseParallel(input_layouts=Replicate()),
            "output": ColwiseParallel(**output),  # type: ignore[arg-type]
        }
    return {
        "tok_embeddings": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
        "norm": SequenceParallel(),
        "output": ColwiseParallel(input_layouts=Shard(1), **output),  # type: ignore[arg-type]
    }


def block_plan(layout: Layout) -> Plan:
    """What torchtitan does with a layer."""
    rows = {"output_layouts": Shard(1)} if layout.sequence_parallel else {}
    plan: Plan = {
        "attention.wq": ColwiseParallel(),
        "attention.wk": ColwiseParallel(),
        "attention.wv": ColwiseParallel(),
        "attention.wo": RowwiseParallel(**rows),  # type: ignore[arg-type]
        "feed_forward.w1": ColwiseParallel(),
        "feed_forward.w2": RowwiseParallel(**rows),  # type: ignore[arg-type]
        "feed_forward.w3": ColwiseParallel(),
    }
    if layout.sequence_parallel:
        whole = PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),))
        plan |= {
            "attention_norm": SequenceParallel(),
            "attention": whole,
            "ffn_norm": SequenceParallel(),
            "feed_forward": whole,
        }
    return plan


def device_mesh(mesh: Mesh) -> DeviceMesh:
    """The process's mesh of the axes that have several places, the outermost first."""
    axes = [axis for axis in ("dp", "tp") if mesh.size(axis) > 1]
    sizes = tuple(mesh.size(axis) for axis in axes)
    return init_device_mesh("cpu", sizes, mesh_dim_names=tuple(axes))


def parallelized(model: Llama, mesh: Mesh, edits: Edits | None = None) -> Llama:
    """The model under torchtitan's plan and FSDP2; `edits` replace parts of a plan by path."""
    whole, edits = device_mesh(mesh), edits or {}
    is_tied = model.output.weight is model.tok_embeddings.weight
    layers = model.layers
    if mesh.size("tp") > 1:
        for index, layer in enumerate(layers.children()):
            own = {name.removeprefix(f"layers.{index}."): style for name, style in edits.items()}
            parallelize_module(layer, whole["tp"], _edited(block_plan(mesh.layout), own))
        parallelize_module(model, whole["tp"], _edited(ends_plan(mesh.layout), edits))
    if is_tied:
        model.output.weight = model.tok_embeddings.weight  # each has been cut for itself
    if mesh.size("dp") > 1:
        for layer in layers.children():
            fully_shard(layer, mesh=whole["dp"])
        fully_shard(model, mesh=whole["dp"])
    return model


def _edited(plan: Plan, edits: Edits) -> Plan:
    edited = {name: edits.get(name, style) for name, style in plan.items()}
    return {name: style for name, style in edited.items() if style is not None}


def llama(size: Size, seed: int) -> Llama:
    """The whole model with weights that depend on the seed alone."""
    torch.manual_seed(seed)
    model = Llama(size)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" in name:
                parameter.add_(0.1 * torch.randn_like(parameter))
            if name == "tok_embeddings.weight":
                parameter.mul_(0.3)  # as the weights of a head have to be
    return model.to(size.torch_dtype)
