"""Which call puts out the first NaN: of values that hold it, whatever the levels say."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from builder.results.records import Measure, Node, NodeDetails, Value
from tb_graph_ascend.view.nonfinite import first_nonfinite
from tests.tb_graph_ascend.conftest import Site


def test_first_nan_is_named_with_what_it_was_made_of(site_of: Callable[..., Site]) -> None:
    site = site_of("nan/problem", "statistics/bench")
    starts = site.get("/pairs/0/0/nonfinite")
    start = starts["problem"]
    listed = site.get("/pairs/0/0/nodes", show="overflow", side="problem")["nodes"]
    outputs = {
        node["name"]: [
            value["problem"]["max"]
            for value in site.get(f"/nodes/{node['id']}")["values"]
            if value["role"] == "output" and value["problem"]
        ]
        for node in sorted(listed, key=lambda node: node["order"])
    }
    assert start["node"]["name"] == next(n for n, found in outputs.items() if "nan" in found)
    assert (start["state"], start["given"]) == ("NaN", None)
    assert starts["benchmark"] is None


def test_what_was_given_already_is_said() -> None:
    finite, inf, nan = 1.0, "inf", "nan"
    grows = _node(1, "high", [("input", finite), ("output", finite)])
    masked = _node(2, "high", [("input", inf), ("output", nan)])
    assert _said([grows, masked]) == (2, "NaN", "input.0", "Inf")
    weight = _node(3, "critical", [("input", finite), ("parameters", nan), ("output", nan)])
    assert _said([weight, masked]) == (3, "NaN", "parameters.0", "NaN")
    # An infinity before the first NaN is no NaN; a level that says clean outputs is not read.
    divides = _node(4, "critical", [("input", finite), ("output", inf)])
    cut = _node(5, "medium", [("input", inf), ("output", nan)])
    assert _said([divides, cut, masked]) == (2, "NaN", "input.0", "Inf")
    assert _said([grows, divides]) == (4, "Inf", None, None)
    assert _said([grows]) is None


def test_infinities_that_a_nan_is_made_of_are_named_where_they_begin() -> None:
    """Others, before a NaN that is made of finite numbers or of NaN, have nothing to do with it."""
    finite, inf, nan = 1.0, "inf", "nan"
    logs = _node(1, "critical", [("input", finite), ("output", "-inf")])
    follows = _node(2, "high", [("input", "-inf"), ("output", inf)])

    def begins(*given: Measure) -> int | None:
        nodes = [logs, follows, _node(3, "high", [*(("input", g) for g in given), ("output", nan)])]
        by_id = {details.node.id: details for details in nodes}
        start = first_nonfinite((details.node for details in nodes), by_id.__getitem__)
        assert start is not None and start.node.id == 3
        return None if start.infinity is None else start.infinity.node.id

    assert begins("-inf") == begins(inf) == 1
    assert begins(finite) is None
    assert begins(inf, nan) is None


def _said(nodes: list[NodeDetails]) -> tuple[object, ...] | None:
    by_id = {details.node.id: details for details in nodes}
    start = first_nonfinite((details.node for details in nodes), by_id.__getitem__)
    if start is None:
        return None
    return (start.node.id, start.state, start.given, start.given_state)


def _node(id_: int, level: str, values: list[tuple[str, Measure]]) -> NodeDetails:
    """A node with one tensor of this largest element in each role."""
    none = dict.fromkeys((*Node.__struct_fields__, *Value.__struct_fields__))
    tensor = none | {"type": "torch.Tensor", "id": 0}
    counts = {"children": 0, "divergent_below": 0, "reasons": [], "recomputed": False}
    numbers = {"graph": 1, "position": 0, "order": id_, "depth": 1, "micro_step": 0}
    words = {"side": "problem", "name": f"Torch.f.{id_}", "label": "f", "kind": "api"}
    own = none | counts | numbers | words | {"id": id_, "overflow": level}
    pairs = [
        {"role": role, "path": "0", "problem": tensor | {"max": most, "min": 0.0, "norm": 1.0}}
        | {"benchmark": None, "score": None, "error": None, "worst": False}
        | {"measures": {}, "differs": []}
        for role, most in values
    ]
    stack = {"problem": None, "benchmark": None}
    rest = {"partner": None, "stack": stack, "communication": []}
    return msgspec.convert({"node": own, "values": pairs, **rest}, NodeDetails)
