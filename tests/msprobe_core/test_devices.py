"""Statistics are computed where the tensor lies and read back together, not call by call."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from msprobe_core import PrecisionDebugger
from msprobe_core.torch.measure import fused
from msprobe_core.torch.measure.deferred import defer_measure, read_back
from msprobe_core.torch.measure.numbers import measure_now
from msprobe_core.torch.measure.on_devices import DeviceNumbers
from tests.msprobe_core.dump_reading import RankDump, tensors

Make = Callable[..., PrecisionDebugger]
Read = Callable[[], list[RankDump]]
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
needs_npu = pytest.mark.skipif(
    not (hasattr(torch, "npu") and torch.npu.is_available()), reason="no NPU with torch_npu here"
)
DTYPES = [
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.float8_e5m2,
    torch.int32,
    torch.uint16,
    torch.bool,
    torch.complex64,
]


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from(DTYPES), min_size=1, max_size=6), st.integers(0, 40))
def test_deferred_numbers_are_those_measured_at_once(dtypes: list[torch.dtype], size: int) -> None:
    values = [(torch.arange(size) % 7 - 3).abs().to(dtype) for dtype in dtypes]
    with torch.no_grad():
        pending = [defer_measure(value) for value in values]
        read_back(pending)
        for value, deferred in zip(values, pending, strict=True):
            now = json.loads(f'{{"at": 0{measure_now(value).text}}}')
            then = json.loads(f'{{"at": 0{deferred.found.text}}}')
            assert list(then) == list(now)
            assert all(near(then[key], now[key]) for key in now)


class Waits(TorchDispatchMode):
    """Counts what makes Python wait for a device: reading an element, or copying to the host."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += str(func) in ("aten._local_scalar_dense.default", "aten.is_nonzero.default")
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sketched", [False, True])
def test_measuring_waits_for_nothing(dtype: torch.dtype, sketched: bool) -> None:
    values = (torch.arange(3000) % 7).to(dtype)
    defer_measure(values, sketched=sketched)  # signs are made once in a process
    with torch.no_grad(), Waits() as waits:
        defer_measure(values, sketched=sketched)
    assert waits.count == 0


def test_the_counter_counts() -> None:
    with Waits() as waits:
        torch.ones(3).max().item()
    assert waits.count == 1


class Kernels(TorchDispatchMode):
    """Counts what is computed on a device: each call of torch that neither views nor allocates,
    and each launch of a kernel of Triton, which does nothing here.
    """

    def __init__(self) -> None:
        super().__init__()
        self.of_torch: list[str] = []
        self.of_triton: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        allocates = func.name().startswith(("aten::empty", "aten::detach", "aten::_reshape_alias"))
        if not func.is_view and not allocates:
            self.of_torch.append(func.name())
        return func(*args, **(kwargs or {}))

    def launcher(self, kernel: str) -> Any:
        """Stands for a kernel: `launcher[grid](…)` is a launch."""
        return _Launcher(lambda *_, **__: self.of_triton.append(kernel))


class _Launcher:
    def __init__(self, launch: Callable[..., None]) -> None:
        self._launch = launch

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., None]:
        return self._launch


