"""Where NaN and infinity begin, over ranks and steps."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import torch
from torch import nn

from builder.errors import DumpError
from builder.tables.overflow_report import check_overflow
from tests.builder.dumps import backward, forward, tensor, write_dump
from tests.builder.tables.programs import recorded

INF, NAN = math.inf, math.nan
PLANTED = {
    "weight": ("weight", "Module.1.fc1.Linear.forward.0", [1]),
    "input": ("input", "Functional.linear.0.forward", [1]),
    "operation": ("operation", "Torch.log.0.forward", [1]),
    "gradient": ("gradient", "Torch.sqrt.0.backward", [1]),
    "collective": ("collective", "Distributed.all_reduce.0.forward", [0, 1]),
}


def bad(number: float = NAN) -> dict[str, object]:
    return tensor(Max=number, Min=number, Mean=number, Norm=number)


@pytest.mark.parametrize("fault", PLANTED)
@pytest.mark.parametrize("level", ["root", "step"])
def test_planted_cause_is_named_and_no_victim(
    fault: str, level: str, overflowing_dumps: Path, tmp_path: Path
) -> None:
    dump = overflowing_dumps / fault
    result = check_overflow(dump if level == "root" else dump / "step0", tmp_path)
    kind, name, ranks = PLANTED[fault]
    assert [(cause.kind, cause.name) for cause in result.causes] == [(kind, name)] * len(ranks)
    assert [cause.rank for cause in result.causes] == ranks
    assert result.file is not None
    written = json.loads(result.file.read_text())
    assert list(written) == [f"rank_{rank}" for rank in ranks]
    call = written[f"rank_{ranks[0]}"][0]
    assert list(call)[:4] == ["op_name", "data_info", "construct_info", "stack_info"]
    assert call["construct_info"][-1] == call["op_name"] == name
    assert call["stack_info"]


def test_layout_is_that_of_the_peer(overflowing_dumps: Path, tools: Path, tmp_path: Path) -> None:
    result = check_overflow(overflowing_dumps / "weight", tmp_path)
    assert result.file is not None
    (recorded,) = (tools / "overflow").glob("*.json")
    (theirs,) = json.loads(recorded.read_text())["rank_0"]
    (ours,) = json.loads(result.file.read_text())["rank_1"]
    assert list(ours)[: len(theirs)] == list(theirs)
    # The weight, which is not among the parts there, is the cause.
    assert list(ours["data_info"]) == ["input_args", "input_kwargs", "output", "parameters"]
    assert math.isnan(ours["data_info"]["parameters"]["weight"]["Max"])


def test_clean_dump_leaves_no_file(overflowing_dumps: Path, tmp_path: Path) -> None:
    result = check_overflow(overflowing_dumps / "none", tmp_path)
    assert (result.file, result.causes, result.looked_at) == (None, (), True)
    assert list(tmp_path.iterdir()) == []


def test_earliest_step_counts(tmp_path: Path) -> None:
    for step, value in ((0, tensor()), (1, bad()), (2, bad())):
        data = {"Torch.log.0.forward": forward([tensor()], [value])}
        write_dump(tmp_path / "dump" / f"step{step}" / "rank0", data)
    result = check_overflow(tmp_path / "dump", tmp_path)
    assert [(cause.step, cause.name) for cause in result.causes] == [(1, "Torch.log.0.forward")]


def first(tmp_path: Path, data: dict[str, object]) -> tuple[str, str] | None:
    write_dump(tmp_path / "dump" / "rank0", data)
    causes = check_overflow(tmp_path / "dump", tmp_path).causes
    return (causes[0].kind, causes[0].name) if causes else None


def test_masks_and_buffers_are_no_causes(tmp_path: Path) -> None:
    full = forward([tensor(), {"type": "float", "value": -INF}], [bad(-INF)])
    data = {
        "Torch.empty.0.forward": forward([], [bad()]),
        "Torch.full.0.forward": full,
        "Tensor.masked_fill.0.forward": forward([tensor()], [bad(-INF)]),
        "Torch.add.0.forward": forward([tensor(), bad(-INF)], [bad(-INF)]),
        "Torch.softmax.0.forward": forward([bad(-INF)], [tensor()]),
    }
    assert first(tmp_path, data) is None
    data["Torch.softmax.1.forward"] = forward([bad(-INF)], [bad()])
    assert first(tmp_path, data) == ("mask", "Torch.softmax.1.forward")


def test_weight_behind_a_mask_is_found(tmp_path: Path) -> None:
    name = "Module.fc.Linear.forward.0"
    write_dump(
        tmp_path / "dump" / "rank0",
        {
            "Tensor.masked_fill.0.forward": forward([tensor()], [bad(-INF)]),
            "Functional.linear.0.forward": forward([tensor(), bad()], [bad()]),
            name: forward([tensor()], [bad()], parameters={"weight": bad()}),
        },
        {"Tensor.masked_fill.0.forward": None, name: None, "Functional.linear.0.forward": name},
    )
    (cause,) = check_overflow(tmp_path / "dump", tmp_path).causes
    assert (cause.kind, cause.name, cause.value) == ("weight", name, "parameters.weight")


def test_gradient_that_arrives_bad_and_saturation(tmp_path: Path) -> None:
    data: dict[str, object] = {"Torch.mul.0.forward": forward([tensor()], [tensor()])}
    saturated = tensor(dtype="torch.float16", Max=65504.0)
    half = forward([tensor()], [saturated])
    assert first(tmp_path, {**data, "Torch.exp.0.forward": half}) == (
        "saturation",
        "Torch.exp.0.forward",
    )
    data["Torch.mul.0.backward"] = backward([bad(INF)], [bad(INF)])
    assert first(tmp_path, data) == ("gradient", "Torch.mul.0.backward")


def test_nested_values_are_looked_at(tmp_path: Path) -> None:
    nested = forward([tensor()], [{"hidden": [tensor(), {"last": bad()}]}])
    assert first(tmp_path, {"Torch.lstm.0.forward": nested}) == (
        "operation",
        "Torch.lstm.0.forward",
    )


def test_nothing_to_look_at_is_said(tmp_path: Path) -> None:
    with pytest.raises(DumpError):
        check_overflow(tmp_path / "none", tmp_path)
    write_dump(tmp_path / "rank0", {"Odd": {}}, task="structure")
    assert not check_overflow(tmp_path, tmp_path).looked_at
    (tmp_path / "rank0" / "dump.json").write_text("{")
    (failed,) = check_overflow(tmp_path, tmp_path).failed
    assert "dump it again" in str(failed.error)


class Hooked(nn.Module):
    """Three layers; a user's hook changes the gradient between the second and the first."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b, self.c = (nn.Linear(4, 4) for _ in range(3))
        self.change: object = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(self.a(x))
        # A mask of minus infinity, as attention has it, is there on purpose.
        mask = torch.ones(3, 3).mul(-INF).triu(1).nan_to_num(nan=0.0, neginf=-INF)
        h = torch.softmax(h @ h.t() + mask, dim=-1) @ h
        if h.requires_grad:
            h.register_hook(self.change)
        return self.c(torch.sigmoid(self.b(h))).square().mean()


HOOKS = {
    "times infinity": (lambda g: g * INF, "Tensor.__mul__.0.forward"),
    "infinity times": (lambda g: INF * g, "Tensor.__rmul__.0.forward"),
    "in place": (lambda g: g.clone().mul_(INF), "Tensor.mul_.0.forward"),
    "function": (lambda g: torch.mul(g, INF), "Torch.mul.0.forward"),
    "minus": (lambda g: g - INF, "Tensor.__sub__.0.forward"),
    "times NaN": (lambda g: g * NAN, "Tensor.__mul__.0.forward"),
    "by zero": (lambda g: g / 0.0, "Tensor.__truediv__.0.forward"),
}


@pytest.mark.parametrize("hook", HOOKS)
def test_a_gradient_hook_is_named_itself(hook: str, tmp_path: Path) -> None:
    model = Hooked()
    model.change, name = HOOKS[hook]
    step = recorded(tmp_path / "d", lambda: model(torch.randn(3, 4)), model)
    (cause,) = check_overflow(step, tmp_path / "out").causes
    assert (cause.kind, cause.name) == ("operation", name)
