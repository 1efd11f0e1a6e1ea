"""Bugs in an encoder: padding, embeddings, attention, pooling, loss."""

from __future__ import annotations

import torch
from torch.nn import functional

from evaluation.zoo.experiment import Experiment
from evaluation.zoo.fault import Fault, backward, call, hook, owner, update
from evaluation.zoo.models.bert import CLASSES, LENGTH


def _padding_ignored(e: Experiment) -> None:
    e.model.keep = lambda lengths: (torch.arange(LENGTH)[None] < lengths[:, None] * 0 + LENGTH)[
        :, None, None
    ]


def _positions_constant(e: Experiment) -> None:
    e.model.embeddings.positions = lambda ids: torch.zeros(ids.shape[-1], dtype=torch.long)


def _gelu_tanh(e: Experiment) -> None:
    e.model.layer[0].intermediate.activate = lambda x: functional.gelu(x, approximate="tanh")


def _scale_one(e: Experiment) -> None:
    e.model.layer[1].attention.self.attend = lambda q, k, v, keep: (
        functional.scaled_dot_product_attention(q, k, v, attn_mask=keep, scale=1.0)
    )


def _norm_eps(e: Experiment) -> None:
    e.model.layer[1].output.LayerNorm.eps = 0.5


def _residual_doubled(e: Experiment) -> None:
    e.model.layer[1].output.add = lambda x, residual: x + residual * 2


def _pool_last(e: Experiment) -> None:
    e.model.pool = lambda x: x[:, -1]


def _bias_nan(e: Experiment) -> None:
    with torch.no_grad():
        e.model.layer[0].attention.output.dense.bias[3] = float("nan")


def _embedding_gradient_doubled(e: Experiment) -> None:
    e.model.embeddings.word_embeddings.weight.register_hook(lambda gradient: gradient * 2)


def _betas(e: Experiment) -> None:
    e.optimizer.param_groups[0]["betas"] = (0.5, 0.999)


def _labels_wrong_later(e: Experiment) -> None:
    original = e.labels
    e.labels = lambda step: original(step) if step == 0 else (original(step) + 1) % CLASSES


def _label_smoothing(e: Experiment) -> None:
    e.loss = lambda logits, labels: functional.cross_entropy(
        logits.float().flatten(0, -2), labels.flatten(), label_smoothing=0.2
    )


def _bias_missing(e: Experiment) -> None:
    e.model.layer[1].intermediate.dense.register_parameter("bias", None)


_EMBEDDED = "embeddings.word_embeddings"

FAULTS = (
    Fault(
        "padding attended to", "mask", _padding_ignored,
        call("", "Tensor.__lt__", "Tensor.__mul__", "Tensor.__add__"),
    ),
    Fault(
        "all positions zero", "data", _positions_constant,
        # the call that made the positions is replaced by another, and recorded
        (
            *owner("embeddings.position_embeddings", "Functional.embedding"),
            *call("embeddings", "Torch.arange", "Torch.zeros"),
        ),
    ),
    Fault(
        "gelu by its tanh formula", "forward", _gelu_tanh,
        call("layer.0.intermediate", "Functional.gelu"),
        dtypes=(torch.float32,),  # differs by 0.1 %, below the rounding of bfloat16
    ),
    Fault(
        "attention scale 1", "forward", _scale_one,
        call("layer.1.attention.self", "Functional.scaled_dot_product_attention"),
    ),
    Fault(
        "LayerNorm eps 0.5", "forward", _norm_eps,
        call("layer.1.output.LayerNorm", "Functional.layer_norm"),
    ),
    Fault("residual doubled", "extra", _residual_doubled, call("layer.1.output", "Tensor.__mul__")),
    Fault(
        "last token pooled", "forward", _pool_last,
        (
            *call("", "Tensor.__getitem__", nth=-1),
            *owner("pooler", "Functional.linear"),
        ),
    ),
    Fault(
        "NaN in a bias", "nan", _bias_nan,
        owner("layer.0.attention.output.dense", "Functional.linear"),
    ),
    Fault(
        "embedding gradient doubled", "backward", _embedding_gradient_doubled,
        (
            *backward(owner(_EMBEDDED, "Functional.embedding")),
            *call(_EMBEDDED, "parameters_grad"),
            *hook("Tensor.__mul__"),
        ),
    ),
    Fault("Adam beta 0.5", "optimizer", _betas, update()),
    Fault(
        "labels of the second step wrong", "data", _labels_wrong_later,
        call("", "Functional.cross_entropy", step=1),
    ),
    Fault("label smoothing 0.2", "forward", _label_smoothing, call("", "Functional.cross_entropy")),
    Fault(
        "intermediate bias missing", "parameter",
        _bias_missing,
        owner("layer.1.intermediate.dense", "Functional.linear"),
    ),
)  # fmt: skip
