"""The fused kernel against float64, in Triton's interpreter, or on a GPU where there is one."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from msprobe_core.torch.measure import fused
from msprobe_core.torch.measure.fused import FusedTable, is_fused
from msprobe_core.torch.measure.numbers import measure_now
from msprobe_core.torch.measure.on_devices import DeviceNumbers
from msprobe_core.torch.measure.sketch import sketch
from tests.msprobe_core.torch.measure.test_sketch import by_definition, projections

pytest.importorskip("triton", reason="Triton is not installed: it has wheels for Linux only")
pytestmark = pytest.mark.filterwarnings(  # numpy's, which computes in Triton's place
    "ignore:(invalid value|overflow) encountered:RuntimeWarning"
)

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
FLOATS = [torch.float32, torch.float16, torch.bfloat16]
WHOLE = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool]
SHAPES = [
    (),
    (1,),
    (7,),
    (1016,),
    (1017,),
    (3, 1016),
    (16, 1016),
    (17, 1016),
    (5, 77, 131),
    (1016 * 40 + 3,),
]
"""One element, a row and one more, one program, two, and three with a rest of elements."""


def numbers(tensor: torch.Tensor, **options: bool) -> dict[str, Any]:
    """The members that the kernel gives a record."""
    table = FusedTable(DEVICE)
    with torch.no_grad():
        found = table.measure(tensor.to(DEVICE), options.get("double", False), True)
    table.read_back()
    return dict(json.loads("{" + (found.found.text + found.sketch + found.found.counts)[2:] + "}"))


def check(tensor: torch.Tensor, found: dict[str, Any]) -> None:
    """Hold what was found against float64 and the definition of the sketch."""
    exact = tensor.double().reshape(-1)
    size = exact.numel()
    assert (found["Max"], found["Min"]) == (exact.max().item(), exact.min().item())
    norm = math.sqrt(math.fsum((exact * exact).tolist()))
    assert found["Norm"] == pytest.approx(norm, rel=1e-8)
    mean = math.fsum(exact.tolist()) / size
    assert found["Mean"] == pytest.approx(mean, rel=1e-8, abs=2e-11 * norm / math.sqrt(size))
    if size > 1:
        check_sketch(tensor, found)


def check_sketch(tensor: torch.Tensor, found: dict[str, Any], rounding: float = 1e-7) -> None:
    """The kernel sums in float64; torch's own sums round by 3e-7 (docs/formats.md)."""
    exact = by_definition(tensor.double().reshape(-1).tolist())
    unit = tensor.double().norm().item() * math.sqrt(8)
    assert math.dist(projections(found["sketch"]), exact) <= rounding * unit
    with torch.no_grad():
        on_the_cpu = sketch(tensor, math.inf).tolist()
    assert math.dist(projections(found["sketch"]), on_the_cpu) <= (rounding + 3e-7) * unit


