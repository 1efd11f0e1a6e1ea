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
from tests.builder.dumps import Json, backward, forward, tensor, write_dump

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


@pytest.mark.parametrize("follows", [True, False], ids=["tensors followed", "values alone"])
def test_a_gradient_comes_from_the_call_that_handed_it_on(tmp_path: Path, follows: bool) -> None:
    add, inner, head, left, right = (f"Torch.{x}.0" for x in ("add", "sum", "head", "left", "far"))
    source = f"{head}.backward.output.0" if follows else None
    handed = [tensor(9.0), tensor(9.0)]
    data = {
        f"{right}.forward": forward([], [tensor(3.0)]),
        f"{left}.forward": forward([], [tensor(2.0)]),
        f"{inner}.forward": forward([read(2.0), tensor(2.5)], [tensor(4.0)]),
        f"{add}.forward": forward([read(4.0), read(3.0)], [tensor(5.0)]),
        f"{head}.forward": forward([read(5.0)], [tensor(6.0)]),
        f"{head}.backward": backward([tensor(8.0)], [tensor(9.0)]),
        f"{add}.backward": backward([read(9.0, source)], handed),
        f"{inner}.backward": backward([read(9.0, source)], handed),
        f"{left}.backward": backward([read(9.0, source)], [tensor(7.0)]),
        f"{right}.backward": backward([read(9.0, source)], [tensor(7.5)]),
    }
    back = {(p, c) for p, c, _ in edges(recorded(tmp_path, data)) if p.endswith("backward")}
    ways = ((head, add), (add, inner), (add, right), (inner, left))
    assert back == {(f"{one}.backward", f"{other}.backward") for one, other in ways}


def test_a_gradient_that_all_calls_hand_on_comes_from_the_nearest_that_read_the_output(
    tmp_path: Path,
) -> None:
    names = [f"Torch.add.{at}" for at in range(6)]
    data: Json = {
        f"{name}.forward": forward([tensor(10.0 + at)], [tensor(11.0 + at)])
        for at, name in enumerate(names)
    }
    # Beside the chain two calls read what the second one put out; the later one runs back first.
    data["Torch.mul.0.forward"] = forward([tensor(12.0)], [tensor(50.0)])
    for name in ("Torch.mul.0", *reversed(names)):
        data[f"{name}.backward"] = backward([tensor(3.0)], [tensor(3.0)])
    found = edges(recorded(tmp_path, data))

    back = {(p, c) for p, c, _ in found if c.endswith("backward") and p.endswith("backward")}
    assert back == {(f"{names[at + 1]}.backward", f"{names[at]}.backward") for at in range(5)} | {
        ("Torch.mul.0.backward", f"{names[5]}.backward")
    }


@pytest.mark.parametrize("put_out", [1, 5])
def test_of_a_gradient_put_out_several_times_the_last_is_meant(
    tmp_path: Path, put_out: int
) -> None:
    data = {
        "Torch.a.0.forward": forward([tensor(1.0)], [tensor(2.0)]),
        "Torch.b.0.forward": forward([tensor(2.0)], [tensor(4.0)]),
        "Torch.c.0.forward": forward([tensor(8.0)], [tensor(9.0)]),
        "Torch.b.0.backward": backward([tensor(7.0)], [tensor(3.0)] * put_out),
        "Torch.c.0.backward": backward([tensor(6.0)], [tensor(3.0)]),
        "Torch.a.0.backward": backward([tensor(3.0)], [tensor(5.0)]),
    }
    tree = recorded(tmp_path, data)
    forms = Forms()
    columns = columns_of(tree.dump.values, forms)
    flow = flow_of(tree, columns, forms.listed())
    reader = tree.by_name["Torch.a.0.backward"]
    (place,) = [at for at, node in enumerate(flow.consumer) if node == reader.exec_order]

    maker = tree.by_name["Torch.b.0.backward"]
    assert flow.producer[place] == maker.exec_order
    assert flow.output[place] == maker.values[1] - 1
