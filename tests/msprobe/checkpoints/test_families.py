"""A Megatron model against the families of Hugging Face, in both of Megatron's formats.

Each model is drawn under the family's names, and cut for Megatron as Megatron-LM does; nothing here
is shared with the reader.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
import torch.distributed.checkpoint as dcp

from msprobe.checkpoints import compare_checkpoints
from tests.msprobe.checkpoints.saved import Weights, save_safetensors

HIDDEN, HEADS, HEAD, INNER, WORDS, LAYERS, EXPERTS = 16, 4, 4, 24, 32, 2, 3


@dataclass
class Model:
    """One model under the names of its family and of megatron.core."""

    family: Weights
    core: Weights
    groups: int
    gated: bool

    def add(self, family: str, core: str, *shape: int, turned: bool = False) -> None:
        drawn = torch.randn(shape)
        self.family[family] = drawn.t().contiguous() if turned else drawn
        self.core[core] = drawn

    def norm(self, family: str, core: str, *, bias: bool) -> None:
        for kind in ("weight", "bias") if bias else ("weight",):
            self.add(f"{family}.{kind}", f"{core}.{kind}", HIDDEN)

    def rows(self, core: str, kind: str) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Query, key and value; Megatron has those of one group after the other."""
        width = (HIDDEN,) if kind == "weight" else ()
        share = HEADS // self.groups
        query, key, value = (torch.randn(self.groups, n, HEAD, *width) for n in (share, 1, 1))
        blocks = [torch.cat(parts) for parts in zip(query, key, value, strict=True)]
        self.core[f"{core}.self_attention.linear_qkv.{kind}"] = torch.cat(blocks).flatten(0, 1)
        return query.flatten(0, 2), key.flatten(0, 2), value.flatten(0, 2)

    def unit(self, family: str, core: str, names: tuple[str, str, str]) -> None:
        """A gated feed-forward part: gate above up in one matrix, and down."""
        gate, up = torch.randn(2, INNER, HIDDEN)
        self.family |= {f"{family}.{names[0]}.weight": gate, f"{family}.{names[1]}.weight": up}
        self.core[f"{core}.linear_fc1.weight"] = torch.cat([gate, up])
        self.add(f"{family}.{names[2]}.weight", f"{core}.linear_fc2.weight", HIDDEN, INNER)


def llama_like(mixture: str = "", *, bias: bool = False) -> Model:
    model = Model({}, {}, groups=2, gated=True)
    model.add("model.embed_tokens.weight", "embedding.word_embeddings.weight", WORDS, HIDDEN)
    model.add("lm_head.weight", "output_layer.weight", WORDS, HIDDEN)
    model.norm("model.norm", "decoder.final_layernorm", bias=False)
    names = ("gate_proj", "up_proj", "down_proj")
    for layer in range(LAYERS):
        ours, core = f"model.layers.{layer}", f"decoder.layers.{layer}"
        model.norm(f"{ours}.input_layernorm", f"{core}.input_layernorm", bias=False)
        model.norm(f"{ours}.post_attention_layernorm", f"{core}.pre_mlp_layernorm", bias=False)
        for kind in ("weight", "bias") if bias else ("weight",):
            for letter, rows in zip("qkv", model.rows(core, kind), strict=True):
                model.family[f"{ours}.self_attn.{letter}_proj.{kind}"] = rows
        proj = f"{core}.self_attention.linear_proj.weight"
        model.add(f"{ours}.self_attn.o_proj.weight", proj, HIDDEN, HIDDEN)
        if not mixture:
            model.unit(f"{ours}.mlp", f"{core}.mlp", names)
            continue
        block = f"{ours}.block_sparse_moe" if mixture == "mixtral" else f"{ours}.mlp"
        model.add(f"{block}.gate.weight", f"{core}.mlp.router.weight", EXPERTS, HIDDEN)
        for expert in range(EXPERTS):
            own = ("w1", "w3", "w2") if mixture == "mixtral" else names
            inside = f"{core}.mlp.experts.local_experts.{expert}"
            model.unit(f"{block}.experts.{expert}", inside, own)
        if mixture == "qwen2_moe":
            model.unit(f"{block}.shared_expert", f"{core}.mlp.shared_experts", names)
            gate = f"{core}.mlp.shared_experts.gate_weight"
            model.add(f"{block}.shared_expert_gate.weight", gate, 1, HIDDEN)
    return model


