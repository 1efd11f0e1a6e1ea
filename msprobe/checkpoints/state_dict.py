"""Plain `state_dict` files: one `.pt`, or the numbered `pytorch_model-*.bin` of Hugging Face."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import torch

from msprobe.checkpoints.bookkeeping import all_tensors, is_bookkeeping
from msprobe.checkpoints.mapped_memory import give_back
from msprobe.checkpoints.names import without_shared_root
from msprobe.checkpoints.parameter import Checkpoint, Parameter
from msprobe.checkpoints.pickled_file import load
from msprobe.errors import CheckError
from msprobe_core.format.bounded import parse_json

SUFFIXES = (".pt", ".pth", ".bin", ".ckpt")
INDEX = "pytorch_model.bin.index.json"
# What a training script keeps beside the weights.
_MODEL_KEYS = ("model", "state_dict", "model_state_dict", "module", "net")


def open_state_dict(path: Path, files: list[Path]) -> Checkpoint:
    """All tensors of the files under one name each.

    Raises CheckError when two files hold the same name, or none holds a tensor.
    """
    parameters: dict[str, Parameter] = {}
    left_out: list[str] = []
    for file in files:
        for name, tensor in tensors_of(load(file), left_out):
            if name in parameters:
                raise CheckError(
                    f"{file}: holds {name}, which another file of {path} holds too",
                    "name the one file to compare",
                )
            parameters[name] = _parameter(name, tensor, file)
    if not parameters:
        raise CheckError(f"{path}: no tensor in it", "give the file that holds the weights")
    short = without_shared_root(parameters)
    named = {short[name]: parameter for name, parameter in parameters.items()}
    return Checkpoint(path, "state_dict", named, left_out=left_out)


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


def tensors_of(content: object, left_out: list[str]) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors of the model in what was loaded, with dotted names; others join `left_out`."""
    for key, value in _model_in(content, left_out):
        for name, tensor in all_tensors(value, key):
            if "_extra_state" in name.rpartition(".")[2]:  # Transformer Engine's own bookkeeping
                left_out.append(name)
            else:
                yield name, tensor


def _model_in(content: object, left_out: list[str]) -> Iterator[tuple[str, object]]:
    if not isinstance(content, Mapping):
        yield "", content
        return
    chosen = next((key for key in _MODEL_KEYS if _holds_model(content.get(key))), None)
    for key, value in content.items():
        if key == chosen:
            yield "", value
        elif chosen is not None or is_bookkeeping(str(key), value):
            left_out += [name for name, _ in all_tensors(value, str(key))]
        else:
            yield str(key), value


def _holds_model(value: object) -> bool:
    return isinstance(value, Mapping) and any(all_tensors(value, ""))


def _parameter(name: str, tensor: torch.Tensor, file: Path) -> Parameter:
    # The tensor is mapped from the file: keeping it keeps no memory.
    read = partial(torch.Tensor.detach, tensor)
    if tensor.layout != torch.strided:
        raise CheckError(f"{file}: {name} is {tensor.layout}", "save it dense to compare it")
    release = partial(give_back, (tensor,))
    return Parameter(name, tuple(tensor.shape), tensor.dtype, read, release)
