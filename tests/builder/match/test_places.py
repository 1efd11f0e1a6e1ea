"""Dumps without construct.json: placed as the other run says, or by the names of modules."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import builder
from builder import BuildOptions
from builder.dump.reader import read_dump
from builder.match.places import give_places
from builder.match.tree import build_tree, subtree
from builder.reasons import PlacedByNames
from tests.builder.dumps import write_dump

SAMPLES = Path(__file__).resolve().parents[2] / "samples" / "msprobe-26.2.0"


def bare(sample: Path, folder: Path) -> Path:
    """The dump.json files of a dump, and nothing else."""
    for file in sample.rglob("dump.json"):
        target = folder / file.relative_to(sample)
        target.parent.mkdir(parents=True)
        shutil.copy(file, target)
    return folder


def findings(problem: Path, benchmark: Path, out: Path) -> list[str]:
    result = builder.build(problem, benchmark, out, BuildOptions(workers=1))
    return [finding.name for finding in result.findings]


@pytest.mark.parametrize("lacking", ["problem", "bench", "both"])
def test_the_same_call_is_named_without_construct(lacking: str, tmp_path: Path) -> None:
    sample = SAMPLES / "statistics"
    sides = {
        side: bare(sample / side, tmp_path / side) if lacking in (side, "both") else sample / side
        for side in ("problem", "bench")
    }
    whole = findings(sample / "problem", sample / "bench", tmp_path / "whole")
    found = findings(sides["problem"], sides["bench"], tmp_path / "bare")
    assert found[0] == whole[0] == "Tensor.__mul__.0.forward"


def test_a_copy_without_construct_differs_in_nothing(tmp_path: Path) -> None:
    sample = SAMPLES / "statistics" / "bench"
    copy = bare(sample, tmp_path / "copy")
    result = builder.build(copy, sample, tmp_path / "out", BuildOptions(workers=1))
    assert not result.findings
    assert all(o.unmatched_problem == o.unmatched_benchmark == 0 for o in result.outcomes)
    assert PlacedByNames("problem") in result.summary
    single = builder.build(copy, None, tmp_path / "single", BuildOptions(workers=1))
    assert PlacedByNames("problem") in single.summary


def test_modules_stand_as_their_names_say(tmp_path: Path) -> None:
    names = [
        "Module.layers.0.fc.Linear.forward.0",
        "Module.layers.0.fc.Linear.forward.1",
        "Module.layers.0.Block.forward.0",
        "Functional.gelu.0.forward",
        "Module.layers.0.Block.backward.0",
        "Module.layers.0.fc.Linear.backward.0",
        "Functional.linear.0.forward",
        "Module.head.Linear.forward.0",
    ]
    entry = {"input_args": [], "input_kwargs": {}, "output": []}
    dump = read_dump(write_dump(tmp_path, dict.fromkeys(names, entry), {}))
    give_places(dump)
    parents = {n.name: n.parent.name for n in subtree(build_tree(dump).root) if n.parent}
    assert parents["Module.layers.0.fc.Linear.forward.0"] == "Module.layers.0.Block.forward.0"
    assert parents["Module.layers.0.fc.Linear.forward.1"] == "Module.layers.0.Block.forward.0"
    assert parents["Module.layers.0.fc.Linear.backward.0"] == "Module.layers.0.Block.backward.0"
    assert parents["Functional.gelu.0.forward"] == parents["Module.head.Linear.forward.0"]
    assert parents["Functional.linear.0.forward"] == "Module.head.Linear.forward.0"
    assert len(parents) == len(names)


def test_processes_of_captured_graphs_are_found(tmp_path: Path) -> None:
    entry = {"input_args": [], "input_kwargs": {}, "output": []}
    for pid in (7, 9):
        folder = tmp_path / "step0" / f"pid{pid}"
        folder.mkdir(parents=True)
        data = {"Module.__root__.Net.forward.0": entry, "Module.fc.Linear.forward.0": entry}
        (folder / "dump.json").write_text(json.dumps({"task": "statistics", "data": data}))
    result = builder.build(tmp_path, None, tmp_path / "out", BuildOptions(workers=1))
    assert [outcome.rank for outcome in result.outcomes] == [0, 1]
    assert all(outcome.error is None for outcome in result.outcomes)


CAPTURED = SAMPLES / "captured"


def test_a_dump_of_captured_graphs_that_lists_entries_when_they_begin_is_placed() -> None:
    dump = read_dump(next((CAPTURED / "mix" / "step0").iterdir()))
    give_places(dump)
    parents = {n.name: n.parent.name for n in subtree(build_tree(dump).root) if n.parent}
    root, block = "Module.__root__.Net.forward.0", "Module.layers.0.Block.forward.0"
    assert parents["Module.emb.Embedding.forward.0"] == parents[block] == root
    assert parents["Aten.embedding.0.forward"] == "Module.emb.Embedding.forward.0"
    assert parents["Module.layers.0.norm.LayerNorm.forward.0"] == block
    assert parents["Aten.gelu.1.forward"] == "Module.layers.1.mlp.act.GELU.forward.0"
    assert parents["Aten.linear.4.forward"] == "Module.head.Linear.forward.0"
    assert len(parents) == len(dump.ranges)


@pytest.mark.parametrize(
    ("problem", "named"),
    [("problem", "Module.layers.0.mlp.down.Linear.forward.0"), ("nan", "Module.head.Linear")],
)
def test_the_first_wrong_module_of_captured_graphs_is_named(
    problem: str, named: str, tmp_path: Path
) -> None:
    found = findings(CAPTURED / problem, CAPTURED / "bench", tmp_path)
    assert found[0].startswith(named)
