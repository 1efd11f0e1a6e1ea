"""Tensor files as torch and numpy write them are read without torch; anything else is refused."""

from __future__ import annotations

import os
import pickle
import struct
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builder.compare.dumped_tensors import measure_pair
from builder.dump import tensor_files
from builder.dump.tensor_files import TensorFileError, open_tensor

DTYPES = [
    torch.float64,
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.float8_e4m3fn,
    torch.float8_e5m2,
    torch.float8_e4m3fnuz,
    torch.float8_e5m2fnuz,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.uint8,
    torch.uint16,
    torch.uint32,
    torch.uint64,
    torch.bool,
    torch.complex64,
    torch.complex128,
]


def numbers(path: Path) -> np.ndarray[Any, Any]:
    with open_tensor(path) as data:
        return data.block(0, data.size).copy()


def expected(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    whole = tensor.detach().resolve_conj().resolve_neg().contiguous()
    if whole.is_complex():
        whole = torch.view_as_real(whole)
    wide = torch.float64 if not whole.dtype.is_floating_point else whole.dtype
    if whole.dtype in (torch.bfloat16, torch.float16) or "float8" in str(whole.dtype):
        wide = torch.float32
    return whole.to(wide).reshape(-1).numpy()


@pytest.fixture
def no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, reason: str) -> None:
        raise AssertionError(f"{path} went to torch: {reason}")

    monkeypatch.setattr(tensor_files, "_load_with_torch", refuse)


def saved(folder: Path, tensor: object, name: str = "value.pt") -> Path:
    path = folder / name
    torch.save(tensor, path)
    return path


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.usefixtures("no_torch")
def test_every_bit_pattern_of_a_dtype_is_read_as_torch_reads_it(
    tmp_path: Path, dtype: torch.dtype
) -> None:
    raw = (
        torch.arange(4096, dtype=torch.int64).mul(0x9E3779B97F4A7C15 - (1 << 64)).view(torch.uint8)
    )
    raw = raw % 2 if dtype is torch.bool else raw
    tensor = raw.view(dtype)
    with np.errstate(invalid="ignore"):  # signalling NaN
        found = numbers(saved(tmp_path, tensor)).astype(np.float64)
        assert np.array_equal(found, expected(tensor).astype(np.float64), equal_nan=True)


@st.composite
def views(draw: st.DrawFn) -> torch.Tensor:
    """Slices, transposes and expansions of a small storage."""
    shape = draw(st.lists(st.integers(0, 4), max_size=4))
    tensor = torch.arange(float(np.prod(shape, dtype=int))).reshape(shape)
    for _ in range(draw(st.integers(0, 3)) if tensor.ndim else 0):
        axis = draw(st.integers(0, tensor.ndim - 1))
        change = draw(st.sampled_from(["flip axes", "every second", "tail", "expand"]))
        if change == "flip axes":
            tensor = tensor.transpose(axis, 0)
        elif change == "every second":
            tensor = tensor[(slice(None),) * axis + (slice(None, None, 2),)]
        elif change == "tail":
            tensor = tensor[(slice(None),) * axis + (slice(1, None),)]
        else:
            tensor = tensor.unsqueeze(axis).expand(*tensor.shape[:axis], 2, *tensor.shape[axis:])
    return tensor


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(views())
def test_views_are_read_in_their_own_order(tmp_path: Path, tensor: torch.Tensor) -> None:
    assert numbers(saved(tmp_path, tensor)).tolist() == expected(tensor).tolist()


@pytest.mark.usefixtures("no_torch")
@pytest.mark.parametrize(
    "tensor",
    [torch.tensor(2.5), torch.zeros(0), torch.nn.Parameter(torch.ones(3)), torch.ones(2, 0, 3)],
    ids=["0-d", "empty", "parameter", "empty inside"],
)
def test_odd_shapes_need_no_torch(tmp_path: Path, tensor: torch.Tensor) -> None:
    assert numbers(saved(tmp_path, tensor)).tolist() == expected(tensor).tolist()


