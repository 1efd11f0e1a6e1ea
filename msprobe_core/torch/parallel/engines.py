"""The axes of inference engines: vLLM, and SGLang, whose parallel state has the same form."""

from __future__ import annotations

import sys
from typing import Any

_STATES = {
    "vllm": "vllm.distributed.parallel_state",
    "sglang": "sglang.srt.distributed.parallel_state",
}
# By axis, what tells its group; names differ between the engines.
_GROUPS = (
    ("tp", "get_tp_group"),
    ("pp", "get_pp_group"),
    ("cp", "get_pcp_group"),
    ("dp", "get_dp_group"),
    ("ep", "get_ep_group"),
    ("ep", "get_moe_ep_group"),
)


def engine_axes() -> tuple[str, dict[str, dict[str, Any]]]:
    """The engine that has made groups of processes, and the axes; an empty name without one."""
    for engine, name in _STATES.items():
        state: Any = sys.modules.get(name)
        if state is not None and state.model_parallel_is_initialized():
            return engine, _axes(state)
    return "", {}


def _axes(state: Any) -> dict[str, dict[str, Any]]:
    axes = {}
    for axis, function in _GROUPS:
        group = _group(state, function)
        if group is not None and group.world_size > 1:
            ranks = list(group.ranks)
            axes[axis] = {"rank": group.rank_in_group, "size": len(ranks), "ranks": ranks}
    return axes


def _group(state: Any, function: str) -> Any:
    """A group of an engine; None where its version has none, or has not made it."""
    ask = getattr(state, function, None)
    try:
        return None if ask is None else ask()
    except AssertionError:
        return None
