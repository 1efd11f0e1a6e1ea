"""Which files a Megatron checkpoint consists of: `iter_*/mp_rank_TT[_PPP][_EEE]/model_*.pt`.

Every place of the grid tensor × pipeline × expert must be there: a part of a parameter is no
parameter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from msprobe.checkpoints.pickled_file import load
from msprobe.errors import CheckError

TRACKER = "latest_checkpointed_iteration.txt"
_RANK = re.compile(r"mp_rank_(\d+)(?:_(\d+))?(?:_(\d+))?$")
_FILES = ("model_optim_rng.pt", "model_rng.pt")


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the grid of model-parallel ranks."""

    tensor: int
    pipeline: int
    expert: int


@dataclass(frozen=True, slots=True)
class MegatronFiles:
    """What all rank files hold; tensors are mapped from disk."""

    folder: Path
    arguments: Mapping[str, Any]
    chunks: dict[Place, list[dict[str, torch.Tensor]]]

    @property
    def sizes(self) -> Place:
        """How many ranks there are in each direction."""
        places = self.chunks
        return Place(
            1 + max(p.tensor for p in places),
            1 + max(p.pipeline for p in places),
            1 + max(p.expert for p in places),
        )


def iteration_folder(path: Path) -> Path | None:
    """The folder of rank folders below `path`, None when `path` is no Megatron checkpoint."""
    if any(_RANK.match(child.name) for child in path.iterdir() if child.is_dir()):
        return path
    tracker = path / TRACKER
    if tracker.is_file():
        named = tracker.read_text(encoding="utf-8").strip()
        folder = path / ("release" if named == "release" else f"iter_{int(named or 0):07d}")
        if not folder.is_dir():
            raise CheckError(
                f"{folder}: named by {TRACKER} and missing", "give the iter_* folder itself"
            )
        return folder
    iterations = sorted(path.glob("iter_*"))
    return iterations[-1] if iterations else None


def read_files(folder: Path) -> MegatronFiles:
    """Load all rank files; raises CheckError when the grid has a hole."""
    matches = {child: _RANK.match(child.name) for child in sorted(folder.iterdir())}
    loaded = {child: _load(child) for child, match in matches.items() if match is not None}
    arguments = next((_arguments(content) for content in loaded.values()), {})
    chunks = {
        _place(match, arguments): _model_chunks(loaded[child], child)
        for child, match in matches.items()
        if match is not None
    }
    files = MegatronFiles(folder, arguments, chunks)
    _check_complete(files)
    return files


def _load(folder: Path) -> Mapping[str, Any]:
    for name in _FILES:
        if (folder / name).is_file():
            content = load(folder / name)
            if isinstance(content, Mapping):
                return content
    raise CheckError(f"{folder}: holds no {_FILES[0]}", "copy the files of all ranks")


def _arguments(content: Mapping[str, Any]) -> Mapping[str, Any]:
    arguments = content.get("args")
    return {} if arguments is None else vars(arguments)


def _place(match: re.Match[str], arguments: Mapping[str, Any]) -> Place:
    tensor, second, third = (None if part is None else int(part) for part in match.groups())
    only_experts = (arguments.get("pipeline_model_parallel_size") or 1) == 1 and (
        arguments.get("expert_model_parallel_size") or 1
    ) > 1
    if third is None and only_experts:
        return Place(tensor or 0, 0, second or 0)
    return Place(tensor or 0, second or 0, third or 0)


def _model_chunks(content: Mapping[str, Any], folder: Path) -> list[dict[str, torch.Tensor]]:
    # With virtual pipeline stages a rank holds several chunks: model0, model1, …
    keys = [key for key in content if re.fullmatch(r"model\d*", str(key))]
    chunks = [
        dict(_tensors(content[key], "")) for key in sorted(keys, key=lambda k: int(k[5:] or 0))
    ]
    if not any(chunks):
        raise CheckError(f"{folder}: its file holds no model", "give a checkpoint with weights")
    return chunks


def _tensors(value: object, name: str) -> list[tuple[str, torch.Tensor]]:
    if isinstance(value, torch.Tensor):
        return [] if "_extra_state" in name.rpartition(".")[2] else [(name, value)]
    if not isinstance(value, Mapping):
        return []
    below = ((f"{name}.{key}" if name else str(key), inner) for key, inner in value.items())
    return [named_tensor for key, inner in below for named_tensor in _tensors(inner, key)]


def _check_complete(files: MegatronFiles) -> None:
    sizes, named = files.sizes, files.arguments
    size = Place(
        max(sizes.tensor, named.get("tensor_model_parallel_size") or 1),
        max(sizes.pipeline, named.get("pipeline_model_parallel_size") or 1),
        max(sizes.expert, named.get("expert_model_parallel_size") or 1),
    )
    for tensor in range(size.tensor):
        for pipeline in range(size.pipeline):
            for expert in range(size.expert):
                if Place(tensor, pipeline, expert) not in files.chunks:
                    raise CheckError(
                        f"{files.folder}: the rank file of "
                        f"tensor rank {tensor}, pipeline rank {pipeline}, expert rank {expert} "
                        "is missing",
                        "copy the files of all ranks",
                    )
