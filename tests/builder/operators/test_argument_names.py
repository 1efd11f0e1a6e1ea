"""Held against torch itself: a call takes by a name what the table says stands at a position."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from builder.operators.argument_names import argument_name

ROWS = torch.arange(12.0).reshape(3, 4)
IMAGES = torch.arange(32.0).reshape(1, 2, 4, 4)
CALLS: list[tuple[str, Callable[..., Any], tuple[Any, ...], int]] = [
    ("Functional.batch_norm", F.batch_norm, (ROWS, *torch.rand(2, 4), None, None, True, 0.9), 6),
    ("Functional.layer_norm", F.layer_norm, (ROWS, (4,), None, None, 0.1), 4),
    ("Functional.softmax", F.softmax, (ROWS, 0), 1),
    ("Functional.max_pool2d", F.max_pool2d, (IMAGES, 2, 1), 2),
    ("Functional.interpolate", F.interpolate, (IMAGES, None, 2, "bilinear", True), 4),
    ("Functional.conv2d", F.conv2d, (IMAGES, torch.ones(2, 1, 2, 2), None, 1, 0, 1, 2), 6),
    ("Functional.pad", F.pad, (IMAGES, (1, 1, 1, 1), "reflect"), 2),
    ("Torch.topk", torch.topk, (ROWS, 2, 1, False), 3),
    ("Torch.roll", torch.roll, (ROWS, 1, 0), 2),
    ("Tensor.clamp", torch.Tensor.clamp, (ROWS, 2.0, 5.0), 2),
    ("Tensor.sum", torch.Tensor.sum, (ROWS, 1, True), 2),
    ("Tensor.masked_fill", torch.Tensor.masked_fill, (ROWS, ROWS > 3, 7.0), 2),
]


@pytest.mark.parametrize(("api", "call", "given", "position"), CALLS, ids=[c[0] for c in CALLS])
def test_a_call_takes_by_name_what_is_named_at_its_position(
    api: str, call: Callable[..., Any], given: tuple[Any, ...], position: int
) -> None:
    name = argument_name(f"{api}.3.forward", f"input.{position}")
    assert name is not None

    by_name = call(*given[:position], **{name: given[position]})
    by_position = call(*given[: position + 1])

    torch.testing.assert_close(by_name, by_position, rtol=0, atol=0)


def test_what_a_list_holds_is_named_by_its_place() -> None:
    assert argument_name("Functional.pad.0.forward", "input.1.3") == "pad[3]"


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("Tensor.view.0.forward", "input.1"),  # a size, or the first number of one
        ("Tensor.permute.0.forward", "input.2"),
        ("Functional.batch_norm.0.forward", "input.eps"),  # its key is its name
        ("Functional.batch_norm.0.forward", "input.0"),
        ("Functional.batch_norm.0.forward", "input.40"),
        ("Functional.batch_norm.0.backward", "input.1"),  # a gradient
        ("Functional.batch_norm.0.forward", "output.1"),
        ("Module.norm.BatchNorm1d.forward.0", "input.1"),
        ("Tensor.not_a_call.0.forward", "input.1"),
        ("Tensor.add.0.forward", "len(input.1)"),
    ],
)
def test_what_has_no_name_of_its_own_gets_none(call: str, value: str) -> None:
    assert argument_name(call, value) is None
