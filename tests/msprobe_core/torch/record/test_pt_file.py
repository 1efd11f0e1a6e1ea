"""What is written is what torch.load gives back, and a sound zip archive for everyone else."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from msprobe_core.torch.record.pt_file import write_pt

DTYPES = [
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
    torch.bool,
    torch.complex64,
    torch.complex128,
    torch.uint16,
    torch.float8_e4m3fn,
]


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.sampled_from(DTYPES), st.lists(st.integers(1, 5), max_size=4), st.integers(0, 2**31 - 1))
def test_any_tensor_comes_back(
    tmp_path: Path, dtype: torch.dtype, shape: list[int], seed: int
) -> None:
    made = torch.Generator().manual_seed(seed)
    values = torch.randint(0, 2, shape, generator=made).to(dtype)
    path = tmp_path / "数 a.pt"
    assert write_pt(path, values) == path.stat().st_size
    found = torch.load(path, weights_only=True)
    assert (found.dtype, found.shape, found.stride()) == (dtype, values.shape, values.stride())
    assert found.requires_grad is False
    assert found.view(-1).view(torch.uint8).equal(values.view(-1).view(torch.uint8))
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None


def test_a_tensor_may_be_mapped_into_memory(tmp_path: Path) -> None:
    values = torch.randn(100, 30)
    write_pt(tmp_path / "a.pt", values)
    assert torch.load(tmp_path / "a.pt", weights_only=True, mmap=True).equal(values)


def test_the_empty_tensor(tmp_path: Path) -> None:
    write_pt(tmp_path / "a.pt", torch.empty(0, 3))
    assert torch.load(tmp_path / "a.pt").shape == (0, 3)


def test_a_write_that_was_cut_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.writev
    monkeypatch.setattr(os, "writev", lambda file, parts: real(file, [parts[0][:7]]))
    values = torch.randn(1000)
    write_pt(tmp_path / "a.pt", values)
    assert torch.load(tmp_path / "a.pt").equal(values)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_full_disk_is_an_error() -> None:
    with pytest.raises(OSError, match="No space left"):
        write_pt(Path("/dev/full"), torch.randn(1000))
