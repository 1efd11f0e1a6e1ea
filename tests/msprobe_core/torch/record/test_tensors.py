"""Every kind of tensor gets a record without an exception, and its numbers are right."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode

from msprobe_core.capture.value_options import ValueOptions
from msprobe_core.torch.record.tensors import TensorBook
from msprobe_core.values.arguments import ArgumentWriter

FLOATS = [torch.float64, torch.float32, torch.bfloat16, torch.float16]
EIGHTS = [torch.float8_e4m3fn, torch.float8_e5m2]
INTEGERS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
WIDE = [torch.uint16, torch.uint32, torch.uint64]


class Names:
    """Stands for a folder of files: notes under which names which tensor would lie there."""

    def __init__(self) -> None:
        self.of: dict[str, str] = {}

    def save(self, _: torch.Tensor, path: str) -> str:
        self.of[f"{path}.pt"] = f"{path}.pt"
        return f"{path}.pt"

    def save_again(self, file: str, path: str) -> str:
        self.of[f"{path}.pt"] = self.of[file]
        return f"{path}.pt"


def book(files: Names | None = None, **options: Any) -> tuple[TensorBook, list[str]]:
    errors: list[str] = []
    made = TensorBook(
        ValueOptions(**options),
        files or Names(),
        lambda path, e: errors.append(f"{path}: {e}"),
    )
    return made, errors


def record(tensor: torch.Tensor, **options: Any) -> dict[str, Any]:
    made, errors = book(**options)
    with torch.no_grad():
        text = str(made.record(tensor, "Torch.x.0.forward.input.0"))
    assert errors == []
    return dict(json.loads(text))


@pytest.mark.parametrize("dtype", FLOATS + EIGHTS)
def test_floats_accumulate_wide(dtype: torch.dtype) -> None:
    values = torch.linspace(-3, 5, 5000).to(dtype)
    exact = values.double()
    found = record(values)
    assert found["Max"] == exact.max().item() and found["Min"] == exact.min().item()
    assert found["Mean"] == pytest.approx(exact.mean().item(), rel=1e-4)
    assert found["Norm"] == pytest.approx(exact.norm().item(), rel=1e-5)
    assert found["dtype"] == str(dtype)


@pytest.mark.parametrize("dtype", INTEGERS + WIDE)
def test_integers_have_extremes_only(dtype: torch.dtype) -> None:
    found = record(torch.tensor([3, 1, 2]).to(dtype))
    assert (found["Max"], found["Min"], found["Mean"], found["Norm"]) == (3, 1, None, None)


def test_bools_and_the_empty_tensor() -> None:
    found = record(torch.tensor([True, False]))
    assert (found["Max"], found["Min"], found["Mean"]) == (True, False, None)
    assert {record(torch.empty(0, 3))[key] for key in ("Max", "Min", "Mean", "Norm")} == {None}
    assert record(torch.tensor(-2.5))["Norm"] == 2.5


def test_nan_and_infinity_are_counted() -> None:
    nan, inf = float("nan"), float("inf")
    found = record(torch.tensor([1.0, nan, inf, -inf]))
    assert (found["nan_count"], found["inf_count"]) == (1, 2)
    assert math.isnan(found["Max"])
    found = record(torch.tensor([1.0, inf]))
    assert found["Max"] == inf and "nan_count" not in found
    assert "inf_count" not in record(torch.full((4,), 1e38))  # its squares overflow, it does not


def odd_tensors() -> dict[str, Callable[[], torch.Tensor]]:
    dense = torch.tensor([[1.0, 0.0], [0.0, -2.0]])
    return {
        "sparse": dense.to_sparse,
        "csr": dense.to_sparse_csr,
        "quantised": lambda: torch.quantize_per_tensor(dense, 0.1, 0, torch.qint8),
        "complex": lambda: torch.tensor([3 + 4j, 0j]),
        "complex half": lambda: torch.zeros(2, dtype=torch.complex32),
        "conjugate": lambda: torch.tensor([3 + 4j]).conj(),
        "meta": lambda: torch.empty(2, device="meta"),
        "expanded": lambda: torch.ones(1).expand(4),
        "nested": lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
        "jagged": lambda: torch.nested.nested_tensor(
            [torch.ones(2), torch.ones(3)], layout=torch.jagged
        ),
        "four bits": lambda: torch.zeros(2, dtype=torch.uint8).view(torch.float4_e2m1fn_x2),
    }


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", odd_tensors())
@pytest.mark.parametrize("checksum", [None, "md5", "xor"])
def test_odd_tensors_have_a_record(kind: str, checksum: str | None) -> None:
    made, errors = book(checksum=checksum)
    with torch.no_grad():
        found = json.loads(str(made.record(odd_tensors()[kind](), "Torch.x.0.forward.input.0")))
    assert found["type"] == "torch.Tensor"
    if kind == "four bits":  # bytes that are no numbers
        assert found["Max"] is None
    assert errors == []


@pytest.mark.filterwarnings("ignore")
def test_a_sparse_tensor_counts_its_zeros() -> None:
    found = record(torch.tensor([[1.0, 0.0], [0.0, 3.0]]).to_sparse())
    assert (found["Min"], found["Max"], found["Mean"]) == (0.0, 3.0, 1.0)
    assert found["shape"] == [2, 2]


def test_a_tensor_that_cannot_be_read_costs_a_line_not_the_step() -> None:
    class Broken(torch.Tensor):
        def dequantize(self) -> torch.Tensor:
            return torch.add(self, 1)

        @classmethod
        def __torch_dispatch__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            raise ValueError("no\nelements")

    made, errors = book()
    broken = torch.Tensor._make_wrapper_subclass(Broken, (2, 3))
    found = json.loads(str(made.record(broken, "Torch.x.0.forward.input.0")))
    assert found["Max"] is None and found["shape"] == [2, 3]
    assert len(errors) == 1 and "Torch.x.0.forward.input.0" in errors[0]


class Halves(torch.Tensor):
    """Stands for twice what it stores, as the quantised tensors of torchao stand for a product."""

    stored: torch.Tensor

    @staticmethod
    def __new__(cls: type[Halves], stored: torch.Tensor) -> Halves:
        made: Any = torch.Tensor._make_wrapper_subclass(cls, stored.shape, dtype=torch.float32)
        made.stored = stored
        return made  # type: ignore[no-any-return]

    def dequantize(self) -> torch.Tensor:
        return self.stored.float() * 2

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError(func)


class Original(Halves):
    """NF4's method has another name."""

    dequantize = torch.Tensor.dequantize  # type: ignore[assignment]

    def get_original_weight(self) -> torch.Tensor:
        return self.stored.float() * 2


