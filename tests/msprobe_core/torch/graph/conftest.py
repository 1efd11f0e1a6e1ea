"""A debugger of graph mode, closed in the end, and nothing left of what was compiled."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from msprobe_core import PrecisionDebugger

MakeDebugger = Callable[..., PrecisionDebugger]


@pytest.fixture
def graph_debugger(tmp_path: Path) -> Iterator[MakeDebugger]:
    """Makes one of a level, with further settings; it dumps to `dump` of the test's folder."""

    def make(level: str, **settings: object) -> PrecisionDebugger:
        config = tmp_path / "config.json"
        where = {"dump_path": str(tmp_path / "dump"), "level": level, "capture": "graph"}
        config.write_text(json.dumps(where | settings))
        return PrecisionDebugger(config_path=config)

    torch._dynamo.reset()
    yield make
    if PrecisionDebugger.current is not None:
        PrecisionDebugger.current.close()
    torch._dynamo.reset()
