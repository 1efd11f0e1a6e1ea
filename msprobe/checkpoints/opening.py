"""Finds out which layout a path holds, and opens it."""

from __future__ import annotations

from pathlib import Path

from msprobe.checkpoints import distributed_checkpoint, safetensors_files, state_dict
from msprobe.checkpoints.megatron import open_megatron
from msprobe.checkpoints.megatron_files import TRACKER, iteration_folder
from msprobe.checkpoints.parameter import Checkpoint
from msprobe.errors import CheckError


def open_checkpoint(path: Path) -> Checkpoint:
    """Names and shapes of a saved model; values are read later, one parameter at a time.

    Raises CheckError for a path that holds none of the layouts, or an incomplete one.
    """
    if not path.exists():
        raise CheckError(f"{path}: does not exist", "give a checkpoint's folder or file")
    return _open_file(path) if path.is_file() else _open_folder(path)


def _open_file(path: Path) -> Checkpoint:
    if path.suffix == safetensors_files.SUFFIX:
        return safetensors_files.open_safetensors(path, [path])
    if path.suffix in state_dict.SUFFIXES:
        return state_dict.open_state_dict(path, [path])
    raise CheckError(
        f"{path}: is no checkpoint by its name",
        f"give a {safetensors_files.SUFFIX}, {', '.join(state_dict.SUFFIXES)} file or a folder",
    )


def _open_folder(path: Path) -> Checkpoint:
    iteration = iteration_folder(path)
    if iteration is not None:
        if (iteration / distributed_checkpoint.INDEX).is_file():  # Megatron's torch_dist format
            return distributed_checkpoint.open_distributed(iteration)
        return open_megatron(path, iteration)
    if (path / distributed_checkpoint.INDEX).is_file():
        return distributed_checkpoint.open_distributed(path)
    if shards := safetensors_files.files_of(path):
        return safetensors_files.open_safetensors(path, shards)
    if files := state_dict.files_of(path):
        return state_dict.open_state_dict(path, files)
    raise CheckError(
        f"{path}: holds no checkpoint",
        f"expected mp_rank_* or iter_* folders, {TRACKER}, "
        f"{distributed_checkpoint.INDEX}, *{safetensors_files.SUFFIX} or *.pt",
    )
