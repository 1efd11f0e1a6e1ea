"""A node is said to stand in the nearest module above it, or in the optimizer."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import cast

import pytest

from builder.results.reading import Results
from builder.results.records import Node
from tb_graph_ascend.view.module_path import OPTIMIZER, modules_of

ABOVE = {
    1: ("DefaultModel", None),
    2: ("Module.layers.3.attn.Attention.forward.0", 1),
    3: ("optimizer", 1),
}


def node(number: int, name: str, parent: int | None) -> Node:
    return cast("Node", SimpleNamespace(id=number, name=name, parent=parent))


def known(ids: Iterable[int]) -> list[Node]:
    return [node(number, *ABOVE[number]) for number in ids]


@pytest.mark.parametrize(
    ("name", "parent", "module"),
    [
        ("Functional.softmax.3.forward", 2, "layers.3.attn"),
        ("Tensor.add_.53.forward", 3, OPTIMIZER),
        ("optimizer", 1, OPTIMIZER),
        ("Optimizer.step.0", 1, OPTIMIZER),
        ("Functional.cross_entropy.0.forward", 1, None),
    ],
)
def test_module_of_a_node(name: str, parent: int, module: str | None) -> None:
    database = cast("Results", SimpleNamespace(nodes_by_id=known))
    assert modules_of(database, [node(9, name, parent)]).get(9) == module
