"""Plain `state_dict` files: one `.pt`, or the numbered `pytorch_model-*.bin` of Hugging Face."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import torch

from builder.storage.bounded import parse_json
from msprobe.checkpoints.mapped_memory import give_back
from msprobe.checkpoints.names import without_shared_root
from msprobe.checkpoints.parameter import Checkpoint, Parameter
from msprobe.checkpoints.pickled_file import load
from msprobe.errors import CheckError

SUFFIXES = (".pt", ".pth", ".bin", ".ckpt")
INDEX = "pytorch_model.bin.index.json"
# What a training script keeps beside the weights.
_MODEL_KEYS = ("model", "state_dict", "model_state_dict", "module", "net")
_NOT_WEIGHTS = ("optim", "rng", "scheduler", "lr_sched", "scaler")


def open_state_dict(path: Path, files: list[Path]) -> Checkpoint:
    """All tensors of the files under one name each.

    Raises CheckError when two files hold the same name, or none holds a tensor.
    """
    parameters: dict[str, Parameter] = {}
    for file in files:
        for name, tensor in tensors_of(load(file)):
            if name in parameters:
                raise CheckError(
                    f"{file}: holds {name}, which another file of {path} holds too",
                    "name the one file to compare",
                )
            parameters[name] = _parameter(name, tensor, file)
    if not parameters:
        raise CheckError(f"{path}: no tensor in it", "give the file that holds the weights")
    short = without_shared_root(parameters)
    return Checkpoint(path, "state_dict", {short[name]: p for name, p in parameters.items()})


def files_of(folder: Path) -> list[Path]:
    """The files of a folder that belong to one state_dict, none when it holds no such file."""
    index = folder / INDEX
    if index.is_file():
        named = parse_json(index.read_text(encoding="utf-8"))["weight_map"].values()
        files = sorted({folder / name for name in named})
        missing = [file for file in files if not file.is_file()]
        if missing:
            raise CheckError(f"{missing[0]}: named by {INDEX} and missing", "copy it too")
        return files
    return sorted(f for f in folder.iterdir() if f.suffix in SUFFIXES and f.is_file())


def tensors_of(content: object) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors of the model in what was loaded, with dotted names."""
    if isinstance(content, Mapping):
        for key in _MODEL_KEYS:
            if isinstance(content.get(key), Mapping) and any(_walk(content[key], "")):
                yield from _walk(content[key], "")
                return
    yield from _walk(content, "")


def _walk(value: object, name: str) -> Iterator[tuple[str, torch.Tensor]]:
    if isinstance(value, torch.Tensor):
        if "_extra_state" not in name.rpartition(".")[2]:  # Transformer Engine's own bookkeeping
            yield name, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if name or not str(key).lower().startswith(_NOT_WEIGHTS):
                yield from _walk(inner, f"{name}.{key}" if name else str(key))


def _parameter(name: str, tensor: torch.Tensor, file: Path) -> Parameter:
    # The tensor is mapped from the file: keeping it keeps no memory.
    read = partial(torch.Tensor.detach, tensor)
    if tensor.layout != torch.strided:
        raise CheckError(f"{file}: {name} is {tensor.layout}", "save it dense to compare it")
    release = partial(give_back, (tensor,))
    return Parameter(name, tuple(tensor.shape), tensor.dtype, read, release)
