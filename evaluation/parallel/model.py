"""One tiny transformer, whole or cut: the same weights and the same mathematics either way."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from evaluation.parallel.collective import Gather
from evaluation.parallel.experts import Experts, Router
from evaluation.parallel.layers import (
    SEQUENCE,
    ColumnParallelLinear,
    Conv1D,
    Operation,
    RowParallelLinear,
    VocabParallelEmbedding,
    same,
)
from evaluation.parallel.layout import Mesh
from evaluation.parallel.size import Size


class Attention(nn.Module):
    """Causal attention over fused q, k, v; with context parallelism keys come from all parts."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.heads, self.width = size.heads, size.hidden // size.heads
        self.norm_q = nn.LayerNorm(self.width)
        self.sharing = 2 if size.grouped else 1
        self.fused = [size.hidden, size.hidden // self.sharing, size.hidden // self.sharing]
        self.qkv: nn.Module = nn.Linear(size.hidden, sum(self.fused))
        self.out: nn.Module = nn.Linear(size.hidden, size.hidden)
        self.spread_keys: Operation = same
        self.spread_positions: Operation = same

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        qkv = self.qkv(x)
        own = [extent * qkv.shape[-1] // sum(self.fused) for extent in self.fused]
        q, k, v = qkv.split(own, -1)
        q, k, v = (t.unflatten(-1, (-1, self.width)).transpose(1, 2) for t in (q, k, v))
        if self.sharing > 1:
            k, v = (t.repeat_interleave(self.sharing, 1) for t in (k, v))
        q = self.norm_q(q)
        k, v = self.spread_keys(k), self.spread_keys(v)
        known = self.spread_positions(positions)
        seen = positions[:, None, :, None] >= known[:, None, None, :]
        mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=seen)
        return self.out(mixed.transpose(1, 2).flatten(-2))


class Mlp(nn.Module):
    """Gated: the up projection holds gate and value, fused."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.up: nn.Module = nn.Linear(size.hidden, 2 * size.ffn)
        self.down: nn.Module = nn.Linear(size.ffn, size.hidden)

    def forward(self, x: Tensor) -> Tensor:
        gate, value = self.up(x).chunk(2, -1)
        return self.down(functional.silu(gate) * value)


class Block(nn.Module):
    def __init__(self, size: Size) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(size.hidden)
        self.attention = Attention(size)
        self.mlp_norm = nn.LayerNorm(size.hidden)
        self.mlp: nn.Module = Mlp(size)
        if size.experts:
            self.router = Router(size.hidden, size.experts, size.top)
            self.mlp = Experts([Mlp(size) for _ in range(size.experts)], size.capacity)

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        x = x + self.attention(self.attention_norm(x), positions)
        h = self.mlp_norm(x)
        if isinstance(self.mlp, Experts):
            return x + self.mlp(h, *self.router(h))
        return x + self.mlp(h)


class Transformer(nn.Module):
    """All of it, or the layers of one pipeline stage; `ends` tells which ends it has."""

    def __init__(self, size: Size, layers: range | None = None) -> None:
        super().__init__()
        layers = range(size.layers) if layers is None else layers
        self.first, self.last = layers.start == 0, layers.stop == size.layers
        if self.first:
            self.embedding: nn.Module = nn.Embedding(size.vocabulary, size.hidden)
            self.position: nn.Module = nn.Embedding(size.sequence, size.hidden)
        self.layers = nn.ModuleList(Block(size) for _ in layers)
        if self.last:
            self.norm = nn.LayerNorm(size.hidden)
            self.head: nn.Module = nn.Linear(size.hidden, size.vocabulary, bias=False)
        self.is_tied = size.tied and self.first and self.last
        if self.is_tied:
            self.head.weight = self.embedding.weight
        self.spread_sequence: Operation = same  # position embeddings under sequence parallelism

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        if self.first:
            x = self.embedding(x) + self.spread_sequence(self.position(positions))
        for layer in self.layers:
            x = layer(x, positions)
        return self.head(self.norm(x)) if self.last else x


def build(size: Size, seed: int) -> Transformer:
    """The whole model with weights that depend on the seed alone."""
    torch.manual_seed(seed)
    model = Transformer(size)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" in name or name.endswith("bias"):
                parameter.add_(0.1 * torch.randn_like(parameter))
    return model.to(size.torch_dtype)


def stage(whole: Transformer, size: Size, layers: range) -> Transformer:
    """Some layers of the whole as a model of its own, numbered from 0."""
    part = Transformer(size, layers)
    part.layers = nn.ModuleList(whole.layers[index] for index in layers)
    for name in ("embedding", "position", "norm", "head"):
        if hasattr(part, name):
            setattr(part, name, getattr(whole, name))
    return part


def shard(model: Transformer, mesh: Mesh) -> None:
    """Pad a model's vocabulary, cut it over tp and cp, and its experts over ep, in place."""
    if mesh.layout.padded:
        _pad(model, mesh)
    if mesh.size("cp") > 1:
        _spread_context(model, mesh)
    if mesh.layout.ep > 1:
        for block in model.layers:
            assert isinstance(block, Block)
            assert isinstance(block.mlp, Experts)
            block.mlp.spread(mesh)
    if mesh.layout.transposed:
        _transpose(model)
    elif mesh.size("tp") > 1 and not mesh.layout.native:
        _cut_tensors(model, mesh)


def _pad(model: Transformer, mesh: Mesh) -> None:
    """Let the vocabulary have rows that no token has, as Megatron does, so that it can be cut."""
    kept: dict[int, nn.Parameter] = {}  # a tied weight is padded once
    for module in (getattr(model, "embedding", None), getattr(model, "head", None)):
        if module is not None:
            weight = module.weight
            kept.setdefault(id(weight), nn.Parameter(_padded(weight.detach(), mesh)))
            module.weight = kept[id(weight)]


def _padded(weight: Tensor, mesh: Mesh) -> Tensor:
    multiple = 4 * mesh.size("tp")
    missing = -weight.shape[0] % multiple
    generator = torch.Generator().manual_seed(missing)
    rows = 0.2 * torch.randn((missing, weight.shape[1]), generator=generator)
    return torch.cat((weight, rows.to(weight.dtype)))


def _transpose(model: Transformer) -> None:
    for block in model.layers:
        assert isinstance(block, Block)
        assert isinstance(block.mlp, Mlp)
        attention, mlp = block.attention, block.mlp
        attention.qkv = Conv1D(_linear(attention.qkv))
        attention.out = Conv1D(_linear(attention.out))
        mlp.up = Conv1D(_linear(mlp.up))
        mlp.down = Conv1D(_linear(mlp.down))


def _spread_context(model: Transformer, mesh: Mesh) -> None:
    group = mesh.group("cp")
    for block in model.layers:
        assert isinstance(block, Block)
        block.attention.spread_keys = lambda x: Gather.apply(x, group, 2, True)
        block.attention.spread_positions = lambda p: Gather.apply(p, group, 1, False)


def _cut_tensors(model: Transformer, mesh: Mesh) -> None:
    for block in model.layers:
        assert isinstance(block, Block)
        attention, mlp = block.attention, block.mlp
        attention.qkv = ColumnParallelLinear(_linear(attention.qkv), mesh, attention.fused)
        attention.out = RowParallelLinear(_linear(attention.out), mesh)
        assert isinstance(mlp, Mlp)
        mlp.up = ColumnParallelLinear(_linear(mlp.up), mesh, (1, 1))
        mlp.down = RowParallelLinear(_linear(mlp.down), mesh)
    if model.first:
        assert isinstance(model.embedding, nn.Embedding)
        model.embedding = VocabParallelEmbedding(model.embedding, mesh)
        if mesh.layout.sequence_parallel:
            size, own = mesh.size("tp"), mesh.at("tp")
            model.spread_sequence = lambda x: x.chunk(size, SEQUENCE)[own]
    if model.last:
        model.head = ColumnParallelLinear(_linear(model.head), mesh, gather_output=True)
        if model.is_tied:
            model.head.weight = model.embedding.weight


def _linear(module: nn.Module) -> nn.Linear:
    assert isinstance(module, nn.Linear)
    return module
