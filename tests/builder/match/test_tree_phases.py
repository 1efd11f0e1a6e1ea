"""The parts of a step in the order in which one can be the cause of another."""

from __future__ import annotations

from pathlib import Path

from builder.dump.reader import read_dump
from builder.match.tree import build_tree
from tests.builder.dumps import backward, forward, tensor, write_dump

MODULE = "Module.layer.Linear"


def ordered(tmp_path: Path, *names: str) -> list[str]:
    """Entries that were recorded in this order, in that of causes."""
    made = {
        name: (backward if ".backward" in name else forward)([tensor(1)], [tensor(1)])
        for name in names
    }
    tree = build_tree(read_dump(write_dump(tmp_path, made, dict.fromkeys(names))))
    nodes = (node for node in tree.in_order if node.entry is not None)
    return [n.name for n in sorted(nodes, key=lambda n: n.in_step)]


def test_passes_that_no_update_parts_have_their_parts_together(tmp_path: Path) -> None:
    """As of micro-batches whose gradients are added up."""
    first, second = f"{MODULE}.forward.0", f"{MODULE}.forward.1"
    back, again, update = f"{MODULE}.backward.0", f"{MODULE}.backward.1", "Tensor.sub_.0.forward"
    recorded = (first, back, second, again, update)
    assert ordered(tmp_path, *recorded) == [first, second, back, again, update]


def test_a_pass_behind_an_update_comes_behind_it(tmp_path: Path) -> None:
    """As of a model that is evaluated after it was trained, in one recorded step."""
    first, second = f"{MODULE}.forward.0", f"{MODULE}.forward.1"
    back, update, loss = f"{MODULE}.backward.0", "Tensor.sub_.0.forward", "Tensor.sum.0.forward"
    recorded = (first, back, update, second, loss)
    assert ordered(tmp_path, *recorded) == [first, back, update, second, loss]
