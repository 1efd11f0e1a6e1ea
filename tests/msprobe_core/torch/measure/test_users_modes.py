"""Our own operations are seen and changed by nothing that a user has put around torch."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from struct import unpack
from typing import Any

import pytest
import torch
from torch import nn
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from msprobe_core import PrecisionDebugger
from msprobe_core.torch.measure.sketch import sketch_now
from msprobe_core.torch.measure.users_modes import users_modes_off
from tests.msprobe_core.dump_reading import RankDump

Make = Callable[..., PrecisionDebugger]
Read = Callable[[], list[RankDump]]
LEVELS = ("L0", "L1", "mix")


class Seen(TorchDispatchMode):
    """Notes each operation that runs under it."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


class SeenFunctions(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(getattr(func, "__name__", str(func)))
        return func(*args, **(kwargs or {}))


def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 64))


def step(net: nn.Module) -> torch.Tensor:
    net.zero_grad()
    loss: torch.Tensor = net(torch.ones(32, 64)).square().mean()
    loss.backward()
    return loss


def operations(net: nn.Module) -> list[str]:
    with Seen() as seen:
        step(net)
    return seen.names


def flops(net: nn.Module) -> int:
    with FlopCounterMode(display=False) as counter:
        step(net)
    return counter.get_total_flops()


def traced(net: nn.Module) -> list[str]:
    graph = make_fx(lambda x: net(x).sum())(torch.ones(4, 64)).graph
    return [str(node.target) for node in graph.nodes]


def jit_traced(net: nn.Module) -> list[str]:
    graph = torch.jit.trace(net, torch.ones(4, 64), check_trace=False).inlined_graph
    return [node.kind() for node in graph.nodes()]


def profiled(net: nn.Module) -> list[str]:
    with torch.profiler.profile() as profile:
        step(net)
    return [event.name for event in profile.events() if event.name.startswith("aten::")]


@pytest.mark.filterwarnings("ignore:.*torch.jit.trace:DeprecationWarning")
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("look", [operations, flops, traced, jit_traced, profiled])
@pytest.mark.parametrize("task", ["statistics", "tensor"])
def test_a_user_sees_nothing_of_the_recording(
    level: str, look: Callable[[nn.Module], object], task: str, debugger: Make, dumps: Read
) -> None:
    net = model()
    step(net)
    plain = look(net)
    recording = debugger(level=level, task=task)
    recording.start(net)
    seen = look(net)
    recording.stop()
    recording.step()
    assert seen == plain
    assert any(name.endswith("forward") or "forward." in name for name in dumps()[0].names)
    assert not list(dumps()[0].path.glob("*error*"))


@pytest.mark.parametrize("level", ["L0", "mix"])
def test_autocast_does_not_round_a_sketch(level: str, debugger: Make, dumps: Read) -> None:
    given = torch.randn(64, 64)
    net = nn.Sequential(nn.Sequential(nn.Linear(64, 64)))
    recording = debugger(level=level)
    recording.start(net)
    with torch.autocast("cpu"):
        net(given)
    recording.stop()
    recording.step()
    data = dumps()[0].data
    record = data["Module.0.0.Linear.forward.0"]["input_args"][0]
    assert unpack("<8f", bytes.fromhex(record["sketch"])) == pytest.approx(
        sketch_now(given, 10.0), rel=1e-6
    )


def inside_dual_level() -> Any:
    return forward_ad.dual_level()


@pytest.mark.parametrize(
    "around",
    [
        nullcontext,
        Seen,
        SeenFunctions,
        inside_dual_level,
        torch.inference_mode,
        lambda: torch.autocast("cpu"),
        lambda: torch.device("meta"),
        torch.profiler.profile,
    ],
)
def test_all_is_off_inside_and_on_again_after_an_error(around: Callable[[], Any]) -> None:
    def state() -> tuple[object, ...]:
        return (
            torch._C._len_torch_dispatch_stack(),
            torch._C._len_torch_function_stack(),
            torch.is_autocast_enabled("cpu"),
            torch._C._is_fwd_grad_enabled(),
            torch.is_inference_mode_enabled(),
            torch._C._is_torch_function_enabled(),
        )

    with around() as entered:
        names = getattr(entered, "names", [])
        before = state()
        del names[:]
        with pytest.raises(ZeroDivisionError), users_modes_off():
            mine = torch.bmm(torch.ones(1, 2, 2), torch.ones(1, 2, 2))
            assert (mine.dtype, mine.device.type) == (torch.float32, "cpu")
            assert names == []
            raise ZeroDivisionError
        del names[:]
        assert state() == before
        torch.ones(2)
        assert bool(names) == isinstance(entered, (Seen, SeenFunctions))


def test_transforms_are_off_for_measuring_and_on_for_reading_graphs() -> None:
    def inside(x: torch.Tensor) -> torch.Tensor:
        with users_modes_off():
            assert torch._C._functorch.maybe_current_level() is not None
            assert not torch._C._functorch.is_functorch_wrapped_tensor(torch.ones(2) + 1)
        with users_modes_off(keep_transforms=True):
            assert (x + 1).shape == ()
        return x

    torch.vmap(inside)(torch.ones(3))


def test_modes_are_nested_in_their_order() -> None:
    class Outer(Seen):
        pass

    with Outer() as outer, Seen() as inner:
        with users_modes_off(), users_modes_off():
            torch.ones(2)
        torch.zeros(2)
    assert inner.names == outer.names
    assert all("zero" in name or "empty" in name for name in inner.names)


@pytest.mark.parametrize("task", ["statistics", "tensor"])
def test_a_set_of_values_is_whole_under_a_mode(task: str, debugger: Make, tmp_path: Path) -> None:
    """What is measured under a counter is what is measured without one."""
    texts = []
    for name, around in (("plain", nullcontext), ("counted", Seen)):
        net = model()
        recording = debugger(level="mix", task=task, dump_path=str(tmp_path / name))
        recording.start(net)
        with around():
            step(net)
        recording.stop()
        recording.step()
        (path,) = (tmp_path / name).glob("step0/*/dump.json")
        texts.append(json.loads(path.read_text())["data"])
    assert texts[0] == texts[1]
