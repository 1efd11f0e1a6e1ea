"""Faults that hit one of several equal layers: the right place is that layer and its call.

`HELD_BACK_OF_ONE_LAYER` were not looked at while the others were mended, `UNSEEN_OF_ONE_LAYER` were
written when all was mended, and judged once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import getitem
from typing import Any

import torch
from torch.fx import Graph, Node

from evaluation.compile_faults import stack
from evaluation.compile_faults.faults import Family, Fault, Seeded, aten, decomposed

Change = Callable[[Graph, Node], Node]
"""Makes another node in the place of one, in front of which it is inserted."""
_LATER = 1  # the layer that is hit, of three


@contextmanager
def _passed(key: str, run: Callable[[Graph], bool]) -> Iterator[None]:
    """A pass in that place; it has to change something, or nothing would be tested."""
    from torch._inductor import config

    changed: list[bool] = []
    with config.patch({key: lambda graph: changed.append(run(graph))}):
        yield
    assert any(changed), "the pass has changed no graph"


def rewritten(
    target: object,
    change: Change,
    key: str = "post_grad_custom_pre_pass",
    at: int = _LATER,
) -> Seeded:
    """A pass that puts something else in the place of one node: that of number `at` of its kind."""

    def run(graph: Graph) -> bool:
        is_backward = any(node.name.startswith("tangents") for node in graph.nodes)
        if is_backward and key.startswith("post"):
            return False
        found = [node for node in graph.nodes if _is_of(node, target)]
        if len(found) <= at:
            return False
        _replace(graph, found[at], change)
        return True

    return lambda: _passed(key, run)


def fused(writer: object, reader: object, change: Change, at: int = _LATER) -> Seeded:
    """A pass that makes one step of two: what the first one puts out is nowhere then. `change`
    makes it from the first one's node.
    """

    def run(graph: Graph) -> bool:
        if any(node.name.startswith("tangents") for node in graph.nodes):
            return False
        readers = [node for node in graph.nodes if _is_of(node, reader) and _is_read(node, writer)]
        node = readers[at]
        written = next(each for each in node.all_input_nodes if _is_of(each, writer))
        _replace(graph, node, lambda graph, _: change(graph, written))
        if not written.users:
            graph.erase_node(written)
        return True

    return lambda: _passed("post_grad_custom_pre_pass", run)


def _replace(graph: Graph, node: Node, change: Change) -> None:
    with graph.inserting_before(node):
        new = change(graph, node)
    new.meta = dict(node.meta)
    node.replace_all_uses_with(new)
    graph.erase_node(node)


def _is_read(node: Node, writer: object) -> bool:
    return any(_is_of(each, writer) for each in node.all_input_nodes)


def _is_of(node: Node, target: object) -> bool:
    return node.op in ("call_function", "call_method") and node.target == target


def with_arguments(**by_place: Any) -> Change:
    """The same call with other arguments, given as `a0`, `a1`, …."""

    def change(graph: Graph, node: Node) -> Node:
        given = list(node.args)
        for name, value in by_place.items():
            given[int(name[1:])] = value
        return graph.create_node(node.op, node.target, tuple(given), dict(node.kwargs))

    return change


def scaled(factor: float) -> Change:
    """The same call, and a factor behind it."""

    def change(graph: Graph, node: Node) -> Node:
        made = graph.create_node(node.op, node.target, node.args, dict(node.kwargs))
        made.meta = {"val": node.meta["val"]}
        return graph.call_function(aten.mul.Tensor, (made, factor))

    return change


def first_argument(graph: Graph, node: Node) -> Node:
    """The call is removed: its reader gets what it read."""
    return graph.call_function(aten.clone.default, (node.args[0],))


def in_bfloat16(graph: Graph, node: Node) -> Node:
    """The call computes with operands that are rounded to bfloat16."""
    cast = torch.ops.prims.convert_element_type.default
    given = [
        graph.call_function(
            cast, (graph.call_function(cast, (each, torch.bfloat16)), torch.float32)
        )
        if isinstance(each, Node)
        else each
        for each in node.args
    ]
    return graph.call_function(node.target, tuple(given), dict(node.kwargs))


def without_the_last(graph: Graph, node: Node) -> Node:
    """A reduction over all but the last element."""
    size = node.args[0].meta["val"].shape[-1]
    part = graph.call_function(aten.slice.Tensor, (node.args[0], -1, 0, size - 1))
    return graph.call_function(node.target, (part, *node.args[1:]), dict(node.kwargs))


def over_half(graph: Graph, node: Node) -> Node:
    """A reduction over the first half of the elements."""
    size = node.args[0].meta["val"].shape[-1]
    part = graph.call_function(aten.slice.Tensor, (node.args[0], -1, 0, size // 2))
    return graph.call_function(node.target, (part, *node.args[1:]), dict(node.kwargs))


def read_by_columns(graph: Graph, node: Node) -> Node:
    """A buffer that is read with the strides of its transposed."""
    made = graph.call_function(node.target, node.args, dict(node.kwargs))
    rows, columns = node.meta["val"].shape
    return graph.call_function(
        aten.clone.default,
        (graph.call_function(aten.as_strided.default, (made, [rows, columns], [1, rows])),),
    )


def other(target: Any, *places: int) -> Change:
    """Another operator of some of the operands."""

    def change(graph: Graph, node: Node) -> Node:
        return graph.call_function(target, tuple(node.args[place] for place in places))

    return change


def all_kept(graph: Graph, node: Node) -> Node:
    """What dropout is given, in place of its first result."""
    return graph.call_function(aten.clone.default, (node.args[0].args[0],))


def in_rows_as_they_lie(graph: Graph, node: Node) -> Node:
    """The transposed shape without moving an element."""
    return graph.call_function(aten.reshape.default, (node.args[0], list(node.meta["val"].shape)))


def softplus(graph: Graph, node: Node) -> Node:
    """log1p(exp(x)) as one step, 1 % too large."""
    grown = graph.call_function(aten.exp.default, (node.args[0],))
    made = graph.call_function(aten.log1p.default, (grown,))
    return graph.call_function(aten.mul.Tensor, (made, 1.01))


def halves(target: Any) -> Change:
    """Another operator of half of the first argument."""

    def change(graph: Graph, node: Node) -> Node:
        half = graph.call_function(aten.mul.Tensor, (node.args[0], 0.5))
        return graph.call_function(target, (half,))

    return change


def wrong_silu(x: torch.Tensor) -> torch.Tensor:
    return x * torch.sigmoid(x * 1.002)


def wrong_tanh_backward(gradient: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return gradient * (1 - y * y * 1.01)


def wrong_softmax_backward(
    gradient: torch.Tensor, y: torch.Tensor, dim: int, dtype: torch.dtype
) -> torch.Tensor:
    return y * (gradient - (gradient * y).sum(dim, keepdim=True) * 0.98)


def wrong_sigmoid_backward(gradient: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return gradient * y.sigmoid() * (1 - y.sigmoid())


def _with_a_large_epsilon(graph: Graph, node: Node) -> Node:
    return graph.call_function(node.target, node.args[:2], {"eps": 0.3})


def _one_row_on(graph: Graph, node: Node) -> Node:
    x, (at,) = node.args
    return graph.call_function(
        node.target, (graph.call_function(aten.roll.default, (x, [1], [0])), [at])
    )


def _fault(
    name: str,
    family: Family,
    seeded: Seeded,
    compute: stack.Compute,
    *calls: str,
    layer: int = _LATER,
) -> Fault:
    return Fault(
        name,
        family,
        seeded,
        f"layers.{layer}",
        calls,
        lambda: stack.Stack(compute),
        stack.rows,
    )


_PRE, _JOINT = "pre_grad_custom_pass", "joint_custom_post_pass"
OF_ONE_LAYER = (
    _fault(
        "silu with a factor in its exponent",
        "decomposition",
        lambda: decomposed(aten.silu.default, wrong_silu),
        stack.folded,
        "Functional.silu.0.forward",
        layer=0,
    ),
    _fault(
        "clamp with another bound, before gradients",
        "before gradients",
        rewritten("clamp", with_arguments(a2=0.45), _PRE),
        stack.bounded,
        "Tensor.clamp.1.forward",
        "Tensor.__mul__.1.forward",
    ),
    _fault(
        "softmax over rows, before gradients",
        "before gradients",
        rewritten("softmax", with_arguments(a1=-2), _PRE),
        stack.turned,
        "Tensor.softmax.1.forward",
    ),
    _fault(
        "a factor lost in the joint graph",
        "joint graph",
        rewritten(aten.sin.default, first_argument, _JOINT),
        stack.weighted,
        "Tensor.sin.1.forward",
    ),
    _fault(
        "tanh removed",
        "fusion",
        rewritten(aten.sigmoid.default, first_argument),
        stack.shifted,
        "Tensor.sigmoid.1.forward",
    ),
    _fault(
        "two calls in one, with a wrong sign",
        "pattern",
        rewritten(aten.tanh.default, scaled(-1.0)),
        stack.running,
        "Tensor.tanh.1.forward",
    ),
    _fault(
        "a product of rounded operands",
        "cast",
        rewritten(aten.mm.default, in_bfloat16, at=2),
        stack.turned,
        "Tensor.__matmul__.2.forward",
    ),
    _fault(
        "a buffer read with other strides",
        "layout",
        rewritten(aten.tanh.default, read_by_columns),
        stack.squashed,
        "Tensor.tanh.1.forward",
    ),
    _fault(
        "mean over all but one",
        "reduction",
        rewritten(aten.mean.dim, without_the_last),
        stack.pooled,
        "Tensor.mean.1.forward",
    ),
    _fault(
        "maximum over one half",
        "reduction",
        rewritten(aten.amax.default, over_half),
        stack.largest,
        "Tensor.amax.1.forward",
    ),
    _fault(
        "a folded constant of another value",
        "constant",
        rewritten(aten.full.default, with_arguments(a1=0.51), at=0),
        stack.weighted,
        "Torch.full.0.forward",
        "Tensor.__mul__.0.forward",
        layer=0,
    ),
    _fault(
        "a write in place that is lost",
        "alias",
        rewritten(aten.slice_scatter.default, first_argument),
        stack.written,
        "Tensor.__setitem__.1.forward",
    ),
    _fault(
        "an index that is added once for two",
        "alias",
        rewritten(aten.index_put.default, with_arguments(a3=False)),
        stack.added_up,
        "Tensor.index_add.1.forward",
    ),
    _fault(
        "dropout that keeps everything",
        "chance",
        rewritten(getitem, all_kept, at=2),
        stack.dropped,
        "Functional.dropout.1.forward",
    ),
    _fault(
        "a gradient of tanh 1 % off",
        "backward",
        lambda: decomposed(aten.tanh_backward.default, wrong_tanh_backward),
        stack.squashed,
        "Tensor.tanh.2.backward",
        layer=2,
    ),
    _fault(
        "a size taken for another",
        "shape",
        rewritten(aten.div.Tensor, with_arguments(a1=8)),
        stack.divided,
        "Tensor.__truediv__.1.forward",
    ),
    _fault(
        "a sine of a rounded operand",
        "cast",
        rewritten(aten.sin.default, in_bfloat16),
        stack.weighted,
        "Tensor.sin.1.forward",
    ),
    _fault(
        "exp and log1p in one step",
        "pattern",
        fused(aten.exp.default, aten.log1p.default, softplus),
        stack.chosen,
        "Tensor.exp.1.forward",
    ),
    _fault(
        "a sum and its tanh in one step",
        "pattern",
        fused(aten.cumsum.default, aten.tanh.default, halves(aten.tanh.default)),
        stack.running,
        "Tensor.tanh.1.forward",  # the running sum is kept for the backward pass, and agrees
    ),
    _fault(
        "a mask that lets one more pass",
        "mask",
        rewritten(aten.gt.Scalar, with_arguments(a1=-0.1)),
        stack.chosen,
        "Tensor.__gt__.1.forward",
        "Torch.where.1.forward",
    ),
)
HELD_BACK_OF_ONE_LAYER = (
    _fault(
        "a factor behind a variance",
        "reduction",
        rewritten(aten.var.correction, scaled(1.01)),
        stack.spread,
        "Tensor.var.1.forward",
    ),
    _fault(
        "a sum over all but one",
        "reduction",
        rewritten(aten.sum.dim_IntList, without_the_last),
        stack.summed,
        "Tensor.sum.1.forward",
    ),
    _fault(
        "exp taken for its argument",
        "pattern",
        rewritten(aten.log1p.default, other(aten.relu.default, 0)),
        stack.chosen,
        "Tensor.log1p.1.forward",
    ),
    _fault(
        "softplus taken for another, before gradients",
        "before gradients",
        rewritten(torch.nn.functional.softplus, other(torch.relu, 0), _PRE),
        stack.softened,
        "Functional.softplus.1.forward",
    ),
    _fault(
        "a scatter that overwrites",
        "alias",
        rewritten(aten.scatter_add.default, other(aten.scatter.src, 0, 1, 2, 3)),
        stack.spread_over,
        "Tensor.scatter_add.1.forward",
    ),
    _fault(
        "a count that forgets one",
        "reduction",
        rewritten(aten.sum.dim_IntList, without_the_last),
        stack.counted,
        "Tensor.sum.1.forward",
    ),
    _fault(
        "a gradient of softmax without all of its sum",
        "backward",
        lambda: decomposed(aten._softmax_backward_data.default, wrong_softmax_backward),
        stack.turned,
        "Tensor.softmax.2.backward",
        layer=2,
    ),
    _fault(
        "a matrix that is not transposed",
        "layout",
        rewritten(aten.permute.default, in_rows_as_they_lie, at=3),
        stack.turned,
        "Tensor.__matmul__.2.forward",
        "Tensor.transpose.1.forward",
    ),
    _fault(
        "a constant factor that is folded twice",
        "constant",
        rewritten(aten.mul.Tensor, with_arguments(a1=2.25)),
        stack.folded,
        "Tensor.__mul__.1.forward",
    ),
    _fault(
        "a row's sum and its tanh in one step",
        "pattern",
        fused(
            aten.sum.dim_IntList,
            aten.tanh.default,
            lambda g, n: g.call_function(
                aten.mul.Tensor,
                (g.call_function(aten.sum.dim_IntList, (n.args[0], [-1], True)), 0.5),
            ),
        ),
        stack.summed,
        "Tensor.sum.1.forward",
    ),
    _fault(
        "a factor in the joint graph",
        "joint graph",
        rewritten(aten.exp.default, scaled(1.01), _JOINT),
        stack.chosen,
        "Tensor.exp.1.forward",
    ),
    _fault(
        "dropout with another probability",
        "chance",
        rewritten(aten.native_dropout.default, with_arguments(a1=0.5)),
        stack.dropped,
        "Functional.dropout.1.forward",
    ),
)
UNSEEN_OF_ONE_LAYER = (
    _fault(
        "halves that are joined the other way round",
        "layout",
        rewritten(aten.cat.default, lambda g, n: g.call_function(n.target, (n.args[0][::-1], -1))),
        stack.rotated,
        "Tensor.__add__.3.forward",  # joining has no values at this risk level: its reader
    ),
    _fault(
        "a group norm of too large an epsilon, before gradients",
        "before gradients",
        rewritten(torch.nn.functional.group_norm, _with_a_large_epsilon, _PRE),
        stack.grouped,
        "Functional.group_norm.1.forward",
    ),
    _fault(
        "an index that is one row off",
        "shape",
        rewritten(aten.index.Tensor, _one_row_on),
        stack.gathered,
        "Tensor.index_select.1.forward",
    ),
    _fault(
        "a smaller one taken for a larger",
        "pattern",
        rewritten(aten.minimum.default, other(aten.maximum.default, 0, 1)),
        stack.gathered,
        "Tensor.minimum.1.forward",
    ),
    _fault(
        "scores that are scattered unchanged",
        "alias",
        rewritten(aten.scatter.src, first_argument),
        stack.sorted_by,
        "Tensor.__add__.2.forward",  # nor has scattering
    ),
    _fault(
        "an arc tangent of a rounded operand",
        "cast",
        rewritten(aten.atan.default, in_bfloat16),
        stack.scored,
        "Tensor.atan.1.forward",
    ),
    _fault(
        "a gradient of sigmoid that takes its output for its input",
        "backward",
        lambda: decomposed(aten.sigmoid_backward.default, wrong_sigmoid_backward),
        stack.rotated,
        "Tensor.sigmoid.4.backward",
        "Tensor.sigmoid.5.backward",
        layer=2,
    ),
    _fault(
        "a product of two masks that is a sum",
        "mask",
        rewritten(aten.bitwise_and.Tensor, other(aten.bitwise_or.Tensor, 0, 1)),
        stack.gated,
        "Tensor.__and__.1.forward",
        "Torch.where.1.forward",
    ),
)
