"""A port of plain.py, fused and with a cache: python examples/port/fused.py OUT [--wrong]

It reads both prompts in one pass and then a token a sequence a pass, each recorded as a step. With
`--wrong` the second layer's attention leaves the oldest key of the cache out when it decodes.
"""

import sys

import torch
import torch.nn.functional as F
from plain import HEADS, LAYERS, LONGEST, SEQUENCES, WIDTH, WORDS, Decoder, weights
from torch import nn

from msprobe.pytorch import PrecisionDebugger

PROMPT = 4  # tokens of each sequence that are read at once
Places = list[tuple[int, int]]  # sequence and position of each row


class CachedAttention(nn.Module):
    """The projections of queries, keys and values in one, and what was computed before kept."""

    def __init__(self, is_wrong: bool) -> None:
        super().__init__()
        self.qkv, self.out, self.is_wrong = (
            nn.Linear(WIDTH, 3 * WIDTH),
            nn.Linear(WIDTH, WIDTH),
            is_wrong,
        )
        self.kept = torch.zeros(2, len(SEQUENCES), LONGEST, WIDTH)

    def forward(self, x: torch.Tensor, places: Places) -> torch.Tensor:
        queries, keys, values = self.qkv(x).chunk(3, -1)
        for row, (sequence, at) in enumerate(places):
            self.kept[0, sequence, at], self.kept[1, sequence, at] = keys[row], values[row]
        return self.out(torch.stack([self.mixed(q, *at) for q, at in zip(queries, places)]))

    def mixed(self, query: torch.Tensor, sequence: int, at: int) -> torch.Tensor:
        first = 1 if self.is_wrong and at >= PROMPT else 0
        k, v = (
            kept[sequence, first : at + 1].unflatten(-1, (HEADS, -1)).transpose(0, 1)
            for kept in self.kept
        )
        made = F.scaled_dot_product_attention(query.reshape(HEADS, 1, -1), k, v)
        return made.flatten()


class FusedMLP(nn.Module):
    """Gate and up in one projection."""

    def __init__(self) -> None:
        super().__init__()
        self.gate_up, self.down_proj = nn.Linear(WIDTH, 128), nn.Linear(64, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate, up = self.gate_up(x).chunk(2, -1)
        return self.down_proj(F.silu(gate) * up)


class Block(nn.Module):
    """A layer over rows of tokens."""

    def __init__(self, is_wrong: bool) -> None:
        super().__init__()
        self.ln_1, self.attn = nn.LayerNorm(WIDTH), CachedAttention(is_wrong)
        self.ln_2, self.ffn = nn.LayerNorm(WIDTH), FusedMLP()

    def forward(self, x: torch.Tensor, places: Places) -> torch.Tensor:
        x = x + self.attn(self.ln_1(x), places)
        return x + self.ffn(self.ln_2(x))


class Engine(nn.Module):
    """Logits of the next token of some rows."""

    def __init__(self, is_wrong: bool) -> None:
        super().__init__()
        self.wte, self.wpe = nn.Embedding(WORDS, WIDTH), nn.Embedding(LONGEST, WIDTH)
        self.h = nn.ModuleList(Block(is_wrong and at == 1) for at in range(LAYERS))
        self.ln_f, self.lm_head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS)

    def forward(self, ids: torch.Tensor, places: Places) -> torch.Tensor:
        x = self.wte(ids) + self.wpe(torch.tensor([at for _, at in places]))
        for block in self.h:
            x = block(x, places)
        return self.lm_head(self.ln_f(x))


def ported(model: Decoder, is_wrong: bool) -> Engine:
    """An engine with the weights of the original."""
    made = Engine(is_wrong)
    made.wte, made.wpe = model.tokens, model.places
    made.ln_f, made.lm_head = model.norm, model.head
    for block, layer in zip(made.h, model.layers):
        old = layer.attention
        block.ln_1, block.ln_2 = layer.attention_norm, layer.mlp_norm
        block.attn.out, block.ffn.down_proj = old.result, layer.mlp.down
        fuse(block.attn.qkv, old.query, old.key, old.value)
        fuse(block.ffn.gate_up, layer.mlp.gate, layer.mlp.up)
    return made


def fuse(into: nn.Linear, *parts: nn.Linear) -> None:
    """Put the weights of several projections into one."""
    into.weight.data = torch.cat([part.weight for part in parts]).detach()
    into.bias.data = torch.cat([part.bias for part in parts]).detach()


if __name__ == "__main__":
    engine = ported(weights(), "--wrong" in sys.argv)
    debugger = PrecisionDebugger(dump_path=sys.argv[1], level="mix", task="tensor")
    passes = [[(line, at) for line in range(len(SEQUENCES)) for at in range(PROMPT)]]
    passes += [
        [(line, at) for line, sequence in enumerate(SEQUENCES) if at < len(sequence)]
        for at in range(PROMPT, max(map(len, SEQUENCES)))
    ]
    for places in passes:
        with torch.no_grad(), debugger.recording(engine):
            engine(torch.tensor([SEQUENCES[line][at] for line, at in places]), places)
