"""Findings that say the same of the same line are one, wherever they were found."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from builder import build, diagnose
from builder.diagnosis.change_kinds import Kinds
from builder.dump.reader import read_dump
from builder.match.tree import build_tree
from tests.builder.diagnosis.recorded_programs import found as recorded_findings
from tests.builder.dumps import Json, forward, tensor, write_dump

LINE = "File model.py, line 3, in forward, \n return x * 2"
OTHER = "File model.py, line 9, in forward, \n return x + 1"
TORCH = "File /lib/site-packages/torch/nn/functional.py, line 1, in linear, \n return f(x)"


def run(folder: Path, wrong: tuple[int, ...], lines: dict[int, list[str]]) -> None:
    for step in (0, 1):
        data: Json = {}
        for layer in range(4):
            read, made = tensor(10.0 * layer + step + 1), 10.0 * layer + step + 2
            out = tensor(made * 1.5 if layer in wrong else made)
            data[f"Torch.op.{layer}.forward"] = forward([read], [out])
        stack = {str(n): [[name], lines[n]] for n, name in enumerate(data)}
        write_dump(folder / f"step{step}" / "rank0", data, dict.fromkeys(data), stack)


def found(tmp_path: Path, lines: dict[int, list[str]]) -> list[tuple[int, str, list[object]]]:
    run(tmp_path / "p", (0, 2), lines)
    run(tmp_path / "b", (), lines)
    made = build(tmp_path / "p", tmp_path / "b", tmp_path / "out")
    return [
        (f.step, f.node, [(p["step"], p["node"]) for p in f.places])
        for f in diagnose(made.path).findings
    ]


def test_one_line_in_two_layers_and_two_steps_is_one_finding(tmp_path: Path) -> None:
    lines = {layer: [TORCH, LINE] for layer in range(4)}
    first, third = "Torch.op.0.forward", "Torch.op.2.forward"
    assert found(tmp_path, lines) == [(0, first, [(0, third), (1, first), (1, third)])]


def test_another_line_is_another_finding(tmp_path: Path) -> None:
    lines = {layer: [TORCH, OTHER if layer == 2 else LINE] for layer in range(4)}
    first, third = "Torch.op.0.forward", "Torch.op.2.forward"
    assert found(tmp_path, lines) == [(0, first, [(1, first)]), (0, third, [(1, third)])]


def test_places_are_part_of_the_json(tmp_path: Path) -> None:
    lines = {layer: [LINE] for layer in range(4)}
    found(tmp_path, lines)
    (file,) = (tmp_path / "out").glob("*.vis.db")
    finding = diagnose(file).as_json()["findings"][0]  # type: ignore[index]
    assert json.dumps(finding["places"][0]) == json.dumps(
        {"step": 0, "rank": 0, "node": "Torch.op.2.forward"}
    )


def test_frames_of_the_framework_are_known_wherever_it_is_installed(tmp_path: Path) -> None:
    places = (
        "/usr/lib/python3/dist-packages/torch/nn/functional.py",
        "/opt/lib/python3.11/site-packages/torch_npu/utils.py",
        "C:\\py\\Lib\\site-packages\\torch\\nn\\functional.py",
    )
    first, third = "Torch.op.0.forward", "Torch.op.2.forward"
    for number, place in enumerate(places):
        frame = f"File {place}, line 1, in linear, \n return f(x)"
        # The same line of the framework under two lines of the user's: two causes.
        lines = {layer: [frame, OTHER if layer == 2 else LINE] for layer in range(4)}
        expected = [(0, first, [(1, first)]), (0, third, [(1, third)])]
        assert found(tmp_path / str(number), lines) == expected


Step = Callable[[Tensor, Tensor, Tensor], Tensor]


def as_it_was(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return F.softplus(F.linear(x, weight, bias))


def written_anew(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return F.softplus(F.linear(x, weight)) + bias.exp()


class Stepwise(nn.Module):
    """Layers of one line, which may be written anew."""

    def __init__(self, step: Step = as_it_was) -> None:
        super().__init__()
        self.layers, self.step = nn.ModuleList(nn.Linear(16, 16) for _ in range(3)), step

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = x + self.step(x, layer.weight, layer.bias)
        return torch.sin(x)


def test_what_one_line_calls_otherwise_is_one_cause(tmp_path: Path) -> None:
    """A bias that a call is not given, and calls that add it behind: the line was written anew."""
    step: Any = written_anew
    (finding,) = recorded_findings(tmp_path, Stepwise, step=step)
    assert finding.name == "Functional.linear.0.forward"
    assert finding.line is not None and "bias.exp()" in finding.line


def test_what_a_line_of_the_framework_calls_otherwise_is_not(tmp_path: Path) -> None:
    """Modules of one line in the user's script: each of them is made by a line of its own."""
    lines = {layer: [TORCH, LINE] for layer in range(4)}
    run(tmp_path, (0,), lines)
    tree = build_tree(read_dump(tmp_path / "step0" / "rank0"))
    kinds = {Kinds(tree).of_line(node) for node in tree.in_order if node.kind == "api"}
    assert kinds == {None}
