"""What a program does in the middle of a step: the dump of what was recorded is whole."""

from __future__ import annotations

import gc
import json
import os
import weakref
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from msprobe_core import PrecisionDebugger
from msprobe_core.torch.record.tensors import TensorBook
from tests.msprobe_core.dump_reading import RankDump
from tests.msprobe_core.models import Net, one_step

Make = Callable[..., PrecisionDebugger]
Read = Callable[[], list[RankDump]]


class Unanswered(Mapping[str, int]):
    def __len__(self) -> int:
        return 1

    def __getitem__(self, key: str) -> int:
        raise ConnectionError(f"no answer for {key}")

    def __iter__(self) -> Iterator[str]:
        return iter("a")


class Taking(nn.Module):
    def forward(self, x: torch.Tensor, value: object = None) -> torch.Tensor:
        return x * 1


class Outer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Taking()

    def forward(self, x: torch.Tensor, value: object) -> torch.Tensor:
        return self.inner(self.inner(x), value=value)  # type: ignore[no-any-return]


@pytest.mark.parametrize("value", [Unanswered(), os.fsdecode(b"caf\xe9.png"), "你好"])
def test_arguments_that_cannot_be_read_or_written(
    value: object, debugger: Make, dumps: Read
) -> None:
    model, target = Outer(), debugger(level="mix")
    for _ in range(2):
        one_step(target, model, lambda: model(torch.ones(2), value))
    assert [len(dump.data) for dump in dumps()] == [4, 4]


def test_ctrl_c_while_a_gradient_is_written(
    debugger: Make, dumps: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, fired = TensorBook.record, []

    def record(self: TensorBook, tensor: torch.Tensor, path: str, key: object = None) -> Any:
        if "parameters_grad" in path and not fired:
            fired.append(path)
            raise KeyboardInterrupt
        return original(self, tensor, path, key)

    monkeypatch.setattr(TensorBook, "record", record)
    model, target = Net(), debugger(level="mix")
    target.start(model)
    with pytest.raises(KeyboardInterrupt):
        model(torch.ones(1, 4)).sum().backward()
    target.close()
    assert "Module.second.Linear.forward.0" in dumps()[0].names


def test_a_program_that_changes_its_folder(
    debugger: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model, target = Net(), debugger(level="mix", task="tensor", dump_path="here")
    target.start(model)
    model(torch.ones(1, 4))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    model(torch.ones(1, 4))
    target.stop()
    target.step()
    one_step(target, model, lambda: model(torch.ones(1, 4)))
    dumps = sorted((tmp_path / "here").glob("step*/*/dump.json"))
    assert len(dumps) == 2 and not list((tmp_path / "elsewhere").iterdir())
    head = json.loads(dumps[0].read_text(encoding="utf-8"))
    assert len(list(Path(head["dump_data_dir"]).glob("*.pt"))) > 5


def test_stop_inside_a_module(debugger: Make, dumps: Read) -> None:
    class Stopping(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            target.stop()
            return torch.tanh(x)

    model, target = nn.Sequential(Stopping(), Net()), debugger(level="mix")
    target.start(model)
    model(torch.ones(4))
    target.start(model)
    torch.sigmoid(torch.ones(3))
    model[1](torch.ones(4))
    target.stop()
    target.step()
    construct = dumps()[0].construct
    assert construct["Torch.sigmoid.0.forward"] is None
    assert construct["Module.1.Net.forward.0"] is None


def test_what_fails_in_stop_ends_the_dump_and_not_the_run(
    debugger: Make, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model, target = Net(), debugger(level="mix")
    target.start(model)

    def fail(_: object) -> None:
        raise ZeroDivisionError("of ours")

    monkeypatch.setattr("msprobe_core.capture.step_recording.StepRecording.stop", fail)
    target.stop()
    target.step()
    target.start(model)
    model(torch.ones(1, 4))
    gc.collect()
    assert torch._C._len_torch_function_stack() == 0
    assert "stop: ZeroDivisionError: of ours; dumping has ended" in capsys.readouterr().err


def test_an_optimizer_that_steps_in_the_backward_pass(debugger: Make, dumps: Read) -> None:
    model, seen = Net(), {}
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    optimizers = {each: torch.optim.SGD([each], lr=0.1) for each in model.parameters()}

    def hook(parameter: torch.Tensor) -> None:
        assert parameter.grad is not None
        seen[names[id(parameter)]] = parameter.grad.max().item()
        optimizers[parameter].step()  # type: ignore[index]
        optimizers[parameter].zero_grad()  # type: ignore[index]

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(hook)
    one_step(debugger(level="mix"), model, lambda: model(torch.ones(2, 4)).sum().backward())
    data = dumps()[0].data
    for name, most in seen.items():
        module, _, own = name.partition(".")
        entry = data[f"Module.{module}.Linear.parameters_grad.0"]
        assert entry[own][0]["Max"] == pytest.approx(most)


class Interrupting(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        raise KeyboardInterrupt


@pytest.mark.parametrize("level", ["L0", "mix"])
def test_what_runs_after_ctrl_c_stands_in_no_module(
    level: str, debugger: Make, dumps: Read
) -> None:
    model, kept = nn.Sequential(nn.Linear(4, 4), Interrupting(), nn.Linear(4, 4)), []

    def run() -> None:
        with pytest.raises(KeyboardInterrupt):
            model[:2](torch.ones(2, 4))
        hidden = model[2](torch.ones(2, 4))
        kept.append(weakref.ref(hidden))

    one_step(debugger(level=level), model, run)
    assert kept[0]() is None
    dump = dumps()[0]
    assert dump.construct["Module.2.Linear.forward.0"] is None
    assert "Module.1.Interrupting.forward.0" in dump.data
