"""What of a dump is checked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from builder.errors import DumpError
from msprobe.acc_check.plan import Selection, find_call, read_plan
from tests.msprobe.acc_check.calls import SAMPLE

TENSOR = {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2], "Max": 1.0, "Min": 0.0}
ENTRY = {"input_args": [TENSOR], "input_kwargs": {}, "output": [TENSOR]}


def write(folder: Path, data: dict[str, Any], **more: Any) -> Path:
    path = folder / "dump.json"
    content = {"task": "statistics", "level": "L1", "framework": "pytorch", "data": data, **more}
    path.write_text(json.dumps(content))
    return path


def test_calls_come_in_order_with_their_backward_entries() -> None:
    plan = read_plan(SAMPLE)
    assert len(plan.calls) == 29
    assert plan.calls[0].name == "Functional.linear.0"
    assert plan.calls[0].backward is not None
    assert [c.name for c in plan.calls if c.backward is None] == [
        "Tensor.__gt__.0",
        "Functional.dropout.0",
        "Torch.argmax.0",
        "Torch.sub.0",
    ]
    assert plan.tensors is None


def test_modules_are_no_calls_and_what_cannot_be_run_has_its_reason(tmp_path: Path) -> None:
    data = {
        "Module.forward.Linear.forward.0": ENTRY,
        "Distributed.all_reduce.0.forward": ENTRY,
        "Torch.empty.0.forward": ENTRY,
        "Torch.exp.0.backward": {"input": [TENSOR], "output": [TENSOR]},
        "Torch.sum.0.forward": {},
        "Torch.sum.1.forward": ENTRY,
    }
    calls = {call.name: call.skip for call in read_plan(write(tmp_path, data)).calls}
    assert list(calls) == [name.rpartition(".")[0] for name in list(data)[1:]]
    assert calls["Torch.sum.1"] is None
    assert all(calls[name] for name in calls if name != "Torch.sum.1")


def test_repetitions_differ_in_numbers_only(tmp_path: Path) -> None:
    other = {**ENTRY, "input_args": [{**TENSOR, "Max": 3.0, "Mean": 0.25}]}
    longer = {**ENTRY, "input_args": [{**TENSOR, "shape": [3]}]}
    data = {f"Torch.exp.{n}.forward": e for n, e in enumerate((ENTRY, other, longer))}
    plan = read_plan(write(tmp_path, data), Selection(without_repetitions=True))
    assert [call.name for call in plan.calls] == ["Torch.exp.0", "Torch.exp.2"]


def test_black_list_wins_over_white_list() -> None:
    selection = Selection(white=("linear", "gelu"), black=("gelu",))
    names = [call.name for call in read_plan(SAMPLE, selection).calls]
    assert names == ["Functional.linear.0", "Functional.linear.1"]


def test_tensor_folder_lies_beside_the_file_whatever_was_recorded(tmp_path: Path) -> None:
    path = write(tmp_path, {}, dump_data_dir="/job/elsewhere")
    assert read_plan(path).tensors == tmp_path / "dump_tensor_data"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"framework": "jax", "data": {}}', "framework is 'jax'"),
        ('{"data": {}}', "framework is None"),
        ('{"framework": "pytorch"}', "has no data"),
        ('{"framework": "pyt', "broken or truncated JSON"),
    ],
)
def test_other_files_are_refused_in_one_line(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "dump.json"
    path.write_text(content)
    with pytest.raises(DumpError, match=words):
        read_plan(path)


def test_call_is_found_by_its_name_and_near_ones_are_named() -> None:
    plan = read_plan(SAMPLE)
    assert find_call(plan, "Functional.linear.1.forward").name == "Functional.linear.1"
    with pytest.raises(DumpError, match=r"recorded are Functional\.linear\.0"):
        find_call(plan, "Functional.linear.7")
