"""Axes as the parallel state of an inference engine tells them."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from msprobe_core.torch.parallel.engines import engine_axes


def _group(*ranks: int, own: int = 0) -> SimpleNamespace:
    return SimpleNamespace(ranks=list(ranks), rank_in_group=own, world_size=len(ranks))


def _not_made() -> object:
    raise AssertionError("expert parallel group is not initialized")


def test_without_an_engine_there_are_none() -> None:
    assert engine_axes() == ("", {})


@pytest.mark.parametrize(
    ("engine", "module"),
    [
        ("vllm", "vllm.distributed.parallel_state"),
        ("sglang", "sglang.srt.distributed.parallel_state"),
    ],
)
def test_axes_of_more_than_one_process_are_told(
    engine: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = SimpleNamespace(
        model_parallel_is_initialized=lambda: True,
        get_tp_group=lambda: _group(2, 3, own=1),
        get_pp_group=lambda: _group(1, 3, own=1),
        get_dp_group=lambda: _group(3),
        get_ep_group=_not_made,
    )
    monkeypatch.setitem(sys.modules, module, state)
    assert engine_axes() == (
        engine,
        {
            "tp": {"rank": 1, "size": 2, "ranks": [2, 3]},
            "pp": {"rank": 1, "size": 2, "ranks": [1, 3]},
        },
    )
