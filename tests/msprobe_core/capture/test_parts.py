"""What inference engines ask for: parts of tensors, one request alone, operators of their own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from msprobe_core import PrecisionDebugger
from msprobe_core.config.slices import Slice, slice_of_request
from msprobe_core.errors import LifecycleError
from msprobe_core.torch.record.parts import part_of
from tests.msprobe_core.dump_reading import RankDump

Make = Callable[..., PrecisionDebugger]
Read = Callable[[], list[RankDump]]
BATCH = torch.arange(24.0).reshape(6, 4)


def configured(tmp_path: Path, task: str = "statistics", **section: object) -> str:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"task": task, "level": "L1", task: section}))
    return str(path)


def first_inputs(dump: RankDump) -> list[dict[str, Any]]:
    return [entry["input_args"][0] for entry in dump.data.values()]


def test_tensors_of_the_size_are_recorded_in_part(
    debugger: Make, dumps: Read, tmp_path: Path
) -> None:
    config = configured(tmp_path, slice=[{"dim": 0, "size": 6, "begin": 1, "end": 3}])
    target = debugger(config_path=config)
    target.start()
    torch.relu(BATCH)
    torch.relu(BATCH[0])
    torch.relu(BATCH.reshape(4, 6))
    target.stop()
    target.step()
    part, row, other = first_inputs(dumps()[0])
    assert (part["shape"], part["Min"], part["Max"]) == ([2, 4], 4.0, 11.0)
    assert part["Norm"] == pytest.approx(BATCH[1:3].norm().item())
    assert (row["shape"], other["shape"]) == ([4], [4, 6])


def test_files_hold_the_part(debugger: Make, dumps: Read, tmp_path: Path) -> None:
    config = configured(tmp_path, "tensor", slice=[{"dim": 1, "begin": 3}])
    target = debugger(config_path=config)
    target.start()
    torch.relu(BATCH)
    target.stop()
    target.step()
    name = first_inputs(dumps()[0])[0]["data_name"]
    saved = torch.load(dumps()[0].path / "dump_tensor_data" / name, weights_only=True)
    assert torch.equal(saved, BATCH[:, 3:])


def test_the_tokens_of_one_request_in_the_steps_that_have_it(
    debugger: Make, dumps: Read, tmp_path: Path
) -> None:
    target = debugger(config_path=configured(tmp_path, request_id="b"))
    for schedule in ({"a": 2, "b": 3, "c": 1}, {"a": 6}, {"b": 6}):
        target.start(scheduled_tokens=schedule)
        torch.relu(BATCH)
        target.stop()
        target.step()
    found = {dump.path.parent.name: first_inputs(dump)[0] for dump in dumps()}
    assert {step: record["shape"] for step, record in found.items()} == {
        "step0": [3, 4],
        "step2": [6, 4],
    }
    assert (found["step0"]["Min"], found["step0"]["Max"]) == (8.0, 19.0)


def test_a_schedule_that_is_none_is_refused(debugger: Make, tmp_path: Path) -> None:
    target = debugger(config_path=configured(tmp_path, request_id="b"))
    with pytest.raises(LifecycleError, match="scheduled_tokens"):
        target.start(scheduled_tokens={"b": 0})


@given(st.lists(st.integers(1, 9), min_size=1, max_size=8), st.data())
def test_requests_lie_one_after_the_other(counts: list[int], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(counts) - 1))
    schedule = {f"request {n}": count for n, count in enumerate(counts)}
    tokens = [name for name, count in schedule.items() for _ in range(count)]
    part = slice_of_request(f"request {at}", schedule)
    assert part is not None
    taken = tokens[part.begin : part.end]
    assert taken == [f"request {at}"] * counts[at]
    assert part.size == len(tokens)


def test_a_part_is_a_view_and_what_does_not_fit_stays() -> None:
    part = part_of(BATCH, [Slice(0, 6, -2), Slice(1, 4, 0, 1)])
    assert torch.equal(part, BATCH[-2:, :1])
    assert part.untyped_storage().data_ptr() == BATCH.untyped_storage().data_ptr()
    assert part_of(BATCH, [Slice(2, None, 0, 1), Slice(0, 5, 0, 1)]) is BATCH


def test_operators_of_a_users_namespace_have_its_name(
    debugger: Make, dumps: Read, tmp_path: Path
) -> None:
    @torch.library.custom_op("msprobe_tests_parts::twice", mutates_args=())
    def twice(value: torch.Tensor) -> torch.Tensor:
        return value * 2

    path = tmp_path / "config.json"
    path.write_text(json.dumps({"custom_op_namespaces": ["msprobe_tests_parts"]}))
    target = debugger(config_path=str(path))
    target.start()
    results = [torch.ops.msprobe_tests_parts.twice(BATCH), twice(BATCH)]
    torch.ops.aten.relu(BATCH)
    target.stop()
    target.step()
    assert all(torch.equal(result, BATCH * 2) for result in results)
    assert dumps()[0].names == [
        "msprobe_tests_parts.twice.0.forward",
        "msprobe_tests_parts.twice.1.forward",
    ]
