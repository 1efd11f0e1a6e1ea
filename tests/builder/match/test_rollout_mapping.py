"""Names of training frameworks in the words of an inference engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from builder.dump.reader import read_dump
from builder.match.rollout_dumps import make_alike
from builder.match.rollout_mapping import engine_path
from tests.builder.dumps import forward, tensor, write_dump


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("model.layers.0.self_attn.o_proj", "layers.0.self_attn.o_proj"),
        ("_fsdp_wrapped_module.model.layers.0._fsdp_wrapped_module.mlp", "layers.0.mlp"),
        ("module.module.decoder.layers.3.self_attention.linear_proj", "layers.3.self_attn.o_proj"),
        ("module.decoder.layers.3.mlp.linear_fc2", "layers.3.mlp.down_proj"),
        ("module.embedding.word_embeddings", "embed_tokens"),
        ("decoder.final_layernorm", "norm"),
        ("output_layer", "lm_head"),
        (
            "model.layers.0.self_attn.q_proj.Linear.forward.0;"
            "Module.model.layers.0.self_attn.k_proj.Linear.forward.0;"
            "Module.model.layers.0.self_attn.v_proj",
            "layers.0.self_attn.qkv_proj",
        ),
    ],
)
def test_path_in_the_words_of_the_engine(path: str, words: str) -> None:
    assert engine_path(path) == words


def test_megatron_compares_by_what_no_order_changes(tmp_path: Path) -> None:
    # Query groups lie interleaved, and two sequences lie with the sequence before the batch.
    def layer(path: str, shape: list[int]) -> dict[str, object]:
        made = [tensor(shape=[*shape, 8], data_name=f"{path}.pt")]
        return {f"Module.{path}.Linear.forward.0": forward(made, made)}

    write_dump(
        tmp_path / "a",
        {
            **layer("module.decoder.layers.0.self_attention.linear_qkv", [5, 1]),
            **layer("module.decoder.layers.0.self_attention.linear_proj", [5, 1]),
            **layer("module.decoder.layers.0.mlp.linear_fc1", [5, 2]),
        },
        task="tensor",
    )
    names = ("self_attn.qkv_proj", "self_attn.o_proj", "mlp.gate_up_proj")
    parts = [layer(f"model.layers.0.{name}", [5]) for name in names]
    write_dump(tmp_path / "b", {k: v for part in parts for k, v in part.items()}, task="tensor")
    ours, theirs = make_alike(
        read_dump(tmp_path / "a"), read_dump(tmp_path / "b"), backend="megatron"
    )
    read = [(k, bool(r.data_name)) for k, r in zip(ours.values.keys, ours.values.records)]
    assert read == [
        *(("input.0", True), ("output.0", False)),  # interleaved groups
        *(("input.0", True), ("output.0", True)),
        *(("input.0", False), ("output.0", False)),  # two sequences
    ]
    assert {record.shape for record in theirs.values.records} == {(5, 8)}
    assert {record.shape for record in ours.values.records} == {(5, 8), (10, 8)}
