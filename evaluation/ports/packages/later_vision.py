"""Written after the code: torchvision's ResNet, DINOv2 and Swin in timm, images in open_clip."""

from __future__ import annotations

from typing import Any

import timm
import torch
import torchvision
import transformers
from open_clip.transformer import VisionTransformer
from torch import nn

from evaluation.ports.packages.conversion import (
    Fault,
    converting,
    port_of,
    renamed,
    replace_forward,
    set_attribute,
)
from evaluation.ports.packages.sequences import to_open_clip
from evaluation.ports.packages.vision import CLASSES, HEADS, LAYERS, PATCH, SIDE, TIMM, WIDTH, loss


def _resnet() -> nn.Module:
    return transformers.ResNetForImageClassification(
        transformers.ResNetConfig(
            embedding_size=64,
            hidden_sizes=[64, 128],
            depths=[2, 2],
            layer_type="basic",
            num_labels=CLASSES,
        )
    )


class TwoStages(nn.Module):
    """The first two stages of torchvision's ResNet."""

    def __init__(self) -> None:
        super().__init__()
        whole = torchvision.models.resnet.ResNet(torchvision.models.resnet.BasicBlock, [2, 2, 1, 1])
        self.conv1, self.bn1, self.relu, self.maxpool = (
            whole.conv1,
            whole.bn1,
            whole.relu,
            whole.maxpool,
        )
        self.layer1, self.layer2, self.avgpool = whole.layer1, whole.layer2, whole.avgpool
        self.fc = nn.Linear(128, CLASSES)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(images))))
        x = self.avgpool(self.layer2(self.layer1(x)))
        made: torch.Tensor = self.fc(x.flatten(1))
        return made


_RESNET = [
    (r"resnet\.embedder\.embedder\.convolution\.(\w+)", r"conv1.\1"),
    (r"resnet\.embedder\.embedder\.normalization\.(\w+)", r"bn1.\1"),
    (
        r"resnet\.encoder\.stages\.0\.layers\.(\d)\.shortcut\.convolution\.(\w+)",
        r"layer1.\1.downsample.0.\2",
    ),
    (
        r"resnet\.encoder\.stages\.1\.layers\.(\d)\.shortcut\.convolution\.(\w+)",
        r"layer2.\1.downsample.0.\2",
    ),
    (
        r"resnet\.encoder\.stages\.1\.layers\.(\d)\.shortcut\.normalization\.(\w+)",
        r"layer2.\1.downsample.1.\2",
    ),
    *(
        (
            rf"resnet\.encoder\.stages\.{stage - 1}\.layers\.(\d)\.layer\.{place}\.{theirs}\.(\w+)",
            rf"layer{stage}.\1.{ours}{place + 1}.\2",
        )
        for stage in (1, 2)
        for place in (0, 1)
        for theirs, ours in (("convolution", "conv"), ("normalization", "bn"))
    ),
    (r"classifier\.1\.(\w+)", r"fc.\1"),
]

RESNET = port_of(
    "transformers ResNet, torchvision",
    _resnet,
    TwoStages,
    lambda weights: renamed(weights, _RESNET),
    loss,
    {
        "norm's epsilon": Fault("layer1.1.bn2", set_attribute("eps", 3.0)),
        "residual doubled": Fault("layer2.1", replace_forward(lambda forward, x: forward(x) + x)),
    },
)

# --- DINOv2 ---------------------------------------------------------------------------------------


class DinoHead(nn.Module):
    """timm's transformer with the head of transformers: the class beside the mean of patches."""

    def __init__(self) -> None:
        super().__init__()
        self.body = timm.models.vision_transformer.VisionTransformer(
            img_size=SIDE,
            patch_size=PATCH,
            embed_dim=WIDTH,
            depth=LAYERS,
            num_heads=HEADS,
            num_classes=0,
            init_values=1.0,
        )
        self.linear = nn.Linear(2 * WIDTH, CLASSES)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = self.body.forward_features(images)
        made: torch.Tensor = self.linear(torch.cat((x[:, 0], x[:, 1:].mean(1)), 1))
        return made


_DINO = [
    (r"dinov2\.embeddings\.cls_token", r"body.cls_token"),
    (r"dinov2\.embeddings\.position_embeddings", r"body.pos_embed"),
    (r"dinov2\.embeddings\.patch_embeddings\.projection\.(\w+)", r"body.patch_embed.proj.\1"),
    (r"dinov2\.encoder\.layer\.(\d+)\.attention\.o_proj\.(\w+)", r"body.blocks.\1.attn.proj.\2"),
    (r"dinov2\.encoder\.layer\.(\d+)\.attention\.(.)_proj\.(\w+)", r"body.blocks.\1.attn.\2.\3"),
    (r"dinov2\.encoder\.layer\.(\d+)\.layer_scale(\d)\.lambda1", r"body.blocks.\1.ls\2.gamma"),
    (r"dinov2\.encoder\.layer\.(\d+)\.(norm\d)\.(\w+)", r"body.blocks.\1.\2.\3"),
    (r"dinov2\.encoder\.layer\.(\d+)\.mlp\.(fc\d)\.(\w+)", r"body.blocks.\1.mlp.\2.\3"),
    (r"dinov2\.layernorm\.(\w+)", r"body.norm.\1"),
    (r"classifier\.(\w+)", r"linear.\1"),
]


def _mixed(attention: Any) -> None:
    attention.norm = nn.Identity()
    plain = attention.proj.forward
    attention.proj.forward = lambda x: plain(
        x.unflatten(-1, (HEADS, -1)).transpose(2, 3).flatten(2)
    )


