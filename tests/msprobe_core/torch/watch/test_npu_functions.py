"""Fused functions of torch_npu, by a stand-in of the module: what they do runs on the CPU."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from msprobe_core import PrecisionDebugger
from tests.msprobe_core.dump_reading import RankDump

Make = Callable[..., PrecisionDebugger]
Read = Callable[[], list[RankDump]]
_LIBRARY = torch.library.Library("npu", "FRAGMENT")  # registers as long as it lives
_LIBRARY.define("npu_swiglu(Tensor x) -> Tensor")
_LIBRARY.define("npu_scale_(Tensor(a!) x, float by) -> Tensor(a!)")
_LIBRARY.impl("npu_swiglu", torch.nn.functional.glu, "CompositeImplicitAutograd")
_LIBRARY.impl("npu_scale_", lambda x, by: x.mul_(by), "CompositeExplicitAutograd")


def _npu_rms_norm(x: torch.Tensor, gamma: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    spread = torch.rsqrt(x.square().mean(-1, keepdim=True))
    return x * spread * gamma, spread


@pytest.fixture
def torch_npu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    module: Any = ModuleType("torch_npu")
    module.npu_rms_norm = _npu_rms_norm
    module.npu_swiglu = torch.ops.npu.npu_swiglu
    module.npu_config = ModuleType("npu_config")
    module.npu_Kind = type("npu_Kind", (), {})
    module.synchronize = lambda: None
    monkeypatch.setitem(sys.modules, "torch_npu", module)
    yield module


def _step(torch_npu: Any) -> list[torch.Tensor]:
    torch.manual_seed(0)
    x = torch.randn(3, 8, requires_grad=True)
    y, spread = torch_npu.npu_rms_norm(x, torch.ones(8))
    z = torch_npu.npu_swiglu(y)
    z.sum().backward()
    scaled = torch.ops.npu.npu_scale_(z.detach(), 2.0)
    return [y, spread, z, scaled, x.grad if x.grad is not None else x]


@pytest.mark.parametrize("risk", ["FOCUS", "CORE", "ALL"])
def test_fused_functions_are_one_call_each_under_npu(
    torch_npu: Any, debugger: Make, dumps: Read, tmp_path: Path, risk: str
) -> None:
    plain = _step(torch_npu)
    before = dict(vars(torch_npu))
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"risk_level": risk}))
    target = debugger(config_path=str(path))
    target.start()
    assert torch_npu.npu_Kind is before["npu_Kind"]
    recorded = _step(torch_npu)
    target.stop()
    target.step()
    assert vars(torch_npu) == before
    assert all(torch.equal(a, b) for a, b in zip(plain, recorded, strict=True))
    dump = dumps()[0]
    assert sorted(name for name in dump.names if name.startswith("NPU.")) == [
        "NPU.npu_rms_norm.0.backward",
        "NPU.npu_rms_norm.0.forward",
        "NPU.npu_scale_.0.forward",
        "NPU.npu_swiglu.0.backward",
        "NPU.npu_swiglu.0.forward",
    ]
    assert not any(part in name for name in dump.names for part in (".rsqrt", ".glu", ".mul_"))
    norm = dump.data["NPU.npu_rms_norm.0.forward"]
    assert norm["output"][0]["Norm"] == pytest.approx(float(plain[0].detach().norm()))
    assert dump.data["NPU.npu_scale_.0.forward"]["output"][0]["Norm"] == pytest.approx(
        float(plain[3].norm())
    )


def test_without_torch_npu_nothing_is_looked_for(debugger: Make, dumps: Read) -> None:
    target = debugger()
    target.start()
    torch.relu(torch.ones(2))
    target.stop()
    target.step()
    assert "torch_npu" not in sys.modules
    assert not any(name.startswith("NPU.") for name in dumps()[0].names)
