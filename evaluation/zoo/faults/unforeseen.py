"""Bugs that were thought of after the rules stood, each with a twin that is right."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from evaluation.zoo.experiment import Experiment
from evaluation.zoo.fault import call, module, owner, update
from evaluation.zoo.faults.twins import twins
from evaluation.zoo.models.mixture import CHOSEN


def _smoothing(e: Experiment, how: float) -> None:
    e.loss = lambda logits, labels: functional.cross_entropy(
        logits.float().flatten(0, -2), labels.flatten(), label_smoothing=how
    )


def _softmax_axis(e: Experiment, how: int) -> None:
    e.model.layers[1].self_attn.weights = lambda scores: functional.softmax(
        scores.float(), dim=how
    ).to(scores.dtype)


def _embedding_scale(e: Experiment, how: float) -> None:
    embedding = e.model.embed_tokens
    original = embedding.forward
    embedding.forward = lambda ids: original(ids) * how


def _warm_up(e: Experiment, how: int) -> None:
    def schedule(step: int) -> None:
        e.optimizer.param_groups[0]["lr"] = 1e-2 * min(1.0, (step + how) / 1)

    e.before_update = schedule


def _additive_mask(e: Experiment, how: bool) -> None:
    def attend(q: Tensor, k: Tensor, v: Tensor, keep: Tensor) -> Tensor:
        mask = (
            keep.to(q.dtype)
            if how
            else torch.zeros_like(keep, dtype=q.dtype).masked_fill(~keep, float("-inf"))
        )
        return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    e.model.layer[1].attention.self.attend = attend


def _bias_correction(e: Experiment, how: float) -> None:
    for parameter in e.model.parameters():
        state = e.optimizer.state[parameter]
        state["step"] = torch.tensor(how)
        state["exp_avg"] = torch.zeros_like(parameter)
        state["exp_avg_sq"] = torch.zeros_like(parameter)


def _norm_of_clipping(e: Experiment, how: float) -> None:
    most, e.clip = e.clip or 0.0, None
    e.before_update = lambda step: _clip(e.model, most, how)


def _clip(model: nn.Module, most: float, norm: float) -> None:
    nn.utils.clip_grad_norm_(model.parameters(), most, norm_type=norm)


def _padding_side(e: Experiment, how: int) -> None:
    layer = e.model.blocks[1].second
    layer.conv.padding = (0, 0)
    original = layer.conv.forward
    layer.conv.forward = lambda x: original(functional.pad(x, (1 + how, 1 - how, 1, 1)))


def _fewer_experts(e: Experiment, how: int) -> None:
    def normalise(weights: Tensor) -> Tensor:
        kept = weights * (torch.arange(CHOSEN) < how)
        return kept / kept.sum(-1, keepdim=True)

    e.model.blocks[1].moe.router.normalise = normalise


def _positions_shifted(e: Experiment, how: int) -> None:
    e.model.place = lambda x: x + e.model.pos_embed.roll(how, dims=1)


def _gates_exchanged(e: Experiment, how: bool) -> None:
    with torch.no_grad():
        for name in ("weight_ih", "weight_hh"):
            weight = getattr(e.model.unrolled.cell, name)
            reset, update_gate, new = weight.clone().chunk(3)
            order = (update_gate, reset, new) if how else (reset, update_gate, new)
            weight.copy_(torch.cat(order))


_GPT, _BERT, _ROUTER = "layers.1.self_attn", "layer.1.attention.self", "blocks.1.moe.router"
_CONV = "blocks.1.second.conv"

UNFORESEEN = (
    twins(
        "gpt", "labels smoothed", "forward", _smoothing,
        call("", "Functional.cross_entropy"), 0.1, 0.0,
    ),
    twins(
        "gpt", "softmax over the queries", "forward", _softmax_axis,
        call(_GPT, "Functional.softmax"), -2, 3,
    ),
    twins(
        "gpt", "embedding scaled", "extra", _embedding_scale,
        (*module("embed_tokens"), *call("embed_tokens", "Tensor.__mul__")), 32.0**0.5, 1.0,
    ),
    twins("gpt", "warm-up begins at nothing", "optimizer", _warm_up, update(), 0, 1),
    twins(
        "bert", "mask added as ones", "mask", _additive_mask,
        (*module(_BERT), *call(_BERT, "Functional.scaled_dot_product_attention", "Tensor.to",
                               "Tensor.masked_fill", "Torch.zeros_like")),
        True, False,
    ),
    twins(
        "bert", "Adam without bias correction", "optimizer", _bias_correction, update(), 1e4, 0.0
    ),
    twins(
        "convolution", "clipped by the largest gradient", "optimizer", _norm_of_clipping,
        (*call("clip_grad", "*"), *module("clip_grad"), *update()), float("inf"), 2.0,
    ),
    twins(
        "convolution", "padding on one side", "forward", _padding_side,
        (*owner(_CONV, "Functional.conv2d"), *call(_CONV, "Functional.pad")), 1, 0,
    ),
    twins(
        "mixture", "one expert where two are", "extra", _fewer_experts,
        (*module(_ROUTER), *call(_ROUTER, "Tensor.__mul__", "Tensor.__lt__")), 1, CHOSEN,
    ),
    twins(
        "vision", "position embedding moved by one", "order", _positions_shifted,
        call("", "Tensor.roll", "Tensor.__add__"), 1, 0,
    ),
    twins(
        "recurrent", "gates exchanged", "parameter", _gates_exchanged,
        owner("unrolled.cell", "Torch.gru_cell"), True, False,
    ),
)  # fmt: skip
