"""Reductions in a dump: by the name that torch gives them, whichever of its objects says it."""

from __future__ import annotations

import json

import pytest
import torch.distributed as dist

from msprobe_core.torch.record.process_groups import group_or_operation


@pytest.mark.parametrize("name", ["SUM", "AVG", "MAX", "PRODUCT", "BOR"])
def test_a_reduction_is_recorded_by_its_name(name: str) -> None:
    member = getattr(dist.ReduceOp, name)
    for operation in (member, dist.ReduceOp(member)):
        text = group_or_operation(operation)
        assert isinstance(text, str)
        told = json.loads(text)
        assert told == {"type": "torch.distributed.ReduceOp", "value": f"ReduceOp.{name}"}


def test_what_is_no_reduction_is_none_of_these() -> None:
    assert group_or_operation("SUM") is None