def some(shape: tuple[int, ...], dtype: torch.dtype = torch.float32) -> torch.Tensor:
    generator = torch.Generator().manual_seed(math.prod(shape))
    return (torch.randn(shape, generator=generator) + 0.1).to(dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_numbers_are_those_of_float64(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    values = some(shape, dtype)
    found = numbers(values)
    check(values, found)
    assert ("sketch" in found) == (values.numel() > 1)


@pytest.mark.parametrize("dtype", WHOLE)
@pytest.mark.parametrize("size", [1, 9, 1016 * 35 + 5])
def test_whole_numbers_keep_all_their_digits(size: int, dtype: torch.dtype) -> None:
    values = (torch.arange(size) * 7 % 256 - (0 if dtype is torch.uint8 else 128)).to(dtype)
    if dtype is torch.int64:
        values[0] = 2**62 + 1
    found = numbers(values)
    assert found["Max"] == values.max().item() and type(found["Max"]) is type(values.max().item())
    assert found["Min"] == values.min().item() and type(found["Min"]) is type(values.min().item())
    assert (found["Mean"], found["Norm"]) == (None, None)
    if size > 1:
        check_sketch(values, found)


LAYOUTS = {
    "transposed": lambda x: x.transpose(0, 2),
    "part": lambda x: x[1:, ::2, 3:],
    "expanded": lambda x: x[:, :1].expand(-1, 5, -1),
    "channels last": lambda x: x[None].to(memory_format=torch.channels_last),
    "four dimensions": lambda x: x.view(6, 2, 10, 6, 7).permute(4, 0, 2, 1, 3),
    "one place, many times": lambda x: x[0, 0, 0].expand(3000),
    "not aligned": lambda x: x.reshape(-1)[1:],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_layouts_are_read_in_c_order(layout: str, dtype: torch.dtype) -> None:
    values = LAYOUTS[layout](some((12, 10, 42), dtype))  # type: ignore[no-untyped-call]
    assert numbers(values) == numbers(values.clone(memory_format=torch.contiguous_format))
    check(values, numbers(values))


def test_more_dimensions_than_the_kernel_walks_are_copied() -> None:
    values = some((2, 3, 4, 5, 6, 7)).permute(5, 3, 1, 4, 2, 0)
    assert len(fused._layout(values)) == 6
    check(values, numbers(values))


@pytest.mark.parametrize("size", [3, 1016 * 40])
@pytest.mark.parametrize("factor", [1e-25, 1e-42, 1e19, 3e38])
def test_tiny_and_huge_numbers_neither_underflow_nor_overflow(factor: float, size: int) -> None:
    values = torch.where(torch.arange(size) % 3 == 0, -factor, factor).float()
    found = numbers(values)
    exact = values.double()
    assert found["Norm"] == pytest.approx(exact.norm().item(), rel=1e-8)
    assert found["Mean"] == pytest.approx(exact.mean().item(), rel=1e-8)
    if factor < 1:
        check_sketch(values, found)
    else:  # of masks a sketch has nothing
        assert set(projections(found["sketch"])) == {0.0}


SPECIAL = {
    "NaN": [math.nan],
    "infinity": [math.inf],
    "both infinities": [math.inf, -math.inf],
    "all": [math.nan, math.inf, -math.inf, math.nan],
}


@pytest.mark.parametrize("special", SPECIAL)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", [5, 1016 * 40 + 3])
def test_what_is_not_finite_is_counted_and_leaves_the_sketch(
    size: int, dtype: torch.dtype, special: str
) -> None:
    values = some((size,), dtype)
    values[1 : 1 + len(SPECIAL[special])] = torch.tensor(SPECIAL[special])
    found = numbers(values)
    assert found.get("nan_count", 0) == values.isnan().sum()
    assert found.get("inf_count", 0) == values.isinf().sum()
    double = values.double()
    for key, exact in (("Max", double.max()), ("Min", double.min()), ("Mean", double.mean())):
        assert found[key] == pytest.approx(exact.item(), rel=1e-8, nan_ok=True)
    assert found["Norm"] == pytest.approx(double.norm().item(), rel=1e-8, nan_ok=True)
    check_sketch(values.nan_to_num(0.0, 0.0, 0.0), found)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_nothing_finite_at_all(value: float, dtype: torch.dtype) -> None:
    found = numbers(torch.full((2000,), value, dtype=dtype))
    for key in ("Max", "Min", "Mean"):
        assert found[key] == pytest.approx(value, nan_ok=True)
    assert set(projections(found["sketch"])) == {0.0}


@pytest.mark.parametrize("dtype", FLOATS)
def test_masks_are_finite_and_leave_the_sketch(dtype: torch.dtype) -> None:
    values = some((60, 70), dtype)
    values[::2] = torch.finfo(dtype).min
    found = numbers(values)
    assert found["Min"] == torch.finfo(dtype).min
    assert found["Norm"] == pytest.approx(values.double().norm().item(), rel=1e-8)
    values[::2] = 0
    check_sketch(values, found)


@pytest.mark.parametrize("size", [3, 4000, 1016 * 40 + 3])
@pytest.mark.parametrize("dtype", FLOATS)
def test_digits_are_those_of_the_cpu(size: int, dtype: torch.dtype) -> None:
    values = some((size,), dtype)
    found = numbers(values)
    text = '"Max": {Max!r}, "Min": {Min!r}, "Mean": {Mean!r}, "Norm": {Norm!r}'
    on_the_cpu = json.loads("{" + measure_now(values).text[2:] + "}")
    assert text.format(**found) == text.format(**on_the_cpu)


def test_two_runs_have_the_same_bits() -> None:
    values = some((1016 * 40 + 3,))
    assert numbers(values, double=True) == numbers(values.clone(), double=True)


def test_all_are_read_back_in_one_transfer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fused, "_AT_ONCE", 4)
    transfers = []
    fetch = torch.Tensor.cpu
    monkeypatch.setattr(torch.Tensor, "cpu", lambda t: transfers.append(t.shape) or fetch(t))
    table = FusedTable(DEVICE)
    values = [torch.arange(1.0, n + 2, device=DEVICE) for n in range(10)]
    found = [table.measure(each, False, True) for each in values]
    transfers.clear()
    table.read_back()
    assert transfers == [(10, 14)]
    assert [json.loads("{" + n.found.text[2:] + "}")["Max"] for n in found] == [*range(1, 11)]
    table.read_back()
    assert len(transfers) == 1


def test_what_the_kernel_does_not_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_fused(torch.ones(2)) is False  # on the CPU
    monkeypatch.setattr(fused, "DEVICES", frozenset({"cpu"}))
    assert is_fused(torch.ones(2)) is True
    odd = [
        torch.ones(2, dtype=torch.float64),
        torch.ones(2, dtype=torch.complex64),
        torch.ones(2).to(torch.float8_e5m2),
        torch.imag(torch.ones(2, dtype=torch.complex64).conj()),
        torch._efficientzerotensor(2),
        torch.empty(0),
    ]
    assert [is_fused(each) for each in odd] == [False] * len(odd)


def test_a_kernel_that_fails_is_used_no_more(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fused, "DEVICES", frozenset({"cpu"}))
    monkeypatch.setattr(fused, "_refused", set())

    def fail(*_: object) -> None:
        raise RuntimeError("no C compiler")

    monkeypatch.setattr(fused, "_launch", fail)
    devices = DeviceNumbers()
    values = some((50,))
    found = [devices.measure(values, False, True) for _ in range(2)]
    assert devices.waiting
    devices.read_back()
    assert not devices.waiting
    for each in found:
        check_sketch(values, json.loads("{" + (each.found.text + each.sketch)[2:] + "}"), 3e-7)
    said = capsys.readouterr().err
    assert said.count("Triton failed on cpu: no C compiler") == 1


def test_without_triton_torch_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fused, "DEVICES", frozenset({"cpu"}))
    monkeypatch.setattr(fused, "_kernels", lambda: None)
    devices = DeviceNumbers()
    found = devices.measure(some((50,)), False, False)
    assert not isinstance(found, fused.FusedNumbers)


COMPILE = """
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from msprobe_core.torch.measure import fused_kernel as kernels

constants = {"STEP": 1024, "LONG": False, "CONTIGUOUS": True, "FLOATING": True, "LIMIT": 1e9,
             "SKETCH": True}
pointers = {"elements": "*bf16", "out": "*fp64", "parts": "*fp64"}
cuda, hip = GPUTarget("cuda", 80, 32), GPUTarget("hip", "gfx942", 64)
for kernel, targets in ((kernels.measure, (cuda, hip)), (kernels.combine, (cuda,))):
    signature = {name: pointers.get(name, "constexpr" if name in constants else "i32")
                 for name in kernel.arg_names}
    mine = {name: value for name, value in constants.items() if name in kernel.arg_names}
    for target in targets:
        made = triton.compile(ASTSource(kernel, signature, mine), target=target,
                              options={"num_warps": 8, "enable_fp_fusion": True})
        print(target.backend, len(made.asm[{"cuda": "cubin", "hip": "hsaco"}[target.backend]]))
"""


def test_it_compiles_for_gpus_that_are_not_here(tmp_path: Path) -> None:
    environment = {**os.environ, "TRITON_INTERPRET": "0", "TRITON_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", COMPILE]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["cuda", "hip", "cuda"]