@pytest.fixture
def as_if_on_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets tensors of the CPU go the way of those on a device."""
    book, maker = (f"msprobe_core.torch.record.{name}" for name in ("tensors", "record_maker"))
    monkeypatch.setattr(f"{book}.SIMPLE", frozenset())
    monkeypatch.setattr(f"{book}.is_simple", lambda _: False)
    monkeypatch.setattr(f"{maker}.is_deferred", lambda _: True)
    monkeypatch.setattr(fused, "DEVICES", frozenset({"cpu"}))


def launches(values: torch.Tensor, monkeypatch: pytest.MonkeyPatch) -> Kernels:
    """What one tensor launches where Triton is installed."""
    kernels = Kernels()
    stand_in = SimpleNamespace(
        COLUMNS=1016,
        FIELDS=14,
        MOST_PROGRAMS=1024,
        measure=kernels.launcher("measure"),
        combine=kernels.launcher("combine"),
    )
    monkeypatch.setattr(fused, "_kernels", lambda: stand_in)
    devices = DeviceNumbers()
    with torch.no_grad(), kernels:
        devices.measure(values, False, True)
    return kernels


FUSED = [torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.bool]


@pytest.mark.parametrize("dtype", FUSED)
@pytest.mark.parametrize(("size", "expected"), [(1, 1), (3000, 1), (10**6, 2)])
@pytest.mark.usefixtures("as_if_on_a_device")
def test_a_tensor_takes_two_kernels_at_most(
    dtype: torch.dtype, size: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels = launches(torch.zeros(size).to(dtype), monkeypatch)
    assert kernels.of_torch == []
    assert kernels.of_triton == ["measure", "combine"][:expected]


@pytest.mark.usefixtures("as_if_on_a_device")
def test_a_transposed_tensor_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = launches(torch.zeros(20, 30, 40).transpose(0, 2), monkeypatch)
    assert (kernels.of_torch, kernels.of_triton) == ([], ["measure", "combine"])


@pytest.mark.usefixtures("as_if_on_a_device")
def test_more_than_four_strided_dimensions_are_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    values = torch.zeros(2, 3, 4, 5, 6, 7).permute(5, 3, 1, 4, 2, 0)
    kernels = launches(values, monkeypatch)
    assert (kernels.of_torch, kernels.of_triton) == (["aten::clone"], ["measure"])


@pytest.mark.parametrize(
    ("dtype", "expected"), [(torch.float32, 31), (torch.bfloat16, 34), (torch.int64, 6)]
)
def test_what_a_tensor_takes_without_triton(dtype: torch.dtype, expected: int) -> None:
    values = torch.zeros(3000).to(dtype)
    defer_measure(values, sketched=True)  # signs are made once in a process
    with torch.no_grad(), Kernels() as kernels:
        defer_measure(values, sketched=True)
    assert len(kernels.of_torch) == expected, kernels.of_torch


@pytest.mark.parametrize("triton", [True, False])
@pytest.mark.usefixtures("as_if_on_a_device")
def test_a_recorded_step_waits_once(
    triton: bool, debugger: Make, dumps: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    if triton:
        pytest.importorskip("triton", reason="Triton is not installed: it has wheels for Linux")
    else:
        monkeypatch.setattr(fused, "_kernels", lambda: None)
    net, value = model(), torch.ones(4, 8)
    target = debugger(level="mix")
    with Waits() as waits:
        target.start(net)
        net(value).sum().backward()
        during = waits.count
        reads = count_reads(monkeypatch)
        target.stop()
        target.step()
    assert during == waits.count == 0
    # One transfer, seen as numbers and bits; without Triton one a format and one of sketches.
    assert [name for name, _ in reads] == (["cpu", *["tolist"] * 2] if triton else ["tolist"] * 3)
    monkeypatch.undo()
    net.zero_grad()
    target.start(net)
    net(value).sum().backward()
    target.stop()
    target.step()
    there, here = dumps()
    assert there.names == here.names
    for name in here.names:
        for ours, theirs in zip(tensors(here.data[name]), tensors(there.data[name]), strict=True):
            assert all(near(theirs[key], ours[key]) for key in ("Max", "Min", "Mean", "Norm"))


def count_reads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """What fetches elements: its name, and of how many."""
    reads: list[tuple[str, int]] = []
    for name in ("cpu", "tolist", "item"):
        method = getattr(torch.Tensor, name)

        def counted(self: torch.Tensor, name: str = name, method: Any = method) -> Any:
            reads.append((name, self.numel()))
            return method(self)

        monkeypatch.setattr(torch.Tensor, name, counted)
    return reads


def near(ours: float | None, theirs: float | None, rel: float = 1e-6) -> bool:
    if ours is None or theirs is None:
        return ours is theirs
    return ours == pytest.approx(theirs, rel=rel, abs=1e-5)


def test_deferred_numbers_count_what_is_not_finite() -> None:
    pending = [defer_measure(torch.tensor([1.0, float("nan"), float("inf")]))]
    read_back(pending)
    assert pending[0].found.abnormal
    assert pending[0].found.counts == ', "nan_count": 1, "inf_count": 1'


@pytest.fixture
def no_waiting() -> Iterator[None]:
    """Makes every synchronisation with the GPU an error."""
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    yield
    torch.cuda.set_sync_debug_mode("default")


def model() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 2))


@needs_cuda
def test_a_recording_does_not_wait_for_the_gpu(
    debugger: Make, no_waiting: None, tmp_path: Path
) -> None:
    net = model().cuda()
    value = torch.ones(4, 8, device="cuda")
    target = debugger(level="mix")
    target.start(net)
    net(value).sum().backward()
    torch.cuda.set_sync_debug_mode("default")  # from here on numbers are read back
    target.stop()
    target.step()


@needs_cuda
def test_a_gpu_gives_the_names_and_numbers_of_the_cpu(debugger: Make, dumps: Read) -> None:
    check_device("cuda", debugger, dumps)


@needs_npu
def test_an_npu_gives_the_names_and_numbers_of_the_cpu(debugger: Make, dumps: Read) -> None:
    check_device("npu", debugger, dumps)


def check_device(device: str, debugger: Make, dumps: Read) -> None:
    target = debugger(level="mix", task="tensor")
    for where in ("cpu", device):
        net = model().to(where)
        value = torch.ones(4, 8, device=where)
        with target.recording(net):
            net(value).sum().backward()
    here, there = dumps()
    assert here.names == there.names
    for name in here.names:
        pairs = zip(tensors(here.data[name]), tensors(there.data[name]), strict=True)
        for ours, theirs in pairs:
            for key in ("Max", "Min", "Mean", "Norm"):
                assert near(theirs[key], ours[key], rel=1e-3)
            saved = torch.load(there.path / "dump_tensor_data" / theirs["data_name"])
            assert saved.device.type == "cpu"
