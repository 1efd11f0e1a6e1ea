"""Greedy decoding of two left-padded prompts with a cache of keys and values and a window."""

import torch
from torch import nn
from torch.nn import functional as F

VOCABULARY, WIDTH, HEADS, WINDOW, PAD = 60, 32, 4, 6, 0


class CachedAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x, cache, keep):
        q, k, v = self.qkv(x).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        if cache:
            k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
        cache[:] = [k, v]
        now = torch.arange(k.shape[2])
        asked = now[-q.shape[2] :, None]
        seen = (now <= asked) & (now > asked - WINDOW)
        mask = seen & keep[:, None, None]
        scores = (2 * q @ k.transpose(2, 3)).masked_fill(~mask, -1e4)
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(64, WIDTH)
        self.attention = nn.ModuleList(CachedAttention() for _ in range(2))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids, positions, caches, keep):
        x = self.tokens(ids) + self.positions(positions)
        for attention, cache in zip(self.attention, caches):
            x = x + attention(self.norm(x), cache, keep)
        return self.head(x)


def build():
    torch.manual_seed(71)
    model = Decoder().eval()
    prompts = torch.randint(1, VOCABULARY, (2, 9), generator=torch.Generator().manual_seed(3))
    prompts[1, :4] = PAD
    return model, [prompts], [[], []]


@torch.no_grad()
def step(n, model, written, caches):
    ids = torch.cat(written, dim=1)
    keep = ids != PAD
    padded = (~keep).sum(dim=1, keepdim=True)
    positions = (torch.arange(ids.shape[1]) - padded).clamp(min=0)
    new = written[-1].shape[1]
    logits = model(ids[:, -new:], positions[:, -new:], caches, keep)[:, -1]
    written.append(logits.argmax(dim=-1, keepdim=True))
    return F.log_softmax(logits / 0.7, dim=-1).square().sum()


if __name__ == "__main__":
    state = build()
    for n in range(2):
        print(f"step {n}: {step(n, *state).item():.6f}")
