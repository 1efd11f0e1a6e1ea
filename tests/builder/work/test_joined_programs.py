"""Joined ranks pair by name alone: what they are not compared by is said, or refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import builder
from builder.errors import InputError
from builder.reasons import MergedByName, UnknownKind
from builder.work.options import BuildOptions
from tests.builder.run.units.runs import layout
from tests.tb_graph_ascend.view.ports import port


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    own = layout(tmp_path / "own", 2, fault=True)
    ranks = port(own, tmp_path / "p", [("Module.a.", "Module.z.")])
    return ranks, layout(tmp_path / "b", 1)


def test_ranks_of_another_program_are_said_to_pair_by_name(
    tmp_path: Path, sides: tuple[Path, Path]
) -> None:
    result = builder.build(*sides, tmp_path / "o")
    assert MergedByName(0.0) in result.summary
    assert result.outcomes[0].kind == UnknownKind(0.0)
    assert any("-lm" in line for line in builder.diagnose(result.path).summary)


def test_ranks_of_one_program_have_no_such_note(tmp_path: Path) -> None:
    paths = layout(tmp_path / "p", 2), layout(tmp_path / "b", 1)
    result = builder.build(*paths, tmp_path / "o")
    assert not any(isinstance(note, MergedByName) for note in result.summary)


def test_layers_that_a_person_pairs_are_compared(tmp_path: Path, sides: tuple[Path, Path]) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("TopLayer:\n  z: a\n")
    options = BuildOptions(layer_mapping=rules)
    result = builder.build(*sides, tmp_path / "o", options)
    assert {finding.name for finding in result.findings} == {"Module.z.Linear.forward.0"}
    assert not any(isinstance(note, MergedByName) for note in result.summary)


def test_weights_are_refused_where_ranks_are_joined(
    tmp_path: Path, sides: tuple[Path, Path]
) -> None:
    with pytest.raises(InputError, match="of ranks that are joined"):
        builder.build(*sides, tmp_path / "o", BuildOptions(same="model"))


def test_weights_by_hand_are_too(tmp_path: Path, sides: tuple[Path, Path]) -> None:
    mapping = tmp_path / "m.mapping.json"
    told = {"problem": ["z.weight"], "benchmark": ["a.weight"]}
    mapping.write_text(json.dumps({"version": 1, "weights": [told]}))
    result = builder.build(*sides, tmp_path / "o", BuildOptions(manual_mapping=mapping))
    assert len(result.failed) == 2
    assert all("of ranks that are joined" in str(each.error) for each in result.failed)
