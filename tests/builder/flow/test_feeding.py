"""Every value that was read is traced to the call that put it out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from builder.compare.columns import columns_of
from builder.dump.forms import Forms
from builder.dump.reader import read_dump
from builder.flow.feeding import flow_of
from builder.match.tree import Tree, build_tree
from tests.builder.dumps import Json, forward, tensor, write_dump

A, B, C = (f"Torch.op{x}.0.forward" for x in "abc")
MODULE = "Module.act.ReLU.forward.0"


def edges(tree: Tree) -> set[tuple[str, str, bool]]:
    forms = Forms()
    columns = columns_of(tree.dump.values, forms)
    flow = flow_of(tree, columns, forms.listed())
    names = [node.name for node in tree.in_order]
    return {
        (names[p], names[c], bool(e))
        for p, c, e in zip(flow.producer, flow.consumer, flow.exact, strict=True)
    }


def recorded(folder: Path, data: Json, parents: dict[str, str | None] | None = None) -> Tree:
    return build_tree(read_dump(write_dump(folder, data, parents or dict.fromkeys(data))))


def read(norm: float, source: str | None = None) -> Json:
    return tensor(norm) if source is None else tensor(norm, source=source)


def test_equal_values_tell_the_latest_call_before_the_reader(tmp_path: Path) -> None:
    data = {
        A: forward([], [tensor(5.0)]),
        B: forward([read(5.0)], [tensor(5.0), tensor(7.0)]),
        C: forward([read(5.0), read(7.0), read(9.0)], []),
    }
    assert edges(recorded(tmp_path, data)) == {(A, B, False), (B, C, False)}


def test_what_the_dump_says_goes_before_what_values_tell(tmp_path: Path) -> None:
    data = {
        A: forward([], [tensor(5.0)]),
        B: forward([], [tensor(5.0)]),
        C: forward([read(5.0, f"{A}.output.0")], []),
    }
    assert edges(recorded(tmp_path, data)) == {(A, C, True)}


@pytest.mark.parametrize("source", ["Torch.gone.0.forward.output.0", "nonsense", ""])
def test_a_source_that_was_not_recorded_is_left_to_the_values(tmp_path: Path, source: str) -> None:
    data = {A: forward([], [tensor(5.0)]), C: forward([read(5.0, source)], [])}
    assert edges(recorded(tmp_path, data)) == {(A, C, False)}


@pytest.mark.parametrize("source", [None, f"{MODULE}.output.0"])
def test_a_module_hides_no_call_inside_it(tmp_path: Path, source: str | None) -> None:
    data: dict[str, Any] = {
        A: forward([], [tensor(5.0)]),
        MODULE: forward([], [tensor(5.0)]),
        C: forward([read(5.0, source)], []),
    }
    tree = recorded(tmp_path, data, {A: MODULE, MODULE: None, C: None})
    assert edges(tree) == {(A, C, source is not None)}


def test_a_module_reads_what_was_made_before_it_began(tmp_path: Path) -> None:
    data = {
        A: forward([], [tensor(5.0)]),
        B: forward([read(5.0)], [tensor(5.0)]),
        MODULE: forward([read(5.0)], [tensor(6.0)]),
    }
    tree = recorded(tmp_path, data, {A: None, B: MODULE, MODULE: None})
    assert edges(tree) == {(A, B, False), (A, MODULE, False)}