DINO = port_of(
    "transformers DINOv2, timm",
    lambda: transformers.Dinov2ForImageClassification(
        transformers.Dinov2Config(
            image_size=SIDE,
            patch_size=PATCH,
            hidden_size=WIDTH,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            num_labels=CLASSES,
            initializer_range=0.2,
        )
    ),
    DinoHead,
    converting(_DINO, *TIMM),
    loss,
    {
        "layer's scale left out": Fault(
            "body.blocks.1.ls1", replace_forward(lambda forward, x: x * 1.5)
        ),
        "heads mixed": Fault("body.blocks.0.attn", _mixed, "body.blocks.0.attn.proj"),
    },
)


# --- Swin -----------------------------------------------------------------------------------------

_SWIN = [
    (r"swin\.embeddings\.patch_embeddings\.projection\.(\w+)", r"patch_embed.proj.\1"),
    (r"swin\.embeddings\.norm\.(\w+)", r"patch_embed.norm.\1"),
    (
        r"swin\.encoder\.layers\.(\d)\.blocks\.(\d)\.attention\.relative_position_bias\.(\w+)",
        r"layers.\1.blocks.\2.attn.\3",
    ),
    (
        r"swin\.encoder\.layers\.(\d)\.blocks\.(\d)\.attention\.o_proj\.(\w+)",
        r"layers.\1.blocks.\2.attn.proj.\3",
    ),
    (
        r"swin\.encoder\.layers\.(\d)\.blocks\.(\d)\.attention\.(.)_proj\.(\w+)",
        r"layers.\1.blocks.\2.attn.\3.\4",
    ),
    (
        r"swin\.encoder\.layers\.(\d)\.blocks\.(\d)\.layernorm_before\.(\w+)",
        r"layers.\1.blocks.\2.norm1.\3",
    ),
    (
        r"swin\.encoder\.layers\.(\d)\.blocks\.(\d)\.layernorm_after\.(\w+)",
        r"layers.\1.blocks.\2.norm2.\3",
    ),
    (
        r"swin\.encoder\.layers\.(\d)\.blocks\.(\d)\.mlp\.(fc\d)\.(\w+)",
        r"layers.\1.blocks.\2.mlp.\3.\4",
    ),
    (r"swin\.layernorm\.(\w+)", r"norm.\1"),
    (r"classifier\.(\w+)", r"head.fc.\1"),
]


def _drawn_table(attention: Any) -> None:
    torch.manual_seed(1)
    nn.init.normal_(attention.relative_position_bias_table)


SWIN = port_of(
    "transformers Swin, timm",
    lambda: transformers.SwinForImageClassification(
        transformers.SwinConfig(
            image_size=SIDE,
            patch_size=4,
            embed_dim=16,
            depths=[2],
            num_heads=[2],
            window_size=4,
            num_labels=CLASSES,
            drop_path_rate=0.0,
            initializer_range=0.2,
        )
    ),
    lambda: timm.models.swin_transformer.SwinTransformer(
        img_size=SIDE,
        patch_size=4,
        embed_dim=16,
        depths=(2,),
        num_heads=(2,),
        window_size=4,
        num_classes=CLASSES,
        drop_path_rate=0.0,
    ),
    converting(_SWIN, *TIMM),
    loss,
    {
        "window not shifted": Fault("layers.0.blocks.1", set_attribute("shift_size", (0, 0))),
        "bias table drawn": Fault("layers.0.blocks.0.attn", _drawn_table),
    },
)

# --- the images of CLIP ---------------------------------------------------------------------------

_CLIP = [
    (r"vision_model\.embeddings\.class_embedding", r"class_embedding"),
    (r"vision_model\.embeddings\.patch_embedding\.weight", r"conv1.weight"),
    (r"vision_model\.embeddings\.position_embedding\.weight", r"positional_embedding"),
    (r"vision_model\.pre_layrnorm\.(\w+)", r"ln_pre.\1"),
    (r"vision_model\.post_layernorm\.(\w+)", r"ln_post.\1"),
]


def _image_loss(model: nn.Module) -> torch.Tensor:
    torch.manual_seed(9)
    images = torch.randn(3, 3, SIDE, SIDE).to(next(model.parameters()).dtype)
    made = model(images)
    return getattr(made, "image_embeds", made).float().square().mean()


CLIP_IMAGES = port_of(
    "transformers CLIP images, open_clip",
    lambda: transformers.CLIPVisionModelWithProjection(
        transformers.CLIPVisionConfig(
            hidden_size=32,
            intermediate_size=128,
            projection_dim=24,
            num_hidden_layers=LAYERS,
            num_attention_heads=4,
            image_size=SIDE,
            patch_size=PATCH,
            hidden_act="gelu",
            initializer_factor=5.0,
        )
    ),
    lambda: VisionTransformer(
        image_size=SIDE,
        patch_size=PATCH,
        width=32,
        layers=LAYERS,
        heads=4,
        mlp_ratio=4,
        output_dim=24,
    ),
    to_open_clip("vision_model", _CLIP, ("visual_projection.weight", "proj")),
    _image_loss,
    {
        "activation": Fault(
            "transformer.resblocks.0.mlp", lambda mlp: setattr(mlp, "gelu", nn.Tanh())
        ),
        "norm before left out": Fault("ln_pre", replace_forward(lambda forward, x: x * 1.0)),
    },
)

PORTS = [RESNET, DINO, SWIN, CLIP_IMAGES]
