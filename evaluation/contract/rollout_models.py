"""One decoder as Hugging Face, Megatron and an inference engine write it, with the same weights."""

from __future__ import annotations

import torch
from torch import Tensor, nn

WIDTH, HEADS, GROUPS, SIZE, WORDS, INNER = 16, 4, 2, 4, 31, 24


class Projections(nn.Module):
    """Attention; `fused` computes query, key and value in one projection."""

    def __init__(self, fused: bool) -> None:
        super().__init__()
        sizes = (HEADS * SIZE, GROUPS * SIZE, GROUPS * SIZE)
        if fused:
            self.qkv_proj = nn.Linear(WIDTH, sum(sizes))
        else:
            self.q_proj, self.k_proj, self.v_proj = (nn.Linear(WIDTH, size) for size in sizes)
        self.o_proj = nn.Linear(HEADS * SIZE, WIDTH, bias=False)
        self.sizes = sizes

    def forward(self, hidden: Tensor) -> Tensor:
        parts: tuple[Tensor, ...]
        if hasattr(self, "qkv_proj"):
            parts = self.qkv_proj(hidden).split(self.sizes, -1)
        else:
            parts = self.q_proj(hidden), self.k_proj(hidden), self.v_proj(hidden)
        return self.o_proj(attention(*parts))  # type: ignore[no-any-return]


def attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Every token looks at all others; over [tokens, features]."""
    rows = query.reshape(-1, HEADS, SIZE).transpose(0, 1)
    shared = (
        part.reshape(-1, GROUPS, SIZE).repeat_interleave(HEADS // GROUPS, 1).transpose(0, 1)
        for part in (key, value)
    )
    mixed = nn.functional.scaled_dot_product_attention(rows, *shared)
    return mixed.transpose(0, 1).reshape(*query.shape)


class GatedUnit(nn.Module):
    """The feed-forward part; `fused` computes gate and up in one projection."""

    def __init__(self, fused: bool) -> None:
        super().__init__()
        if fused:
            self.gate_up_proj = nn.Linear(WIDTH, 2 * INNER, bias=False)
        else:
            self.gate_proj, self.up_proj = (nn.Linear(WIDTH, INNER, bias=False) for _ in range(2))
        self.down_proj = nn.Linear(INNER, WIDTH, bias=False)

    def forward(self, hidden: Tensor) -> Tensor:
        if hasattr(self, "gate_up_proj"):
            gate, up = self.gate_up_proj(hidden).chunk(2, -1)
        else:
            gate, up = self.gate_proj(hidden), self.up_proj(hidden)
        return self.down_proj(nn.functional.silu(gate) * up)  # type: ignore[no-any-return]


class Layer(nn.Module):
    def __init__(self, fused: bool) -> None:
        super().__init__()
        self.input_layernorm = nn.RMSNorm(WIDTH)
        self.self_attn = Projections(fused)
        self.post_attention_layernorm = nn.RMSNorm(WIDTH)
        self.mlp = GatedUnit(fused)

    def forward(self, hidden: Tensor) -> Tensor:
        hidden = hidden + self.self_attn(self.input_layernorm(hidden))
        return hidden + self.mlp(self.post_attention_layernorm(hidden))  # type: ignore[no-any-return]


class Decoder(nn.Module):
    def __init__(self, fused: bool) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(Layer(fused) for _ in range(2))
        self.norm = nn.RMSNorm(WIDTH)

    def forward(self, ids: Tensor) -> Tensor:
        hidden = self.embed_tokens(ids)
        for layer in self.layers:
            hidden = layer(hidden)
        return self.norm(hidden)  # type: ignore[no-any-return]


class LanguageModel(nn.Module):
    """`model` below a head, as Hugging Face and engines have it."""

    def __init__(self, fused: bool = False) -> None:
        super().__init__()
        self.model = Decoder(fused)
        self.lm_head = nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        return self.lm_head(self.model(ids))  # type: ignore[no-any-return]


class Wrapped(nn.Module):
    """Puts FSDP's name before a module."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self._fsdp_wrapped_module = inner

    def forward(self, *arguments: Tensor) -> Tensor:
        return self._fsdp_wrapped_module(*arguments)  # type: ignore[no-any-return]


def trained() -> LanguageModel:
    """The training side, its layers wrapped as FSDP wraps them."""
    torch.manual_seed(0)
    model = LanguageModel()
    for at, layer in enumerate(model.model.layers):
        model.model.layers[at] = Wrapped(layer)
    return model


def engine_of(model: LanguageModel) -> LanguageModel:
    """The same model with fused projections."""
    weights = {k.replace("_fsdp_wrapped_module.", ""): v for k, v in model.state_dict().items()}
    engine = LanguageModel(fused=True)
    for name in engine.state_dict():
        for whole, parts in (("qkv_proj", "qkv"), ("gate_up_proj", ("gate", "up"))):
            if whole in name:
                pieces = [weights[name.replace(whole, f"{part}_proj")] for part in parts]
                weights[name] = torch.cat(pieces)
    engine.load_state_dict({name: weights[name] for name in engine.state_dict()})
    return engine
