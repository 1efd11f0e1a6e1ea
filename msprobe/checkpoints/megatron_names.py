"""Names of Megatron's parameters: older schemes and fused layers brought to those of megatron.core.

Also what tensor parallelism does to a parameter, which its name alone tells.
"""

from __future__ import annotations

import re
from typing import Literal

Partition = Literal["replicated", "rows", "columns", "gated_rows", "unknown"]

# Older names → today's; each applies to the whole name, in this order.
_RENAMED = (
    (r"^language_model\.", ""),
    (r"^(transformer|encoder)\.layers\.", "decoder.layers."),
    (r"^(transformer|encoder)\.final_(layernorm|norm)\.", "decoder.final_layernorm."),
    (r"^word_embeddings_for_head\.", "output_layer."),
    (r"\.final_norm\.", ".final_layernorm."),
    (r"\.attention\.", ".self_attention."),
    (r"\.self_attention\.query_key_value\.", ".self_attention.linear_qkv."),
    (r"\.self_attention\.dense\.", ".self_attention.linear_proj."),
    (r"\.dense_h_to_4h\.", ".linear_fc1."),
    (r"\.dense_4h_to_h\.", ".linear_fc2."),
    (r"\.(post_attention_layernorm|post_attention_norm)\.", ".pre_mlp_layernorm."),
    (r"\.input_norm\.", ".input_layernorm."),
    # Transformer Engine keeps the norm inside the layer that follows it.
    (r"\.self_attention\.linear_qkv\.layer_norm_(weight|bias)$", r".input_layernorm.\1"),
    (r"\.mlp\.linear_fc1\.layer_norm_(weight|bias)$", r".pre_mlp_layernorm.\1"),
    (r"\.experts\.(linear_fc[12])\.(weight|bias)(\d+)$", r".experts.local_experts.\3.\1.\2"),
)
_PARTITIONS: tuple[tuple[str, Partition], ...] = (
    (r"(^|\.)linear_fc1\.(weight|bias)$", "gated_rows"),
    (
        r"(^|\.)(word_embeddings|output_layer|linear_qkv|linear_q|linear_kv|linear_q_proj"
        r"|linear_q_up_proj|linear_kv_up_proj)\.(weight|bias)$",
        "rows",
    ),
    (r"(^|\.)(linear_proj|linear_fc2)\.weight$", "columns"),
    (r"(^|\.)(linear_proj|linear_fc2)\.bias$", "replicated"),
    (r"norm\w*\.(weight|bias)$|^embedding\.position_embeddings\.|\.router\.", "replicated"),
)
_LAYER = re.compile(r"^(?P<owner>(?:\w+\.)*?layers)\.(?P<index>\d+)\.")
_EXPERT = re.compile(r"(?P<owner>.*\.local_experts)\.(?P<index>\d+)\.")


def core_name(name: str) -> str:
    """The name that megatron.core gives to the same parameter."""
    for pattern, replacement in _RENAMED:
        name = re.sub(pattern, replacement, name)
    return name


def partition_of(name: str) -> Partition:
    """How tensor parallelism splits the parameter; `gated_rows` only with a gated activation."""
    for pattern, partition in _PARTITIONS:
        if re.search(pattern, name):
            return partition
    return "unknown"


def layer_of(name: str) -> tuple[str, int] | None:
    """The list of layers that a parameter belongs to and its place in it."""
    match = _LAYER.match(name)
    return None if match is None else (match["owner"], int(match["index"]))


def with_layer(name: str, index: int) -> str:
    """The name with its layer renumbered."""
    return _LAYER.sub(lambda match: f"{match['owner']}.{index}.", name, count=1)


def expert_of(name: str) -> int | None:
    """The place of the expert among those of its rank, None when it belongs to no expert."""
    match = _EXPERT.match(name)
    return None if match is None else int(match["index"])


def with_expert(name: str, index: int) -> str:
    """The name with its expert renumbered."""
    return _EXPERT.sub(lambda match: f"{match['owner']}.{index}.", name, count=1)
