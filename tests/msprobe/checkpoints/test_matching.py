"""Which parameter is which where names differ."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from msprobe.checkpoints import compare_checkpoints
from msprobe.checkpoints.matching import match, read_mapping
from msprobe.checkpoints.names import natural, template, without_shared_root
from msprobe.checkpoints.parameter import Parameter
from msprobe.errors import CheckError
from tests.msprobe.checkpoints.saved import Sizes, Weights, hugging_face, save_safetensors


def parameters(weights: Weights) -> dict[str, Parameter]:
    return {
        name: Parameter(name, tuple(tensor.shape), tensor.dtype, tensor.clone)
        for name, tensor in weights.items()
    }


def paired(first: Weights, second: Weights, **mapping: str) -> dict[str, tuple[str, str]]:
    found = match(parameters(first), parameters(second), mapping)
    return {pair.first.name: (pair.second.name, pair.by) for pair in found.pairs}


def test_families_are_paired_by_shape_and_statistics() -> None:
    torch.manual_seed(0)
    first = {f"h.{i}.attn.weight": torch.randn(4, 4) * (1 + i) for i in range(3)}
    first |= {f"h.{i}.mlp.weight": torch.randn(4, 4) * 9 for i in range(3)}
    second = {
        name.replace("h.", "blocks.").replace("attn", "a").replace("mlp", "m"): t * 1.001
        for name, t in first.items()
    }
    found = paired(first, second)
    assert found == {
        name: (
            name.replace("h.", "blocks.").replace("attn", "a").replace("mlp", "m"),
            "statistics",
        )
        for name in first
    }


def test_values_that_two_candidates_share_pair_nothing() -> None:
    first = {"a.weight": torch.ones(4), "b.weight": torch.ones(4)}
    second = {"c.weight": torch.ones(4), "d.weight": torch.ones(4)}
    assert paired(first, second) == {}


def test_values_far_apart_pair_nothing_though_only_one_has_the_shape() -> None:
    assert paired({"a.weight": torch.ones(7)}, {"b.weight": 3 * torch.ones(7)}) == {}


def test_file_decides_what_statistics_cannot(tmp_path: Path) -> None:
    layers = range(2)
    first = {f"h.{i}.{n}.weight": torch.ones(4) for i in layers for n in ("ln1", "ln2")}
    second = {f"l.{i}.{n}.weight": torch.ones(4) for i in layers for n in ("pre", "post")}
    file = tmp_path / "names.yaml"
    file.write_text("h.#.ln1.weight: l.#.pre.weight\nh.1.ln2.weight: l.1.post.weight\n")
    mapping = read_mapping(file)
    found = {p.first.name: p for p in match(parameters(first), parameters(second), mapping).pairs}
    assert found["h.0.ln1.weight"].second.name == "l.0.pre.weight"
    assert found["h.1.ln2.weight"].second.name == "l.1.post.weight"
    assert found["h.0.ln2.weight"].second.name == "l.0.post.weight"  # the only one left
    assert found["h.0.ln1.weight"].by == "file"


def test_name_in_the_file_that_nothing_has_is_refused() -> None:
    with pytest.raises(CheckError, match="no parameter of these names"):
        match(parameters({"a": torch.ones(1)}), parameters({"b": torch.ones(1)}), {"a": "c"})


@pytest.mark.parametrize("text", ["- a\n- b\n", "a: [1]\n", "a: {b: c\n", "just text"])
def test_mapping_that_is_no_list_of_names_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "names.yaml"
    file.write_text(text)
    with pytest.raises(CheckError, match=str(file)):
        read_mapping(file)


def test_a_model_without_head_is_still_found_under_its_root(tmp_path: Path) -> None:
    weights = hugging_face(Sizes(layers=2))
    left = save_safetensors(tmp_path / "left", weights)
    base = {name: tensor for name, tensor in weights.items() if name != "lm_head.weight"}
    result = compare_checkpoints(left, save_safetensors(tmp_path / "right", base))
    (row,) = result.different
    assert (row.name, row.status) == ("lm_head.weight", "only first")
    assert {each.matched_by for each in result.compared} == {"suffix"}


def test_wrappers_and_shared_roots_leave_the_names() -> None:
    names = ["module.model._fsdp_wrapped_module.a.weight", "module.model._orig_mod.b.bias"]
    assert list(without_shared_root(names).values()) == ["a.weight", "b.bias"]
    assert without_shared_root(["model.a.w", "head.w"]) == {
        "model.a.w": "model.a.w",
        "head.w": "head.w",
    }


SEGMENTS = st.lists(
    st.sampled_from(["a", "b", "layers", "3", "10", "weight"]), min_size=1, max_size=4
)
NAMES = st.lists(SEGMENTS.map(".".join), unique=True, max_size=8)


@given(NAMES, NAMES)
def test_every_parameter_is_paired_once_or_left_over(first: list[str], second: list[str]) -> None:
    left = {name: torch.full((2,), float(len(name))) for name in first}
    right = {name: torch.full((2,), float(len(name))) for name in second}
    found = match(parameters(left), parameters(right), {})
    ours = [pair.first.name for pair in found.pairs] + [p.name for p in found.only_first]
    theirs = [pair.second.name for pair in found.pairs] + [p.name for p in found.only_second]
    assert sorted(ours) == sorted(first)
    assert sorted(theirs) == sorted(second)
    same = {pair.first.name for pair in found.pairs if pair.by == "name"}
    assert same == set(first) & set(second)


@given(st.lists(st.integers(0, 200), min_size=2))
def test_layers_are_sorted_by_number(layers: list[int]) -> None:
    names = [f"layers.{layer}.weight" for layer in layers]
    assert sorted(names, key=natural) == [f"layers.{layer}.weight" for layer in sorted(layers)]
    assert {template(name) for name in names} == {"layers.#.weight"}
