"""Programs that torch makes of a model while graph mode records it are those made without it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, fx, nn
from torch.fx.experimental.proxy_tensor import make_fx
from torch.jit.frontend import NotSupportedError

from msprobe_core import PrecisionDebugger
from tests.msprobe_core.torch.graph.conftest import MakeDebugger

pytestmark = pytest.mark.filterwarnings("ignore")
X = torch.ones(2, 4)
MAKERS: dict[str, Callable[[nn.Module], str]] = {
    "script": lambda model: re.sub(r"_mangle_\d+", "", str(torch.jit.script(model).graph)),
    "trace": lambda model: str(torch.jit.trace(model, X).code),
    "trace of a module": lambda model: str(torch.jit.trace_module(model, {"forward": X}).code),
    "export": lambda model: str(torch.export.export(model, (X,)).graph),
    "export, strict": lambda model: str(torch.export.export(model, (X,), strict=True).graph),
    "export that goes on": lambda model: str(torch.export.draft_export(model, (X,)).graph),
    "symbols": lambda model: str(fx.symbolic_trace(model).graph),
    "operators": lambda model: str(make_fx(model)(X).graph),
}


def made() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.ReLU(), nn.Linear(4, 2)))


def in_three_steps(name: str, debugger: PrecisionDebugger | None) -> list[object]:
    """In each step a program, and how many graphs dynamo makes of the compiled model then."""
    torch._dynamo.reset()
    model, found = made(), list[object]()
    run: Any = torch.compile(model, backend="aot_eager")
    graphs: Any = torch._dynamo.utils.counters["stats"]
    for _ in range(3):
        if debugger is not None:
            debugger.start(model)
        found.append(MAKERS[name](model))
        before = graphs["unique_graphs"]
        run(X).sum().backward()
        found.append(graphs["unique_graphs"] - before)
        if debugger is not None:
            debugger.stop()
            debugger.step()
    return found


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("level", ["L0", "mix"])
def test_a_program_is_that_without_a_recording(
    level: str, name: str, graph_debugger: MakeDebugger, tmp_path: Path
) -> None:
    alone = in_three_steps(name, None)
    debugger = graph_debugger(level)
    assert in_three_steps(name, debugger) == alone
    debugger.close()
    assert not torch.overrides._get_current_function_mode_stack()
    for step in range(3):
        path = next((tmp_path / "dump").glob(f"step{step}/*/dump.json"))
        modules = [each for each in json.loads(path.read_text())["data"] if "Module." in each]
        ran = [each for each in modules if ".forward." in each]
        # What runs to make a program is none of the run.
        assert [each for each in ran if each.endswith(".forward.0")] == ran
        assert len(ran) == 4


def test_hooks_of_others_keep_their_places(graph_debugger: MakeDebugger) -> None:
    model, seen = made(), list[str]()
    first = model[1]  # type: ignore[index]
    first.register_forward_hook(lambda *_: seen.append("before"))
    debugger = graph_debugger("L0")
    debugger.start(model)
    first.register_forward_hook(lambda *_: seen.append("after"))
    keys = list(first._forward_hooks)
    torch.jit.trace(model, X, check_trace=False)
    assert list(first._forward_hooks) == keys
    assert seen == ["before", "after"]
    debugger.stop()
    debugger.step()
    debugger.close()
    assert list(first._forward_hooks) == [keys[0], keys[2]]


def test_a_program_that_cannot_be_made_leaves_the_recording_on(
    graph_debugger: MakeDebugger, tmp_path: Path
) -> None:
    class Odd(nn.Module):
        def forward(self, x: Tensor, **more: Tensor) -> Tensor:
            return x * 2

    model = nn.Sequential(Odd(), nn.Linear(4, 4))
    debugger = graph_debugger("mix")
    debugger.start(model)
    with pytest.raises(NotSupportedError, match="variable number"):
        torch.jit.script(model)
    model(X)
    debugger.stop()
    debugger.step()
    path = next((tmp_path / "dump").glob("step0/*/dump.json"))
    names = json.loads(path.read_text())["data"]
    assert {"Module.0.Odd.forward.0", "Functional.linear.0.forward"} <= set(names)
