"""A Megatron model under the names that Hugging Face gives to the same Llama-like layers.

Megatron keeps query, key and value in one matrix, interleaved by query group, and gate and up
projection in another; here each is a parameter of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import torch

from msprobe.checkpoints.parameter import Parameter

_NAMES = (
    (r"^embedding\.word_embeddings\.", "model.embed_tokens."),
    (r"^output_layer\.", "lm_head."),
    (r"^decoder\.final_layernorm\.", "model.norm."),
    (r"^decoder\.layers\.", "model.layers."),
    (r"\.pre_mlp_layernorm\.", ".post_attention_layernorm."),
    (r"\.self_attention\.linear_proj\.", ".self_attn.o_proj."),
    (r"\.self_attention\.([qk])_layernorm\.", r".self_attn.\1_norm."),
    (r"\.mlp\.router\.weight$", ".mlp.gate.weight"),
    (r"\.mlp\.experts\.local_experts\.", ".mlp.experts."),
    (r"\.linear_fc2\.", ".down_proj."),
)


def hugging_face_names(
    parameters: Mapping[str, Parameter], arguments: Mapping[str, Any], *, gated: bool
) -> dict[str, Parameter]:
    """The same values under Hugging Face's names; empty when the arguments do not say enough."""
    heads = arguments.get("num_attention_heads")
    if not heads:
        return {}
    groups = arguments.get("num_query_groups") or heads
    if not arguments.get("group_query_attention", True):
        groups = heads
    split = [
        part
        for parameter in parameters.values()
        for part in _split(parameter, int(heads), int(groups), gated=gated)
    ]
    return {part.name: part for part in split}


def _split(parameter: Parameter, heads: int, groups: int, *, gated: bool) -> Iterator[Parameter]:
    name = parameter.name
    for pattern, replacement in _NAMES:
        name = re.sub(pattern, replacement, name)
    rows = parameter.shape[0] if parameter.shape else 0
    if ".self_attention.linear_qkv." in name:
        width = rows // (heads + 2 * groups)
        sizes = {"q": heads * width, "k": groups * width, "v": groups * width}
        for letter, size in sizes.items():
            own = name.replace(".self_attention.linear_qkv.", f".self_attn.{letter}_proj.")
            cut = partial(_attention_rows, letter=letter, heads=heads, groups=groups)
            yield _part(parameter, own, size, cut)
    elif ".linear_fc1." in name and gated:
        for place, half in enumerate(("gate_proj", "up_proj")):
            own = name.replace(".linear_fc1.", f".{half}.")
            yield _part(parameter, own, rows // 2, partial(_half, place=place))
    else:
        yield Parameter(
            name.replace(".linear_fc1.", ".up_proj."),
            parameter.shape,
            parameter.dtype,
            parameter.read,
            parameter.release,
        )


def _part(
    whole: Parameter, name: str, rows: int, cut: Callable[[torch.Tensor], torch.Tensor]
) -> Parameter:
    def read() -> torch.Tensor:
        return cut(whole.read())

    return Parameter(name, (rows, *whole.shape[1:]), whole.dtype, read, whole.release)


def _attention_rows(whole: torch.Tensor, letter: str, heads: int, groups: int) -> torch.Tensor:
    """Rows are groups × (queries of the group, one key, one value) × width of a head."""
    queries = heads // groups
    by_group = whole.reshape(groups, queries + 2, -1, *whole.shape[1:])
    chosen = {
        "q": by_group[:, :queries],
        "k": by_group[:, queries : queries + 1],
        "v": by_group[:, queries + 1 :],
    }[letter]
    return chosen.reshape(-1, *whole.shape[1:])


def _half(whole: torch.Tensor, place: int) -> torch.Tensor:
    return whole.chunk(2)[place]
