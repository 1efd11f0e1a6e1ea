"""A translator with position biases that each block keeps; its port fuses and shares them.

The port has one weight for query, key and value of an encoder's block, one for key and value of all
cross attentions, and one head of biases that is looked up once.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from evaluation.ports.port import Port, taken

VOCABULARY, WIDTH, HEADS, HIDDEN, LAYERS = 64, 40, 4, 80, 2
SOURCE, TARGET, BUCKETS = 11, 8, 6
HEAD = WIDTH // HEADS


def heads_of(x: torch.Tensor) -> torch.Tensor:
    """[batch, tokens, width] by heads: [batch, heads, tokens, head]."""
    return x.unflatten(-1, (HEADS, HEAD)).transpose(1, 2)


def buckets(length: int) -> torch.Tensor:
    """How far each token stands behind each other, in a few steps."""
    places = torch.arange(length)
    return (places[:, None] - places[None]).abs().clamp(max=BUCKETS - 1)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))

    def forward(self, x: torch.Tensor, read: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        q, k, v = heads_of(self.q(x)), heads_of(self.k(read)), heads_of(self.v(read))
        weights = (q @ k.transpose(-1, -2) + bias).float().softmax(-1).to(x.dtype)
        return self.o((weights @ v).transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.wi, self.wo = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.wo(F.relu(self.wi(x)))


class Block(nn.Module):
    def __init__(self, is_decoder: bool) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(3 if is_decoder else 2))
        self.bias = nn.Embedding(BUCKETS, HEADS)
        self.attention, self.feed = Attention(), FeedForward()
        if is_decoder:
            self.cross = Attention()

    def forward(self, x: torch.Tensor, memory: torch.Tensor | None = None) -> torch.Tensor:
        bias = self.bias(buckets(x.shape[1])).permute(2, 0, 1)
        if memory is not None:
            bias = bias + torch.full(bias.shape[-2:], float("-inf")).triu(1).to(x.dtype)
        h = self.norms[0](x)
        x = x + self.attention(h, h, bias)
        if memory is not None:
            x = x + self.cross(self.norms[1](x), memory, torch.zeros((), dtype=x.dtype))
        return x + self.feed(self.norms[-1](x))


class Translator(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.shared = nn.Embedding(VOCABULARY, WIDTH)
        self.encoder = nn.ModuleList(Block(is_decoder=False) for _ in range(LAYERS))
        self.decoder = nn.ModuleList(Block(is_decoder=True) for _ in range(LAYERS))
        self.encoded, self.final = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        memory = self.shared(source)
        for block in self.encoder:
            memory = block(memory)
        memory, x = self.encoded(memory), self.shared(target)
        for block in self.decoder:
            x = block(x, memory)
        return self.head(self.final(x))


# --- the port -----------------------------------------------------------------------------------


class FusedSelf(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.in_proj = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out_proj = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        q, k, v = (heads_of(part) for part in self.in_proj(x).chunk(3, -1))
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=1.0)
        return self.out_proj(mixed.transpose(1, 2).flatten(2))


class FusedCross(nn.Module):
    """Cross attention whose keys and values were made for all blocks at once."""

    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.query, self.out_proj = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(2))
        self.scale = HEAD**-0.5 if fault == "cross attention scaled" else 1.0

    def forward(self, x: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        q, k, v = heads_of(self.query(x)), heads_of(keys), heads_of(values)
        mixed = F.scaled_dot_product_attention(q, k, v, scale=self.scale)
        return self.out_proj(mixed.transpose(1, 2).flatten(2))


class FusedBlock(nn.Module):
    def __init__(self, is_decoder: bool, fault: str | None) -> None:
        super().__init__()
        self.ln_self, self.ln_feed = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attn = FusedSelf()
        self.mlp = nn.Sequential(nn.Linear(WIDTH, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, WIDTH))
        if fault == "another activation":
            self.mlp[1] = nn.LeakyReLU(0.1)
        if is_decoder:
            self.ln_cross, self.cross = nn.LayerNorm(WIDTH), FusedCross(fault)

    def forward(self, x: torch.Tensor, mask: torch.Tensor, *memory: torch.Tensor) -> torch.Tensor:
        x = x + self.attn(self.ln_self(x), mask)
        if memory:
            x = x + self.cross(self.ln_cross(x), *memory)
        return x + self.mlp(self.ln_feed(x))


class FusedTranslator(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.biases = nn.Embedding(BUCKETS, 2 * LAYERS * HEADS)
        self.enc = nn.ModuleList(
            FusedBlock(False, fault if n == 1 else None) for n in range(LAYERS)
        )
        self.dec = nn.ModuleList(
            FusedBlock(True, fault if n == 0 and "cross" in (fault or "") else None)
            for n in range(LAYERS)
        )
        self.memory_kv = nn.Linear(WIDTH, 2 * LAYERS * WIDTH, bias=False)
        self.ln_enc, self.ln_dec = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.out = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def _masks(self, length: int) -> list[torch.Tensor]:
        made = self.biases(buckets(length)).permute(2, 0, 1)
        return list(made.unflatten(0, (2 * LAYERS, HEADS)))

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        memory, masks = self.words(source), self._masks(source.shape[1])
        for block, mask in zip(self.enc, masks):
            memory = block(memory, mask)
        both = self.memory_kv(self.ln_enc(memory)).chunk(2 * LAYERS, -1)
        x, masks = self.words(target), self._masks(target.shape[1])[LAYERS:]
        ahead = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).triu(1)
        for n, (block, mask) in enumerate(zip(self.dec, masks)):
            allowed = mask.masked_fill(ahead, float("-inf"))
            x = block(x, allowed, both[2 * n], both[2 * n + 1])
        return self.out(self.ln_dec(x))


def _take_block(new: FusedBlock, old: Block) -> None:
    of_self = old.attention
    taken(new.attn.in_proj.weight, torch.cat([p.weight for p in (of_self.q, of_self.k, of_self.v)]))
    taken(new.attn.out_proj.weight, of_self.o.weight)
    norms = [(new.ln_self, old.norms[0]), (new.ln_feed, old.norms[-1])]
    if hasattr(old, "cross"):
        norms.append((new.ln_cross, old.norms[1]))
        taken(new.cross.query.weight, old.cross.q.weight)
        taken(new.cross.out_proj.weight, old.cross.o.weight)
    for one, other in (*norms, (new.mlp[0], old.feed.wi), (new.mlp[2], old.feed.wo)):
        one.load_state_dict(other.state_dict())


def ported(was: nn.Module, fault: str | None) -> nn.Module:
    assert isinstance(was, Translator)
    port = FusedTranslator(fault).to(was.head.weight.dtype)
    blocks = [each for each in (*was.encoder, *was.decoder) if isinstance(each, Block)]
    for new, old in zip((*port.enc, *port.dec), blocks):
        assert isinstance(new, FusedBlock)
        _take_block(new, old)
    taken(port.words.weight, was.shared.weight)
    taken(port.biases.weight, torch.cat([block.bias.weight for block in blocks], 1))
    kv = [part.weight for b in blocks[LAYERS:] for part in (b.cross.k, b.cross.v)]
    taken(port.memory_kv.weight, torch.cat(kv))
    port.ln_enc.load_state_dict(was.encoded.state_dict())
    port.ln_dec.load_state_dict(was.final.state_dict())
    taken(port.out.weight, was.head.weight)
    return port


def loss(model: nn.Module) -> torch.Tensor:
    torch.manual_seed(4)
    source = torch.randint(0, VOCABULARY, (2, SOURCE))
    target = torch.randint(0, VOCABULARY, (2, TARGET + 1))
    logits = model(source, target[:, :-1]).float()
    return F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten())


PORT = Port(
    "encoder-decoder",
    Translator,
    ported,
    loss,
    {"another activation": "enc.1.mlp", "cross attention scaled": "dec.0.cross"},
)
