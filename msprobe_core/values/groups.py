"""Process groups and point-to-point operations as JSON text.

`group_id` is the CRC-32 of the list of ranks, so the same group has it in every process.
"""

from __future__ import annotations

import sys
import zlib
from types import ModuleType

from msprobe_core.values.text import number, quoted


def is_group(value: object) -> bool:
    """Whether the value is a process group of torch.distributed."""
    distributed = _distributed()
    return distributed is not None and isinstance(value, distributed.ProcessGroup)


def group_text(group: object) -> str:
    """`{"type": "torch.ProcessGroup", "group_ranks": […], "group_id": …}`."""
    ranks = _ranks(group)
    return (
        f'{{"type": "torch.ProcessGroup", "group_ranks": {ranks}, '
        f'"group_id": {quoted(_group_id(ranks))}}}'
    )


def is_p2p_op(value: object) -> bool:
    """Whether the value is a P2POp of torch.distributed."""
    distributed = _distributed()
    return distributed is not None and isinstance(value, distributed.P2POp)


def p2p_op_fields(op: object) -> str:
    """Operation, peer, tag and group of a P2POp as JSON members."""
    name = getattr(getattr(op, "op", None), "__name__", None)
    group = getattr(op, "group", None)
    group_id = quoted(_group_id(_ranks(group)))
    peer, tag = number(getattr(op, "peer", None)), number(getattr(op, "tag", None))
    return f'"op": {quoted(str(name))}, "peer": {peer}, "tag": {tag}, "group_id": {group_id}'


def _ranks(group: object) -> list[int]:
    distributed = _distributed()
    assert distributed is not None
    try:
        return list(distributed.get_process_group_ranks(group))
    except (ValueError, RuntimeError, KeyError):  # a group that this rank is not part of
        return []


def _group_id(ranks: list[int]) -> str:
    return f"{zlib.crc32(str(ranks).encode()):08x}"


def _distributed() -> ModuleType | None:
    module = sys.modules.get("torch.distributed")
    return module if module is not None and module.is_available() else None
