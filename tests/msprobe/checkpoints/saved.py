"""A small Llama-like model, saved in each layout that is compared.

The Megatron writer cuts the model as Megatron-LM does; it is written from the layout's description
and shares no code with the reader.
"""

from __future__ import annotations

import argparse
import json
import warnings
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.distributed.checkpoint as dcp
from safetensors.torch import save_file

Weights = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Sizes:
    layers: int = 4
    hidden: int = 16
    heads: int = 4
    groups: int = 2
    ffn: int = 24
    vocabulary: int = 32
    experts: int = 0

    @property
    def head(self) -> int:
        return self.hidden // self.heads


def hugging_face(sizes: Sizes, seed: int = 0, dtype: torch.dtype = torch.float32) -> Weights:
    """The model under Hugging Face's names."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator).to(dtype)

    weights = {"model.embed_tokens.weight": draw(sizes.vocabulary, sizes.hidden)}
    for layer in range(sizes.layers):
        at = f"model.layers.{layer}."
        weights[at + "input_layernorm.weight"] = 1 + 0.1 * draw(sizes.hidden)
        weights[at + "self_attn.q_proj.weight"] = draw(sizes.heads * sizes.head, sizes.hidden)
        for letter in "kv":
            rows = sizes.groups * sizes.head
            weights[at + f"self_attn.{letter}_proj.weight"] = draw(rows, sizes.hidden)
        weights[at + "self_attn.o_proj.weight"] = draw(sizes.hidden, sizes.heads * sizes.head)
        weights[at + "post_attention_layernorm.weight"] = 1 + 0.1 * draw(sizes.hidden)
        owners = [at + f"mlp.experts.{e}." for e in range(sizes.experts)] or [at + "mlp."]
        if sizes.experts:
            weights[at + "mlp.gate.weight"] = draw(sizes.experts, sizes.hidden)
        for owner in owners:
            weights[owner + "gate_proj.weight"] = draw(sizes.ffn, sizes.hidden)
            weights[owner + "up_proj.weight"] = draw(sizes.ffn, sizes.hidden)
            weights[owner + "down_proj.weight"] = draw(sizes.hidden, sizes.ffn)
    weights["model.norm.weight"] = 1 + 0.1 * draw(sizes.hidden)
    weights["lm_head.weight"] = draw(sizes.vocabulary, sizes.hidden)
    return weights


def save_safetensors(folder: Path, weights: Weights, shards: int = 2) -> Path:
    folder.mkdir(parents=True)
    names = list(weights)
    where = {
        name: f"model-{1 + i % shards:05d}-of-{shards:05d}.safetensors"
        for i, name in enumerate(names)
    }
    for file in sorted(set(where.values())):
        save_file({n: weights[n].contiguous() for n in names if where[n] == file}, folder / file)
    index = {"metadata": {}, "weight_map": where}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


def save_state_dict(file: Path, weights: Weights) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    optimizer = {"state": {0: {"exp_avg": torch.ones(3)}}}
    torch.save({"model": weights, "optimizer": optimizer, "epoch": 3}, file)
    return file


def save_dcp(folder: Path, weights: Weights) -> Path:
    folder.mkdir(parents=True)
    training = {"state": {"exp_avg": torch.ones(3)}, "lr": 0.1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dcp.save({"model": weights, "optimizer": training}, checkpoint_id=folder, no_dist=True)
    return folder


@dataclass(frozen=True)
class Cut:
    """How the model is spread: ranks a direction, chunks of layers a pipeline rank."""

    tensor: int = 1
    pipeline: int = 1
    expert: int = 1
    chunks: int = 1
    grouped_experts: bool = False


def save_megatron(folder: Path, weights: Weights, sizes: Sizes, cut: Cut) -> Path:
    rank_folder = folder / "iter_0000010"
    for tensor in range(cut.tensor):
        for pipeline in range(cut.pipeline):
            for expert in range(cut.expert):
                name = f"mp_rank_{tensor:02d}"
                name += f"_{pipeline:03d}" if cut.pipeline > 1 else ""
                name += f"_{expert:03d}" if cut.expert > 1 else ""
                target = rank_folder / name / "model_optim_rng.pt"
                target.parent.mkdir(parents=True)
                content = _rank_file(weights, sizes, cut, (tensor, pipeline, expert))
                torch.save(content, target)
    (folder / "latest_checkpointed_iteration.txt").write_text("10")
    return folder


def _rank_file(
    weights: Weights, sizes: Sizes, cut: Cut, place: tuple[int, int, int]
) -> dict[str, object]:
    arguments = argparse.Namespace(
        num_layers=sizes.layers,
        hidden_size=sizes.hidden,
        num_attention_heads=sizes.heads,
        num_query_groups=sizes.groups,
        group_query_attention=True,
        swiglu=True,
        num_experts=sizes.experts or None,
        tensor_model_parallel_size=cut.tensor,
        pipeline_model_parallel_size=cut.pipeline,
        expert_model_parallel_size=cut.expert,
        params_dtype=torch.float32,
    )
    keys = ["model"] if cut.chunks == 1 else [f"model{i}" for i in range(cut.chunks)]
    models = {key: _chunk(weights, sizes, cut, place, i) for i, key in enumerate(keys)}
    return {"args": arguments, "checkpoint_version": 3.0, "iteration": 10, **models}


def _chunk(
    weights: Weights, sizes: Sizes, cut: Cut, place: tuple[int, int, int], chunk: int
) -> Weights:
    tensor, pipeline, expert = place
    per_stage = sizes.layers // (cut.pipeline * cut.chunks)
    first = (chunk * cut.pipeline + pipeline) * per_stage
    held: Weights = {}
    if pipeline == 0 and chunk == 0:
        rows = weights["model.embed_tokens.weight"].chunk(cut.tensor)
        held["embedding.word_embeddings.weight"] = rows[tensor].clone()
    for local in range(per_stage):
        source, at = f"model.layers.{first + local}.", f"decoder.layers.{local}."
        held[at + "input_layernorm.weight"] = weights[source + "input_layernorm.weight"]
        held[at + "pre_mlp_layernorm.weight"] = weights[source + "post_attention_layernorm.weight"]
        attention = _fused_attention(weights, source, sizes)
        held[at + "self_attention.linear_qkv.weight"] = attention.chunk(cut.tensor)[tensor].clone()
        projection = weights[source + "self_attn.o_proj.weight"].chunk(cut.tensor, dim=1)
        held[at + "self_attention.linear_proj.weight"] = projection[tensor].clone()
        held |= _mlp(weights, source, at, sizes, cut, tensor, expert)
    if pipeline == cut.pipeline - 1 and chunk == cut.chunks - 1:
        held["decoder.final_layernorm.weight"] = weights["model.norm.weight"]
        held["output_layer.weight"] = weights["lm_head.weight"].chunk(cut.tensor)[tensor].clone()
    return held


def _fused_attention(weights: Weights, source: str, sizes: Sizes) -> torch.Tensor:
    """For each query group: its queries, its key, its value."""
    rows: list[torch.Tensor] = []
    queries = weights[source + "self_attn.q_proj.weight"].split(sizes.head)
    keys = weights[source + "self_attn.k_proj.weight"].split(sizes.head)
    values = weights[source + "self_attn.v_proj.weight"].split(sizes.head)
    share = sizes.heads // sizes.groups
    for group in range(sizes.groups):
        rows += [*queries[group * share : (group + 1) * share], keys[group], values[group]]
    return torch.cat(rows)


def _mlp(
    weights: Weights, source: str, at: str, sizes: Sizes, cut: Cut, tensor: int, expert: int
) -> Weights:
    if not sizes.experts:
        first, second = _feed_forward(weights, source + "mlp.", cut.tensor, tensor)
        return {at + "mlp.linear_fc1.weight": first, at + "mlp.linear_fc2.weight": second}
    held = {at + "mlp.router.weight": weights[source + "mlp.gate.weight"]}
    count = sizes.experts // cut.expert
    layers = [
        _feed_forward(weights, f"{source}mlp.experts.{expert * count + i}.", cut.tensor, tensor)
        for i in range(count)
    ]
    if cut.grouped_experts:
        held[at + "mlp.experts.weight1"] = torch.stack([f.t() for f, _ in layers]).view(
            sizes.hidden, -1
        )
        held[at + "mlp.experts.weight2"] = torch.stack([s.t() for _, s in layers]).view(
            -1, sizes.hidden
        )
        return held
    for i, (first, second) in enumerate(layers):
        held[at + f"mlp.experts.local_experts.{i}.linear_fc1.weight"] = first
        held[at + f"mlp.experts.local_experts.{i}.linear_fc2.weight"] = second
    return held


def _feed_forward(
    weights: Weights, owner: str, size: int, tensor: int
) -> tuple[torch.Tensor, torch.Tensor]:
    gate = weights[owner + "gate_proj.weight"].chunk(size)[tensor]
    up = weights[owner + "up_proj.weight"].chunk(size)[tensor]
    down = weights[owner + "down_proj.weight"].chunk(size, dim=1)[tensor]
    return torch.cat([gate, up]), down.clone()
