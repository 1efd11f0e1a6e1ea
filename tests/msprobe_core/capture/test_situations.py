"""The dump is whole in every situation: recomputation, exceptions, threads, compiled parts, …"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from msprobe_core import PrecisionDebugger
from msprobe_core.errors import LifecycleError
from tests.msprobe_core.dump_reading import RankDump
from tests.msprobe_core.models import Net, one_step

Make = Callable[..., PrecisionDebugger]
Read = Callable[[], list[RankDump]]


@pytest.mark.parametrize("reentrant", [True, False])
def test_activation_checkpointing(reentrant: bool, debugger: Make, dumps: Read) -> None:
    class Checkpointed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.block = Net()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return checkpoint(self.block, x, use_reentrant=reentrant)

    model = Checkpointed()
    x = torch.ones(2, 4, requires_grad=True)
    one_step(debugger(level="mix"), model, lambda: model(x).sum().backward())
    dump = dumps()[0]
    assert "Module.block.first.Linear.forward.1" in dump.names
    assert "Module.block.first.Linear.forward.1" in dump.head["recomputed"]
    assert "Module.block.first.Linear.forward.0" not in dump.head["recomputed"]
    call = "1" if reentrant else "0"
    assert f"Module.block.second.Linear.backward.{call}" in dump.names


def test_an_exception_leaves_a_correct_dump(debugger: Make, dumps: Read) -> None:
    class Failing(nn.Module):
        def __init__(self, fail: bool) -> None:
            super().__init__()
            self.inner, self.fail = nn.Linear(4, 4), fail

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.inner(x)
            return torch.matmul(y, torch.ones(3, 3)) if self.fail else y

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bad, self.good = Failing(True), Failing(False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with contextlib.suppress(RuntimeError):
                self.bad(x)
            return self.good(x)

    model = Outer()
    one_step(debugger(level="mix"), model, lambda: model(torch.ones(2, 4)).sum().backward())
    dump = dumps()[0]
    assert "output" not in dump.data["Torch.matmul.0.forward"]
    assert dump.data["Module.bad.Failing.forward.0"]["output"] == [None]
    assert dump.construct["Module.good.inner.Linear.forward.0"] == "Module.good.Failing.forward.0"
    assert dump.construct["Module.good.Failing.forward.0"] is None
    assert "Module.good.Failing.backward.0" in dump.names


def test_an_exception_out_of_the_step_keeps_what_was_recorded(debugger: Make, dumps: Read) -> None:
    model = Net()
    target = debugger(level="mix")
    with pytest.raises(RuntimeError), target.recording(model):
        model(torch.ones(2, 4))
        model(torch.ones(2, 3))
    assert "Module.second.Linear.forward.0" in dumps()[0].names
    one_step(target, model, lambda: model(torch.ones(1, 4)))
    assert dumps()[1].construct["Module.first.Linear.forward.0"] is None


def test_threads_have_trees_of_their_own(debugger: Make, dumps: Read) -> None:
    class Wide(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.left, self.right = Net(), Net()

    model = Wide()

    def run() -> None:
        with torch.no_grad():
            sides = (model.left, model.right)
            works = [
                threading.Thread(target=lambda m=m: [m(torch.ones(8, 4)) for _ in range(20)])
                for m in sides
            ]
            for work in works:
                work.start()
            for work in works:
                work.join()

    one_step(debugger(level="mix"), model, run)
    dump = dumps()[0]
    for name, parent in dump.construct.items():
        side = name.split(".")[1]
        if side in ("left", "right") and name.split(".")[2] in ("first", "second"):
            assert parent.startswith(f"Module.{side}.Net.forward.")
    assert len([n for n in dump.names if n.startswith("Functional.linear")]) == 80


def test_functional_transforms(debugger: Make, dumps: Read) -> None:
    model = Net()
    parameters = dict(model.named_parameters())

    def loss(values: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(model, values, (x,)).sum()

    plain = torch.func.vmap(torch.func.grad(loss), (None, 0))(parameters, torch.ones(3, 4))
    found: list[Any] = []
    one_step(
        debugger(level="mix"),
        model,
        lambda: found.append(
            torch.func.vmap(torch.func.grad(loss), (None, 0))(parameters, torch.ones(3, 4))
        ),
    )
    assert all(found[0][name].equal(plain[name]) for name in plain)
    assert "Module.first.Linear.forward.0" in dumps()[0].names


def test_inference_mode_and_autocast(debugger: Make, dumps: Read) -> None:
    model = Net()

    def run() -> None:
        with torch.inference_mode():
            model(torch.ones(2, 4))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            model(torch.ones(2, 4)).sum().backward()

    one_step(debugger(level="mix"), model, run)
    dump = dumps()[0]
    assert dump.data["Module.first.Linear.forward.0"]["output"][0]["dtype"] == "torch.float32"
    assert dump.data["Module.first.Linear.forward.1"]["output"][0]["dtype"] == "torch.bfloat16"
    assert not (dump.path / "dump_error_info.log").exists()


def test_token_range_records_some_calls_of_the_model(debugger: Make, dumps: Read) -> None:
    model = Net()
    target = debugger(level="mix")
    target.start(model=model, token_range=[1, 2])
    with torch.no_grad():
        for number in range(5):
            model(torch.full((1, 4), float(number)))
    target.stop()
    target.step()
    data = dumps()[0].data
    calls = [name for name in data if name.startswith("Module.first")]
    assert calls == ["Module.first.Linear.forward.0", "Module.first.Linear.forward.1"]
    assert [data[name]["input_args"][0]["Max"] for name in calls] == [1.0, 2.0]
    with pytest.raises(LifecycleError, match="token_range"):
        target.start(model=model, token_range=[3, 2])


def test_token_range_of_the_prefill_alone(debugger: Make, dumps: Read) -> None:
    model, target = Net(), debugger(level="L0")
    target.start(model=model, token_range=[0, 0])
    with torch.no_grad():
        for number in range(3):
            model(torch.full((1, 4), float(number)))
    target.stop()
    target.step()
    data = dumps()[0].data
    assert [n for n in data if n.startswith("Module.first")] == ["Module.first.Linear.forward.0"]
    assert data["Module.first.Linear.forward.0"]["input_args"][0]["Max"] == 0.0


def test_models_in_lists_and_models_with_a_length(debugger: Make, dumps: Read) -> None:
    class Sized(Net):
        def __len__(self) -> int:
            return 0

    models = [Net(), Sized()]
    target = debugger(level="L0")
    target.start(models)
    for model in models:
        model(torch.ones(1, 4))
    target.stop()
    target.step()
    one_step(target, models[1], lambda: models[1](torch.ones(1, 4)))
    assert dumps()[0].names[0] == "Module.0.first.Linear.forward.0"
    assert "Module.1.second.Linear.forward.0" in dumps()[0].names
    assert dumps()[1].names[0] == "Module.first.Linear.forward.0"


def test_stop_before_backward_keeps_all_gradients(debugger: Make, dumps: Read) -> None:
    model = Net()
    target = debugger(level="mix")
    target.start(model)
    loss = model(torch.ones(2, 4)).sum()
    target.stop()
    loss.backward()
    target.step()
    names = dumps()[0].names
    for wanted in ("Module.second.Linear.backward.0", "Functional.linear.1.backward"):
        assert wanted in names
    assert "Module.first.Linear.parameters_grad.0" in names
