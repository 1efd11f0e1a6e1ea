"""What MindSpore recorded, in PyTorch's words: names of entries, keys of values."""

from __future__ import annotations

import pytest

from builder.match.frameworks.words import (
    CallRule,
    KeyWords,
    in_torch_words,
    keys_told,
    pairing_keys,
)
from msprobe_core.format import parse_entry
from msprobe_core.format.frameworks import MINDSPORE, Words

WORDS = MINDSPORE.words or Words()
TO_PYTORCH = KeyWords({}, WORDS.parameters, {})
TO_MINDSPORE = KeyWords({}, {}, WORDS.parameters)


@pytest.mark.parametrize(
    ("recorded", "owner"),
    [
        ("Cell.net.fc1.Dense.forward.0", "Module.net.fc1.Linear"),
        ("Cell.net.fc1.Dense.parameters_grad.0", "Module.net.fc1.Linear"),
        ("Cell.blocks.SequentialCell.backward.2", "Module.blocks.Sequential"),
        ("Cell.net.mlp.Mlp.forward.0", "Module.net.mlp.Mlp"),
        ("Mint.matmul.0.forward", "Torch.matmul"),
        ("MintFunctional.softmax.0.backward", "Functional.softmax"),
        ("MintDistributed.all_reduce.0.forward", "Distributed.all_reduce"),
        ("Functional.dense.3.forward", "Functional.linear"),
        ("Primitive.matmul.MatMul.0.forward", "Torch.matmul"),
        ("Primitive.own.Unknown.0.forward", "Torch.own.Unknown"),
        ("Tensor.__add__.0.forward", "Tensor.__add__"),
    ],
)
def test_names_say_what_pytorch_calls_it(recorded: str, owner: str) -> None:
    said = in_torch_words(parse_entry(recorded), WORDS)
    assert said.owner == owner
    assert in_torch_words(said, WORDS) == said


def test_a_parameter_goes_by_the_name_that_the_partner_has() -> None:
    keys = ["input.0", "parameters.gamma", "parameters.beta", "output.0"]
    others = ["input.0", "parameters.weight", "parameters.bias", "output.0"]
    assert pairing_keys(keys, others, TO_PYTORCH) == others
    assert pairing_keys(others, keys, TO_MINDSPORE) == keys


def test_a_parameter_that_both_have_keeps_its_name() -> None:
    keys = ["parameters.gamma", "parameters.w"]
    assert pairing_keys(keys, ["parameters.gamma", "parameters.other"], TO_PYTORCH) == keys


def test_a_users_rule_wins_in_either_direction() -> None:
    rules = {"Mint.add": CallRule("mindspore", "Mint.add", "Torch.add", {"input.1": "input.2"})}
    assert keys_told("Mint.add.0.forward", rules, is_pytorch=False) == {"input.1": "input.2"}
    assert keys_told("Mint.add.0.forward", rules, is_pytorch=True) == {"input.2": "input.1"}
    assert pairing_keys(["input.1"], ["input.2"], KeyWords({"input.1": "input.2"}, {}, {})) == [
        "input.2"
    ]
