"""Images: transformers against timm."""

from __future__ import annotations

from typing import Any

import timm
import torch
import torch.nn.functional as F
import transformers
from torch import nn

from evaluation.ports.packages.conversion import (
    Fault,
    converting,
    port_of,
    renamed,
    replace_forward,
    set_attribute,
)

SIDE, PATCH, WIDTH, HEADS, LAYERS, CLASSES = 32, 8, 48, 4, 2, 7


def loss(model: nn.Module) -> torch.Tensor:
    """The mean loss of three images."""
    torch.manual_seed(6)
    images = torch.randn(3, 3, SIDE, SIDE).to(next(model.parameters()).dtype)
    made = model(images)
    return F.cross_entropy(getattr(made, "logits", made).float(), torch.tensor([0, 3, 6]))


def _vit() -> nn.Module:
    return transformers.ViTForImageClassification(
        transformers.ViTConfig(
            image_size=SIDE,
            patch_size=PATCH,
            hidden_size=WIDTH,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            intermediate_size=4 * WIDTH,
            num_labels=CLASSES,
            layer_norm_eps=1e-6,
            initializer_range=0.2,
        )
    )


TIMM = (".attn.q.", ".attn.k.", ".attn.v."), ".attn.qkv."  # what timm joins
_VIT = [
    (r"vit\.embeddings\.cls_token", r"cls_token"),
    (r"vit\.embeddings\.position_embeddings", r"pos_embed"),
    (r"vit\.embeddings\.patch_embeddings\.projection\.(\w+)", r"patch_embed.proj.\1"),
    (
        r"vit\.(?:encoder\.)?layers?\.(\d+)\.attention\.(?:attention\.)?query\.(\w+)",
        r"blocks.\1.attn.q.\2",
    ),
    (
        r"vit\.(?:encoder\.)?layers?\.(\d+)\.attention\.(?:attention\.)?key\.(\w+)",
        r"blocks.\1.attn.k.\2",
    ),
    (
        r"vit\.(?:encoder\.)?layers?\.(\d+)\.attention\.(?:attention\.)?value\.(\w+)",
        r"blocks.\1.attn.v.\2",
    ),
    (r"vit\.(?:encoder\.)?layers?\.(\d+)\.attention\.(q|k|v)_proj\.(\w+)", r"blocks.\1.attn.\2.\3"),
    (
        r"vit\.(?:encoder\.)?layers?\.(\d+)\.attention\.(?:output\.dense|o_proj)\.(\w+)",
        r"blocks.\1.attn.proj.\2",
    ),
    (r"vit\.(?:encoder\.)?layers?\.(\d+)\.layernorm_before\.(\w+)", r"blocks.\1.norm1.\2"),
    (r"vit\.(?:encoder\.)?layers?\.(\d+)\.layernorm_after\.(\w+)", r"blocks.\1.norm2.\2"),
    (
        r"vit\.(?:encoder\.)?layers?\.(\d+)\.(?:intermediate\.dense|mlp\.fc1)\.(\w+)",
        r"blocks.\1.mlp.fc1.\2",
    ),
    (
        r"vit\.(?:encoder\.)?layers?\.(\d+)\.(?:output\.dense|mlp\.fc2)\.(\w+)",
        r"blocks.\1.mlp.fc2.\2",
    ),
    (r"vit\.layernorm\.(\w+)", r"norm.\1"),
    (r"classifier\.(\w+)", r"head.\1"),
]


def _timm_vit() -> nn.Module:
    return timm.models.vision_transformer.VisionTransformer(
        img_size=SIDE,
        patch_size=PATCH,
        embed_dim=WIDTH,
        depth=LAYERS,
        num_heads=HEADS,
        num_classes=CLASSES,
    )


def _first_heads(forward: Any, x: torch.Tensor, *rest: Any, **named: Any) -> Any:
    return forward(x.flip(1), *rest, **named)


def _scaled(attention: Any) -> None:
    attention.fused_attn, attention.scale = False, 0.1


VIT = port_of(
    "transformers ViT, timm",
    _vit,
    _timm_vit,
    converting(_VIT, *TIMM),
    loss,
    {
        "scale": Fault("blocks.1.attn", _scaled),
        "norm's epsilon": Fault("blocks.0.norm2", set_attribute("eps", 0.5)),
        "activation": Fault("blocks.1.mlp", set_attribute("act", nn.ReLU())),
    },
)


def _convnext() -> nn.Module:
    return transformers.ConvNextForImageClassification(
        transformers.ConvNextConfig(
            hidden_sizes=[8, 12, 16, 20],
            depths=[1, 2, 1, 1],
            num_stages=4,
            num_labels=CLASSES,
            layer_scale_init_value=0.5,
            image_size=SIDE,
            initializer_range=0.2,
        )
    )


_CONVNEXT = [
    (r"convnext\.embeddings\.patch_embeddings\.(\w+)", r"stem.0.\1"),
    (r"convnext\.embeddings\.layernorm\.(\w+)", r"stem.1.\1"),
    (
        r"convnext\.encoder\.stages\.(\d+)\.layers\.(\d+)\.layer_scale_parameter",
        r"stages.\1.blocks.\2.gamma",
    ),
    (
        r"convnext\.encoder\.stages\.(\d+)\.layers\.(\d+)\.dwconv\.(\w+)",
        r"stages.\1.blocks.\2.conv_dw.\3",
    ),
    (
        r"convnext\.encoder\.stages\.(\d+)\.layers\.(\d+)\.layernorm\.(\w+)",
        r"stages.\1.blocks.\2.norm.\3",
    ),
    (
        r"convnext\.encoder\.stages\.(\d+)\.layers\.(\d+)\.pwconv(\d)\.(\w+)",
        r"stages.\1.blocks.\2.mlp.fc\3.\4",
    ),
    (
        r"convnext\.encoder\.stages\.(\d+)\.downsampling_layer\.(\d)\.(\w+)",
        r"stages.\1.downsample.\2.\3",
    ),
    (r"convnext\.layernorm\.(\w+)", r"head.norm.\1"),
    (r"classifier\.(\w+)", r"head.fc.\1"),
]

CONVNEXT = port_of(
    "transformers ConvNeXt, timm",
    _convnext,
    lambda: timm.models.convnext.ConvNeXt(
        depths=(1, 2, 1, 1),
        dims=(8, 12, 16, 20),
        num_classes=CLASSES,
        ls_init_value=0.5,
        norm_eps=1e-12,
    ),
    lambda weights: renamed(weights, _CONVNEXT),
    loss,
    {
        "padding": Fault("stages.1.blocks.0.conv_dw", set_attribute("padding_mode", "reflect")),
        "scale forgotten": Fault("stages.1.blocks.1", set_attribute("gamma", None)),
        "image flipped": Fault("stages.0.blocks.0.mlp", replace_forward(_first_heads)),
    },
)
PORTS = [VIT, CONVNEXT]
