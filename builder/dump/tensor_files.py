"""Opens dumped tensors: `.pt` files of torch and `.npy` files, without torch where they are plain.

The caller has them for the length of a `with` block; large ones are read piece by piece.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from builder.dump.tensor_archives import Archive, UnknownArchiveError
from builder.dump.tensor_data import NumberFormat, TensorData, data_of, number_format
from builder.dump.tensor_pickles import (
    Layout,
    RefusedPickleError,
    UnknownFormError,
    read_layout,
)
from msprobe_core.format.regular_file import open_regular, require_regular

# An expanded tensor beyond this many bytes is made block by block, since memory was planned for the
# files. That costs some 50 ns an element and side (17 ns in one piece), so that more elements than
# these would hold a build up for minutes: a file of a few bytes, and no record of a run.
_WHOLE_BYTES = 1 << 28
_MOST_REPEATED = 1 << 31
# `weights_only` of older releases runs code out of a file that is no zip archive.
_SAFE_TORCH = "2.6"
_ZIP = b"PK\x03\x04"


class TensorFileError(ValueError):
    """A tensor file that cannot be read or is refused."""


@contextmanager
def open_tensor(path: str | os.PathLike[str]) -> Iterator[TensorData]:
    """The numbers of a dumped tensor, readable inside the block.

    Raises TensorFileError for a missing or broken file and for a pickle that holds code.
    """
    path = os.fspath(path)
    try:
        if path.endswith(".npy"):
            yield _load_npy(path)
            return
        file = open_regular(path)
        try:
            yield _open_pt(path, file)
        finally:
            os.close(file)
    except FileNotFoundError:
        raise TensorFileError("missing") from None
    except EOFError:
        raise TensorFileError("broken: it ends too early") from None
    except OSError as error:
        raise TensorFileError(error.strerror or "not readable") from error


def shape_of(path: str) -> tuple[int, ...]:
    """The shape of a dumped tensor; raises TensorFileError as `open_tensor` does."""
    try:
        if path.endswith(".npy"):
            require_regular(path)
            return tuple(np.load(path, mmap_mode="r", allow_pickle=False).shape)
        file = open_regular(path)
        try:
            archive = Archive(file)
            start, length = archive.place(b"data.pkl")
            return tuple(read_layout(archive.read(start, start + length)).shape)
        finally:
            os.close(file)
    except FileNotFoundError:
        raise TensorFileError("missing") from None
    except (OSError, ValueError, struct.error, EOFError) as error:
        raise TensorFileError(_refusal(error)) from error


def _load_npy(path: str) -> TensorData:
    try:
        require_regular(path)
        # Mapped: a header that promises more than the file holds takes no memory.
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise TensorFileError(_refusal(error)) from error
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "biufc":
        raise TensorFileError("holds no array of numbers")
    return data_of(array)


def _open_pt(path: str, file: int) -> TensorData:
    try:
        return _open_archive(Archive(file))
    except RefusedPickleError as error:
        raise TensorFileError(str(error)) from None
    except (UnknownFormError, UnknownArchiveError) as error:
        return _load_with_torch(path, str(error))
    except (ValueError, struct.error) as error:
        raise TensorFileError(f"broken: {error}") from error


def _open_archive(archive: Archive) -> TensorData:
    start, length = archive.place(b"data.pkl")
    layout = read_layout(archive.read(start, start + length))
    numbers = number_format(layout.dtype)
    if numbers is None or not archive.is_little_endian():
        raise UnknownFormError(f"has the dtype {layout.dtype} or is big-endian")
    start, length = archive.place(b"data/" + layout.storage.encode())
    if layout.stop * numbers.element_bytes > length:
        raise ValueError("its storage is shorter than its shape")
    if not layout.contiguous:
        return _gather(archive, layout, numbers, start)
    first = start + layout.offset * numbers.element_bytes
    return TensorData(
        numbers, layout.count * numbers.parts, lambda a, b: archive.read(first + a, first + b)
    )


def _gather(archive: Archive, layout: Layout, numbers: NumberFormat, start: int) -> TensorData:
    # Strides of any kind: the storage is in memory whole, once, in its own narrow dtype.
    width, stored = numbers.element_bytes, layout.stop - layout.offset
    if layout.count > max(stored, _MOST_REPEATED):
        raise RefusedPickleError(f"refused: repeats {stored} elements as {layout.count}")
    raw = np.frombuffer(archive.read(start, start + layout.stop * width), dtype=f"V{width}")
    steps = [stride * width for stride in layout.strides]
    view = np.lib.stride_tricks.as_strided(
        raw[layout.offset :], layout.shape, steps, writeable=False
    )
    size = layout.count * numbers.parts
    if layout.count <= stored or layout.count * width <= _WHOLE_BYTES:
        flat = memoryview(view.tobytes())
        return TensorData(numbers, size, lambda a, b: flat[a:b])

    def block(first: int, last: int) -> memoryview:
        part = view.flat[first // width : -(-last // width)].tobytes()
        return memoryview(part)[first % width : first % width + last - first]

    return TensorData(numbers, size, block)


def _load_with_torch(path: str, reason: str) -> TensorData:
    try:
        import torch
    except ImportError:
        raise TensorFileError(f"{reason}; install torch to read it") from None
    if not _is_zip(path) and torch.__version__ < _SAFE_TORCH:
        raise TensorFileError(
            f"refused: {reason}, and torch {torch.__version__} may run what such a file holds "
            f"(CVE-2025-32434); install torch {_SAFE_TORCH} or newer"
        )
    try:
        tensor = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch.load raises whatever the broken bytes lead it to
        raise TensorFileError(_refusal(error)) from error
    if not isinstance(tensor, torch.Tensor):
        raise TensorFileError(f"holds a {type(tensor).__name__}, no tensor")
    try:
        tensor = tensor.detach().to_dense().resolve_conj().resolve_neg().contiguous()
        if tensor.is_complex():
            tensor = torch.view_as_real(tensor)
        if tensor.dtype is torch.bfloat16 or "float8" in str(tensor.dtype):
            tensor = tensor.to(torch.float32)
        return data_of(tensor.numpy())
    except (TypeError, RuntimeError) as error:  # a dtype or layout that NumPy does not have
        raise TensorFileError(_refusal(error)) from error


def _is_zip(path: str) -> bool:
    # As torch itself tells them: by how they begin, whatever they end with.
    with os.fdopen(open_regular(path), "rb") as file:
        return file.read(len(_ZIP)) == _ZIP


def _refusal(error: Exception) -> str:
    lines = str(error).splitlines() or [type(error).__name__]
    return f"refused: {lines[0][:120]}"
