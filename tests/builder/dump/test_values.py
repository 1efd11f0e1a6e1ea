"""Values are flattened the same however they nest, and however fast the way to them is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.dump.reader import Dump, read_dump
from builder.dump.values import Entry, collect_loose, collect_values
from tests.builder.dumps import backward, forward, tensor, write_dump

CALL = "Torch.mm.0.forward"
NAMES = st.sampled_from(["weight", "bias", "a.b", "type_vocab", "键"])
LEAVES = st.one_of(
    st.none(),
    st.builds(tensor, st.floats(0, 10)),
    st.builds(lambda n: {"type": "int", "value": n}, st.integers(0, 3)),
)
NESTED = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3)
)
ITEMS = st.lists(NESTED, max_size=3)
FORWARD = st.fixed_dictionaries(
    {},
    optional={
        "input_args": ITEMS,
        "input_kwargs": st.dictionaries(NAMES, NESTED, max_size=3),
        "parameters": st.dictionaries(NAMES, LEAVES, max_size=2),
        "output": ITEMS,
    },
)
GRADIENTS = st.dictionaries(NAMES, st.lists(LEAVES, min_size=1, max_size=1), max_size=2)


def read(folder: Path, entry: object, name: str = CALL) -> Dump:
    return read_dump(write_dump(folder, {name: entry}))


@given(st.lists(FORWARD, max_size=4), st.lists(GRADIENTS, max_size=2))
def test_the_fast_way_agrees_with_the_plain_one(
    entries: list[dict[str, Any]], gradients: list[dict[str, Any]]
) -> None:
    plain: dict[str, Any] = {f"Torch.mm.{i}.forward": entry for i, entry in enumerate(entries)}
    plain |= {f"Module.a.A.parameters_grad.{i}": entry for i, entry in enumerate(gradients)}
    text = msgspec.json.encode(plain)
    typed = msgspec.json.decode(text, type=dict[str, Entry])
    fast, fast_ranges = collect_values(typed, plain.__getitem__)
    slow, slow_ranges = collect_loose(plain)
    assert (fast.keys, fast_ranges) == (slow.keys, slow_ranges)
    assert fast.records == slow.records


def test_keys_name_role_and_position_or_keyword(tmp_path: Path) -> None:
    entry = forward([tensor(), None, tensor()], [tensor()], input_kwargs={"mask": tensor()})
    found = read(tmp_path, entry).values.keys
    assert found == ["input.0", "input.2", "input.mask", "output.0"]


def test_objects_and_lists_nest_their_places(tmp_path: Path) -> None:
    entry = forward([[tensor(), [tensor()]]], [{"logits": tensor(), "cache": {"k": [tensor()]}}])
    assert read(tmp_path, entry).values.keys == [
        "input.0.0",
        "input.0.1.0",
        "output.0.logits",
        "output.0.cache.k.0",
    ]


def test_inputs_come_first_whatever_the_file_says(tmp_path: Path) -> None:
    entry = {"output": [tensor(1)], "parameters": {"w": tensor(2)}, "input_args": [tensor(3)]}
    found = read(tmp_path, entry)
    assert found.values.keys == ["input.0", "parameters.w", "output.0"]
    assert [record.Norm for record in found.values.records] == [3.0, 2.0, 1.0]


@pytest.mark.parametrize("name", ["Module.a.A.parameters_grad", "Module.a.A.parameters_grad.2"])
def test_parameter_gradients_of_both_spellings(tmp_path: Path, name: str) -> None:
    found = read(tmp_path, {"weight": [tensor()], "bias": [None]}, name)
    assert found.values.keys == ["parameters_grad.weight"]


def test_a_call_with_a_telling_name_is_no_gradient(tmp_path: Path) -> None:
    found = read(tmp_path, forward([tensor()], []), "Torch.parameters_grad_norm.0.forward")
    assert found.values.keys == ["input.0"]


def test_an_output_that_is_no_list_is_read_too(tmp_path: Path) -> None:
    assert read(tmp_path, {"output": tensor()}).values.keys == ["output"]


def test_ranges_follow_the_entries(tmp_path: Path) -> None:
    data = {
        "A": backward([tensor()], [None]),
        "B": forward([], []),
        "C": forward([tensor()], [[tensor(), tensor()]]),
    }
    assert read_dump(write_dump(tmp_path, data)).ranges == {"A": (0, 1), "B": (1, 1), "C": (1, 4)}
