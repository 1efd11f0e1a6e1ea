"""Overflow levels from one side's own values."""

from __future__ import annotations

from pathlib import Path

import pytest

from builder.dump.reader import read_dump
from builder.overflow import overflow_levels
from builder.tree import build_tree
from tests.builder.dumps import forward, tensor, write_dump

NAN = {"Max": "nan", "Min": "nan", "Mean": "nan", "Norm": "nan"}


def level(tmp_path: Path, ours: dict[str, object], out: dict[str, object], call: str) -> str | None:
    entry = forward([tensor(**ours)], [tensor(**out)])  # type: ignore[arg-type]
    tree = build_tree(read_dump(write_dump(tmp_path, {call: entry}, {call: None})))
    return overflow_levels(tree)[0]


@pytest.mark.parametrize(
    ("ours", "out", "expected"),
    [
        ({}, {}, None),
        ({}, NAN, "critical"),
        (NAN, NAN, "high"),
        (NAN, {}, "medium"),
        ({"norm": 1.0}, {"norm": 101.0}, "high"),
        ({"norm": 1.0}, {"norm": 99.0}, None),
        ({}, {"Norm": "inf"}, "critical"),
        ({"norm": 0.0}, {"norm": 5.0}, None),
    ],
)
def test_level(
    tmp_path: Path, ours: dict[str, object], out: dict[str, object], expected: str | None
) -> None:
    assert level(tmp_path, ours, out, "Torch.mm.0.forward") == expected


@pytest.mark.parametrize("api", ["empty", "masked_fill", "masked_fill_", "recv"])
def test_buffers_and_masks_are_exempt(tmp_path: Path, api: str) -> None:
    assert level(tmp_path, {}, NAN, f"Tensor.{api}.0.forward") is None
