"""A fault in each model of transformers, and the settings under which each must equal itself."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from evaluation.zoo.controls import Control, Setting
from evaluation.zoo.experiment import Experiment
from evaluation.zoo.fault import Fault, call, module, owner
from evaluation.zoo.hugging_face.models import MODELS
from evaluation.zoo.record import Task
from evaluation.zoo.suite import Case, case_of, control_case, seeded


def _attention_scale(e: Experiment) -> None:
    e.model.inner.model.layers[1].self_attn.scaling *= 2


def _norm_eps(e: Experiment) -> None:
    e.model.inner.model.layers[1].input_layernorm.variance_epsilon = 0.1


def _gate_rows(e: Experiment) -> None:
    layer = e.model.inner.model.layers[1]
    gate = getattr(layer, "mlp", None) or layer.block_sparse_moe
    with torch.no_grad():
        gate.gate.weight.copy_(gate.gate.weight.flip(0))


def _activation(e: Experiment) -> None:
    layer = e.model.inner.bert.encoder.layer[1].intermediate
    layer.intermediate_act_fn = torch.nn.ReLU()


def _relative_bias(e: Experiment) -> None:
    bias = e.model.inner.encoder.block[0].layer[0].SelfAttention.relative_attention_bias
    with torch.no_grad():
        bias.weight.neg_()


def _positions_rolled(e: Experiment) -> None:
    positions = e.model.inner.vit.embeddings.position_embeddings
    with torch.no_grad():
        positions.copy_(positions.roll(1, dims=1))


def _cached_position(e: Experiment) -> None:
    e.model.positions = lambda ids: torch.full((ids.shape[0], 1), ids.shape[1] - 2)


def _decay_doubled(e: Experiment) -> None:
    with torch.no_grad():
        e.model.inner.backbone.layers[1].mixer.A_log.add_(2.0)


_SDPA = "Functional.scaled_dot_product_attention"
_QWEN, _LLAMA = "inner.model.layers.1.self_attn", "inner.model.layers.1.input_layernorm"
_MIXTRAL = ("inner.model.layers.1.mlp.gate", "inner.model.layers.1.block_sparse_moe.gate")
_T5 = "inner.encoder.block.0.layer.0.SelfAttention"
_BERT = "inner.bert.encoder.layer.1.intermediate"
_MIXER = "inner.backbone.layers.1.mixer"

FAULTS: dict[str, Fault] = {
    "qwen2": Fault(
        "attention scale doubled", "forward", _attention_scale,
        (*module(_QWEN), *call(_QWEN, _SDPA)),
    ),
    "llama": Fault(
        "RMSNorm eps 0.1", "forward", _norm_eps,
        (*module(_LLAMA), *call(_LLAMA, "Tensor.__add__", "Torch.rsqrt")),
    ),
    "mixtral": Fault(
        "experts of the router reversed", "parameter", _gate_rows,
        tuple(place for path in _MIXTRAL for place in owner(path, "Functional.linear")),
    ),
    "bert-hf": Fault(
        "gelu became relu", "forward", _activation,
        (*module(f"{_BERT}.intermediate_act_fn"),
         *call(f"{_BERT}.intermediate_act_fn", "Functional.relu", "Functional.gelu"),
         *call(_BERT, "Functional.relu", "Functional.gelu")),
    ),
    "t5": Fault(
        "relative positions negated", "parameter", _relative_bias,
        owner(f"{_T5}.relative_attention_bias", "Functional.embedding"),
    ),
    "vit-hf": Fault(
        "positions moved by one", "order", _positions_rolled,
        (*module("inner.vit.embeddings"), *call("inner.vit.embeddings", "Tensor.__add__")),
    ),
    "gpt2": Fault(
        "position of the cached step", "data", _cached_position,
        (
            *call("inner.transformer.wpe", "Functional.embedding", nth=1),
            *module("inner.transformer.wpe", "inner.transformer"),
        ),
    ),
    "mamba": Fault(
        "state decays faster", "parameter", _decay_doubled,
        (*module(_MIXER), *call(_MIXER, "Torch.exp", "Tensor.__neg__")),
    ),
}  # fmt: skip


def _eager(e: Experiment) -> None:
    e.model.inner.set_attn_implementation("eager")


_BF16 = Setting(torch.bfloat16)
CONTROLS: tuple[Control, ...] = (
    *(
        Control("eager against fused attention", name, Setting(change=_eager))
        for name in MODELS
        if name != "mamba"
    ),
    *(Control("two threads", name, Setting(threads=2)) for name in MODELS),
    *(Control("bf16 against fp32", name, _BF16) for name in MODELS),
)


def cases(tasks: Sequence[Task], seed: int = 0) -> list[Case]:
    """Every fault in float32, and every control, for each task."""
    listed = []
    for task in tasks:
        listed += [case_of(name, fault, torch.float32, task) for name, fault in FAULTS.items()]
        listed += [control_case(control, task) for control in CONTROLS]
    return [seeded(case, seed) for case in listed]
