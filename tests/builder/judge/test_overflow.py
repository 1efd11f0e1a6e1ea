"""Overflow levels from one side's own values."""

from __future__ import annotations

from pathlib import Path

import pytest

from builder.dump.reader import read_dump
from builder.judge.overflow import first_cause, overflow_levels
from builder.match.tree import build_tree
from tests.builder.dumps import backward, forward, tensor, write_dump

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
        # So much once more, and float16 ends; float32 does not: the gradient of a sum grows so.
        ({"norm": 1.0}, {"norm": 2000.0, "Max": 700.0, "dtype": "torch.float16"}, "high"),
        ({"norm": 1.0}, {"norm": 101.0, "Max": 600.0, "dtype": "torch.float16"}, None),
        ({"norm": 1.0}, {"norm": 2000.0, "Max": 700.0}, None),
        ({"norm": 1.0}, {"norm": 1e20, "Max": 1e20}, "high"),
        ({"norm": 1.0}, {"norm": 99.0}, None),
        ({}, {"Norm": "inf"}, "critical"),
        # A mask: its sums overflow, its elements are finite.
        ({}, {"Max": 0.0, "Min": -3.4028234663852886e38, "Mean": "-inf", "Norm": "inf"}, None),
        ({}, {"Max": 0.0, "Min": -3.4028234663852886e38, "Mean": -1.7e38, "Norm": 4.8e38}, None),
        ({}, {"Max": 0.0, "Min": "-inf", "Mean": "-inf", "Norm": "inf"}, "critical"),
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


@pytest.mark.parametrize(
    ("flowing_in", "weight_gradient", "expected"),
    [({}, {}, None), ({}, NAN, "critical"), (NAN, NAN, "high"), (NAN, {}, "medium")],
)
def test_the_gradient_of_a_weight_is_an_output(
    tmp_path: Path,
    flowing_in: dict[str, object],
    weight_gradient: dict[str, object],
    expected: str | None,
) -> None:
    module = "Module.fc.Linear"
    gradient = f"{module}.parameters_grad.0"
    data = {
        f"{module}.forward.0": forward([tensor()], [tensor()]),
        f"{module}.backward.0": backward([tensor(**flowing_in)], [tensor()]),  # type: ignore[arg-type]
        gradient: {"weight": [tensor(**weight_gradient)]},  # type: ignore[arg-type]
    }
    dump = read_dump(write_dump(tmp_path, data, dict.fromkeys(data)))
    tree = build_tree(dump)
    levels = {node.name: overflow_levels(tree)[node.exec_order] for node in tree.in_order}
    assert levels[gradient] == expected


def test_nan_of_a_mask_is_not_said_to_come_from_finite_values(tmp_path: Path) -> None:
    masked = tensor() | {"Min": "-inf", "Mean": "-inf", "Norm": "inf"}
    lost = tensor() | NAN
    data = {
        "Tensor.masked_fill.0.forward": forward([tensor()], [masked]),
        "Functional.softmax.0.forward": forward([masked], [lost]),
    }
    folder = write_dump(tmp_path, data, dict.fromkeys(data))
    cause = first_cause(build_tree(read_dump(folder)))
    assert cause is not None
    assert (cause.node.name, cause.kind) == ("Functional.softmax.0.forward", "mask")


@pytest.mark.parametrize(
    ("call", "numbers", "state"),
    [
        ("Tensor.masked_fill.0.forward", {"Min": "-inf", "Mean": "-inf", "Norm": "inf"}, None),
        ("Tensor.masked_fill_.0.forward", NAN, "NaN"),
        ("Tensor.masked_fill.0.forward", {"Norm": "nan"}, "NaN"),
        ("Torch.empty.0.forward", NAN, None),
        ("Torch.mul.0.forward", {"Norm": "nan"}, "NaN"),
        ("Torch.mul.0.forward", {"Mean": "-inf"}, "Inf"),
        ("Torch.mul.0.forward", {"Max": 3e38, "Norm": "inf"}, None),
    ],
)
def test_a_mask_is_infinite_and_any_other_number_counts(
    tmp_path: Path, call: str, numbers: dict[str, object], state: str | None
) -> None:
    data = {call: forward([tensor()], [tensor() | numbers])}
    cause = first_cause(build_tree(read_dump(write_dump(tmp_path, data, dict.fromkeys(data)))))
    assert (cause.state if cause is not None else None) == state
