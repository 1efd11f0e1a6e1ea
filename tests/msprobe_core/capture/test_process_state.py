"""What a recording must not do to the process: end it, keep tensors, or stay in another thread."""

from __future__ import annotations

import copy
import gc
import io
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from msprobe_core import PrecisionDebugger
from tests.msprobe_core.dump_reading import RankDump
from tests.msprobe_core.models import Net, one_step

Make = Callable[..., PrecisionDebugger]
Read = Callable[[], list[RankDump]]

_LONG = """
import sys, torch
from msprobe_core import PrecisionDebugger
class Chain(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.step = torch.nn.Linear(4, 4)
    def forward(self, x):
        for _ in range(12_000):
            x = self.step(x) if sys.argv[1] == "L0" else x * 1.0001
        return x
model = torch.nn.Sequential(Chain())
x = torch.ones(2, 4, requires_grad=True)
debugger = PrecisionDebugger(level=sys.argv[1], dump_path=sys.argv[2])
debugger.start(model)
y = model(x).sum()
y.backward()
debugger.stop()
debugger.step()
debugger.close()
del y
print("freed")
"""


@pytest.mark.parametrize("level", ["L0", "L1"])
def test_a_long_graph_is_freed(level: str, tmp_path: Path) -> None:
    # 2 MB of stack instead of 8: a chain a quarter as long does it.
    limited = "import resource, os, sys; resource.setrlimit(resource.RLIMIT_STACK, (2**21, 2**21));"
    run = f"{limited} os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    arguments = [sys.executable, "-c", run, "-c", _LONG, level, str(tmp_path)]
    done = subprocess.run(arguments, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "freed"), done.stderr[-300:]


@pytest.mark.parametrize("level", ["L0", "mix"])
def test_a_recording_that_another_thread_stops(level: str, debugger: Make) -> None:
    target, model = debugger(level=level), Net()
    target.start(model)
    model(torch.ones(1, 4)).sum().backward()
    other = threading.Thread(target=lambda: (target.stop(), target.step()))
    other.start()
    other.join()
    assert torch._C._len_torch_function_stack() == 0


def test_a_recording_of_another_thread_that_this_one_stops(debugger: Make) -> None:
    target, started, stopped = debugger(level="L1"), threading.Event(), threading.Event()
    depths: list[int] = []

    def record() -> None:
        target.start()
        torch.ones(2).sin()
        started.set()
        stopped.wait()
        for _ in range(3):
            torch.ones(2).sin()
            depths.append(torch._C._len_torch_function_stack())

    other = threading.Thread(target=record)
    other.start()
    started.wait()
    target.stop()
    target.step()
    stopped.set()
    other.join()
    assert depths[-1] == 0 and sys.getprofile() is None


@pytest.mark.parametrize("level", ["L0", "L1", "mix"])
def test_locals_of_the_users_loop_die_as_without_a_recording(level: str, debugger: Make) -> None:
    model, target, kept = Net(), debugger(level=level), []

    def one(record: bool) -> None:
        if record:
            target.start(model)
        hidden = model(torch.ones(2, 4))
        hidden = 2 * hidden + nn.Identity()(hidden)
        loss = hidden.sum()
        loss.backward()
        kept.append((weakref.ref(hidden), weakref.ref(loss)))
        if record:
            target.stop()
            target.step()
        del hidden, loss
        assert all(each() is None for each in kept[-1])

    def loop() -> None:
        for n in range(3):
            one(n < 2)

    loop()


def test_locals_that_somebody_holds_are_left_alone(debugger: Make) -> None:
    def called() -> dict[str, Any]:
        scale = 2.0
        held = locals()
        target.start()
        scale * torch.ones(2)
        target.stop()
        return held

    target = debugger(level="L1")
    assert called()["scale"] == 2.0


