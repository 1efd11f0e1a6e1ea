"""Why a node has no partner."""

from __future__ import annotations

from pathlib import Path

from builder.dump.reader import read_dump
from builder.match.nodes import match_trees
from builder.match.tree import Tree, build_tree
from tests.builder.dumps import Json, forward, write_dump


def _modules(folder: Path, *names: str) -> Tree:
    data: Json = {f"Module.{name}.forward.0": forward([], []) for name in names}
    return build_tree(read_dump(write_dump(folder, data, dict.fromkeys(data))))


def test_a_renamed_module_names_the_first_of_its_class_without_a_partner(tmp_path: Path) -> None:
    ours = _modules(tmp_path / "a", "same.Linear", "old.Linear", "lone.ReLU")
    theirs = _modules(tmp_path / "b", "same.Linear", "new.Linear", "newer.Linear")
    matching = match_trees(ours, theirs)

    reasons = {node.name: why for node, why in matching.reason.items()}
    assert reasons["Module.old.Linear.forward.0"] == "renamed:Module.new.Linear.forward.0"
    assert reasons["Module.lone.ReLU.forward.0"] == "absent"
    assert reasons["Module.newer.Linear.forward.0"] == "renamed:Module.old.Linear.forward.0"