@pytest.mark.parametrize("kind", [Halves, Original])
@pytest.mark.parametrize("options", [{}, {"save": True}, {"checksum": "md5"}])
def test_a_quantised_wrapper_is_measured_by_what_it_stands_for(
    kind: type[Halves], options: dict[str, Any]
) -> None:
    stored = torch.tensor([[1, -3], [5, 7]], dtype=torch.int8)
    found = record(kind(stored), **options)
    exact = stored.double() * 2
    assert (found["Max"], found["Min"], found["dtype"]) == (14.0, -6.0, "torch.float32")
    assert found["Norm"] == pytest.approx(exact.norm().item())
    assert found["Mean"] == pytest.approx(exact.mean().item())


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=40)
)
def test_extremes_are_exact_and_sums_near(values: list[float]) -> None:
    found = record(torch.tensor(values, dtype=torch.float32))
    exact = np.array(values, dtype=np.float64)
    assert found["Max"] == exact.max() and found["Min"] == exact.min()
    if np.abs(exact).max() < 1e15:
        scale = float(np.abs(exact).max())
        assert found["Mean"] == pytest.approx(exact.mean(), rel=1e-4, abs=1e-5 * scale)
        assert found["Norm"] == pytest.approx(np.sqrt((exact**2).sum()), rel=1e-4, abs=1e-15)


