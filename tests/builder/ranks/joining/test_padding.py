"""Vocabularies that are padded so that they can be cut: tensors lose it, statistics say so."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from builder import BuildOptions, build, diagnose
from builder.dump.joined_tensors import JoinedTensor, read_joined
from tests.builder.dumps import saved_tensor

Floats = NDArray[np.float32]
_ENTRY = "Module.embedding.Embedding.forward.0"
_WEIGHT = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)


def _run(root: Path, task: str, parts: list[Floats], replicas: int = 1) -> Path:
    """The dump of a weight whose parts lie on ranks, those of one replica beside each other."""
    size = len(parts) // replicas
    output = np.ones((2, 3), dtype=np.float32)
    for rank, part in enumerate(parts):
        folder = root / "step0" / f"rank{rank}"
        folder.mkdir(parents=True)
        entry = {
            "input_args": [],
            "input_kwargs": {},
            "parameters": {"weight": saved_tensor(part, folder, f"{_ENTRY}.parameters.weight")},
            "output": [saved_tensor(output, folder, f"{_ENTRY}.output.0")],
        }
        first = rank - rank % size
        axes = {"tp": {"rank": rank % size, "size": size, "ranks": [*range(first, first + size)]}}
        if replicas > 1:
            same = [*range(rank % size, len(parts), size)]
            axes["dp"] = {"rank": rank // size, "size": replicas, "ranks": same}
        dump = {
            "task": task,
            "level": "mix",
            "framework": "pytorch",
            "parallel": {"world_size": len(parts), "rank": rank, "axes": axes},
            "data": {_ENTRY: entry},
        }
        (folder / "dump.json").write_text(json.dumps(dump))
        (folder / "construct.json").write_text(json.dumps({_ENTRY: None}))
    return root


def _padded(weight: Floats) -> list[Floats]:
    padding = np.full((1, 3), 9.0, dtype=np.float32)
    return list(np.split(np.concatenate((weight, padding)), 2))


def test_statistics_with_padding_in_them_are_set_aside(tmp_path: Path) -> None:
    problem = _run(tmp_path / "p", "statistics", _padded(_WEIGHT))
    benchmark = _run(tmp_path / "b", "statistics", [_WEIGHT])
    made = build(problem, benchmark, tmp_path / "out", BuildOptions(workers=1))
    assert made.outcomes[0].set_aside == {"padding of the vocabulary": 1}
    assert diagnose(made.path).findings == []


def test_replicas_of_what_is_padded_are_held_against_each_other(tmp_path: Path) -> None:
    other = _WEIGHT.copy()
    other[0, 0] += 1e-4
    problem = _run(tmp_path / "p", "statistics", _padded(_WEIGHT) + _padded(other), replicas=2)
    benchmark = _run(tmp_path / "b", "statistics", [_WEIGHT])
    made = build(problem, benchmark, tmp_path / "out", BuildOptions(workers=1))
    (finding,) = diagnose(made.path).findings
    assert finding.node == _ENTRY
    assert "should be the same on all dp ranks and is not" in finding.reasons[0]


@pytest.mark.parametrize("off", [0.0, 1.0])
def test_tensors_are_compared_without_it(tmp_path: Path, off: float) -> None:
    changed = _WEIGHT.copy()
    changed[6, 2] += off
    problem = _run(tmp_path / "p", "tensor", _padded(changed))
    benchmark = _run(tmp_path / "b", "tensor", [_WEIGHT])
    made = build(problem, benchmark, tmp_path / "out", BuildOptions(workers=1))
    assert made.outcomes[0].error is None
    assert not made.outcomes[0].set_aside
    findings = diagnose(made.path).findings
    assert [finding.node for finding in findings] == ([_ENTRY] if off else [])


@pytest.mark.parametrize("off", [0.0, 1.0])
def test_rows_that_may_be_padding_on_both_sides_are_none_to_compare(
    tmp_path: Path, off: float
) -> None:
    """Ten tokens, padded to a multiple of four for two ranks and of sixteen for eight."""
    weight = np.random.default_rng(1).normal(size=(10, 3)).astype(np.float32)
    changed = weight.copy()
    changed[8, 2] += off
    ours = np.concatenate((changed, np.full((2, 3), 9.0, dtype=np.float32)))
    theirs = np.concatenate((weight, np.full((6, 3), 5.0, dtype=np.float32)))
    problem = _run(tmp_path / "p", "tensor", np.split(ours, 2))
    benchmark = _run(tmp_path / "b", "tensor", np.split(theirs, 8))
    made = build(problem, benchmark, tmp_path / "out", BuildOptions(workers=1))
    assert made.outcomes[0].error is None
    findings = diagnose(made.path).findings
    assert [finding.node for finding in findings] == ([_ENTRY] if off else [])


def test_a_joined_tensor_ends_at_its_extents(tmp_path: Path) -> None:
    path = tmp_path / "whole.npy"
    np.save(path, np.arange(6.0).reshape(3, 2))
    whole = JoinedTensor((str(path),), ((3, 2),), (), extents=(2, 2))
    assert read_joined(whole).tolist() == [[0.0, 1.0], [2.0, 3.0]]
