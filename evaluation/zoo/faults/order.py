"""Bugs that put the right elements in wrong places: maximum, minimum, mean and norm stay the same.

Each has a twin that moves the same elements by the same calls and puts them where they belong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional

from evaluation.zoo.experiment import Experiment
from evaluation.zoo.fault import Place, backward, call, module, owner
from evaluation.zoo.faults.twins import Twins, twins
from evaluation.zoo.models.bert import HEADS, LENGTH
from evaluation.zoo.models.gpt import HEAD


def _rolled(size: int) -> list[int]:
    return [*range(1, size), 0]


def _straight(size: int) -> list[int]:
    return list(range(size))


Order = Callable[[int], Sequence[int]]


def _misplaced(
    architecture: str,
    name: str,
    change: Callable[..., None],
    culprits: tuple[Place, ...],
    wrong: Order | bool = _rolled,
    right: Order | bool = _straight,
) -> Twins:
    return twins(architecture, name, "order", change, culprits, wrong, right)


def _query_heads(e: Experiment, how: Order) -> None:
    attention = e.model.layers[1].self_attn
    rotate = attention.rotate
    attention.rotate_query = lambda x, cos, sin: rotate(x[:, how(x.shape[1])], cos, sin)


def _head_layout(e: Experiment, how: bool) -> None:
    def heads(x: Tensor) -> Tensor:
        if how:
            return x.unflatten(-1, (HEAD, -1)).transpose(-1, -2).transpose(1, 2)
        return x.view(*x.shape[:-1], -1, HEAD).permute(0, 2, 1, 3)

    e.model.layers[1].self_attn.heads = heads


def _rotary_layout(e: Experiment, how: bool) -> None:
    rotary = e.model.rotary_emb

    def forward(positions: Tensor) -> tuple[Tensor, Tensor]:
        exponents = torch.arange(0, HEAD, 2, dtype=torch.float32) / HEAD
        angles = positions[:, None].float() * (rotary.base**-exponents)[None]
        twice = torch.stack((angles, angles), dim=-1 if how else -2).flatten(-2)
        return twice.cos(), twice.sin()

    rotary.forward = forward


def _positions(e: Experiment, how: Order) -> None:
    e.model.positions = lambda ids: torch.arange(ids.shape[-1])[how(ids.shape[-1])]


def _labels(e: Experiment, how: Order) -> None:
    original = e.labels
    e.labels = lambda step: original(step)[:, how(original(step).shape[1])]


def _batch(e: Experiment, how: Order) -> None:
    original = e.inputs
    e.inputs = lambda step: tuple(x[how(x.shape[0])] for x in original(step))


def _activation_gradient(e: Experiment, how: Order) -> None:
    def activate(x: Tensor) -> Tensor:
        out = functional.silu(x)
        out.register_hook(lambda gradient: gradient[how(gradient.shape[0])])
        return out

    e.model.layers[1].mlp.activate = activate


def _written_heads(e: Experiment, how: Order) -> None:
    e.model.layer[1].attention.self.attend = lambda q, k, v, keep: (
        functional.scaled_dot_product_attention(q, k, v, attn_mask=keep)[:, how(HEADS)]
    )


def _embedded_positions(e: Experiment, how: Order) -> None:
    e.model.embeddings.positions = lambda ids: torch.arange(LENGTH)[how(LENGTH)]


def _query_weight(e: Experiment, how: bool) -> None:
    with torch.no_grad():
        weight = e.model.layer[1].attention.self.query.weight
        weight.copy_(weight.t().clone() if how else weight.clone())


def _sequence(e: Experiment, how: Order) -> None:
    e.model.layer[0].output.add = lambda x, residual: x[:, how(LENGTH)] + residual


def _returned_tokens(e: Experiment, how: Order) -> None:
    e.model.blocks[0].moe.combine = lambda total, token, out, weight: total.index_add(
        0, token[how(len(token))], out * weight[:, None]
    )


def _sides_of_images(e: Experiment, how: bool) -> None:
    sides = (3, 2) if how else (2, 3)
    e.model.prepare = lambda x: ((x - 0.1) / 0.9).permute(0, 1, *sides)


def _written_places(e: Experiment, how: Order) -> None:
    e.model.blocks[1].attn.attend = lambda q, k, v: functional.scaled_dot_product_attention(
        q, k, v
    )[:, :, how(q.shape[2])]


def _colours(e: Experiment, how: Order) -> None:
    original = e.inputs
    e.inputs = lambda step: (original(step)[0][:, how(3)],)


def _moments(e: Experiment, how: Order) -> None:
    e.model.join = lambda x, y: x + y[:, how(y.shape[1])]


def _sequences(e: Experiment, how: Order) -> None:
    scale = e.model.scale
    e.model.scale = lambda x: scale(x[how(x.shape[0])])


_GPT, _BERT, _VISION = "layers.1.self_attn", "layer.1.attention", "blocks.1.attn"

MISPLACED = (
    _misplaced(
        "gpt", "query heads in another order", _query_heads,
        (*module(_GPT), *call(_GPT, "Tensor.chunk", "Tensor.__mul__", nth=0),
         *call(_GPT, "Tensor.__neg__", nth=0)),
    ),
    _misplaced(
        "gpt", "heads interleaved", _head_layout,
        (*module(_GPT), *call(_GPT, "Tensor.transpose"),
         *call(_GPT, "Tensor.__mul__", "Tensor.__neg__", nth=0)),
        wrong=True, right=False,
    ),
    _misplaced(
        "gpt", "the other RoPE layout", _rotary_layout,
        (*module("rotary_emb"),
         *call("rotary_emb", "Torch.stack", "Tensor.flatten", "Torch.cat"),
         *call("rotary_emb", "Tensor.cos", "Tensor.sin")),
        wrong=True, right=False,
    ),
    _misplaced(
        "gpt", "position ids permuted", _positions,
        (*module("rotary_emb"), *call("", "Tensor.__getitem__"),
         *call("rotary_emb", "Tensor.__getitem__", "Tensor.__mul__")),
    ),
    _misplaced(
        "gpt", "labels moved along the sequence", _labels,
        call("", "Functional.cross_entropy"),
    ),
    _misplaced(
        "gpt", "batch shuffled, labels not", _batch,
        owner("embed_tokens", "Functional.embedding"),
    ),
    _misplaced(
        "gpt", "gradient of other sequences", _activation_gradient,
        (*backward(module("layers.1.mlp")), *backward(call("layers.1.mlp", "Functional.silu"))),
    ),
    _misplaced(
        "bert", "heads written in another order", _written_heads,
        (*module(f"{_BERT}.self"), *owner(f"{_BERT}.output.dense", "Functional.linear")),
    ),
    _misplaced(
        "bert", "position ids permuted", _embedded_positions,
        (*call("embeddings", "Tensor.__getitem__"),
         *owner("embeddings.position_embeddings", "Functional.embedding")),
    ),
    _misplaced(
        "bert", "weight loaded transposed", _query_weight,
        owner(f"{_BERT}.self.query", "Functional.linear"),
        wrong=True, right=False,
    ),
    _misplaced(
        "bert", "sequence moved by one", _sequence,
        (*module("layer.0.output"), *call("layer.0.output", "Tensor.__add__")),
    ),
    _misplaced(
        "mixture", "tokens put back to other places", _returned_tokens,
        call("blocks.0.moe", "Tensor.index_add", "Tensor.__getitem__"),
    ),
    _misplaced(
        "convolution", "height and width swapped", _sides_of_images,
        (*call("", "Tensor.permute"), *module("stem"), *owner("stem.conv", "Functional.conv2d")),
        wrong=True, right=False,
    ),
    _misplaced(
        "convolution", "batch shuffled, labels not", _batch, call("", "Tensor.__sub__"),
    ),
    _misplaced(
        "vision", "tokens written to other places", _written_places,
        (*module(_VISION), *owner(f"{_VISION}.proj", "Functional.linear")),
    ),
    _misplaced(
        "vision", "colours in another order", _colours,
        owner("patch_embed", "Functional.conv2d"),
    ),
    _misplaced(
        "recurrent", "states moved in time", _moments,
        call("", "Tensor.__add__", "Tensor.__getitem__"),
    ),
    _misplaced(
        "recurrent", "sequences exchanged", _sequences,
        call("", "Tensor.__mul__", "Tensor.__getitem__"),
    ),
)  # fmt: skip
