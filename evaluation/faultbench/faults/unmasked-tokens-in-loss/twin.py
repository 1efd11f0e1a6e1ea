"""Masked-token training of a small encoder over sentences of different lengths."""

import torch
from torch import nn
from torch.nn import functional as F

VOCABULARY, LENGTH, WIDTH, HEADS, PAD, MASK = 80, 20, 32, 4, 0, 1


class Embeddings(nn.Module):
    def __init__(self):
        super().__init__()
        self.word = nn.Embedding(VOCABULARY, WIDTH, padding_idx=PAD)
        self.position = nn.Embedding(LENGTH, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)

    def forward(self, ids):
        positions = torch.arange(ids.shape[1]).expand_as(ids)
        return self.norm(self.word(ids) + self.position(positions))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embeddings = Embeddings()
        self.layers = nn.ModuleList(EncoderLayer() for _ in range(2))
        self.pooler = nn.Linear(WIDTH, WIDTH)
        self.decoder = nn.Linear(WIDTH, VOCABULARY)
        self.order = nn.Linear(WIDTH, 2)

    def forward(self, ids):
        keep = ids != PAD
        x = self.embeddings(ids)
        for layer in self.layers:
            x = layer(x, keep[:, None, None])
        weights = keep[..., None].float()
        pooled = (x * weights).sum(1) / weights.sum(1)
        return self.decoder(x), self.order(torch.tanh(self.pooler(pooled)))


class EncoderLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.output = (
            nn.Linear(WIDTH, WIDTH),
            nn.Linear(WIDTH, WIDTH),
            nn.Linear(WIDTH, WIDTH),
            nn.Linear(WIDTH, WIDTH),
        )
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 64), nn.Linear(64, WIDTH)

    def heads(self, x):
        return x.unflatten(-1, (HEADS, -1)).transpose(1, 2)

    def forward(self, x, keep):
        q, k, v = self.heads(self.query(x)), self.heads(self.key(x)), self.heads(self.value(x))
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=keep)
        x = self.norm1(x + self.output(mixed.transpose(1, 2).flatten(2)))
        return self.norm2(x + self.down(F.gelu(self.up(x))))


def batch(n):
    data = torch.Generator().manual_seed(40 + n)
    ids = torch.randint(2, VOCABULARY, (6, LENGTH), generator=data)
    lengths = torch.randint(8, LENGTH, (6, 1), generator=data)
    ids = ids.masked_fill(torch.arange(LENGTH) >= lengths, PAD)
    chosen = (torch.rand(ids.shape, generator=data) < 0.3) & (ids != PAD)
    labels = ids.masked_fill(~chosen, -100)
    return ids.masked_fill(chosen, MASK), labels, lengths.flatten() % 2


def build():
    torch.manual_seed(8)
    model = Encoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    return model, optimizer


def step(n, model, optimizer):
    ids, labels, order = batch(n)
    logits, order_logits = model(ids)
    chosen = labels != -100
    masked = F.cross_entropy(logits[chosen], labels[chosen])
    loss = masked + F.cross_entropy(order_logits, order)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


if __name__ == "__main__":
    state = build()
    for n in range(2):
        print(f"step {n}: {step(n, *state).item():.6f}")
