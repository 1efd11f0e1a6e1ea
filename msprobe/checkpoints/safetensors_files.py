"""Hugging Face safetensors: one file, or shards named by `model.safetensors.index.json`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import torch

from msprobe.checkpoints.names import without_shared_root
from msprobe.checkpoints.parameter import Checkpoint, Parameter
from msprobe.errors import CheckError
from msprobe_core.format.bounded import parse_json
from msprobe_core.format.installation import install_command

SUFFIX = ".safetensors"
_DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
    "F8_E4M3": torch.float8_e4m3fn,
    "F8_E5M2": torch.float8_e5m2,
}


def open_safetensors(path: Path, files: list[Path]) -> Checkpoint:
    """All tensors of the files; raises CheckError for a damaged file or a missing library."""
    parameters: dict[str, Parameter] = {}
    for file in files:
        parameters |= _parameters(file)
    if not parameters:
        raise CheckError(f"{path}: no tensor in it", "give the folder that holds the weights")
    short = without_shared_root(parameters)
    return Checkpoint(path, "safetensors", {short[name]: p for name, p in parameters.items()})


def files_of(folder: Path) -> list[Path]:
    """The shards of a folder; those of its index where it has one."""
    for index in sorted(folder.glob(f"*{SUFFIX}.index.json")):
        named = parse_json(index.read_text(encoding="utf-8"))["weight_map"].values()
        files = sorted({folder / name for name in named})
        missing = [file for file in files if not file.is_file()]
        if missing:
            raise CheckError(f"{missing[0]}: named by {index.name} and missing", "copy it too")
        return files
    return sorted(folder.glob(f"*{SUFFIX}"))


def _parameters(file: Path) -> dict[str, Parameter]:
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError as error:
        raise CheckError(
            f"{file}: needs the library safetensors", install_command("checkpoints")
        ) from error
    try:
        with safe_open(file, framework="pt") as opened:
            slices = {name: opened.get_slice(name) for name in opened.keys()}  # noqa: SIM118 - safetensors' files cannot be iterated
            return {name: _parameter(name, file, part) for name, part in slices.items()}
    except SafetensorError as error:
        raise CheckError(f"{file}: is damaged ({error})", "copy it again") from error


def _parameter(name: str, file: Path, part: object) -> Parameter:
    kind, shape = part.get_dtype(), part.get_shape()  # type: ignore[attr-defined]  # safetensors' stubs lack it
    if kind not in _DTYPES:
        raise CheckError(f"{file}: {name} has the type {kind}", "it cannot be compared")
    return Parameter(name, tuple(shape), _DTYPES[kind], partial(_read, file, name))


def _read(file: Path, name: str) -> torch.Tensor:
    from safetensors import safe_open

    with safe_open(file, framework="pt") as opened:
        tensor: torch.Tensor = opened.get_tensor(name)
        return tensor
