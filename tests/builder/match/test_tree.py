"""The call tree: order, parents, gradients, recomputation, micro-steps, and broken structures."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.dump.reader import read_dump
from builder.match.tree import Tree, build_tree, subtree
from tests.builder.dumps import backward, forward, tensor, write_dump

MODULE = "Module.a.A.forward.0"


def tree(folder: Path, construct: dict[str, object], data: dict[str, object] | None = None) -> Tree:
    return build_tree(read_dump(write_dump(folder, data or {}, construct)))


def names(found: Tree) -> list[str]:
    return [node.name for node in found.in_order]


def test_a_module_stands_where_its_first_call_began(tmp_path: Path) -> None:
    found = tree(
        tmp_path,
        {
            "Torch.first.0.forward": None,
            "Torch.mm.0.forward": MODULE,
            "Torch.between.0.forward": None,
            MODULE: None,
        },
    )
    assert [child.name for child in found.root.children] == [
        "Torch.first.0.forward",
        MODULE,
        "Torch.between.0.forward",
    ]
    assert names(found)[-1] == "DefaultModel"
    assert names(found).index("Torch.mm.0.forward") < names(found).index(MODULE)


def test_gradients_stand_under_their_backward_call(tmp_path: Path) -> None:
    grads = {"weight": [tensor()]}
    data = {
        "Module.a.A.backward.0": backward([tensor()], [tensor()]),
        "Module.a.A.parameters_grad.0": grads,
        "Module.b.B.parameters_grad": grads,
    }
    found = tree(tmp_path, {"Module.a.A.backward.0": None, "Module.b.B.backward.0": None}, data)
    for owner in ("a.A", "b.B"):
        parent = found.by_name[f"Module.{owner}.backward.0"]
        assert [child.label for child in parent.children] == ["parameters_grad"]


def test_backward_entries_show_their_forwards_stack(tmp_path: Path) -> None:
    names = ["Torch.mm.0.forward", "Torch.mm.0.backward"]
    stack = {"0": [[names[0]], ["File a.py, line 1, in f, \n x = 1"]]}
    dump = read_dump(write_dump(tmp_path, {}, dict.fromkeys(names), stack))
    found = build_tree(dump)
    assert found.by_name[names[1]].stack == found.by_name[names[0]].stack == 0
    assert dump.frames == ["File a.py, line 1, in f,   x = 1"]


def test_cycles_and_lost_parents_end_at_the_root(tmp_path: Path) -> None:
    found = tree(
        tmp_path,
        {
            "Module.a.A.forward.0": "Module.b.B.forward.0",
            "Module.b.B.forward.0": "Module.a.A.forward.0",
            "Module.self.S.forward.0": "Module.self.S.forward.0",
            "Torch.mm.0.forward": "Module.lost.L.forward.0",
        },
    )
    assert found.by_name["Torch.mm.0.forward"].parent is found.by_name["Module.lost.L.forward.0"]
    assert len(found.in_order) == 6


def test_a_chain_of_100_000_modules_is_no_recursion(tmp_path: Path) -> None:
    chain = [f"Module.m.M.forward.{i}" for i in range(100_000)]
    found = tree(tmp_path, dict(zip(chain, [None, *chain])))
    assert len(found.in_order) == 100_001
    assert found.by_name[chain[-1]].depth == 100_000


def test_megatron_lists_carry_the_micro_step(tmp_path: Path) -> None:
    found = tree(
        tmp_path,
        {"Module.a.A.forward.0": [None, 0], "Torch.mm.0.forward": [MODULE, 1], "step_count": 2},
    )
    assert found.by_name["Torch.mm.0.forward"].micro_step == 1
    assert found.by_name["Torch.mm.0.forward"].parent is found.by_name[MODULE]
    assert "step_count" not in found.by_name


def test_without_construct_the_calls_stand_in_the_dumps_order(tmp_path: Path) -> None:
    data = {f"Torch.op{i}.0.forward": forward([], [tensor()]) for i in (3, 1, 2)}
    found = build_tree(read_dump(write_dump(tmp_path, data)))
    assert [child.name for child in found.root.children] == list(data)


LABELS = st.integers(0, 12).map(lambda i: f"Module.m{i}.M.forward.0")


@given(st.dictionaries(LABELS, st.none() | LABELS))
def test_every_structure_gives_a_tree_with_each_entry_once(
    tmp_path_factory: pytest.TempPathFactory, construct: dict[str, object]
) -> None:
    found = tree(tmp_path_factory.mktemp("dump"), construct)
    below = subtree(found.root)
    assert len(below) == len({node.name for node in below}) == len(found.in_order)
    assert {*construct} <= {node.name for node in below}
    assert all(child.parent is node for node in below for child in node.children)
    assert sorted(node.exec_order for node in below) == list(range(len(below)))
