"""The whole dumper on a stand-in for a device that refuses formats: no record loses its numbers.

The stand-in sits below our measuring: while it measures, every operation with a tensor of "the
device" in a refused format raises, as an accelerator's library does. The host is not the device.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from struct import unpack
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from msprobe_core import PrecisionDebugger
from msprobe_core.torch.measure import capabilities, deferred, on_devices
from msprobe_core.torch.record import record_maker as records
from msprobe_core.torch.record import tensors as book
from tests.msprobe_core.dump_reading import RankDump, tensors

Make = Callable[..., PrecisionDebugger]
Read = Callable[[], list[RankDump]]
_COPIES = ("copy", "clone", "view", "empty", "as_strided", "slice", "select", "detach", "alias")
_REDUCES = ("any", "all", "sum", "aminmax", "stack")


def no_float64(_: str, given: set[torch.dtype], made: set[torch.dtype]) -> bool:
    return torch.float64 in given | made


def no_bool(name: str, given: set[torch.dtype], _: set[torch.dtype]) -> bool:
    return torch.bool in given and any(name.startswith(f"aten.{each}.") for each in _REDUCES)


def float32_alone(name: str, given: set[torch.dtype], _: set[torch.dtype]) -> bool:
    return bool(given - {torch.float32}) and not any(each in name for each in _COPIES)


def no_products(name: str, given: set[torch.dtype], _: set[torch.dtype]) -> bool:
    return name.startswith(("aten.mv", "aten.bmm"))


def nothing(name: str, given: set[torch.dtype], _: set[torch.dtype]) -> bool:
    return not any(each in name for each in _COPIES)


MOODS = {
    "float64": no_float64,
    "bool": no_bool,
    "but float32": float32_alone,
    "products": no_products,
    "everything": nothing,
}


class Device(TorchDispatchMode):
    """Refuses operations on tensors of the device; all that comes from those is there as well."""

    def __init__(self, refuses: Callable[..., bool]) -> None:
        super().__init__()
        self.refuses, self.here = refuses, set[int]()
        self.refused = 0

    def hold(self, *values: torch.Tensor) -> None:
        self.here |= {each.untyped_storage()._cdata for each in values}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = [each for each in tree_leaves((args, kwargs)) if isinstance(each, torch.Tensor)]
        result = func(*args, **(kwargs or {}))
        if any(each.untyped_storage()._cdata in self.here for each in given):
            made = [each for each in tree_leaves(result) if isinstance(each, torch.Tensor)]
            kinds = ({each.dtype for each in given}, {each.dtype for each in made})
            if self.refuses(str(func), *kinds):
                self.refused += 1
                raise RuntimeError(f"aclnn: {func} not implemented for {kinds}")
            self.kept = [*getattr(self, "kept", []), *made]  # an address is not used again
            self.hold(*made)
        return result


@pytest.fixture(params=MOODS)
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Device]:
    """Takes every tensor of a recording for one of a device of this mood."""
    made = Device(MOODS[request.param])

    @contextmanager
    def away() -> Iterator[None]:
        with torch._C._DisableTorchDispatch():
            yield

    def on_host(tensor: torch.Tensor) -> torch.Tensor:
        with away():
            return tensor.clone()

    def on_device(sample: torch.Tensor, _: object) -> torch.Tensor:
        with away():
            copy = sample.clone()
        made.kept = [*getattr(made, "kept", []), copy]
        made.hold(copy)
        return copy

    measure, read = on_devices.DeviceNumbers.measure, on_devices.DeviceNumbers.read_back

    def measured(self: Any, tensor: torch.Tensor, *options: Any) -> Any:
        made.kept = [*getattr(made, "kept", []), tensor]
        made.hold(tensor)
        with made:
            return measure(self, tensor, *options)

    def read_back(self: Any) -> None:
        with made:
            read(self)

    monkeypatch.setattr(capabilities, "TABLE", {})
    for module in (capabilities, deferred):
        monkeypatch.setattr(module, "on_host", on_host)
    monkeypatch.setattr(capabilities, "on_device", on_device)
    monkeypatch.setattr(on_devices.DeviceNumbers, "measure", measured)
    monkeypatch.setattr(on_devices.DeviceNumbers, "read_back", read_back)
    monkeypatch.setattr(book, "SIMPLE", frozenset())
    monkeypatch.setattr(book, "is_simple", lambda _: False)
    monkeypatch.setattr(records, "is_deferred", lambda _: True)
    yield made


class Net(nn.Module):
    """Every kind of number: halves, integers, bools, doubles, complex ones, masks, large ones."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.line = nn.Embedding(100, 64), nn.Linear(64, 64)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.line(self.embed(ids))
        mask = x > 0
        torch.logical_not(mask)
        torch.abs(torch.where(mask, x.detach(), float("-inf")))
        for dtype in (torch.bfloat16, torch.float16, torch.float64, torch.complex64, torch.int64):
            torch.mul(x.detach().to(dtype), 2)
        torch.mul(torch.tensor([2**40 + 1, -5]), 1)
        return torch.relu(x)


def run(debugger: Make, path: Path, level: str, task: str) -> None:
    torch.manual_seed(0)
    net, section = Net(), "statistics" if task == "md5" else task
    mode = {"summary_mode": "md5"} if task == "md5" else {}
    config = path.with_suffix(".json")
    config.write_text(json.dumps({"task": section, "level": level, section: mode}))
    recording = debugger(config_path=str(config), dump_path=str(path))
    recording.start(net)
    net(torch.arange(50)).sum().backward()
    recording.stop()
    recording.step()


@pytest.mark.parametrize("level", ["L0", "L1", "mix"])
@pytest.mark.parametrize("task", ["statistics", "tensor", "md5"])
def test_no_record_loses_its_numbers(
    level: str,
    task: str,
    device: Device,
    debugger: Make,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run(debugger, tmp_path / "there", level, task)
    assert device.refused or level == "L0"
    monkeypatch.undo()
    run(debugger, tmp_path / "here", level, task)
    there, here = (read(tmp_path / name) for name in ("there", "here"))
    assert there.keys() == here.keys()
    for name, entry in here.items():
        pairs = zip(tensors(there[name]), tensors(entry), strict=True)
        for found, expected in pairs:
            check(found, expected, name)
    assert not list(tmp_path.glob("there/**/*error*"))


def read(path: Path) -> dict[str, Any]:
    (found,) = path.glob("step0/*/dump.json")
    data: dict[str, Any] = json.loads(found.read_text())["data"]
    return data


def check(found: dict[str, Any], expected: dict[str, Any], name: str) -> None:
    for key in ("Max", "Min", "Mean", "Norm"):
        mine, truth = found.get(key), expected.get(key)
        if isinstance(truth, float):
            assert mine == pytest.approx(truth, rel=2e-6, abs=2e-6), (name, key, found)
        else:
            assert (mine, type(mine)) == (truth, type(truth)), (name, key, found)
    for key in ("md5", "nan_count", "inf_count"):
        assert found.get(key) == expected.get(key), (name, key)
    assert ("sketch" in found) == ("sketch" in expected)
    if "sketch" in found:
        mine, truth = (unpack("<8f", bytes.fromhex(r["sketch"])) for r in (found, expected))
        near = 1e-5 * (expected["Norm"] or max(map(abs, truth)))
        if abs(near) < float("inf"):
            assert mine == pytest.approx(truth, rel=1e-4, abs=max(near, 1e-6)), (name, found)