def test_a_tensor_is_computed_once_per_version(monkeypatch: pytest.MonkeyPatch) -> None:
    from msprobe_core.torch.record import record_maker

    calls: list[int] = []
    real = record_maker.measure_now
    monkeypatch.setattr(record_maker, "measure_now", lambda *a: (calls.append(1), real(*a))[1])
    made, _ = book()
    value = torch.ones(5000)
    with torch.no_grad():
        made.record(value, "a.b.0.forward.input.0")
        made.record(value, "a.c.0.forward.input.0")
        made.record(value.view(50, 100), "a.d.0.forward.input.0")
        assert len(calls) == 1
        value.add_(1.0)
        assert json.loads(str(made.record(value, "a.e.0.forward.input.0")))["Max"] == 2.0
    assert len(calls) == 2


def test_a_tensor_that_two_values_are_is_saved_once_under_both_names() -> None:
    names = Names()
    made, _ = book(names, save=True)
    value = torch.ones(5)
    first = json.loads(str(made.record(value, "A.a.0.forward.output.0")))
    again = json.loads(str(made.record(value, "A.b.0.forward.input.0")))
    assert first["data_name"] == "A.a.0.forward.output.0.pt"
    assert again["data_name"] == "A.b.0.forward.input.0.pt"
    assert names.of[again["data_name"]] == first["data_name"]


def test_checksums() -> None:
    import zlib

    value = torch.arange(6, dtype=torch.float32).view(2, 3)
    assert record(value, checksum="md5")["md5"] == f"{zlib.crc32(value.numpy().tobytes()):08x}"
    turned = record(value.t(), checksum="md5")["md5"]
    assert turned == f"{zlib.crc32(value.t().contiguous().numpy().tobytes()):08x}"
    xor = record(value, checksum="xor", statistics=False)
    words = np.bitwise_xor.reduce(value.numpy().reshape(-1).view(np.uint64))
    assert xor["md5"] == f"0x{int(words):016x}" and "Max" not in xor


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: torch.arange(1, 4).float(), "0x400000007fc00000"),
        (lambda: torch.arange(1, 6).float(), "0x008000003f600000"),
        (lambda: torch.arange(1, 4).bfloat16(), "0x0000404040003f80"),
        (lambda: torch.ones(5, dtype=torch.bool), "0x0000000101010101"),
        (lambda: torch.arange(7, dtype=torch.uint8), "0x0006050403020100"),
        (lambda: torch.arange(6).float().view(2, 3).t(), "0x406000007f800000"),
        (lambda: torch.tensor(2.5), 2.5),
    ],
)
def test_xor_is_what_msprobe_writes(make: Callable[[], torch.Tensor], expected: object) -> None:
    """As mindstudio-probe 26.2.0 wrote it for these tensors."""
    assert record(make(), checksum="xor", statistics=False)["md5"] == expected


def text_of(value: object) -> Any:
    made, _ = book()
    out: list[Any] = []
    ArgumentWriter(made).value(value, "A.a.0.forward.input", 0, out)
    return json.loads("".join(map(str, out)))


def test_arguments_that_are_no_tensors() -> None:
    assert text_of(3) == {"type": "int", "value": 3}
    assert text_of(True) == {"type": "bool", "value": True}
    assert text_of("ü\n") == {"type": "str", "value": "ü\n"}
    assert math.isnan(text_of(float("nan"))["value"])
    assert text_of(torch.float16) == {"type": "torch.dtype", "value": "torch.float16"}
    assert text_of(torch.Size([2, 3])) == {"type": "torch.Size", "value": [2, 3]}
    assert text_of(slice(1, None)) == {"type": "slice", "value": [1, None, None]}
    assert text_of({"a": [1, None]}) == {"a": [{"type": "int", "value": 1}, None]}
    assert text_of(object()) is None
    loop: list[Any] = []
    loop.append(loop)
    assert text_of(loop) is not None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=80, deadline=None)
