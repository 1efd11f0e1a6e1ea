"""The monitors' numbers of a tensor, in formats of all kinds, against those of its own elements."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from msprobe.pytorch.monitor.statistics import measure

OPS = ("norm", "min", "max", "mean", "zeros", "nans")
WAVES = torch.complex(torch.tensor([3.0, 0.0, 5.0]), torch.tensor([4.0, 0.0, -12.0]))


def rows_of_two_lengths(layout: torch.layout) -> torch.Tensor:
    rows = [torch.tensor([5.0, 0.0]), torch.tensor([-13.0, 2.0, 0.0])]
    return torch.nested.nested_tensor(rows, layout=layout)


FORMATS: dict[str, Callable[[], torch.Tensor]] = {
    "complex": lambda: WAVES,
    "complex of half precision": lambda: WAVES.to(torch.complex32),
    "complex of double precision": lambda: WAVES.to(torch.complex128),
    "conjugated": WAVES.conj,
    "imaginary parts of a conjugate": lambda: WAVES.conj().imag,
    "complex and sparse": lambda: torch.diag(WAVES).to_sparse(),
    "eight bits": lambda: torch.tensor([5.0, 0.0, 13.0]).to(torch.float8_e4m3fn),
    "eight bits of a wider range": lambda: torch.tensor([5.0, 0.0, 12.0]).to(torch.float8_e5m2),
    "scales of eight bits": lambda: torch.tensor([4.0, 1.0, 0.5]).to(torch.float8_e8m0fnu),
    "booleans": lambda: torch.tensor([True, False, True]),
    "counts": lambda: torch.tensor([5, 0, 65535], dtype=torch.uint16),
    "quantised": lambda: torch.quantize_per_tensor(WAVES.abs(), 0.125, 3, torch.quint8),
    "rows of two lengths": lambda: rows_of_two_lengths(torch.strided),
    "rows of two lengths, jagged": lambda: rows_of_two_lengths(torch.jagged),
    "half precision": lambda: torch.tensor([5.0, 0.0, -13.0]).bfloat16(),
}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.filterwarnings("ignore")
def test_numbers_are_those_of_the_elements(name: str) -> None:
    tensor = FORMATS[name]()
    dense = _dense(tensor)
    elements = dense.resolve_conj().resolve_neg().to(torch.complex128).flatten().tolist()
    own = [abs(one) if dense.is_complex() else one.real for one in elements]
    found = dict(zip(OPS, measure(tensor, OPS, 1e-8), strict=True))
    assert found == pytest.approx(
        {
            "norm": math.hypot(*own),
            "min": min(own),
            "max": max(own),
            "mean": math.fsum(own) / len(own),
            "zeros": own.count(0) / len(own),
            "nans": 0,
        },
        rel=1e-7,
    )


def _dense(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.is_nested:
        return torch.cat(list(tensor.unbind()))
    return tensor.dequantize() if tensor.is_quantized else tensor.to_dense()


@pytest.mark.filterwarnings("ignore")
def test_a_nested_tensor_has_a_shape_and_may_have_no_members() -> None:
    assert measure(rows_of_two_lengths(torch.jagged), ["shape"], 1e-8) == [[2, -1]]
    norm, shape = measure(torch.nested.nested_tensor([]), ["norm", "shape"], 1e-8)
    assert math.isnan(float(str(norm)))
    assert shape == [0]
