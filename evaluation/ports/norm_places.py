"""A decoder whose norms stand in front of what they feed; the same function with each norm in the
block before; and with the same weights another network, whose norms stand behind the sums.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import torch
import torch.nn.functional as F
from torch import nn

from msprobe.pytorch import PrecisionDebugger

WIDTH, WORDS, LAYERS = 16, 30, 3
Kind = Literal["pre", "ahead", "post", "renamed post"]


class Mix(nn.Module):
    """Each token a mean of what came before it."""

    def __init__(self) -> None:
        super().__init__()
        self.value, self.out = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        steps = torch.arange(1, x.shape[1] + 1)[:, None]
        return self.out(self.value(x).cumsum(1) / steps)


class MLP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(F.gelu(self.up(x)))


class Block(nn.Module):
    def __init__(self, is_post: bool) -> None:
        super().__init__()
        self.mix_norm, self.mix = nn.LayerNorm(WIDTH), Mix()
        self.mlp_norm, self.mlp = nn.LayerNorm(WIDTH), MLP()
        self.is_post = is_post

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.is_post:
            x = self.mix_norm(x + self.mix(x))
            return self.mlp_norm(x + self.mlp(x))
        x = x + self.mix(self.mix_norm(x))
        return x + self.mlp(self.mlp_norm(x))


class Decoder(nn.Module):
    def __init__(self, is_post: bool) -> None:
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(Block(is_post) for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


class AheadBlock(nn.Module):
    """Ends with the norm that the next block, or the head, reads."""

    def __init__(self, mix: Mix, inner: nn.LayerNorm, mlp: MLP, following: nn.LayerNorm) -> None:
        super().__init__()
        self.token, self.inner, self.channel, self.following = mix, inner, mlp, following

    def forward(self, x: torch.Tensor, normed: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = x + self.token(normed)
        x = x + self.channel(self.inner(x))
        return x, self.following(x)


class Ahead(nn.Module):
    def __init__(self, model: Decoder) -> None:
        super().__init__()
        blocks = [layer for layer in model.layers if isinstance(layer, Block)]
        following = [*(block.mix_norm for block in blocks[1:]), model.norm]
        self.wte, self.first, self.lm_head = model.embed, blocks[0].mix_norm, model.head
        self.h = nn.ModuleList(
            AheadBlock(block.mix, block.mlp_norm, block.mlp, norm)
            for block, norm in zip(blocks, following)
        )

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.wte(ids)
        normed = self.first(x)
        for block in self.h:
            x, normed = block(x, normed)
        return self.lm_head(normed)


class Renamed(nn.Module):
    def __init__(self, model: Decoder) -> None:
        super().__init__()
        self.wte, self.h = model.embed, model.layers
        self.ln_f, self.lm_head = model.norm, model.head

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.wte(ids)
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


def record(
    path: Path, kind: Kind, level: str = "mix", *, drawn: bool = False, epsilon: float = 1e-5
) -> Path:
    """One training step of one of the networks; all have the same weights and tokens.

    As `drawn`, norms are ones and biases zeros; `epsilon` is that of the second layer's inner norm.
    """
    torch.manual_seed(0)
    whole = Decoder(is_post=kind.endswith("post"))
    with torch.no_grad():
        for parameter in () if drawn else whole.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    second = whole.layers[1]
    assert isinstance(second, Block)
    second.mlp_norm.eps = epsilon
    ids = torch.randint(0, WORDS, (2, 7))
    model: nn.Module = {"ahead": Ahead, "renamed post": Renamed}.get(kind, lambda x: x)(whole)
    with PrecisionDebugger(dump_path=str(path), level=level, task="tensor").recording(model):
        F.cross_entropy(model(ids).flatten(0, 1), ids.flatten()).backward()
    return path
