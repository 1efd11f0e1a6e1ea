"""A mixture of experts as a list of modules; its port stacks the experts in one weight each."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from evaluation.ports.decoder import WIDTH, RMSNorm
from evaluation.ports.port import Port, taken

VOCABULARY, EXPERTS, PICKED, HIDDEN, LAYERS, LENGTH = 60, 4, 2, 40, 2, 9


class Expert(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w1, self.w3 = (nn.Linear(WIDTH, HIDDEN, bias=False) for _ in range(2))
        self.w2 = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class SparseMoeBlock(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.experts = nn.ModuleList(Expert() for _ in range(EXPERTS))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = x.view(-1, WIDTH)
        weights, picked = torch.topk(F.softmax(self.gate(flat).float(), -1), PICKED)
        weights = (weights / weights.sum(-1, keepdim=True)).to(x.dtype)
        out = torch.zeros_like(flat)
        for number, expert in enumerate(self.experts):
            rows, places = torch.where(picked == number)
            out.index_add_(0, rows, expert(flat[rows]) * weights[rows, places, None])
        return out.view(x.shape)


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mix_norm, self.ffn_norm = RMSNorm(), RMSNorm()
        self.mix = nn.Linear(WIDTH, WIDTH, bias=False)
        self.block_sparse_moe = SparseMoeBlock()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.mix(self.mix_norm(x).cumsum(1) / LENGTH)
        return x + self.block_sparse_moe(self.ffn_norm(x))


class Mixture(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm, self.head = RMSNorm(), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


# --- the port -----------------------------------------------------------------------------------


class FusedExperts(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.gate_up = nn.Parameter(torch.zeros(EXPERTS, 2 * HIDDEN, WIDTH))
        self.down = nn.Parameter(torch.zeros(EXPERTS, WIDTH, HIDDEN))
        self.fault = fault

    def forward(self, x: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        gate, up = torch.einsum("td,ehd->teh", x, self.gate_up).chunk(2, -1)
        if self.fault == "gate and up swapped":
            gate, up = up, gate
        made = torch.einsum("teh,edh->ted", F.silu(gate) * up, self.down)
        return torch.einsum("ted,te->td", made, weights)


class MoE(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.router = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.experts = FusedExperts(fault)
        self.fault = fault

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = x.flatten(0, 1)
        chosen, picked = self.router(flat).float().topk(PICKED, -1)
        shares = chosen.softmax(-1)
        if self.fault == "shares not normalised":
            shares = self.router(flat).float().softmax(-1).gather(-1, picked)
        weights = torch.zeros(len(flat), EXPERTS).scatter(1, picked, shares)
        return self.experts(flat, weights.to(x.dtype)).unflatten(0, x.shape[:2])


class MoEBlock(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.norm1 = nn.RMSNorm(WIDTH, eps=1e-5)
        self.norm2 = nn.RMSNorm(WIDTH, eps=1e-5)
        self.linear = nn.Linear(WIDTH, WIDTH, bias=False)
        self.moe = MoE(fault)
        self.fault = fault

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.norm1(x).cumsum(1)
        x = x + self.linear(h / (LENGTH - 1 if self.fault == "another mean" else LENGTH))
        return x + self.moe(self.norm2(x))


class FusedMixture(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.word = nn.Embedding(VOCABULARY, WIDTH)
        self.stack = nn.ModuleList(MoEBlock(fault if n == 0 else None) for n in range(LAYERS))
        self.final = nn.RMSNorm(WIDTH, eps=1e-5)
        self.out = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.word(tokens)
        for block in self.stack:
            x = block(x)
        return self.out(self.final(x))


def ported(original: nn.Module, fault: str | None) -> nn.Module:
    assert isinstance(original, Mixture)
    port = FusedMixture(fault).to(original.head.weight.dtype)
    taken(port.word.weight, original.embed.weight)
    for number, (block, layer) in enumerate(zip(port.stack, original.layers)):
        assert isinstance(block, MoEBlock) and isinstance(layer, Layer)
        old = layer.block_sparse_moe
        experts = [each for each in old.experts if isinstance(each, Expert)]
        gate_up = torch.stack([torch.cat((e.w1.weight, e.w3.weight)) for e in experts])
        down = torch.stack([e.w2.weight for e in experts])
        if fault == "expert missing" and number == 0:
            down[3] = 0
        taken(block.moe.experts.gate_up, gate_up)
        taken(block.moe.experts.down, down)
        taken(block.moe.router.weight, old.gate.weight)
        taken(block.linear.weight, layer.mix.weight)
        taken(block.norm1.weight, layer.mix_norm.weight)
        taken(block.norm2.weight, layer.ffn_norm.weight)
    taken(port.final.weight, original.norm.weight)
    taken(port.out.weight, original.head.weight)
    return port


def loss(model: nn.Module) -> torch.Tensor:
    torch.manual_seed(8)
    tokens = torch.randint(0, VOCABULARY, (2, LENGTH + 1))
    logits = model(tokens[:, :-1]).float()
    return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


PORT = Port(
    "experts",
    Mixture,
    ported,
    loss,
    {
        "gate and up swapped": "stack.0.moe",
        "shares not normalised": "stack.0.moe",
        "another mean": "stack.0",
        "expert missing": "stack.0.moe",
    },
)
