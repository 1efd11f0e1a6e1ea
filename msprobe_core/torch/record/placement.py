"""What a distributed tensor's record says besides its local numbers: where they lie in the whole.

The record's shape is that of the numbers, so the whole's shape stands beside it.
"""

from __future__ import annotations

import json
from typing import Any

import torch


def placement_text(tensor: torch.Tensor) -> str | None:
    """The members `placements`, `mesh`, `offset`, `global_shape` of a DTensor; None for others.

    Placements are R, S(<dim>), P(<reduction>) or the text that torch has for another kind.
    """
    specification: Any = getattr(tensor, "_spec", None)
    if specification is None or not hasattr(tensor, "_local_tensor"):
        return None
    mesh, placements = specification.mesh, specification.placements
    names = mesh.mesh_dim_names or [f"dim{index}" for index in range(mesh.ndim)]
    members = {
        "placements": [_short(placement) for placement in placements],
        "mesh": list(names),
        "offset": _offset(tensor, mesh, placements),
        "global_shape": [int(size) for size in tensor.shape],
    }
    return "".join(f', "{key}": {json.dumps(value)}' for key, value in members.items())


def _short(placement: Any) -> str:
    if placement.is_replicate():
        return "R"
    if placement.is_shard():
        return f"S({placement.dim})"
    if placement.is_partial():
        reduction = getattr(placement, "reduce_op", "sum")
        return "P" if reduction == "sum" else f"P({reduction})"
    return str(placement)


def _offset(tensor: torch.Tensor, mesh: Any, placements: Any) -> list[int]:
    from torch.distributed.tensor._utils import compute_local_shape_and_global_offset

    _, offset = compute_local_shape_and_global_offset(tensor.shape, mesh, placements)
    return [int(place) for place in offset]