@pytest.mark.usefixtures("no_torch")
def test_a_large_file_is_read_block_by_block(tmp_path: Path) -> None:
    tensor = torch.arange(300_000, dtype=torch.float32)
    with open_tensor(saved(tmp_path, tensor)) as data:
        assert data.block(299_990, 300_000).tolist() == list(range(299_990, 300_000))
        assert data.block(16_300, 16_400).tolist() == list(range(16_300, 16_400))


def test_what_is_no_plain_tensor_falls_back_to_torch(tmp_path: Path) -> None:
    conjugate = torch.tensor([1 + 2j]).conj()
    assert numbers(saved(tmp_path, conjugate)).tolist() == [1.0, -2.0]
    legacy = tmp_path / "legacy.pt"
    torch.save(torch.ones(3), legacy, _use_new_zipfile_serialization=False)
    assert numbers(legacy).tolist() == [1.0, 1.0, 1.0]


class _Bomb:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.mark),)


@pytest.mark.parametrize("archive", [True, False])
def test_code_in_a_pickle_never_runs(tmp_path: Path, archive: bool) -> None:
    mark, path = tmp_path / "ran", tmp_path / "bomb.pt"
    code = pickle.dumps(_Bomb(mark), protocol=2)
    if archive:
        with zipfile.ZipFile(path, "w") as written:
            written.writestr("bomb/data.pkl", code)
    else:
        path.write_bytes(code)
    with pytest.raises(TensorFileError, match="refused"), open_tensor(path):
        pass
    assert not mark.exists()


def test_the_refusal_names_what_the_pickle_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "bomb.pt"
    with zipfile.ZipFile(path, "w") as written:
        written.writestr("bomb/data.pkl", pickle.dumps(_Bomb(tmp_path / "ran"), protocol=2))
    with pytest.raises(TensorFileError, match=r"names posix\.mkdir"), open_tensor(path):
        pass


def test_a_layout_outside_its_storage_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, torch.zeros(4))
    data = path.read_bytes()
    place = data.index(b"K\x04\x85")  # the shape (4,)
    path.write_bytes(data[:place] + b"K\x7f\x85" + data[place + 3 :])
    with pytest.raises(TensorFileError, match="shorter than its shape"), open_tensor(path):
        pass


def described(path: Path, shape: tuple[int, ...], strides: tuple[int, ...]) -> Path:
    """A file of one stored number that says it is a tensor of this shape."""
    saved(path.parent, torch.zeros(1), path.name)
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    inside = next(name for name in entries if name.endswith("data.pkl"))
    # K\x01 1-tuple (shape), the same again (strides), as torch writes them
    old = entries[inside]
    at = old.index(b"K\x01\x85")
    rest = old[old.index(b"K\x01\x85", at + 1) + 3 :]
    rest = rest[2:] if rest[:1] == b"q" else rest
    tuples = b"".join(_tuple(numbers) for numbers in (shape, strides))
    entries[inside] = old[:at] + tuples + rest
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return path


def _tuple(numbers: tuple[int, ...]) -> bytes:
    longs = [pickle.encode_long(number) for number in numbers]
    parts = [b"\x8a" + bytes([len(raw)]) + raw for raw in longs]
    return b"(" + b"".join(parts) + b"t"


@pytest.mark.parametrize("shape", [(2**40, 2), (2**62,), (2**31, 1, 2)])
def test_a_file_that_repeats_one_number_without_end_is_refused(
    tmp_path: Path, shape: tuple[int, ...]
) -> None:
    path = described(tmp_path / "bomb.pt", shape, (0,) * len(shape))
    with pytest.raises(TensorFileError, match="repeats 1 elements as"), open_tensor(path):
        pass
    assert "repeats 1" in str(measure_pair((str(path), str(path))))


def test_an_expanded_tensor_is_read_block_by_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tensor = torch.arange(6.0).reshape(2, 1, 3).expand(2, 5, 3)
    path = saved(tmp_path, tensor)
    monkeypatch.setattr(tensor_files, "_WHOLE_BYTES", 0)
    with open_tensor(path) as data:
        pieces = [data.block(at, min(at + 7, data.size)) for at in range(0, data.size, 7)]
    assert np.array_equal(np.concatenate(pieces), tensor.contiguous().reshape(-1).numpy())