@pytest.mark.parametrize("level", ["L0", "mix"])
def test_a_model_with_hooks_is_saved_and_copied_without_ours(
    level: str, debugger: Make, tmp_path: Path
) -> None:
    model = nn.Sequential(Net())
    model[0].register_forward_hook(print_nothing)
    target = debugger(level=level)
    target.start(model)
    twin = copy.deepcopy(model)
    saved = io.BytesIO()
    torch.save(model, saved)
    target.stop()
    for each in (twin, torch.load(io.BytesIO(saved.getvalue()), weights_only=False)):
        assert len(each[0]._forward_hooks) == 1 and not each[0]._forward_pre_hooks
        assert not each[0]._forward_hooks_with_kwargs
    assert b"own_hook" not in saved.getvalue()
    assert "__getstate__" not in vars(nn.Module) or vars(nn.Module)["__getstate__"].__module__ == (
        "torch.nn.modules.module"
    )


def print_nothing(*_: object) -> None:
    return None


@pytest.mark.parametrize("when", ["in the step", "after stop"])
def test_tensors_can_be_swapped(when: str, debugger: Make) -> None:
    model, target = nn.Sequential(nn.Linear(4, 4)), debugger(level="mix")
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        with torch.no_grad():
            target.start(model)
            model(torch.ones(1, 4))
            if when == "in the step":
                model.double()
            target.stop()
            model.float()
            target.step()
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_leaves_the_dump_to_its_parent(debugger: Make, dumps: Read) -> None:
    model, target = Net(), debugger(level="mix")
    target.start(model)
    model(torch.ones(1, 4))
    child = os.fork()
    if child == 0:
        clean = torch._C._len_torch_function_stack() == 0
        for _ in range(700):
            torch.ones(2).sin()
        target.start(model)
        target.stop()
        target.step()
        target.close()
        os._exit(0 if clean else 1)
    assert os.waitpid(child, 0)[1] == 0
    torch.ones(2).cos()
    target.stop()
    target.step()
    names = dumps()[0].names
    assert names[-1] == "Tensor.cos.0.forward" and not any("sin" in name for name in names)


def test_torch_keeps_no_mark_of_our_hooks(debugger: Make) -> None:
    hooks: Any = torch.nn.modules.module
    names = [name for name in vars(hooks) if name.startswith("_global_")]
    before = {name: len(getattr(hooks, name) or ()) for name in names}
    for level in ("L0", "mix"):
        one_step(debugger(level=level), Net(), lambda: None)
    assert before == {name: len(getattr(hooks, name) or ()) for name in names}


class Chain(nn.Module):
    def __init__(self, which: int) -> None:
        super().__init__()
        self.which = which

    def forward(self) -> None:
        for n in range(80):
            value = float("nan") if self.which % 2 else float(self.which * 1000 + n)
            torch.sin(torch.relu(torch.full((8,), value)))


def test_threads_that_write_at_once_keep_their_sources(debugger: Make, dumps: Read) -> None:
    model, target = nn.ModuleList([Chain(k) for k in range(4)]), debugger(level="mix")
    before = sys.getswitchinterval()
    target.start(model)
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=each) for each in model]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    target.stop()
    target.step()
    data = dumps()[0].data
    taken = {name: entry for name, entry in data.items() if name.startswith("Torch.sin.")}
    assert len(taken) == 320
    for entry in taken.values():
        given = entry["input_args"][0]
        made = data[given["source"].split(".output")[0]]["output"][0]
        assert str(made["Norm"]) == str(given["Norm"])


def test_more_steps_hold_no_more_objects(debugger: Make) -> None:
    """What a recording holds on to would be objects; a growth of memory cannot hide."""
    model, target = Net(), debugger(level="mix")

    def objects() -> int:
        gc.collect()
        return sum(
            1 for each in gc.get_objects() if str(type(each).__module__).startswith("msprobe")
        )

    def steps(count: int) -> None:
        for _ in range(count):
            one_step(target, model, lambda: model(torch.ones(1, 4)).sum().backward())

    steps(5)
    before = objects()
    steps(40)
    assert objects() <= before
