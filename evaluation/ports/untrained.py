"""An encoder as it is drawn: norms are ones and biases zeros, so that only places tell them apart.

The port leaves out what is zero for good, the biases of keys and head, and norms keys first.
Of the weights that are one number throughout it has fewer, and in another order.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from evaluation.ports.port import Port, taken

VOCABULARY, WIDTH, HEADS, HIDDEN, LAYERS, LENGTH = 60, 32, 4, 64, 3, 9
HEAD = WIDTH // HEADS


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (
            nn.Linear(WIDTH, WIDTH) for _ in range(4)
        )
        self.q_norm, self.k_norm = nn.LayerNorm(HEAD), nn.LayerNorm(HEAD)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (
            part(x).unflatten(-1, (HEADS, HEAD)).transpose(1, 2)
            for part in (self.q_proj, self.k_proj, self.v_proj)
        )
        scores = self.q_norm(q) @ self.k_norm(k).transpose(-1, -2) / HEAD**0.5
        return self.o_proj((scores.float().softmax(-1).to(v.dtype) @ v).transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.self_attn = Attention()
        self.fc1, self.fc2 = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.self_attn(self.norm1(x))
        return x + self.fc2(F.gelu(self.fc1(self.norm2(x))))


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.norm = nn.Embedding(VOCABULARY, WIDTH), nn.LayerNorm(WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def drawn() -> nn.Module:
    """The encoder with biases of zero, as most initialisations have them."""
    model = Encoder()
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            nn.init.zeros_(parameter)
    return model


# --- the port -----------------------------------------------------------------------------------


class SplitAttention(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.key_norm, self.query_norm = nn.LayerNorm(HEAD), nn.LayerNorm(HEAD)
        self.key, self.query = nn.Linear(WIDTH, WIDTH, bias=False), nn.Linear(WIDTH, WIDTH)
        self.value, self.out = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.fault = fault

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        k = self.key(x).unflatten(-1, (HEADS, HEAD)).transpose(1, 2)
        k = k if self.fault == "key not normed" else self.key_norm(k)
        q = self.query_norm(self.query(x).unflatten(-1, (HEADS, HEAD)).transpose(1, 2))
        v = self.value(x).unflatten(-1, (HEADS, HEAD)).transpose(1, 2)
        return self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.attn, self.ln1, self.ln2 = (
            SplitAttention(fault),
            nn.LayerNorm(WIDTH),
            nn.LayerNorm(WIDTH),
        )
        act = nn.SiLU() if fault == "another activation" else nn.GELU()
        self.mlp = nn.Sequential(nn.Linear(WIDTH, HIDDEN), act, nn.Linear(HIDDEN, WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = x + self.attn(self.ln1(x))
        return h + self.mlp(self.ln2(h))


class PortedEncoder(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block(fault if n == 1 else None) for n in range(LAYERS))
        self.final, self.out = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.words(tokens)
        for block in self.blocks:
            x = block(x)
        return self.out(self.final(x))


def ported(was: nn.Module, fault: str | None) -> nn.Module:
    assert isinstance(was, Encoder)
    port = PortedEncoder(fault).to(was.head.weight.dtype)
    for new, old in zip(port.blocks, was.layers):
        assert isinstance(new, Block) and isinstance(old, Layer)
        attn, of_old = new.attn, old.self_attn
        taken(attn.key.weight, of_old.k_proj.weight)
        for one, other in (
            *((attn.query, of_old.q_proj), (attn.value, of_old.v_proj)),
            *((attn.out, of_old.o_proj), (new.mlp[0], old.fc1), (new.mlp[2], old.fc2)),
        ):
            one.load_state_dict(other.state_dict())
    taken(port.words.weight, was.embed.weight)
    taken(port.out.weight, was.head.weight)
    return port


def loss(model: nn.Module) -> torch.Tensor:
    torch.manual_seed(16)
    tokens = torch.randint(0, VOCABULARY, (3, LENGTH))
    return F.cross_entropy(model(tokens).float().flatten(0, 1), tokens.roll(1, 1).flatten())


PORT = Port(
    "untrained",
    drawn,
    ported,
    loss,
    {"another activation": "blocks.1.mlp.1 or blocks.1.mlp", "key not normed": "blocks.1.attn"},
    is_trained=False,
)
