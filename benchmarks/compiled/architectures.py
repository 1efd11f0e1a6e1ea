"""Small configurations with random weights, and the arguments of one call of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.compiled.plain_models import Messages, Recurrent
from benchmarks.models.sizes import COMMON, DECODER, DISTIL, GPT2, WIDTH, WORDS
from msprobe.compile_check import Case

_LENGTH, _IMAGE = 8, 16


@dataclass(frozen=True, slots=True)
class Architecture:
    """A model of a library; `inputs` makes the arguments of its call in a dtype."""

    name: str
    library: str
    make: Callable[[], nn.Module]
    inputs: Callable[[torch.dtype], dict[str, Any]]

    def case(self, dtype: torch.dtype) -> Case:
        """The model and its arguments. Models with dropout are as in inference, to be without
        chance; gradients are computed all the same.
        """
        torch.manual_seed(0)
        model = self.make().to(dtype)
        return Case(model.train(self.library != "transformers"), (), self.inputs(dtype))


def _transformers(kind: str, **settings: object) -> Callable[[], nn.Module]:
    def make() -> nn.Module:
        import transformers

        given = {"vocab_size": WORDS, "bos_token_id": 0, "eos_token_id": 1, "use_cache": False}
        config = transformers.AutoConfig.for_model(kind, **{**given, **settings})
        return transformers.AutoModel.from_config(config)

    return make


def _timm(kind: str, family: str, **settings: object) -> Callable[[], nn.Module]:
    def make() -> nn.Module:
        from importlib import import_module

        module = import_module(f"timm.models.{family}")
        return getattr(module, kind)(num_classes=4, **settings)

    return make


def _basic_blocks() -> nn.Module:
    from timm.models.resnet import BasicBlock, ResNet

    widths = (8, 8, 16, 16)
    return ResNet(BasicBlock, (1, 1, 1, 1), channels=widths, num_classes=4, stem_width=8)


def _three_stages() -> nn.Module:
    from timm.models._efficientnet_builder import decode_arch_def
    from timm.models.mobilenetv3 import MobileNetV3

    # Depthwise, then an inverted residual, both with squeeze and excitation, then a convolution.
    stages = [["ds_r1_k3_s2_e1_c8_se0.25_nre"], ["ir_r1_k5_s2_e3_c16_se0.25"], ["cn_r1_k1_s1_c32"]]
    blocks, act = decode_arch_def(stages), nn.Hardswish
    return MobileNetV3(blocks, num_classes=4, stem_size=8, num_features=32, act_layer=act)


def _diffusers(kind: str, **settings: object) -> Callable[[], nn.Module]:
    def make() -> nn.Module:
        import diffusers

        return getattr(diffusers, kind)(**settings)

    return make


def _ids(_: torch.dtype) -> dict[str, Any]:
    return {"input_ids": torch.arange(2 * _LENGTH).reshape(2, _LENGTH) * 7 % WORDS}


def _translated(dtype: torch.dtype) -> dict[str, Any]:
    ids = _ids(dtype)["input_ids"]
    return {"input_ids": ids, "decoder_input_ids": ids[:, :4]}


def _pixels(
    name: str, size: int = _IMAGE, batch: int = 2
) -> Callable[[torch.dtype], dict[str, Any]]:
    return lambda dtype: {name: _image(size, batch).to(dtype)}


def _image(size: int, batch: int = 2) -> Tensor:
    waves = torch.linspace(-3, 3, batch * 3 * size * size).sin()
    return waves.reshape(batch, 3, size, size)


def _written_and_seen(dtype: torch.dtype) -> dict[str, Any]:
    return {**_ids(dtype), **_pixels("pixel_values")(dtype), "return_loss": True}


def _heard(dtype: torch.dtype) -> dict[str, Any]:
    spectrum = torch.linspace(-3, 3, 2 * 8 * 16).sin().reshape(2, 8, 16)
    words = _ids(dtype)["input_ids"][:, :4]
    return {"input_features": spectrum.to(dtype), "decoder_input_ids": words}


def _sound(dtype: torch.dtype) -> dict[str, Any]:
    return {"input_values": torch.linspace(-9, 9, 2 * 160).sin().reshape(2, 160).to(dtype)}


def _labelled(dtype: torch.dtype) -> dict[str, Any]:
    return {
        "hidden_states": _noisy(dtype)["sample"],
        "timestep": _noisy(dtype)["timestep"],
        "class_labels": torch.tensor([1, 2]),
    }


def _joined(_: torch.dtype) -> dict[str, Any]:
    """A node has an edge to itself, one to the next, and some lead further."""
    nodes = torch.arange(12)
    source = torch.cat([nodes, nodes, nodes[::2]])
    target = torch.cat([nodes, (nodes + 1) % 12, (nodes[::2] * 5 + 3) % 12])
    return {"nodes": nodes * 7 % WORDS, "edges": torch.stack([source, target])}


def _noisy(dtype: torch.dtype) -> dict[str, Any]:
    return {"sample": _image(_IMAGE).to(dtype), "timestep": torch.tensor([3, 40])}


# One layer of each: what the compiler makes of a second is the same, and it takes half of the time.
_COMMON = {**COMMON, "num_hidden_layers": 1}
_DECODER = {**DECODER, "num_hidden_layers": 1}
_GPT2, _DISTIL = {**GPT2, "n_layer": 1}, {**DISTIL, "n_layers": 1}
_T5 = {"d_model": WIDTH, "d_ff": 64, "d_kv": 8, "num_layers": 1, "num_heads": 4}
_VIT = {"img_size": _IMAGE, "patch_size": 8, "embed_dim": WIDTH, "depth": 1, "num_heads": 4}
_NEXT = {"depths": (1, 1, 1, 1), "dims": (8, 8, 16, 16)}
_UNET = {
    "sample_size": _IMAGE,
    "block_out_channels": (8, 16),
    "layers_per_block": 1,
    "norm_num_groups": 4,
    "down_block_types": ("DownBlock2D", "AttnDownBlock2D"),
    "up_block_types": ("AttnUpBlock2D", "UpBlock2D"),
}
_AUTOENCODER = {"block_out_channels": (8,), "norm_num_groups": 4, "sample_size": _IMAGE}
_EXPERTS = {**_DECODER, "num_local_experts": 4, "num_experts_per_tok": 2}
_WHISPER = {
    "num_mel_bins": 8,
    "d_model": WIDTH,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "max_source_positions": _LENGTH,
    "pad_token_id": 0,
    "decoder_start_token_id": 1,
}
_SEEING = {**_COMMON, "image_size": _IMAGE, "patch_size": 8}
_CLIP = {
    "text_config": {**_COMMON, "vocab_size": WORDS, "eos_token_id": 1},
    "vision_config": _SEEING,
    "projection_dim": WIDTH,
}
_SWIN = {
    "image_size": _IMAGE,
    "patch_size": 2,
    "embed_dim": 8,
    "depths": (2, 1),
    "num_heads": (2, 4),
    "window_size": 4,
}
_MAMBA = {"hidden_size": WIDTH, "num_hidden_layers": 1, "state_size": 4, "conv_kernel": 3}
_WAV = {
    **_COMMON,
    "conv_dim": (16, 16),
    "conv_kernel": (10, 3),
    "conv_stride": (5, 2),
    "num_conv_pos_embeddings": 8,
    "num_conv_pos_embedding_groups": 4,
}
_DENSE = {"growth_rate": 8, "block_config": (2, 2)}
_ALBERT = {**_COMMON, "num_hidden_layers": 2, "embedding_size": 16}  # one layer, called twice
_DIT = {
    "num_attention_heads": 4,
    "attention_head_dim": 8,
    "in_channels": 3,
    "num_layers": 1,
    "norm_num_groups": 4,
    "sample_size": _IMAGE,
    "num_embeds_ada_norm": 50,
}

ARCHITECTURES = (
    Architecture("GPT-2", "transformers", _transformers("gpt2", **_GPT2), _ids),
    Architecture("BERT", "transformers", _transformers("bert", **_COMMON), _ids),
    Architecture("DistilBERT", "transformers", _transformers("distilbert", **_DISTIL), _ids),
    Architecture("Llama", "transformers", _transformers("llama", **_DECODER), _ids),
    Architecture("Qwen2", "transformers", _transformers("qwen2", **_DECODER), _ids),
    Architecture("T5", "transformers", _transformers("t5", **_T5), _translated),
    Architecture(
        "ViT",
        "transformers",
        _transformers("vit", image_size=_IMAGE, patch_size=8, **_COMMON),
        _pixels("pixel_values"),
    ),
    # A norm over the two values that a channel of small images has at the end tells nothing.
    Architecture("ResNet", "timm", _basic_blocks, _pixels("x", 64, 4)),
    Architecture(
        "VisionTransformer",
        "timm",
        _timm("VisionTransformer", "vision_transformer", **_VIT),
        _pixels("x"),
    ),
    Architecture("ConvNeXt", "timm", _timm("ConvNeXt", "convnext", **_NEXT), _pixels("x", 32)),
    Architecture("UNet2DModel", "diffusers", _diffusers("UNet2DModel", **_UNET), _noisy),
    Architecture(
        "AutoencoderKL",
        "diffusers",
        _diffusers("AutoencoderKL", **_AUTOENCODER),
        _pixels("sample"),
    ),
    Architecture("ALBERT", "transformers", _transformers("albert", **_ALBERT), _ids),
    Architecture("Mixtral", "transformers", _transformers("mixtral", **_EXPERTS), _ids),
    Architecture("Whisper", "transformers", _transformers("whisper", **_WHISPER), _heard),
    Architecture("CLIP", "transformers", _transformers("clip", **_CLIP), _written_and_seen),
    Architecture("Swin", "transformers", _transformers("swin", **_SWIN), _pixels("pixel_values")),
    Architecture("Mamba", "transformers", _transformers("mamba", **_MAMBA), _ids),
    Architecture("wav2vec2", "transformers", _transformers("wav2vec2", **_WAV), _sound),
    Architecture("DenseNet", "timm", _timm("DenseNet", "densenet", **_DENSE), _pixels("x", 64, 4)),
    Architecture("MobileNetV3", "timm", _three_stages, _pixels("x", 64, 4)),
    Architecture(
        "DiT",
        "diffusers",
        _diffusers("DiTTransformer2DModel", **_DIT),
        _labelled,
    ),
    Architecture(
        "cells of GRU and LSTM", "torch", Recurrent, lambda d: {"ids": _ids(d)["input_ids"]}
    ),
    Architecture("graph network", "torch", Messages, _joined),
)