def gpt_like(prefix: str = "", *, groups: int = HEADS, turned: bool = True) -> Model:
    model = Model({}, {}, groups=groups, gated=False)
    model.add(f"{prefix}wte.weight", "embedding.word_embeddings.weight", WORDS, HIDDEN)
    model.add(f"{prefix}wpe.weight", "embedding.position_embeddings.weight", 8, HIDDEN)
    model.norm(f"{prefix}ln_f", "decoder.final_layernorm", bias=True)
    for layer in range(LAYERS):
        ours, core = f"{prefix}h.{layer}", f"decoder.layers.{layer}"
        model.norm(f"{ours}.ln_1", f"{core}.input_layernorm", bias=True)
        model.norm(f"{ours}.ln_2", f"{core}.pre_mlp_layernorm", bias=True)
        for kind in ("weight", "bias"):
            whole = torch.cat(model.rows(core, kind))
            turn = turned and kind == "weight"
            model.family[f"{ours}.attn.c_attn.{kind}"] = whole.t().contiguous() if turn else whole
        for name, inside, shape in (
            ("attn.c_proj", "self_attention.linear_proj", (HIDDEN, HIDDEN)),
            ("mlp.c_fc", "mlp.linear_fc1", (INNER, HIDDEN)),
            ("mlp.c_proj", "mlp.linear_fc2", (HIDDEN, INNER)),
        ):
            weight = f"{ours}.{name}.weight", f"{core}.{inside}.weight"
            model.add(*weight, *shape, turned=turned)
            model.add(f"{ours}.{name}.bias", f"{core}.{inside}.bias", shape[0])
    return model


def neox_like() -> Model:
    model = Model({}, {}, groups=HEADS, gated=False)
    model.add("gpt_neox.embed_in.weight", "embedding.word_embeddings.weight", WORDS, HIDDEN)
    model.add("embed_out.weight", "output_layer.weight", WORDS, HIDDEN)
    model.norm("gpt_neox.final_layer_norm", "decoder.final_layernorm", bias=True)
    for layer in range(LAYERS):
        ours, core = f"gpt_neox.layers.{layer}", f"decoder.layers.{layer}"
        model.norm(f"{ours}.input_layernorm", f"{core}.input_layernorm", bias=True)
        model.norm(f"{ours}.post_attention_layernorm", f"{core}.pre_mlp_layernorm", bias=True)
        for kind in ("weight", "bias"):  # query, key and value of a head after the other, too
            parts = [part.unflatten(0, (HEADS, HEAD)) for part in model.rows(core, kind)]
            whole = torch.stack(parts, 1).flatten(0, 2)
            model.family[f"{ours}.attention.query_key_value.{kind}"] = whole
        for name, inside, shape in (
            ("attention.dense", "self_attention.linear_proj", (HIDDEN, HIDDEN)),
            ("mlp.dense_h_to_4h", "mlp.linear_fc1", (INNER, HIDDEN)),
            ("mlp.dense_4h_to_h", "mlp.linear_fc2", (HIDDEN, INNER)),
        ):
            model.add(f"{ours}.{name}.weight", f"{core}.{inside}.weight", *shape)
            model.add(f"{ours}.{name}.bias", f"{core}.{inside}.bias", shape[0])
    return model


FAMILIES: dict[str, Callable[[], Model]] = {
    "llama": llama_like,
    "qwen2": lambda: llama_like(bias=True),
    "qwen2 moe": lambda: llama_like("qwen2_moe", bias=True),
    "mixtral": lambda: llama_like("mixtral"),
    "gpt2": gpt_like,
    "whole gpt2": lambda: gpt_like("transformer."),
    "gpt bigcode": lambda: gpt_like("transformer.", groups=1, turned=False),
    "gpt neox": neox_like,
}


