"""Exporting a model while it is recorded gives what it gives alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from msprobe_core import PrecisionDebugger
from tests.msprobe_core.dump_reading import RankDump

export = pytest.importorskip("torch._dynamo.functional_export")

Make = Callable[..., PrecisionDebugger]
Read = Callable[[], list[RankDump]]


@pytest.mark.parametrize("level", ["L0", "mix"])
@pytest.mark.parametrize("strict", [True, False])
def test_an_export_is_that_of_the_run_alone(
    strict: bool, level: str, debugger: Make, dumps: Read
) -> None:
    model, x = nn.Sequential(nn.Linear(4, 4), nn.ReLU()), torch.ones(3, 4)
    before = dict(vars(export))

    def exported() -> str:
        return str(torch.export.export(model, (x,), strict=strict).graph)

    alone, target = exported(), debugger(level=level)
    target.start(model=model)
    recorded = exported()
    model(x)
    target.stop()
    target.step()
    assert recorded == alone
    assert "Module.1.ReLU.forward.0" in dumps()[0].data
    assert {name: vars(export)[name] for name in before} == before  # dynamo adds names of its own


def test_what_an_export_was_asked_of_while_recorded_works_afterwards(debugger: Make) -> None:
    model, x = nn.Sequential(nn.Linear(4, 4), nn.ReLU()), torch.ones(3, 4)
    target = debugger(level="mix")
    target.start(model=model)
    capture = export.dynamo_graph_capture_for_export(model)
    target.stop()
    target.step()
    assert "relu" in str(capture(x).graph)
