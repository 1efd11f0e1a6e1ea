"""Formats that torch cannot compute with, tensors without a place, and what tracers hand about."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx

from msprobe_core import PrecisionDebugger
from msprobe_core.torch.record.tensor_files import TensorFiles
from tests.msprobe_core.dump_reading import RankDump, tensors

Make = Callable[..., PrecisionDebugger]
Read = Callable[[], list[RankDump]]
BYTES = torch.tensor([3, 1, 0, 2, 1, 0], dtype=torch.uint8)
SHORT = [f"{sign}int{bits}" for sign in ("u", "") for bits in (2, 4, 7)]
OPAQUE = ["bits8", "bits16", "bits4x2", "float4_e2m1fn_x2"]


class Same(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.same = Same()

    def forward(self, x: torch.Tensor) -> Any:
        return self.same(x)


def recorded(make: Make, read: Read, x: torch.Tensor, task: str) -> tuple[dict[str, Any], Path]:
    net, debugger = Net(), make(level="mix", task=task)
    debugger.start(model=net)
    net(x)
    debugger.stop()
    debugger.step()
    dump = read()[0]
    assert not list(dump.path.glob("*error*"))
    return next(tensors(dump.data["Module.same.Same.forward.0"]["input_args"])), dump.path


@pytest.mark.parametrize("task", ["statistics", "tensor"])
@pytest.mark.parametrize("name", [name for name in SHORT if hasattr(torch, name)])
@pytest.mark.parametrize("part", [slice(None), slice(None, None, 2), 0])
def test_short_integers_are_measured_and_saved_as_bytes(
    name: str, part: Any, task: str, debugger: Make, dumps: Read
) -> None:
    x = BYTES.view(getattr(torch, name))[part]
    expected = BYTES[part]
    record, path = recorded(debugger, dumps, x, task)
    assert record["dtype"] == f"torch.{name}"
    assert (record["Max"], record["Min"]) == (int(expected.max()), int(expected.min()))
    if task == "tensor":
        saved = torch.load(path / "dump_tensor_data" / record["data_name"], weights_only=True)
        assert saved.view(torch.uint8).equal(expected)


@pytest.mark.parametrize("task", ["statistics", "tensor"])
@pytest.mark.parametrize("name", [name for name in OPAQUE if hasattr(torch, name)])
def test_opaque_formats_have_no_numbers_and_no_error(
    name: str, task: str, debugger: Make, dumps: Read
) -> None:
    record, _ = recorded(debugger, dumps, BYTES.view(getattr(torch, name)), task)
    assert record["Max"] is None
    assert record["dtype"] == f"torch.{name}"


QUANTISED = ["qint8", "quint8", "qint32", "quint4x2", "quint2x4"]


@pytest.mark.parametrize("deferred", [False, True])
@pytest.mark.parametrize("name", [name for name in QUANTISED if hasattr(torch, name)])
@pytest.mark.parametrize("part", [slice(None), slice(None, None, 2), 0])
def test_plain_tensors_of_quantised_formats_are_saved_as_bytes(
    name: str, part: Any, deferred: bool, tmp_path: Path
) -> None:
    """Torch copies none that has steps, and whoever reads a loaded one crashes."""
    values = torch.int32 if name == "qint32" else torch.uint8
    whole = BYTES.repeat(4).view(values)
    files = TensorFiles(tmp_path, deferred)
    file = files.save(whole.view(getattr(torch, name))[part], "Module.same.Same.forward.0.input.0")
    files.finish()
    saved = torch.load(tmp_path / file, weights_only=True)
    assert not saved.is_quantized
    assert saved.view(values).equal(whole[part])


@pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="torch without oneDNN")
def test_a_layout_of_a_library_is_measured(debugger: Make, dumps: Read) -> None:
    record, _ = recorded(debugger, dumps, torch.arange(12.0).view(3, 4).to_mkldnn(), "statistics")
    assert (record["Max"], record["Min"], record["Mean"]) == (11.0, 0.0, 5.5)


@pytest.mark.parametrize("size", [1, 3, 300, 70_000])
def test_zeros_without_a_place_are_zeros(size: int, debugger: Make, dumps: Read) -> None:
    zeros = torch._efficientzerotensor((size,), device="cpu")  # type: ignore[attr-defined]
    record, _ = recorded(debugger, dumps, zeros, "statistics")
    assert (record["Max"], record["Min"], record["Norm"]) == (0.0, 0.0, 0.0)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
def test_forward_derivatives_with_zeros_run(debugger: Make, dumps: Read) -> None:
    net = Net()
    target = debugger(level="mix", task="tensor")
    target.start(model=net)
    with forward_ad.dual_level():
        x = forward_ad.make_dual(torch.ones(400), torch.full((400,), 2.0))
        tangent = forward_ad.unpack_dual(torch.where(x > 2, x, torch.zeros(400))).tangent
        net(tangent)
        net(torch._efficientzerotensor((400,)))  # type: ignore[attr-defined]
    target.stop()
    target.step()
    first, second = (dumps()[0].data[f"Module.same.Same.forward.{n}"] for n in (0, 1))
    assert next(tensors(first["output"]))["Max"] == next(tensors(second["output"]))["Max"] == 0.0


def test_symbols_stay_symbols(debugger: Make, dumps: Read, tmp_path: Path) -> None:
    """Asking a size for its number would fix it in the user's program."""
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    def traced() -> str:
        made = make_fx(lambda x: torch.relu(x) * x.shape[0], tracing_mode="symbolic")
        return str(made(torch.ones(3, 4)).graph)

    def exported() -> str:
        dynamic = ({0: torch.export.Dim.AUTO},)
        program = torch.export.export(net, (torch.ones(3, 4),), dynamic_shapes=dynamic)
        return str([node.meta["val"].shape for node in program.graph.nodes if "val" in node.meta])

    alone = traced(), exported()
    config = tmp_path / "config.json"
    config.write_text('{"risk_level": "ALL", "level": "mix", "statistics": {}}')
    target = debugger(config_path=config)
    target.start(model=net)
    recorded = traced(), exported()
    target.stop()
    target.step()
    assert recorded == alone
    assert "Size([s" in alone[1]
    assert not list(dumps()[0].path.glob("*error*"))
