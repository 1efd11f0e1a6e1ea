"""The same model in every layout: no false difference, and a planted one is found."""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

import pytest
import torch

from msprobe.checkpoints import compare_checkpoints
from tests.msprobe.checkpoints.saved import (
    Cut,
    Sizes,
    Weights,
    hugging_face,
    save_dcp,
    save_megatron,
    save_safetensors,
    save_state_dict,
)

DENSE = Sizes()
MIXTURE = Sizes(layers=2, experts=4)
CUTS = {
    "whole": Cut(),
    "tensor": Cut(tensor=2),
    "pipeline": Cut(pipeline=2),
    "tensor and pipeline": Cut(tensor=2, pipeline=2),
    "virtual stages": Cut(tensor=2, pipeline=2, chunks=2),
}
EXPERT_CUTS = {
    "expert": Cut(expert=2),
    "tensor and expert": Cut(tensor=2, expert=2),
    "all three": Cut(tensor=2, pipeline=2, expert=2),
    "grouped experts": Cut(tensor=2, expert=2, grouped_experts=True),
}
LAYOUTS = ("megatron", "safetensors", "state_dict", "dcp")
PLANTED = "model.layers.2.self_attn.k_proj.weight"


def save(layout: str, folder: Path, weights: Weights, sizes: Sizes = DENSE) -> Path:
    if layout == "megatron":
        return save_megatron(folder, weights, sizes, Cut(tensor=2, pipeline=2))
    if layout == "safetensors":
        return save_safetensors(folder, weights)
    if layout == "dcp":
        return save_dcp(folder, weights)
    return save_state_dict(folder / "model.pt", weights)


def planted(weights: Weights) -> Weights:
    changed = dict(weights)
    changed[PLANTED] = weights[PLANTED].clone()
    changed[PLANTED][1, 3] *= 1.001
    return changed


@pytest.mark.parametrize(("first", "second"), list(itertools.product(LAYOUTS, LAYOUTS)))
def test_layouts_agree_and_a_planted_difference_is_found(
    first: str, second: str, tmp_path: Path
) -> None:
    weights = hugging_face(DENSE)
    left = save(first, tmp_path / "left", weights)
    same = compare_checkpoints(left, save(second, tmp_path / "right", weights))
    assert same.different == []
    assert all("taken for no weights" in note for note in same.notes)
    assert {row.status for row in same.rows} == {"equal"}
    assert same.worst == 0

    wrong = compare_checkpoints(left, save(second, tmp_path / "wrong", planted(weights)))
    (row,) = wrong.different
    expected = abs(float(weights[PLANTED][1, 3])) * 0.001
    assert row.distance is not None
    assert row.distance.l2 == pytest.approx(expected, rel=1e-3)
    assert row.distance.max_abs == pytest.approx(expected, rel=1e-3)
    if {first, second} == {"megatron"}:  # one matrix holds query, key and value there
        assert row.name == "decoder.layers.2.self_attention.linear_qkv.weight"
    else:
        assert row.name.endswith("layers.2.self_attn.k_proj.weight")


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations(CUTS, 2)))
def test_megatron_is_the_same_model_however_it_is_cut(
    first: str, second: str, tmp_path: Path
) -> None:
    weights = hugging_face(DENSE)
    left = save_megatron(tmp_path / "left", weights, DENSE, CUTS[first])
    right = save_megatron(tmp_path / "right", weights, DENSE, CUTS[second])
    result = compare_checkpoints(left, right)
    assert {row.status for row in result.rows} == {"equal"}
    assert len(result.rows) == 3 + 6 * DENSE.layers


@pytest.mark.parametrize("cut", EXPERT_CUTS)
def test_experts_are_numbered_over_all_ranks(cut: str, tmp_path: Path) -> None:
    weights = hugging_face(MIXTURE)
    left = save_megatron(tmp_path / "left", weights, MIXTURE, EXPERT_CUTS[cut])
    result = compare_checkpoints(left, save_safetensors(tmp_path / "right", weights))
    assert {row.status for row in result.rows} == {"equal"}
    assert len(result.rows) == len(weights)


def test_coarser_type_is_rounding_and_no_difference(tmp_path: Path) -> None:
    weights = hugging_face(DENSE)
    half = {name: tensor.bfloat16() for name, tensor in weights.items()}
    left = save_safetensors(tmp_path / "left", weights)
    result = compare_checkpoints(left, save_safetensors(tmp_path / "right", half))
    assert {row.status for row in result.rows} == {"rounding"}
    assert result.different == []
    assert result.worst == 0


def test_replicated_parameter_that_differs_between_ranks_is_said(tmp_path: Path) -> None:
    weights = hugging_face(DENSE)
    left = save_megatron(tmp_path / "left", weights, DENSE, Cut(tensor=2))
    file = left / "iter_0000010" / "mp_rank_01" / "model_optim_rng.pt"
    with torch.serialization.safe_globals([argparse.Namespace]):
        content = torch.load(file)
    content["model"]["decoder.final_layernorm.weight"][0] += 1
    torch.save(content, file)
    result = compare_checkpoints(left, save_safetensors(tmp_path / "right", weights))
    (note,) = result.notes
    assert "decoder.final_layernorm.weight" in note
    assert "not; rank 0 was taken" in note


def test_padded_vocabulary_is_compared_where_both_have_rows(tmp_path: Path) -> None:
    weights = hugging_face(DENSE)
    padded = dict(weights)
    for name in ("model.embed_tokens.weight", "lm_head.weight"):
        padded[name] = torch.cat([weights[name], torch.zeros(8, DENSE.hidden)])
    left = save_megatron(tmp_path / "left", padded, DENSE, Cut(tensor=2))
    result = compare_checkpoints(left, save_safetensors(tmp_path / "right", weights))
    assert result.different == []
    assert len(result.notes) == 2
