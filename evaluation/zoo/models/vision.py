"""A vision transformer: patches, class token, pre-norm blocks with fused attention."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from evaluation.zoo.experiment import Experiment, images, tokens

HIDDEN, HEADS, LAYERS, PATCH, SIZE, CLASSES = 32, 4, 2, 4, 16, 5
PLACES = (SIZE // PATCH) ** 2 + 1


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(HIDDEN, 3 * HIDDEN)
        self.proj = nn.Linear(HIDDEN, HIDDEN)

    def forward(self, x: Tensor) -> Tensor:
        parts = self.qkv(x).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        return self.proj(self.attend(parts[0], parts[1], parts[2]).transpose(1, 2).flatten(2))

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return functional.scaled_dot_product_attention(query, key, value)


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(HIDDEN, 2 * HIDDEN)
        self.fc2 = nn.Linear(2 * HIDDEN, HIDDEN)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc2(self.activate(self.fc1(x)))

    def activate(self, x: Tensor) -> Tensor:
        return functional.gelu(x)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(HIDDEN)
        self.attn = Attention()
        self.norm2 = nn.LayerNorm(HIDDEN)
        self.mlp = Mlp()

    def forward(self, x: Tensor) -> Tensor:
        x = self.add(x, self.attn(self.norm1(x)))
        return x + self.mlp(self.norm2(x))

    def add(self, x: Tensor, branch: Tensor) -> Tensor:
        return x + branch


class Vision(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patch_embed = nn.Conv2d(3, HIDDEN, PATCH, stride=PATCH)
        self.cls_token = nn.Parameter(torch.randn(1, 1, HIDDEN) * 0.02)
        self.pos_embed = nn.Parameter(torch.randn(1, PLACES, HIDDEN) * 0.02)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(HIDDEN)
        self.head = nn.Linear(HIDDEN, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        patches = self.patch_embed(x).flatten(2).transpose(1, 2)
        token = self.cls_token.expand(x.shape[0], -1, -1)
        x = self.place(torch.cat((token, patches), dim=1))
        for block in self.blocks:
            x = block(x)
        return self.head(self.pool(self.norm(x)))

    def place(self, x: Tensor) -> Tensor:
        return x + self.pos_embed

    def pool(self, x: Tensor) -> Tensor:
        return x[:, 0]


def vision(dtype: torch.dtype) -> Experiment:
    """Image classification with AdamW."""
    model = Vision().to(dtype)
    return Experiment(
        model=model,
        optimizer=torch.optim.AdamW(model.parameters(), lr=1e-3),
        inputs=lambda step: (images(step, (4, 3, SIZE, SIZE), dtype),),
        labels=lambda step: tokens(step, (4,), CLASSES),
    )
