"""Bugs in a vision transformer: patches, positions, attention, pooling."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from evaluation.zoo.experiment import Experiment
from evaluation.zoo.fault import Fault, backward, call, hook, module, owner, update


def _positions_missing(e: Experiment) -> None:
    e.model.place = lambda x: x


def _positions_rolled(e: Experiment) -> None:
    with torch.no_grad():
        e.model.pos_embed.copy_(e.model.pos_embed.roll(1, dims=1) * 1.5)


def _mean_pooling(e: Experiment) -> None:
    e.model.pool = lambda x: x.mean(dim=1)


def _query_and_key_swapped(e: Experiment) -> None:
    e.model.blocks[1].attn.attend = lambda q, k, v: functional.scaled_dot_product_attention(k, q, v)


def _channels_reversed(e: Experiment) -> None:
    with torch.no_grad():
        e.model.patch_embed.weight.copy_(e.model.patch_embed.weight.flip(1).clone())


def _images_doubled(e: Experiment) -> None:
    original = e.inputs
    e.inputs = lambda step: (original(step)[0] * 2,)


def _activation(e: Experiment) -> None:
    e.model.blocks[1].mlp.activate = lambda x: functional.relu(x)


def _branch_scaled(e: Experiment) -> None:
    e.model.blocks[0].add = lambda x, branch: x + branch * 0.8


def _causal(e: Experiment) -> None:
    e.model.blocks[0].attn.attend = lambda q, k, v: functional.scaled_dot_product_attention(
        q, k, v, is_causal=True
    )


def _query_gradient_reversed(e: Experiment) -> None:
    def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        query.register_hook(lambda gradient: -gradient)
        return functional.scaled_dot_product_attention(query, key, value)

    e.model.blocks[1].attn.attend = attend


def _norm_low_precision(e: Experiment) -> None:
    norm = e.model.norm
    norm.forward = lambda x: functional.layer_norm(
        x.to(torch.bfloat16),
        norm.normalized_shape,
        norm.weight.to(torch.bfloat16),
        norm.bias.to(torch.bfloat16),
        norm.eps,
    ).to(x.dtype)


def _maximised(e: Experiment) -> None:
    e.optimizer.param_groups[0]["maximize"] = True


_ATTENTION = "blocks.1.attn"
_FUSED = "Functional.scaled_dot_product_attention"

FAULTS = (
    Fault("positions not added", "missing", _positions_missing, call("", "Tensor.__add__")),
    Fault("position embedding wrong", "parameter", _positions_rolled, call("", "Tensor.__add__")),
    Fault(
        "mean instead of class token", "forward", _mean_pooling,
        call("", "Tensor.mean", "Tensor.__getitem__"),
    ),
    Fault("query and key swapped", "forward", _query_and_key_swapped, call(_ATTENTION, _FUSED)),
    Fault(
        "colour channels reversed", "parameter", _channels_reversed,
        owner("patch_embed", "Functional.conv2d"),
    ),
    Fault("images doubled", "data", _images_doubled, owner("patch_embed", "Functional.conv2d")),
    Fault(
        "gelu became relu", "forward", _activation,
        call("blocks.1.mlp", "Functional.relu", "Functional.gelu"),
    ),
    Fault("attention branch scaled", "extra", _branch_scaled, call("blocks.0", "Tensor.__mul__")),
    Fault("causal mask added", "mask", _causal, call("blocks.0.attn", _FUSED)),
    Fault(
        "gradient of the query reversed", "backward", _query_gradient_reversed,
        (
            *hook("Tensor.__neg__"),
            *backward(module(_ATTENTION)),
            *backward(call(_ATTENTION, _FUSED, "Tensor.__getitem__")),
            *backward(owner("blocks.1.attn.qkv", "Functional.linear")),
        ),
    ),
    Fault(
        "last norm in bfloat16", "dtype", _norm_low_precision,
        call("norm", "Functional.layer_norm", "Tensor.to"),
        dtypes=(torch.float32,),  # at bfloat16 that is the model's own rounding
    ),
    Fault("loss maximised", "optimizer", _maximised, update()),
)  # fmt: skip
