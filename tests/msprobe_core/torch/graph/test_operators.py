"""The operators that a graph may hold stay in it while torch takes others apart."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch._subclasses.functional_tensor import FunctionalTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

from msprobe_core.torch.graph import operators


def marked(x: Tensor, owner: Tensor) -> Tensor:
    """All marks that inductor's graphs get, with a gradient that nobody has sent."""
    ops = torch.ops.msprobe
    ops.late_begin(owner, 1)
    ops.late_value(x, owner, "input_args/0", False)
    ops.late_call(x, 2, "input_args/0", False, True)
    ops.late_call_gradient(x, 2, "output/0")
    ops.late_call_gradient(None, 2, "output/1")
    ops.late_gradient(x, owner, "output/0")
    ops.late_gradient(None, owner, "output/1")
    ops.late_end(owner)
    return x + 1


def test_a_trace_that_takes_operators_apart_keeps_every_mark() -> None:
    operators.define_operators()
    with FunctionalTensorMode():
        graph = make_fx(marked, tracing_mode="fake")(torch.ones(3), torch.tensor(1)).graph
    kept = [str(node.target) for node in graph.nodes if "msprobe" in str(node.target)]
    assert len(kept) == 8


@pytest.mark.parametrize("name", operators._SCHEMAS)
def test_no_operator_stands_for_others(name: str) -> None:
    operators.define_operators()
    for each in (name, f"{operators.MARK}{name}"):
        assert not getattr(torch.ops.msprobe, each).default._can_decompose()
