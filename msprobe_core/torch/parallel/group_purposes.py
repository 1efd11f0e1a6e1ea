"""What the process groups of a run are for, by the id that collectives in the dump give of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from msprobe_core.format import group_id

# Megatron's groups beside those of the axes, and the functions that tell them.
_COMBINED = {
    "tp_cp": "get_tensor_and_context_parallel_group",
    "tp_dp": "get_tensor_and_data_parallel_group",
    "tp_pp": "get_model_parallel_group",
    "embedding": "get_embedding_group",
    "position_embedding": "get_position_embedding_group",
}


def group_names(axes: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """The groups of the axes, and those that Megatron combines, by their ids."""
    names = {group_id(axis["ranks"]): name for name, axis in axes.items()}
    for name, ranks in _combined().items():
        if len(ranks) > 1:
            names.setdefault(group_id(ranks), name)
    return names


def _combined() -> dict[str, list[int]]:
    state: Any = sys.modules.get("megatron.core.parallel_state")
    if state is None or not state.model_parallel_is_initialized():
        return {}
    asked = {name: getattr(state, function, None) for name, function in _COMBINED.items()}
    found = {name: _ranks(ask) for name, ask in asked.items() if ask is not None}
    found["dp_cp"] = _ranks(lambda: state.get_data_parallel_group(with_context_parallel=True))
    return found


def _ranks(ask: Callable[[], Any]) -> list[int]:
    """The ranks of a group; none where this process is in no such group."""
    from torch import distributed

    try:
        return list(distributed.get_process_group_ranks(ask()))
    except (AssertionError, ValueError, RuntimeError, KeyError):
        return []
