"""Which steps of inductor's scheduler are there for records alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import torch

from msprobe_core.torch.graph.late_fusion import is_for_records
from msprobe_core.torch.graph.operators import define_operators

OUTPUT = SimpleNamespace(get_name=lambda: "OUTPUT")


@dataclass(eq=False)
class Step:
    """As much of a scheduler's node as is asked for."""

    name: str
    readers: list[Any] = field(default_factory=list)
    node: Any = None

    def get_name(self) -> str:
        return self.name

    def get_nodes(self) -> list[Step]:
        return [self]

    def get_outputs(self) -> list[Any]:
        return [SimpleNamespace(users=[SimpleNamespace(node=each) for each in self.readers])]


def test_a_step_is_for_records_when_nothing_else_comes_of_it() -> None:
    define_operators()
    row = Step("row", node=SimpleNamespace(op_overload=torch.ops.msprobe.row.default))
    copy = Step("copy", [row])
    before = Step("before", [copy, row])
    result = Step("result", [OUTPUT])
    shared = Step("shared", [copy, result])
    writes = Step("writes")
    long = copy
    for at in range(5_000):
        long = Step(f"step {at}", [long])
    known: dict[str, bool] = {}
    told = {s.name: is_for_records(s, known) for s in (before, copy, shared, result, writes, long)}
    assert told == {
        "before": True,
        "copy": True,
        "shared": False,
        "result": False,
        "writes": False,
        "step 4999": True,
    }
    fused = SimpleNamespace(get_nodes=lambda: [copy, shared])
    assert not is_for_records(fused, known)
