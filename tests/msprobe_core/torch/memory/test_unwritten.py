"""Memory that nobody wrote is said to be so, and has no numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from msprobe_core import PrecisionDebugger
from tests.msprobe_core.dump_reading import RankDump, tensors

Make = Callable[..., PrecisionDebugger]
Read = Callable[[], list[RankDump]]


def run(debugger: Make, dumps: Read, body: Callable[[], object], **settings: Any) -> RankDump:
    target = debugger(**{"level": "L1", **settings})
    target.start()
    body()
    target.stop()
    target.step()
    return dumps()[-1]


def first_input(dump: RankDump, entry: str) -> dict[str, Any]:
    return next(tensors(dump.data[entry]["input_args"]))


def check_unwritten(record: dict[str, Any]) -> None:
    assert record["unwritten"] is True
    assert [record[key] for key in ("Max", "Min", "Mean", "Norm")] == [None] * 4
    assert not {"md5", "data_name", "nan_count"} & record.keys()


def test_a_permutation_turned_round(debugger: Make, dumps: Read) -> None:
    def body() -> None:
        order = torch.tensor([2, 0, 1])
        inverse = torch.empty_like(order)
        inverse[order] = torch.arange(3)
        torch.add(inverse, 1)

    dump = run(debugger, dumps, body)
    check_unwritten(first_input(dump, "Tensor.__setitem__.0.forward"))
    after = first_input(dump, "Torch.add.0.forward")
    assert after["Max"] == 2 and "unwritten" not in after


@pytest.mark.parametrize("inference", [False, True])
@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.empty(4),
        lambda: torch.ones(4).new_empty(4),
        lambda: torch.ones(4).new_empty_strided((4,), (1,)),
        lambda: torch.empty_strided((4,), (1,)),
        lambda: torch.ones(1).resize_(4),
        lambda: torch.empty(2, 4)[1],
    ],
)
def test_what_is_allocated(
    make: Callable[[], torch.Tensor], inference: bool, debugger: Make, dumps: Read
) -> None:
    def body() -> None:
        with torch.inference_mode(inference):
            value = make()
            value[0:] = 5.0
            torch.exp(value)

    dump = run(debugger, dumps, body)
    check_unwritten(first_input(dump, "Tensor.__setitem__.0.forward"))
    assert first_input(dump, "Torch.exp.0.forward")["Max"] == 5.0


@pytest.mark.parametrize(("task", "mode"), [("tensor", "statistics"), ("statistics", "md5")])
def test_neither_file_nor_checksum(
    task: str, mode: str, debugger: Make, dumps: Read, tmp_path: Path
) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"task": task, task: {"summary_mode": mode}}))
    dump = run(debugger, dumps, lambda: torch.empty(5).add_(1.0), config_path=str(config))
    check_unwritten(first_input(dump, "Tensor.add_.0.forward"))


def test_what_a_call_only_fills(debugger: Make, dumps: Read) -> None:
    held = torch.full((3,), 7.0)

    def body() -> None:
        torch.add(torch.ones(3), 1.0, out=held)
        held.fill_(2.0)

    dump = run(debugger, dumps, body)
    check_unwritten(dump.data["Torch.add.0.forward"]["input_kwargs"]["out"])
    check_unwritten(first_input(dump, "Tensor.fill_.0.forward"))
    assert dump.data["Torch.add.0.forward"]["output"][0]["Max"] == 2.0


def test_memory_filled_through_an_array_is_written(debugger: Make, dumps: Read) -> None:
    def body() -> None:
        value = torch.empty(3)
        value.numpy()[:] = 4.0
        torch.exp(value)

    assert first_input(run(debugger, dumps, body), "Torch.exp.0.forward")["Max"] == 4.0
