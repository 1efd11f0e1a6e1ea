"""A vision transformer with a convolution and torch's attention; its port has linear layers."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from evaluation.ports.port import Port, taken

SIDE, PATCH, WIDTH, HEADS, LAYERS, CLASSES = 16, 4, 32, 4, 2, 7
PATCHES = (SIDE // PATCH) ** 2


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(WIDTH, eps=1e-6), nn.LayerNorm(WIDTH, eps=1e-6)
        self.self_attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 64), nn.GELU(), nn.Linear(64, WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.ln_1(x)
        x = x + self.self_attention(h, h, h, need_weights=False)[0]
        return x + self.mlp(self.ln_2(x))


class ViT(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv_proj = nn.Conv2d(3, WIDTH, PATCH, PATCH)
        self.class_token = nn.Parameter(torch.randn(1, 1, WIDTH))
        self.pos_embedding = nn.Parameter(torch.randn(1, PATCHES + 1, WIDTH))
        self.layers = nn.ModuleList(Encoder() for _ in range(LAYERS))
        self.ln, self.head = nn.LayerNorm(WIDTH, eps=1e-6), nn.Linear(WIDTH, CLASSES)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = self.conv_proj(images).flatten(2).transpose(1, 2)
        x = torch.cat((self.class_token.expand(len(x), -1, -1), x), 1) + self.pos_embedding
        for layer in self.layers:
            x = layer(x)
        return self.head(self.ln(x)[:, 0])


# --- the port -----------------------------------------------------------------------------------


class PatchEmbed(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.proj = nn.Linear(3 * PATCH * PATCH, WIDTH)
        self.fault = fault

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = images.unfold(2, PATCH, PATCH).unfold(3, PATCH, PATCH)  # b c h w p p
        order = (0, 2, 3, 4, 5, 1) if self.fault == "channels last" else (0, 2, 3, 1, 4, 5)
        return self.proj(x.permute(*order).flatten(3).flatten(1, 2))


class Attention(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.fault = fault

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        shape = (*x.shape[:2], 3, HEADS, WIDTH // HEADS)
        q, k, v = self.qkv(x).view(shape).permute(2, 0, 3, 1, 4)
        if self.fault != "scale forgotten":
            q = q * (WIDTH // HEADS) ** -0.5
        mixed = (q @ k.transpose(-2, -1)).softmax(-1) @ v
        return self.proj(mixed.transpose(1, 2).reshape(x.shape))


class Mlp(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(WIDTH, 64), nn.Linear(64, WIDTH)
        self.act = nn.SiLU() if fault == "another activation" else nn.GELU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc2(self.act(self.fc1(x)))


class Block(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH, eps=1e-6), nn.LayerNorm(WIDTH, eps=1e-6)
        self.attn, self.mlp = Attention(fault), Mlp(fault)
        self.fault = fault

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(x if self.fault == "norm left out" else self.norm2(x))


class VisionTransformer(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.patch_embed = PatchEmbed(fault)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, WIDTH))
        self.pos_embed = nn.Parameter(torch.zeros(1, PATCHES + 1, WIDTH))
        self.blocks = nn.Sequential(*(Block(fault if n == 0 else None) for n in range(LAYERS)))
        self.norm, self.fc = nn.LayerNorm(WIDTH, eps=1e-6), nn.Linear(WIDTH, CLASSES)
        self.fault = fault

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = torch.cat((self.cls_token.expand(len(images), -1, -1), self.patch_embed(images)), 1)
        x = self.norm(self.blocks(x + self.pos_embed))
        return self.fc(x.mean(1) if self.fault == "mean pooled" else x[:, 0])


def ported(original: nn.Module, fault: str | None) -> nn.Module:
    assert isinstance(original, ViT)
    port = VisionTransformer(fault).to(original.head.weight.dtype)
    taken(port.patch_embed.proj.weight, original.conv_proj.weight.flatten(1))
    assert original.conv_proj.bias is not None
    taken(port.patch_embed.proj.bias, original.conv_proj.bias)
    taken(port.cls_token, original.class_token)
    taken(port.pos_embed, original.pos_embedding)
    for block, layer in zip(port.blocks, original.layers):
        assert isinstance(block, Block) and isinstance(layer, Encoder)
        attention = layer.self_attention
        taken(block.attn.qkv.weight, attention.in_proj_weight)
        taken(block.attn.qkv.bias, attention.in_proj_bias)
        taken(block.attn.proj.weight, attention.out_proj.weight)
        taken(block.attn.proj.bias, attention.out_proj.bias)
        pairs = [
            (block.norm1, layer.ln_1),
            (block.norm2, layer.ln_2),
            (block.mlp.fc1, layer.mlp[0]),
            (block.mlp.fc2, layer.mlp[2]),
        ]
        for new, was in pairs:
            taken(new.weight, was.weight)
            taken(new.bias, was.bias)
    for new, was in ((port.norm, original.ln), (port.fc, original.head)):
        taken(new.weight, was.weight)
        taken(new.bias, was.bias)
    return port


def loss(model: nn.Module) -> torch.Tensor:
    torch.manual_seed(6)
    images = torch.randn(4, 3, SIDE, SIDE).to(next(model.parameters()).dtype)
    return F.cross_entropy(model(images).float(), torch.tensor([0, 3, 6, 2]))


PORT = Port(
    "vision",
    ViT,
    ported,
    loss,
    {
        "channels last": "patch_embed",
        "scale forgotten": "blocks.0.attn",
        "another activation": "blocks.0.mlp",
        "norm left out": "blocks.0",
        "mean pooled": "Tensor.mean or fc",
    },
)
