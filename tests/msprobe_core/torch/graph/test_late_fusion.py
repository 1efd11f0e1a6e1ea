"""Inductor makes the kernels of a graph that it makes without records."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from msprobe_core import PrecisionDebugger
from msprobe_core.torch.graph.late_fusion import is_for_records, put_back, set_aside
from msprobe_core.torch.graph.operators import define_operators
from tests.msprobe_core.torch.graph.lowered_backend import CHOSEN, Kernels, lowered_backend

# Inductor imports parts of torch that torch itself has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


class Normed(nn.Module):
    """A norm in whose kernel there is room for what is computed for a record, and a buffer that is
    overwritten when its record has been read.
    """

    count: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.register_buffer("count", torch.zeros(8))

    def forward(self, x: Tensor) -> Tensor:
        y = F.silu(self.norm(x))
        self.count.add_(y.detach().float().sum(0))
        one, other = y.chunk(2, -1)
        return torch.cat([other, one], -1) * y.sigmoid()


def kernels(folder: Path, *, recorded: bool) -> list[Kernels]:
    """The kernels of the forward graph, and of the backward graph."""
    torch._dynamo.reset()
    CHOSEN.clear()
    model, x = Normed().bfloat16(), torch.ones(4, 8, dtype=torch.bfloat16)
    config = folder / "config.json"
    settings = {"capture": "graph", "level": "mix", "dump_path": str(folder / "dump")}
    config.write_text(json.dumps(settings))
    debugger = PrecisionDebugger(config) if recorded else None
    if debugger is not None:
        debugger.start(model=model)
    torch.compile(model, backend=lowered_backend, fullgraph=True)(x).sum().backward()
    if debugger is not None:
        debugger.close()
    return list(CHOSEN)


@pytest.fixture
def _fresh_dynamo() -> Iterator[None]:
    yield
    torch._dynamo.reset()


@pytest.mark.usefixtures("_fresh_dynamo")
def test_the_graphs_own_kernels_are_those_without_records(tmp_path: Path) -> None:
    plain = kernels(tmp_path, recorded=False)
    recorded = kernels(tmp_path, recorded=True)
    assert len(plain) == len(recorded) == 2
    for alone, beside in zip(plain, recorded, strict=True):
        assert len(beside) > len(alone) > 1
        assert Counter(alone) <= Counter(beside)
    assert torch._inductor.config._pre_fusion_custom_pass is None


OUTPUT = SimpleNamespace(get_name=lambda: "OUTPUT")


@dataclass(eq=False)
class Scheduler:
    """As much of inductor's as is asked for: it notes what it is to fuse."""

    fused: list[str] = field(default_factory=list)

    def fuse_nodes(self, steps: list[Step]) -> list[Step]:
        self.fused += [step.name for step in steps]
        return steps

    def topological_sort_schedule(self, steps: list[Step]) -> list[Step]:
        return steps


@dataclass(eq=False)
class Step:
    """As much of a scheduler's node as is asked for; `overwritten_by` comes after it."""

    name: str
    readers: list[Any] = field(default_factory=list)
    node: Any = None
    overwritten_by: list[Any] = field(default_factory=list)
    scheduler: Scheduler | None = None
    min_order: int = 0
    max_order: int = 0

    def __post_init__(self) -> None:
        users = [(each, False) for each in self.readers]
        users += [(each, True) for each in self.overwritten_by]
        self.made = SimpleNamespace(users=[_user(step, is_weak) for step, is_weak in users])

    def get_name(self) -> str:
        return self.name

    def get_outputs(self) -> list[Any]:
        return [self.made]


def _user(step: Any, is_weak: bool = False) -> Any:
    return SimpleNamespace(node=step, is_weak=is_weak, get_name=step.get_name)


def record(name: str = "row") -> Step:
    define_operators()
    return Step(name, node=SimpleNamespace(op_overload=torch.ops.msprobe.row.default))


def test_a_step_is_for_records_when_nothing_else_comes_of_it() -> None:
    row, writes = record(), Step("writes")
    copy = Step("copy", [row], overwritten_by=[writes])
    before = Step("before", [copy, row])
    result = Step("result", [OUTPUT])
    shared = Step("shared", [copy, result])
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
    copy.made.users.append(_user(before))  # as a step that overwrites something can
    assert is_for_records(before, {}) and not is_for_records(shared, {})


def test_what_is_left_has_the_readers_and_the_places_that_it_has_without_records() -> None:
    row, scheduler = record(), Scheduler()
    copy = Step("copy", [row])
    result = Step("result", [OUTPUT])
    shared = Step("shared", [copy, result, row])
    steps = [shared, copy, row, result]
    for at, step in enumerate(steps):
        step.scheduler, step.min_order, step.max_order = scheduler, at, at
    assert set_aside(steps) == [shared, result]
    assert [user.get_name() for user in shared.made.users] == ["result"]
    assert [(step.min_order, step.max_order) for step in (shared, result)] == [(0, 0), (1, 1)]
    assert put_back([shared, result]) == [shared, result, copy, row]
    assert scheduler.fused == ["copy", "row"]
    assert {user.get_name() for user in shared.made.users} == {"copy", "result", "row"}
    assert put_back([shared, result]) == [shared, result]


@pytest.mark.parametrize("steps", [[], [Step("result", [OUTPUT])], [record()]])
def test_a_graph_of_one_kind_of_steps_is_fused_as_it_is(steps: list[Step]) -> None:
    for step in steps:
        step.scheduler = Scheduler()
    assert set_aside(steps) == steps and put_back(steps) == steps
