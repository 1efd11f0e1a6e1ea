"""Numbers of micro-batches are those of the schedule that runs a call."""

from __future__ import annotations

import json
from types import FunctionType

import torch.distributed.pipelining.stage as torchs_stage

from msprobe_core.torch.parallel.micro_batches import MicroBatches


def _in_schedule(noted: MicroBatches, name: str, number: int) -> None:
    """Note a call from a function that has the name and the module of torch's schedule."""

    def forward_one_chunk(fwd_chunk_id: int) -> None:
        noted.note(name)

    cells = forward_one_chunk.__closure__
    code = forward_one_chunk.__code__
    FunctionType(code, vars(torchs_stage), closure=cells)(number)


def test_torch_still_numbers_them_so() -> None:
    code = torchs_stage.PipelineStage.forward_one_chunk.__code__
    assert "fwd_chunk_id" in code.co_varnames


def test_calls_in_a_schedule_have_its_number_and_others_none() -> None:
    noted = MicroBatches()
    noted.note("Module.a.Linear.forward.0")
    _in_schedule(noted, "Module.a.Linear.forward.1", 0)
    _in_schedule(noted, "Module.a.Linear.forward.2", 1)
    text = noted.text()
    assert text is not None
    assert json.loads(text) == {
        "Module.a.Linear.forward.0": None,
        "Module.a.Linear.forward.1": 0,
        "Module.a.Linear.forward.2": 1,
    }


def test_without_a_schedule_nothing_is_said() -> None:
    noted = MicroBatches()
    noted.note("Module.a.Linear.forward.0")
    assert noted.text() is None
