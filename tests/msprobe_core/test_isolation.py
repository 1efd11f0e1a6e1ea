"""The load section: a module on another run's inputs shows its own error alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from msprobe_core import PrecisionDebugger
from msprobe_core.errors import LifecycleError
from tests.msprobe_core.dump_reading import RankDump, read_rank_dumps


class Block(nn.Module):
    def __init__(self, scale: float) -> None:
        super().__init__()
        self.inner, self.scale = nn.Linear(4, 4), scale

    def forward(self, x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return self.inner(x) * self.scale + bias


class Net(nn.Module):
    def __init__(self, first: float, second: float = 1.0) -> None:
        super().__init__()
        self.a, self.b = Block(first), Block(second)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.a(x, bias=torch.zeros(4))
        return self.b(y, bias=y.mean(0))


def dump(folder: Path, model: nn.Module, **config: Any) -> RankDump:
    path = folder.parent / f"{folder.name}.json"
    path.write_text(
        json.dumps({"level": "mix", "dump_path": str(folder), **config}), encoding="utf-8"
    )
    debugger = PrecisionDebugger(config_path=str(path))
    torch.manual_seed(0)
    x = torch.ones(2, 4, requires_grad=True)
    with debugger.recording(model):
        model(x).sum().backward()
    debugger.close()
    assert x.grad is not None
    return read_rank_dumps(folder)[0]


def model(first: float, second: float = 1.0) -> Net:
    torch.manual_seed(3)
    return Net(first, second)


@pytest.fixture
def good(tmp_path: Path) -> RankDump:
    return dump(tmp_path / "good", model(1.0), task="tensor")


@pytest.fixture(autouse=True)
def _closed() -> Any:
    yield
    if PrecisionDebugger.current is not None:
        PrecisionDebugger.current.close()


def loaded(good: RankDump, **section: Any) -> dict[str, Any]:
    return {"load": {"path": str(good.path.parent.parent), "modules": ["b"], **section}}


OUT = "Module.b.Block.forward.0"


def test_a_carrier_is_right_on_the_right_inputs(good: RankDump, tmp_path: Path) -> None:
    alone = dump(tmp_path / "alone", model(5.0))
    assert alone.data[OUT]["output"][0]["Max"] != good.data[OUT]["output"][0]["Max"]
    isolated = dump(tmp_path / "isolated", model(5.0), **loaded(good))
    assert isolated.data[OUT]["output"][0]["Max"] == good.data[OUT]["output"][0]["Max"]
    assert isolated.data[OUT]["input_args"][0]["Norm"] == good.data[OUT]["input_args"][0]["Norm"]
    replaced = {each["value"]: each["equal"] for each in isolated.head["loaded"]}
    assert replaced == {f"{OUT}.input.0": False, f"{OUT}.input.bias": False}
    assert "Module.a.Block.backward.0" in isolated.names  # gradients still flow


def test_a_source_is_wrong_on_the_right_inputs(good: RankDump, tmp_path: Path) -> None:
    isolated = dump(tmp_path / "isolated", model(1.0, second=5.0), **loaded(good))
    assert isolated.data[OUT]["output"][0]["Max"] != good.data[OUT]["output"][0]["Max"]
    assert all(each["equal"] for each in isolated.head["loaded"])


def test_dump_after_load_keeps_those_modules(good: RankDump, tmp_path: Path) -> None:
    isolated = dump(tmp_path / "isolated", model(5.0), **loaded(good, dump_after_load=True))
    forward = [name for name in isolated.names if ".forward" in name]
    assert OUT in forward and "Functional.linear.1.forward" in forward
    assert not any(name.startswith("Module.a.") for name in isolated.names)


def test_what_does_not_fit_is_said(
    good: RankDump, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = model(1.0)
    config = loaded(good, modules=["b", "none"])

    class Narrow(Net):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x[:1])

    narrow = Narrow(1.0)
    narrow.load_state_dict(small.state_dict())
    dump(tmp_path / "narrow", narrow, **config)
    said = capsys.readouterr().err
    assert "the model has no module 'none'" in said
    assert "is [2, 4] torch.float32 there and [1, 4] torch.float32 here; it is not replaced" in said


def test_a_dump_that_cannot_serve_is_refused(good: RankDump, tmp_path: Path) -> None:
    statistics = dump(tmp_path / "statistics", model(1.0))
    with pytest.raises(LifecycleError, match="give one of task tensor"):
        dump(tmp_path / "out", model(1.0), **loaded(statistics))
    with pytest.raises(LifecycleError, match="0 process folders"):
        dump(tmp_path / "out2", model(1.0), **loaded(good, step=9))
