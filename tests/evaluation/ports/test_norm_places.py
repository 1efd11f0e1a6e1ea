"""Norms that change their places: the same function is silent, another network is said as one."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import builder
from builder.reasons import OneProgram
from builder.results.database import ResultDatabase
from builder.run.build import BuildResult
from evaluation.ports.norm_places import Kind, record


def compare(
    tmp_path: Path,
    problem: Kind,
    benchmark: Kind,
    level: str = "mix",
    *,
    drawn: bool = False,
    epsilon: float = 1e-5,
) -> BuildResult:
    paths = [
        record(tmp_path / "p", problem, level, drawn=drawn, epsilon=epsilon),
        record(tmp_path / "b", benchmark, level, drawn=drawn),
    ]
    return builder.build(*paths, tmp_path / "o")


@pytest.mark.parametrize("drawn", [False, True])
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("level", ["mix", "L0"])
def test_norms_in_the_block_before_are_the_same_function(
    tmp_path: Path, level: str, *, swapped: bool, drawn: bool
) -> None:
    sides: list[Kind] = ["pre", "ahead"]
    ours, theirs = reversed(sides) if swapped else sides
    assert compare(tmp_path, ours, theirs, level, drawn=drawn).findings == ()


@pytest.mark.parametrize("drawn", [False, True])
@pytest.mark.parametrize(
    ("problem", "named"),
    [("ahead", "Module.h.1.inner."), ("pre", "Module.layers.1.mlp_norm.")],
)
def test_so_a_fault_of_one_of_them_is_named(
    tmp_path: Path, problem: Kind, named: str, *, drawn: bool
) -> None:
    benchmark: Kind = "pre" if problem == "ahead" else "ahead"
    (found,) = compare(tmp_path, problem, benchmark, drawn=drawn, epsilon=0.1).findings
    assert found.name.startswith(named)


@pytest.mark.parametrize("benchmark", ["post", "renamed post"])
def test_of_another_network_no_certain_sentence_is_wrong(tmp_path: Path, benchmark: Kind) -> None:
    result = compare(tmp_path, "pre", benchmark)
    kind = ResultDatabase(result.path).summary().kind
    assert not isinstance(kind, OneProgram)
    first, *others = ResultDatabase(result.path).findings(None, None).findings
    assert not [each for each in others if each.certainty and each.certainty.word == "certain"]
    if benchmark == "post":  # of the names of one program: the norm is fed from elsewhere
        assert first.node.name == "Module.layers.0.mix_norm.LayerNorm.forward.0"
        assert {reason.code for reason in first.reasons} >= {"rewired"}
        ours, theirs = (saved(tmp_path / side, first.node.name, "input") for side in "pb")
        assert not torch.allclose(ours, theirs, rtol=0.01)
    else:  # else the block is fed the same and puts out something else, and that is not certain
        assert first.node.name == "Module.layers.0.Block.forward.0"
        assert first.certainty is not None
        assert first.certainty.word == "likely"
        names = "Module.layers.0.Block.forward.0", "Module.h.0.Block.forward.0"
        for role, agrees in (("input", True), ("output", False)):
            sides = (saved(tmp_path / side, name, role) for side, name in zip("pb", names))
            assert torch.allclose(*sides, rtol=0.01) is agrees


def saved(folder: Path, name: str, role: str) -> torch.Tensor:
    (file,) = folder.rglob(f"{name}.{role}.0.pt")
    tensor: torch.Tensor = torch.load(file)
    return tensor
