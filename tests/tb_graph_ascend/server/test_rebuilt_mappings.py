"""Pairs by hand that a result was built with: known, kept, taken out for the next build."""

from __future__ import annotations

from pathlib import Path

import pytest

import builder
from builder import BuildOptions
from builder.match.manual_file import MappedPair, mapping_path, read_mapping, write_mapping
from tests.tb_graph_ascend.conftest import Site

OURS = "Module.layers.0.ffn.MLP.forward.0"
THEIRS = "Module.layers.0.mlp.MLP.forward.0"


@pytest.fixture
def rebuilt(renamed: Site, samples: Path, tmp_path: Path) -> Site:
    """The same comparison, built with a pair made by hand."""
    path = tmp_path / "first.mapping.json"
    write_mapping(path, [MappedPair(OURS, THEIRS, descendants=True)])
    dumps = samples / "renamed/problem", samples / "statistics/bench"
    options = BuildOptions(manual_mapping=path, workers=1)
    builder.build(*dumps, tmp_path, options).path.replace(renamed.file)
    return renamed


def test_rebuilt_result_knows_the_pairs_it_was_built_with(rebuilt: Site) -> None:
    mappings = rebuilt.get("/mappings")
    assert [pair["problem"] for pair in mappings["pairs"]] == [OURS]
    assert mappings["changed"] == rebuilt.get("/answer")["changed_pairs"] == 0
    assert not mapping_path(rebuilt.file).exists()


def test_pairs_made_after_a_rebuild_do_not_drive_out_those_before(rebuilt: Site) -> None:
    later = {"problem": OURS.replace(".0.", ".1.", 1), "benchmark": THEIRS.replace(".0.", ".1.", 1)}
    result = rebuilt.send("PATCH", "/mappings", {"add": [later]})
    assert (result["refused"], result["mappings"]["changed"]) == ([], 1)
    assert len(read_mapping(mapping_path(rebuilt.file))) == 2
    assert rebuilt.get("/answer")["changed_pairs"] == 1


def test_pair_of_the_build_is_taken_out_for_the_next_build(rebuilt: Site) -> None:
    inner = rebuilt.named("Module.layers.0.ffn.linear_fc1.Linear.forward.0")
    assert inner["match_reason"] == "manual"
    result = rebuilt.send("DELETE", "/mappings", {"problem": inner["id"]})
    assert (result["mappings"]["pairs"], result["mappings"]["changed"]) == ([], 1)
    assert rebuilt.named(OURS)["match_reason"] == "manual"  # until it is built again
