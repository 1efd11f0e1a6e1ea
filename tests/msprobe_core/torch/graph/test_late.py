"""Marks of a trace become records of a finished graph, and rows of its runs the order of calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._functorch.compile_utils import fx_graph_cse
from torch.fx import Graph, GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx

from msprobe_core.torch.graph.graph_entries import record_text
from msprobe_core.torch.graph.late_plans import (
    LATE_SITES,
    Event,
    LateSite,
    Plan,
    place_records,
    take_marks,
)
from msprobe_core.torch.graph.late_runs import LateRuns
from msprobe_core.torch.graph.log import GraphLog, Note, Row
from msprobe_core.torch.graph.operators import define_operators, use_log
from msprobe_core.torch.measure.numbers import Measured, measure_now

aten = torch.ops.aten
OWNERS = (11, 12)


def two_modules(x: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """What dynamo leaves of two modules: y = exp(x) as a row, then z = 2 y."""
    ops = torch.ops.msprobe
    ops.late_begin(first, 3)
    ops.late_value(x, first, "input_args/0", True)
    y = x.exp().view(1, -1)
    ops.late_value(y, first, "output/0", True)
    ops.late_end(first)
    ops.late_begin(second, 4)
    z = y * 2
    ops.late_call(z, 7, "output/0", False, True)
    ops.late_value(z, second, "output/0", True)
    ops.late_end(second)
    return z


def traced() -> Any:
    define_operators()
    given = (torch.ones(3), *(torch.tensor(number) for number in OWNERS))
    return make_fx(two_modules)(*given)


@pytest.fixture
def log() -> Iterator[GraphLog]:
    made = GraphLog()
    made.switch(forward=True, gradients=True)
    use_log(made)
    yield made
    use_log(None)


def run(graph: Any, x: Tensor) -> None:
    graph.recompile()
    graph(x, *(torch.tensor(number) for number in OWNERS))


def told(rows: list[Row]) -> list[tuple[int, str, str]]:
    return [(row.owner, row.note.kind, row.note.place) for row in LateRuns().in_order(rows)]


IN_ORDER = [
    (11, "begin", ""),
    (11, "value", "input_args/0"),
    (11, "value", "output/0"),
    (11, "end", ""),
    (12, "begin", ""),
    (7, "value", "output/0"),
    (12, "value", "output/0"),
    (12, "end", ""),
]


def test_passes_see_no_mark_and_a_finished_graph_has_all_records(log: GraphLog) -> None:
    graph = traced()
    take_marks(graph.graph)
    assert not any("msprobe" in str(node.target) for node in graph.graph.nodes)
    place_records(graph.graph)
    graph.graph.lint()
    run(graph, torch.arange(3.0))
    rows = log.take()
    assert told(rows) == IN_ORDER
    seen = [row for row in LateRuns().in_order(rows) if row.note.dtype is not None]
    assert [row.note.shape for row in seen] == [(3,), (1, 3), (1, 3), (1, 3)]
    exact = torch.arange(3.0).exp().norm().item()
    norms = [float(row.numbers.text.rpartition(" ")[2]) for row in seen]
    assert norms[1:] == pytest.approx([exact, 2 * exact, 2 * exact])
    assert seen[0].note.requires_grad and not seen[2].note.requires_grad


def test_a_value_at_several_places_is_read_once(
    log: GraphLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[list[float]] = []

    def measured(value: Tensor, all_digits: bool) -> Measured:
        read.append(value.flatten().tolist())
        return measure_now(value, all_digits)

    monkeypatch.setattr("msprobe_core.torch.graph.log.measure_now", measured)
    graph = traced()
    take_marks(graph.graph)
    place_records(graph.graph)
    run(graph, torch.arange(3.0))
    y = torch.arange(3.0).exp()
    assert sorted(read) == sorted([[0.0, 1.0, 2.0], y.tolist(), (y * 2).tolist()])
    assert told(log.take()) == IN_ORDER


def test_records_add_no_reader_to_a_value_that_one_node_reads(log: GraphLog) -> None:
    """Inductor may write what has more readers to memory, rounded. Results it writes anyway."""
    graph = traced()
    take_marks(graph.graph)
    before = {node.name: len(node.users) for node in graph.graph.nodes}
    place_records(graph.graph)
    inner = {aten.exp.default, aten.view.default}
    once = [n for n in graph.graph.nodes if n.target in inner and n.name in before]
    assert len(once) == 2
    assert all(before[node.name] == len(node.users) == 1 for node in once)
    # Inductor writes what a record reads to memory before others read it: it is read by no other.
    rows = [n for n in graph.graph.nodes if n.target is torch.ops.msprobe.row.default]
    seen = {row.args[0] for row in rows if row.args[0].op != "placeholder"}
    assert len(seen) == 2
    assert all(user in rows for node in seen for user in node.users)


def one_product(x: Tensor, first: Tensor, second: Tensor) -> Tensor:
    ops = torch.ops.msprobe
    ops.late_begin(first, 3)
    chance = torch.rand_like(x) @ x
    ops.late_value(chance, first, "output/0", True)
    ops.late_end(first)
    return chance.sum() * 2


def test_chance_and_products_are_computed_once(log: GraphLog) -> None:
    define_operators()
    graph = make_fx(one_product)(torch.ones(3, 3), *map(torch.tensor, OWNERS))
    take_marks(graph.graph)
    place_records(graph.graph)
    targets = [node.target for node in graph.graph.nodes]
    assert targets.count(aten.rand_like.default) == targets.count(aten.mm.default) == 1
    torch.manual_seed(0)
    run(graph, torch.ones(3, 3))
    torch.manual_seed(0)
    exact = (torch.rand(3, 3) @ torch.ones(3, 3)).norm().item()
    (row,) = (row for row in LateRuns().in_order(log.take()) if row.note.dtype is not None)
    assert float(row.numbers.text.rpartition(" ")[2]) == pytest.approx(exact)


@pytest.mark.parametrize(("summed", "times"), [(4, 2), (16, 1)])
def test_a_short_product_by_a_column_gets_no_further_reader(
    summed: int, times: int, log: GraphLog
) -> None:
    """Inductor writes it out within its reader, in bfloat16 without rounding it."""

    def product(x: Tensor, first: Tensor) -> Tensor:
        ops = torch.ops.msprobe
        ops.late_begin(first, 3)
        made = torch.bmm(x, x[:, :1].transpose(1, 2))
        ops.late_value(made, first, "output/0", True)
        ops.late_end(first)
        return made * 2

    define_operators()
    graph = make_fx(product)(torch.ones(2, 3, summed), torch.tensor(OWNERS[0]))
    take_marks(graph.graph)
    place_records(graph.graph)
    products = [node for node in graph.graph.nodes if node.target is aten.bmm.default]
    assert len(products) == times
    if times == 2:
        assert len(products[0].users) == 1


def test_the_order_in_which_rows_come_does_not_matter_and_each_run_has_its_own(
    log: GraphLog,
) -> None:
    graph = traced()
    take_marks(graph.graph)
    place_records(graph.graph)
    run(graph, torch.zeros(3))
    first = log.take()
    run(graph, torch.ones(3))
    second = log.take()
    foreign = Row(5, Note("begin"))
    assert told([*first[::-1], *second, foreign]) == [*IN_ORDER, *IN_ORDER, (5, "begin", "")]


def the_same_twice(x: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """Two modules that compute the same of one value, as many a block does of a condition."""
    ops = torch.ops.msprobe
    made = []
    for module in (first, second):
        ops.late_begin(module, 3)
        y = x.float().exp() * 2
        ops.late_value(y, module, "output/0", True)
        ops.late_end(module)
        made.append(y)
    return made[0] + made[1]


@pytest.mark.parametrize("kept", [False, True])
def test_what_is_computed_once_for_several_is_recorded_for_each(kept: bool, log: GraphLog) -> None:
    define_operators()
    graph = make_fx(the_same_twice)(torch.ones(3), *map(torch.tensor, OWNERS))
    take_marks(graph.graph)
    made = graph if kept else GraphModule(graph, fx_graph_cse(graph.graph))
    made.graph.eliminate_dead_code()
    assert len([n for n in made.graph.nodes if n.target is aten.exp.default]) == 1 + kept
    place_records(made.graph)
    run(made, torch.arange(3.0))
    rows = [row for row in LateRuns().in_order(log.take()) if row.note.kind == "value"]
    assert [row.owner for row in rows] == [*OWNERS]
    assert not any(row.fused for row in rows) and rows[0].numbers == rows[1].numbers


def users_of(graph: Graph, target: object) -> Node:
    return next(node for node in graph.nodes if node.target is target)


def test_a_view_that_a_pass_removes_is_recorded_before_it_in_its_own_shape(log: GraphLog) -> None:
    graph = traced()
    take_marks(graph.graph)
    view = users_of(graph.graph, aten.view.default)
    view.replace_all_uses_with(view.args[0])  # type: ignore[arg-type]
    graph.graph.erase_node(view)
    place_records(graph.graph)
    run(graph, torch.ones(3))
    rows = list(LateRuns().in_order(log.take()))
    assert next(row.note.shape for row in rows if row.note.place == "output/0") == (1, 3)
    assert not any(row.fused for row in rows)


def test_what_a_pass_fuses_away_is_said_in_its_place(log: GraphLog) -> None:
    graph = traced()
    take_marks(graph.graph)
    fuse_exponential_and_product(graph.graph)
    place_records(graph.graph)
    run(graph, torch.ones(3))
    rows = list(LateRuns().in_order(log.take()))
    fused = [(row.owner, row.note.place) for row in rows if row.fused]
    assert fused == [(11, "output/0")]
    text = record_text(next(row for row in rows if row.fused))
    assert '"shape": [1, 3]' in text and text.endswith('"fused": true}') and '"Max": null' in text


def fuse_exponential_and_product(graph: Graph) -> None:
    """Put exp2(x log2(e) + 1) in the place of 2 exp(x), as a pass that hands on what is noted."""
    product = users_of(graph, aten.mul.Tensor)
    x = next(iter(graph.nodes))
    with graph.inserting_before(product):
        view = graph.call_function(aten.view.default, (x, [1, -1]))
        scaled = graph.call_function(aten.mul.Tensor, (view, 1.4426950408889634))
        shifted = graph.call_function(aten.add.Tensor, (scaled, 1.0))
        fused = graph.call_function(aten.exp2.default, (shifted,))
    fused.meta = dict(product.meta)
    product.replace_all_uses_with(fused)
    graph.erase_node(product)
    graph.eliminate_dead_code()


def test_a_backward_run_belongs_to_the_last_forward_run_that_has_none() -> None:
    plan = Plan()
    plan.events += [
        Event(Note("begin"), owner=0),
        Event(Note("end"), owner=0),
        Event(Note("gradient", place="output/0"), owner=0),
    ]
    at = len(LATE_SITES)
    LATE_SITES.extend([LateSite(plan, owner=0), LateSite(plan, event=2)])
    begins = [Row(owner, Note("begin", late=at)) for owner in OWNERS]
    gradient = Row(-1, Note("gradient", place="output/0", late=at + 1))
    assert told([*begins, gradient, gradient]) == [
        (11, "begin", ""),
        (11, "end", ""),
        (12, "begin", ""),
        (12, "end", ""),
        (12, "gradient", "output/0"),
        (11, "gradient", "output/0"),
    ]
    assert told([gradient]) == []  # its forward pass was not recorded
