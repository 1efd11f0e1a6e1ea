"""Why a node has no partner."""

from __future__ import annotations

from pathlib import Path

from builder.dump.reader import read_dump
from builder.match.nodes import match_trees
from builder.match.tree import Tree, build_tree
from tests.builder.dumps import Json, backward, forward, write_dump


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


def test_recomputed_is_only_what_ran_before(tmp_path: Path) -> None:
    """A checkpoint runs a module or a call again; a backward of one's own calls something else."""
    calls = "Module.up.Up.forward.0", "Module.up.Up.backward.0"
    both = {calls[0]: forward([], []), calls[1]: backward([], [])}
    gelu, again = "Torch.gelu.0.forward", "Torch.gelu.1.forward"
    divided, inside = "Tensor.__div__.0.forward", "Torch.tanh.0.forward"
    module, module_again = (f"Module.up.act.Act.forward.{call}" for call in (0, 1))
    ours: Json = both | {
        name: forward([], []) for name in (gelu, module, again, module_again, divided, inside)
    }
    parents = {
        **dict.fromkeys(both),
        gelu: calls[0],
        module: calls[0],
        again: calls[1],
        module_again: calls[1],
        divided: calls[1],
        inside: module_again,
    }
    theirs: Json = both | {name: forward([], []) for name in (gelu, module)}
    trees = [
        build_tree(read_dump(write_dump(tmp_path / name, data, {n: parents[n] for n in data})))
        for name, data in (("a", ours), ("b", theirs))
    ]
    why = {node.name: reason for node, reason in match_trees(*trees).reason.items()}
    assert {why[name] for name in (again, module_again, inside)} == {"recomputed"}
    assert why[divided] == "absent"
