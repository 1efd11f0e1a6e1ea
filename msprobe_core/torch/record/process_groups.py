"""What only calls between ranks take as JSON text: process groups, reductions, operations."""

from __future__ import annotations

import sys
from types import ModuleType

from msprobe_core.format import group_id
from msprobe_core.values.arguments import Enclosed
from msprobe_core.values.text import number, quoted, typed


def group_or_operation(value: object) -> str | Enclosed | None:
    """A process group, a reduction, or a P2POp with its tensor inside; None for all else."""
    distributed = _distributed()
    if distributed is None:
        return None
    if isinstance(value, distributed.ProcessGroup):
        return _group_text(value)
    if isinstance(value, distributed.ReduceOp):
        return typed("torch.distributed.ReduceOp", quoted(_reduction(value, distributed)))
    if isinstance(value, distributed.P2POp):
        before = '{"class_type": "torch.distributed.P2POp", "tensor": '
        after = f", {_operation_fields(value)}}}"
        return Enclosed(before, "tensor", getattr(value, "tensor", None), after)
    return None


def _reduction(operation: object, distributed: ModuleType) -> str:
    """The name of a reduction; older objects of torch are equal to a name and have none."""
    members = distributed.ReduceOp.RedOpType.__members__.items()
    return "ReduceOp." + next((name for name, one in members if operation == one), "UNKNOWN")


def _group_text(group: object) -> str:
    ranks = _ranks(group)
    return (
        f'{{"type": "torch.ProcessGroup", "group_ranks": {ranks}, '
        f'"group_id": {quoted(group_id(ranks))}}}'
    )


def _operation_fields(operation: object) -> str:
    name = getattr(getattr(operation, "op", None), "__name__", None)
    group = quoted(group_id(_ranks(getattr(operation, "group", None))))
    peer = number(getattr(operation, "peer", None))
    tag = number(getattr(operation, "tag", None))
    return f'"op": {quoted(str(name))}, "peer": {peer}, "tag": {tag}, "group_id": {group}'


def _ranks(group: object) -> list[int]:
    distributed = _distributed()
    assert distributed is not None
    try:
        return list(distributed.get_process_group_ranks(group))
    except (ValueError, RuntimeError, KeyError):  # a group that this rank is not part of
        return []


def _distributed() -> ModuleType | None:
    module = sys.modules.get("torch.distributed")
    return module if module is not None and module.is_available() else None