@given(json_values)
def test_any_container_is_valid_json(value: object) -> None:
    assert text_of([value]) is not None


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_layout_alignment_and_threads_do_not_change_the_numbers(
    dtype: torch.dtype, threads: int
) -> None:
    torch.manual_seed(0)
    values = torch.randn(700, 300).to(dtype)
    expected = record(values)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        shifted = torch.empty(values.numel() + 1, dtype=dtype)[1:].view(values.shape)
        shifted.copy_(values)
        for same in (values, values.t().contiguous().t(), shifted, values.view(-1)[:, None]):
            found = record(same)
            assert [found[key] for key in NUMBERS] == [expected[key] for key in NUMBERS]
    finally:
        torch.set_num_threads(before)
    assert expected["Norm"] == pytest.approx(values.double().norm().item(), rel=1e-8)


NUMBERS = ("Max", "Min", "Mean", "Norm")


@pytest.mark.parametrize(
    ("scale", "dtype"),
    [
        (1e-25, torch.float32),
        (1e19, torch.float32),
        (-3.4e38, torch.float32),
        (1e-200, torch.float64),
        (1e300, torch.float64),
    ],
)
@pytest.mark.parametrize("size", [3, 100, 70_000])
def test_sums_neither_overflow_nor_vanish(scale: float, dtype: torch.dtype, size: int) -> None:
    found = record(torch.full((size,), scale, dtype=dtype))
    exact = abs(torch.tensor(scale, dtype=dtype).item())
    assert found["Norm"] == pytest.approx(exact * math.sqrt(size), rel=1e-6)
    assert abs(found["Mean"]) == pytest.approx(exact, rel=1e-6)
    assert "inf_count" not in found


@pytest.mark.parametrize("mode", [torch.inference_mode, FakeTensorMode])
def test_what_is_kept_between_tensors_is_of_no_mode(mode: Callable[[], Any]) -> None:
    """The first tensor of a thread is measured under a mode, the next ones are not."""
    found: list[dict[str, Any]] = []

    def measure() -> None:
        values = torch.arange(40_000.0)
        with mode():
            made, _ = book()
            made.record(values, "Torch.x.0.forward.input.0")
        found.append(record(values))
        found.append(record(values[:3000]))

    thread = threading.Thread(target=measure)
    thread.start()
    thread.join()
    for each, size in zip(found, (40_000, 3000), strict=True):
        exact = torch.arange(size, dtype=torch.float64)
        assert each["Norm"] == pytest.approx(exact.norm().item(), rel=1e-8)
        assert each["Mean"] == pytest.approx(exact.mean().item(), rel=1e-8)


def test_threads_measure_beside_each_other() -> None:
    values = [torch.full((100_000,), float(n)) for n in range(1, 5)]
    found: dict[int, set[float]] = {n: set() for n in range(4)}

    def measure(number: int) -> None:
        for _ in range(20):
            found[number].add(record(values[number])["Mean"])

    threads = [threading.Thread(target=measure, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {n: {n + 1.0} for n in range(4)}


def test_an_expanded_tensor_counts_each_place() -> None:
    values = torch.randn(5, 1).expand(5, 1000)
    found = record(values)
    assert found["Norm"] == pytest.approx(values.double().norm().item(), rel=1e-6)
    assert found["Mean"] == pytest.approx(values.double().mean().item(), rel=1e-6)


def test_reading_leaves_a_storage_resizable() -> None:
    for options in ({}, {"checksum": "md5"}, {"checksum": "xor"}):
        values = torch.randn(3000)
        record(values, **options)
        values.untyped_storage().resize_(0)
        assert values.untyped_storage().nbytes() == 0
