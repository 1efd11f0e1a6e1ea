"""An encoder whose submodules are called `output` and `intermediate`, with biases and padding."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from evaluation.zoo.experiment import Experiment, tokens

VOCABULARY, HIDDEN, HEADS, LAYERS, LENGTH, CLASSES = 64, 32, 4, 2, 12, 3


class Embeddings(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(VOCABULARY, HIDDEN)
        self.position_embeddings = nn.Embedding(LENGTH, HIDDEN)
        self.LayerNorm = nn.LayerNorm(HIDDEN)

    def forward(self, ids: Tensor) -> Tensor:
        return self.LayerNorm(self.word_embeddings(ids) + self.place(self.positions(ids)))

    def place(self, positions: Tensor) -> Tensor:
        return self.position_embeddings(positions)

    def positions(self, ids: Tensor) -> Tensor:
        return torch.arange(ids.shape[-1])


class SelfAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Linear(HIDDEN, HIDDEN)
        self.key = nn.Linear(HIDDEN, HIDDEN)
        self.value = nn.Linear(HIDDEN, HIDDEN)

    def forward(self, x: Tensor, keep: Tensor) -> Tensor:
        query, key, value = (self.heads(part(x)) for part in (self.query, self.key, self.value))
        return self.attend(query, key, value, keep).transpose(1, 2).flatten(2)

    def heads(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (HEADS, -1)).transpose(1, 2)

    def attend(self, query: Tensor, key: Tensor, value: Tensor, keep: Tensor) -> Tensor:
        return functional.scaled_dot_product_attention(query, key, value, attn_mask=keep)


class ResidualOutput(nn.Module):
    def __init__(self, inner: int) -> None:
        super().__init__()
        self.dense = nn.Linear(inner, HIDDEN)
        self.LayerNorm = nn.LayerNorm(HIDDEN)

    def forward(self, x: Tensor, residual: Tensor) -> Tensor:
        return self.LayerNorm(self.add(self.dense(x), residual))

    def add(self, x: Tensor, residual: Tensor) -> Tensor:
        return x + residual


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.self = SelfAttention()
        self.output = ResidualOutput(HIDDEN)

    def forward(self, x: Tensor, keep: Tensor) -> Tensor:
        return self.output(self.self(x, keep), x)


class Intermediate(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Linear(HIDDEN, 2 * HIDDEN)

    def forward(self, x: Tensor) -> Tensor:
        return self.activate(self.dense(x))

    def activate(self, x: Tensor) -> Tensor:
        return functional.gelu(x)


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = Attention()
        self.intermediate = Intermediate()
        self.output = ResidualOutput(2 * HIDDEN)

    def forward(self, x: Tensor, keep: Tensor) -> Tensor:
        x = self.attention(x, keep)
        return self.output(self.intermediate(x), x)


class Bert(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embeddings = Embeddings()
        self.layer = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.pooler = nn.Linear(HIDDEN, HIDDEN)
        self.classifier = nn.Linear(HIDDEN, CLASSES)

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        x = self.embeddings(ids)
        keep = self.keep(lengths)
        for layer in self.layer:
            x = layer(x, keep)
        return self.classifier(torch.tanh(self.pooler(self.pool(x))))

    def keep(self, lengths: Tensor) -> Tensor:
        return (torch.arange(LENGTH)[None] < lengths[:, None])[:, None, None]

    def pool(self, x: Tensor) -> Tensor:
        return x[:, 0]


def bert(dtype: torch.dtype) -> Experiment:
    """Sequence classification with AdamW."""
    model = Bert().to(dtype)
    return Experiment(
        model=model,
        optimizer=torch.optim.AdamW(model.parameters(), lr=1e-3),
        inputs=lambda step: (tokens(step, (4, LENGTH), VOCABULARY), torch.tensor([12, 9, 7, 10])),
        labels=lambda step: tokens(step, (4,), CLASSES),
    )
