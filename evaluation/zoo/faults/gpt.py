"""Bugs in a decoder: positions, attention, normalisation, residuals, optimizer."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from evaluation.zoo.experiment import Experiment
from evaluation.zoo.fault import Fault, backward, call, hook, module, owner, update
from evaluation.zoo.models.gpt import HEADS, KEY_HEADS


def _rope_base(e: Experiment) -> None:
    e.model.rotary_emb.base = 1_000.0


def _positions_shifted(e: Experiment) -> None:
    e.model.positions = lambda ids: torch.arange(1, ids.shape[-1] + 1)


def _rope_sign(e: Experiment) -> None:
    def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        first, second = x.chunk(2, dim=-1)
        turned = torch.cat((second, -first), dim=-1)
        return x * cos.to(x.dtype) + turned * sin.to(x.dtype)

    e.model.layers[1].self_attn.rotate_query = rotate


def _heads_tiled(e: Experiment) -> None:
    e.model.layers[1].self_attn.share = lambda x: x.repeat(1, HEADS // KEY_HEADS, 1, 1)


def _scale_missing(e: Experiment) -> None:
    e.model.layers[1].self_attn.scores = lambda q, k: torch.matmul(q, k.transpose(-1, -2))


def _mask_off_by_one(e: Experiment) -> None:
    def mask(scores: Tensor) -> Tensor:
        length = scores.shape[-1]
        future = torch.triu(torch.ones(length, length, dtype=torch.bool), diagonal=2)
        return scores.masked_fill(future, float("-inf"))

    e.model.layers[1].self_attn.mask = mask


def _mask_missing(e: Experiment) -> None:
    e.model.layers[0].self_attn.mask = lambda scores: scores


def _norm_eps(e: Experiment) -> None:
    e.model.layers[1].input_layernorm.eps = 0.1


def _activation(e: Experiment) -> None:
    e.model.layers[2].mlp.activate = lambda x: functional.gelu(x)


def _residual_missing(e: Experiment) -> None:
    e.model.layers[2].add_mlp = lambda x, branch: branch


def _residual_scaled(e: Experiment) -> None:
    e.model.layers[0].add_attention = lambda x, branch: x + branch * 1.1


def _weight_element(e: Experiment) -> None:
    with torch.no_grad():
        e.model.layers[2].mlp.up_proj.weight[3, 5] *= 40


def _softmax_low_precision(e: Experiment) -> None:
    e.model.layers[1].self_attn.weights = lambda scores: functional.softmax(
        scores.to(torch.bfloat16), dim=-1
    ).to(scores.dtype)


def _weight_decay(e: Experiment) -> None:
    e.optimizer.param_groups[0]["weight_decay"] = 10.0


def _gradients_kept(e: Experiment) -> None:
    e.clear_gradients = False


def _gradient_halved(e: Experiment) -> None:
    def activate(x: Tensor) -> Tensor:
        out = functional.silu(x)
        out.register_hook(lambda gradient: gradient * 0.5)
        return out

    e.model.layers[1].mlp.activate = activate


def _key_detached(e: Experiment) -> None:
    attention = e.model.layers[2].self_attn
    original = attention.scores
    attention.scores = lambda q, k: original(q, k.detach())


_ATTENTION = "layers.1.self_attn"

FAULTS = (
    Fault(
        "rope base 1000", "forward", _rope_base, call("rotary_emb", "Tensor.__rpow__", "Torch.pow")
    ),
    Fault(
        "positions shifted by one",
        "data",
        _positions_shifted,
        (
            *call("", "Torch.arange"),
            *module("rotary_emb"),
            *call("rotary_emb", "Tensor.__getitem__", "Tensor.__mul__"),
        ),
    ),
    Fault(
        "rope sign of the query",
        "forward",
        _rope_sign,
        (
            *call(_ATTENTION, "Tensor.__neg__", nth=0),
            *call(_ATTENTION, "Torch.cat", nth=0),
            *call(_ATTENTION, "Tensor.__mul__", nth=1),
        ),
    ),
    Fault(
        "key heads tiled, not interleaved",
        "forward",
        _heads_tiled,
        # the call that spread the heads is replaced by another; the benchmark's is recorded
        (
            *module(_ATTENTION),
            *call(_ATTENTION, "Torch.matmul", "Tensor.repeat_interleave", "Tensor.repeat"),
        ),
    ),
    Fault(
        "attention scale missing",
        "missing",
        _scale_missing,
        (*module(_ATTENTION), *call(_ATTENTION, "Tensor.__truediv__")),
    ),
    Fault(
        "causal mask off by one",
        "mask",
        _mask_off_by_one,
        (*module(_ATTENTION), *call(_ATTENTION, "Tensor.masked_fill", "Torch.triu")),
    ),
    Fault(
        "causal mask missing",
        "mask",
        _mask_missing,
        (*module("layers.0.self_attn"), *call("layers.0.self_attn", "Tensor.masked_fill")),
    ),
    Fault(
        "RMSNorm eps 0.1",
        "forward",
        _norm_eps,
        call("layers.1.input_layernorm", "Tensor.__add__"),
    ),
    Fault(
        "silu became gelu",
        "forward",
        _activation,
        call("layers.2.mlp", "Functional.gelu", "Functional.silu"),
    ),
    Fault(
        "residual missing",
        "missing",
        _residual_missing,
        (*module("layers.2"), *call("layers.2", "Tensor.__add__", nth=1)),
    ),
    Fault("residual branch scaled", "extra", _residual_scaled, call("layers.0", "Tensor.__mul__")),
    Fault(
        "one weight 40 times too large",
        "parameter",
        _weight_element,
        owner("layers.2.mlp.up_proj", "Functional.linear"),
    ),
    Fault(
        "softmax in bfloat16",
        "dtype",
        _softmax_low_precision,
        call(_ATTENTION, "Functional.softmax", "Tensor.to"),
        dtypes=(torch.float32,),  # at bfloat16 that is the model's own rounding
    ),
    Fault("weight decay 10", "optimizer", _weight_decay, update()),
    Fault(
        "gradients not cleared",
        "optimizer",
        _gradients_kept,
        (
            *call("*", "parameters_grad", step=1),  # every one holds the sum of two steps
            *call("clip_grad", "*", step=1),
            *update(step=1),
        ),
    ),
    Fault(
        "gradient halved at the activation",
        "backward",
        _gradient_halved,
        (
            *hook("Tensor.__mul__"),
            *backward(module("layers.1.mlp")),
            *backward(call("layers.1.mlp", "Functional.silu", "Tensor.__mul__")),
        ),
    ),
    Fault(
        "key detached",
        "backward",
        _key_detached,
        (
            # The product that reads the key is the first entry to tell: `detach` leaves none.
            *call("layers.2.self_attn", "Tensor.detach", "Torch.matmul"),
            *backward(owner("layers.2.self_attn.k_proj", "Functional.linear")),
            *backward(module("layers.2.self_attn")),
        ),
    ),
)