def arguments(model: Model) -> argparse.Namespace:
    return argparse.Namespace(
        num_attention_heads=HEADS,
        num_query_groups=model.groups,
        group_query_attention=True,
        swiglu=model.gated,
    )


def save_torch(folder: Path, model: Model) -> Path:
    file = folder / "iter_0000010" / "mp_rank_00" / "model_optim_rng.pt"
    file.parent.mkdir(parents=True)
    torch.save({"args": arguments(model), "model": model.core, "checkpoint_version": 3.0}, file)
    return folder


def save_torch_dist(folder: Path, model: Model, *, with_arguments: bool = True) -> Path:
    """All layers of a kind in one tensor, and all experts of a kind in one dimension of it."""
    iteration = folder / "iter_0000010"
    iteration.mkdir(parents=True)
    (folder / "latest_checkpointed_iteration.txt").write_text("10")
    stacked: Weights = {}
    for name in model.core:
        first, _, rest = name.partition("decoder.layers.0.")
        if first or not rest:
            if not name.startswith("decoder.layers."):
                stacked[name] = model.core[name]
            continue
        layers = [name.replace(".0.", f".{layer}.", 1) for layer in range(LAYERS)]
        if ".local_experts." not in rest:
            stacked[f"decoder.layers.{rest}"] = torch.stack([model.core[n] for n in layers])
        elif ".local_experts.0." in rest:
            each = [
                torch.stack(
                    [
                        model.core[n.replace("local_experts.0", f"local_experts.{expert}")]
                        for expert in range(EXPERTS)
                    ]
                )
                for n in layers
            ]
            key = rest.replace("local_experts.0", "experts")
            stacked[f"decoder.layers.{key}"] = torch.stack(each)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dcp.save({**stacked, "optimizer": {"step": 3}}, checkpoint_id=iteration, no_dist=True)
    if with_arguments:
        torch.save({"args": arguments(model), "iteration": 10}, iteration / "common.pt")
    return folder


@pytest.mark.parametrize("family", list(FAMILIES))
@pytest.mark.parametrize("save", [save_torch, save_torch_dist])
def test_family_is_the_same_model_and_a_planted_difference_is_found(
    family: str, save: Callable[[Path, Model], Path], tmp_path: Path
) -> None:
    torch.manual_seed(0)
    model = FAMILIES[family]()
    ours = save(tmp_path / "megatron", model)
    same = compare_checkpoints(ours, save_safetensors(tmp_path / "same", model.family))
    assert {row.status for row in same.rows} == {"equal"}
    assert len(same.rows) == len(model.family)
    changed = next(name for name in reversed(model.family) if name.endswith("weight"))
    model.family[changed] = model.family[changed] * 1.001
    wrong = compare_checkpoints(ours, save_safetensors(tmp_path / "wrong", model.family))
    (row,) = wrong.different
    assert row.second is not None
    assert row.second.name.endswith(changed.removeprefix("model."))


def test_both_formats_of_megatron_agree(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = llama_like("qwen2_moe", bias=True)
    left = save_torch(tmp_path / "a", model)
    result = compare_checkpoints(left, save_torch_dist(tmp_path / "b", model))
    assert {row.status for row in result.rows} == {"equal"}
    assert {row.name for row in result.rows} == set(model.core)


def test_layers_are_apart_without_arguments_and_what_is_left_is_listed(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = llama_like()
    left = save_torch_dist(tmp_path / "a", model, with_arguments=False)
    assert {row.status for row in compare_checkpoints(left, left).rows} == {"equal"}
    result = compare_checkpoints(left, save_safetensors(tmp_path / "b", model.family))
    listed = {side.name for row in result.rows for side in (row.first, row.second) if side}
    assert "decoder.layers.1.self_attention.linear_qkv.weight" in listed
    assert len([row for row in result.rows if row.second is not None]) == len(model.family)
    assert any("common.pt" in note for note in result.notes)
