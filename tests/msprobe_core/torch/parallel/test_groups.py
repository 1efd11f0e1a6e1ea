"""What process groups are for, by their ids."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
import torch

from msprobe_core.format import group_id
from msprobe_core.torch.parallel.group_purposes import group_names

_AXES = {"tp": {"ranks": [0, 1]}, "dp": {"ranks": [0, 2]}}


def _absent() -> object:
    raise AssertionError("embedding group is not initialized")


def test_groups_of_axes_have_the_ids_that_collectives_give() -> None:
    assert group_names(_AXES) == {"77849d8c": "tp", group_id([0, 2]): "dp"}


def test_megatrons_combined_groups_are_named_where_the_process_is_in_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = SimpleNamespace(
        model_parallel_is_initialized=lambda: True,
        get_model_parallel_group=lambda: [0, 1, 4, 5],
        get_embedding_group=_absent,
        get_tensor_and_context_parallel_group=lambda: [0, 1],
        get_data_parallel_group=lambda with_context_parallel: [0],
    )
    monkeypatch.setitem(sys.modules, "megatron.core.parallel_state", state)
    monkeypatch.setattr(torch.distributed, "get_process_group_ranks", list)
    assert group_names(_AXES) == {
        "77849d8c": "tp",
        group_id([0, 2]): "dp",
        group_id([0, 1, 4, 5]): "tp_pp",
    }