def test_a_pair_that_takes_too_much_memory_is_one_value_without_a_measure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise MemoryError

    path = str(saved(tmp_path, torch.zeros(4)))
    monkeypatch.setattr("builder.compare.dumped_tensors.compare_tensors", full)
    assert measure_pair((path, path)) == f"{path}: takes more memory than there is"


@pytest.mark.parametrize("promised", [2**40, 2**60])
def test_a_directory_or_header_that_promises_more_than_the_file_takes_no_memory(
    tmp_path: Path, promised: int
) -> None:
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({promised},), }}".encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    npy = tmp_path / "a.npy"
    npy.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + b"\0" * 16)
    path = saved(tmp_path, torch.zeros(4))
    data = bytearray(path.read_bytes())
    entry = data.rindex(b"PK\x01\x02", 0, data.rindex(b"data.pkl"))
    data[entry + 20 : entry + 28] = struct.pack("<2L", 0x7FFFFFFF, 0x7FFFFFFF)
    path.write_bytes(data)
    for file in (npy, path):
        with pytest.raises(TensorFileError), open_tensor(file) as opened:
            opened.block(0, opened.size)


@pytest.mark.parametrize("ending", [b"", b"PK\x05\x06" + b"\0" * 18])
def test_what_is_no_archive_goes_to_no_torch_that_may_run_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: bytes
) -> None:
    path = tmp_path / "old.pt"
    torch.save(torch.zeros(2), path, _use_new_zipfile_serialization=False)
    path.write_bytes(path.read_bytes() + ending)
    monkeypatch.setattr(torch, "__version__", torch.torch_version.TorchVersion("2.5.1"))
    with pytest.raises(TensorFileError, match=r"CVE-2025-32434|broken"), open_tensor(path):
        pass
    monkeypatch.undo()
    if not ending:
        assert numbers(path).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("kept", [0, 10, 300, 1200])
def test_a_cut_file_is_an_error_and_no_crash(tmp_path: Path, kept: int) -> None:
    path = saved(tmp_path, torch.zeros(64))
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(TensorFileError), open_tensor(path):
        pass


def test_no_tensor_and_no_file_are_named(tmp_path: Path) -> None:
    with pytest.raises(TensorFileError, match="holds a"), open_tensor(saved(tmp_path, [1, 2])):
        pass
    with pytest.raises(TensorFileError, match="missing"), open_tensor(tmp_path / "none.pt"):
        pass


@pytest.mark.parametrize("dtype", ["<f4", "<f8", "<f2", "<i8", "?", "<c8", ">f4"])
def test_npy_files_are_read(tmp_path: Path, dtype: str) -> None:
    array = np.arange(12).reshape(3, 4).astype(dtype)
    path = tmp_path / "value.npy"
    np.save(path, np.asfortranarray(array))
    flat = array.reshape(-1)
    pairs = np.stack([flat.real, flat.imag], 1).reshape(-1) if dtype == "<c8" else flat
    assert numbers(path).tolist() == pairs.tolist()


def test_an_npy_file_of_objects_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "value.npy"
    np.save(path, np.array([_Bomb(tmp_path / "ran")], dtype=object), allow_pickle=True)
    with pytest.raises(TensorFileError, match="refused"), open_tensor(path):
        pass
    assert not (tmp_path / "ran").exists()


def test_plain_tensors_load_no_torch(tmp_path: Path) -> None:
    path = saved(tmp_path, torch.ones(3, dtype=torch.bfloat16))
    code = (
        "import sys; from pathlib import Path\n"
        "from builder.dump.tensor_files import open_tensor\n"
        f"with open_tensor(Path({str(path)!r})) as data: print(data.block(0, 3).tolist())\n"
        "assert 'torch' not in sys.modules"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[1.0, 1.0, 1.0]"
